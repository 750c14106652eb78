"""docs/configuration.md names every key that a study's configuration may hold, with its default."""

from __future__ import annotations

import re
from typing import Any

import pytest

from analysis.report.rule_checks import READ_KEYS
from studyapp.domain import configuration
from studyapp.models.study import RECRUITING_DEFAULTS, SITTING_DEFAULTS, Study
from tests.shared_data import ROOT

TEXT = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
SECTIONS = {part.split("\n", 1)[0]: part for part in re.split(r"^#+ ", TEXT, flags=re.M)}


def rows(heading: str) -> dict[str, str]:
    """The default of every key in the table of a section."""
    section = next(text for name, text in SECTIONS.items() if name.startswith(heading))
    found = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \| .+ \|$", section, flags=re.M)
    return {key: default.strip("`") for key, _, default in found}


def shown(default: Any) -> str:
    if default == "":
        return "none"
    if default is None:
        return "null"
    if isinstance(default, bool):
        return str(default).lower()
    return str(default)


def test_every_key_of_a_configuration_is_in_the_document() -> None:
    known = {*configuration._CHECKS, *configuration._SETTINGS, "conditions"}
    assert set(rows("A study's settings")) == known
    assert set(rows("`conditions`")) == configuration._CONDITION_FIELDS


@pytest.mark.parametrize(
    ("heading", "defaults"),
    [("`sitting`", SITTING_DEFAULTS), ("`recruiting`", RECRUITING_DEFAULTS)],
)
def test_the_settings_stand_there_with_their_defaults(
    heading: str, defaults: dict[str, Any]
) -> None:
    assert rows(heading) == {key: shown(value) for key, value in defaults.items()}


def test_the_defaults_are_those_of_the_model() -> None:
    stated = rows("A study's settings")
    at_opening = {"title", "completion_code", "response_options", "conditions"}
    for key, (field, _, _) in configuration._CHECKS.items():
        if key not in at_opening:
            assert stated[key] == shown(Study._meta.get_field(field).get_default()), key


def test_every_rule_that_the_report_checks_is_named() -> None:
    section = next(text for name, text in SECTIONS.items() if name.startswith("`preregistered`"))
    assert set(re.findall(r"`(\w+)`", section)) >= READ_KEYS
