"""The settings of recruiting, checked field by field (models.study.RECRUITING_DEFAULTS)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from studyapp.models.study import RECRUITING_DEFAULTS

MAX_OTHER_PARAMETERS = 10
MAX_REPEATS = 100
MAX_EXTRA_PLACES = 100
#: Parameters of the study's link with a meaning of their own.
TAKEN = frozenset({"run", "notice"})

_PARAMETER = re.compile(r"[A-Za-z0-9_]{1,40}")


def recruiting_problems(value: Any) -> list[str]:
    """One line for every setting that cannot be used, beginning with its path."""
    if not isinstance(value, dict):
        return ["recruiting: must be an object"]
    problems = []
    for name, setting in value.items():
        if name not in RECRUITING_DEFAULTS:
            known = ", ".join(RECRUITING_DEFAULTS)
            problems.append(f"recruiting.{name}: not known; known are {known}")
        elif not _CHECKS[name][0](setting):
            problems.append(f"recruiting.{name}: must be {_CHECKS[name][1]}")
    return problems or _conflicts(value)


def _conflicts(value: dict[str, Any]) -> list[str]:
    """What is wrong with settings that are sound one by one."""
    id_parameter = value.get("id_parameter", "")
    others = value.get("other_parameters", [])
    problems = []
    if id_parameter in others:
        problems.append(f"recruiting.other_parameters: {id_parameter} is the id_parameter already")
    if not id_parameter and (others or value.get("repeats", 1) > 1):
        problems.append(
            "recruiting.id_parameter: must be set where there are other_parameters or repeats"
        )
    return problems


def _is_parameter(value: Any) -> bool:
    return isinstance(value, str) and bool(_PARAMETER.fullmatch(value)) and value not in TAKEN


def _is_list(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) <= MAX_OTHER_PARAMETERS
        and all(map(_is_parameter, value))
        and len(set(value)) == len(value)
    )


def _is_whole(value: Any, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


_NAME = "up to 40 letters, digits and underscores, and not run or notice"
_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "id_parameter": (lambda v: v == "" or _is_parameter(v), f"empty or {_NAME}"),
    "other_parameters": (
        _is_list,
        f"a list of at most {MAX_OTHER_PARAMETERS} different names, each {_NAME}",
    ),
    "repeats": (
        lambda v: _is_whole(v, 1, MAX_REPEATS),
        f"a whole number from 1 to {MAX_REPEATS}",
    ),
    "extra_places": (
        lambda v: _is_whole(v, 0, MAX_EXTRA_PLACES),
        f"a whole number from 0 to {MAX_EXTRA_PLACES}",
    ),
}
