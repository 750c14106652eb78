"""docs/formats.md says what is there: commands as they can be typed, formats, options, reasons."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from rankers import cli
from rankers.convert import TARGETS
from rankers.formats import FORMATS, WIKI_FORMATS
from rankers.sampling import STRATA

PAGE = Path(__file__).resolve().parents[2] / "docs" / "formats.md"
TEXT = PAGE.read_text(encoding="utf-8")
COMMANDS = [
    line
    for block in re.findall(r"^```\n(.*?)^```", TEXT, flags=re.DOTALL | re.MULTILINE)
    for line in block.splitlines()
]


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_can_be_typed(line):
    start, words = shlex.split(line)[:3], shlex.split(line)[3:]
    assert start == ["python", "-m", "rankers"]
    assert cli._parser().parse_args(words)


def test_the_table_lists_every_format_and_what_can_be_written():
    rows = dict(re.findall(r"^\| `(\w+)` \| yes \| (yes|no) \|", TEXT, flags=re.MULTILINE))
    assert set(rows) == FORMATS.keys() | WIKI_FORMATS.keys()
    assert {name for name, written in rows.items() if written == "yes"} == set(TARGETS)


def test_every_option_of_convert_is_explained(capsys):
    with pytest.raises(SystemExit):
        cli.main(["convert", "--help"])
    options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", capsys.readouterr().out))
    assert options - {"--help", "--format", "--output"} <= set(re.findall(r"--[a-z][a-z-]*", TEXT))


def test_every_stratum_is_named():
    [sentence] = re.findall(r"^Strata are .*?`lang`", TEXT, flags=re.DOTALL | re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", sentence)) == set(STRATA)


def test_links_lead_somewhere():
    for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", TEXT):
        assert (PAGE.parent / link).exists()
