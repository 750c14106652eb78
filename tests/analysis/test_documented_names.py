"""docs/analysis.md stays true: the names it gives exist, and take what it says they take."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from analysis.cli import COMMANDS
from tests.analysis.builders import case_zip
from tests.shared_data import needs_data

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "analysis.md").read_text(encoding="utf-8")
CALLS = re.findall(r"`(analysis(?:\.\w+)+)\(([^)`]*)\)`", TEXT)
NAMES = sorted(set(re.findall(r"`(analysis(?:\.\w+)+)", TEXT)))


def named(dotted: str) -> Any:
    """The object of a dotted name, as ``import`` and a dot find it."""
    parts = dotted.split(".")
    found: Any = importlib.import_module(parts[0])
    for length, part in enumerate(parts[1:], start=2):
        if not hasattr(found, part):
            importlib.import_module(".".join(parts[:length]))
        found = getattr(found, part)
    return found


def test_there_are_names_to_check() -> None:
    assert len(CALLS) > 30


@pytest.mark.parametrize("name", NAMES)
def test_a_documented_name_exists(name: str) -> None:
    named(name)


@pytest.mark.parametrize(("name", "arguments"), CALLS, ids=[name for name, _ in CALLS])
def test_a_documented_call_fits_its_function(name: str, arguments: str) -> None:
    """So many positional arguments are accepted, and none that has no default is left out."""
    given = [part.strip() for part in arguments.split(",") if part.strip()]
    named_ones = dict(part.split("=") for part in given if "=" in part)
    values = [part.strip('"') for part in given if "=" not in part]
    inspect.signature(named(name)).bind(*values, **named_ones)


@needs_data
@pytest.mark.data
def test_the_lines_that_a_notebook_begins_with_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = re.search(r"```python\n(.*?)```", TEXT, flags=re.S)
    assert lines is not None
    case_zip("partial_a", tmp_path, name="EXPORT")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(lines[1], names)
    assert len(names["design_set"]) <= len(names["scored"])
    assert names["contrast"].name == "ranking - selection"


def test_every_command_is_documented() -> None:
    for command in COMMANDS:
        name = command.__name__.rsplit(".", 1)[-1]
        assert f"python -m analysis {name} " in TEXT
