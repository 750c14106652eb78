"""Why something of a comparison is not defined.

A block of the document may hold ``reasons`` (by key), ``reason`` (for every None in it) or
``left_out`` (the whole block); ``collect`` gathers them by path. A block whose keys are names of
the study's own (``BY_NAME``) holds no marker, whatever those names are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ZERO_TIME = "not defined, because a trial has an active time of 0 and so no logarithm"
ONE_CONDITION = "not defined, because the study has one condition only"
TWO_CONDITIONS = "not defined, because the study has fewer than three conditions"

#: Blocks with a key a condition or a participant, who may be called "reason".
BY_NAME = frozenset({"differences", "groups", "participants_by_first_condition"})


def no_trial(condition: str) -> str:
    """The set has no trial of a condition that could count."""
    return f"not defined, because no trial of condition {condition} has a value of this measure"


def collect(block: Any, path: str) -> dict[str, str]:
    """The reason of every None under ``path``, and of every block that is left out."""
    return dict(_walk(block, path, ""))


def _walk(value: Any, path: str, inherited: str, by_name: bool = False) -> list[tuple[str, str]]:
    if value is None or (isinstance(value, list) and None in value):
        return [(path, inherited)]
    if not isinstance(value, Mapping):
        return []
    if by_name:
        items = value.items()
        return [one for key, item in items for one in _walk(item, f"{path}.{key}", inherited)]
    if "left_out" in value:
        return [(path, str(value["left_out"]))]
    general = str(value.get("reason") or inherited)
    own = value.get("reasons") or value.get("not_defined") or {}
    found = []
    for key, item in value.items():
        if key not in ("reason", "reasons", "not_defined"):
            why = str(own.get(key, general))
            found += _walk(item, f"{path}.{key}", why, key in BY_NAME)
    return found
