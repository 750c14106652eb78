"""What differs between two versions of a study, setting by setting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from studyapp.domain.sitting_settings import SECRET_SETTINGS, shared_settings
from studyapp.models.study import SITTING_DEFAULTS, recruiting_defaults

#: Objects of settings, with what holds where one says nothing; it can depend on what it does say.
_OBJECTS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "texts": lambda texts: {},
    "sitting": lambda sitting: SITTING_DEFAULTS,
    "recruiting": recruiting_defaults,
}
#: Settings whose values no export tells: who reads it must not be able to claim pay.
SECRET = frozenset({"completion_code", *(f"sitting.{name}" for name in SECRET_SETTINGS)})


@dataclass(frozen=True)
class Change:
    """One setting (``texts.instructions``) with its value before and after."""

    setting: str
    old: Any
    new: Any


def changes_between(old: dict[str, Any], new: dict[str, Any]) -> list[Change]:
    """The settings that differ, in the order of their names."""
    before, after = _flat(old), _flat(new)
    return [
        Change(setting, before.get(setting), after.get(setting))
        for setting in sorted(before.keys() | after.keys())
        if before.get(setting) != after.get(setting)
    ]


def without_defaults(name: str, new: dict[str, Any], stored: dict[str, Any]) -> dict[str, Any]:
    """An object of settings without what is not stored yet and would hold anyway.

    A form sends every setting; what it only spells out is kept as it is stored.
    """
    defaults = _OBJECTS[name](new)
    return {
        key: value
        for key, value in new.items()
        if key in stored or key not in defaults or value != defaults[key]
    }


def exported_changes(changes: list[Change]) -> list[dict[str, Any]]:
    """The changes as study.json tells them: codes are named, and their values left out."""
    return [
        {"setting": change.setting}
        if change.setting in SECRET
        else {"setting": change.setting, "old": change.old, "new": change.new}
        for change in changes
    ]


def shared_content(content: dict[str, Any]) -> dict[str, Any]:
    """What an export tells of a version's content: all but the codes."""
    told = {name: value for name, value in content.items() if name not in SECRET}
    return told | {"sitting": shared_settings(content.get("sitting", {}))}


def _flat(content: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in content.items():
        if name in _OBJECTS:
            whole = _OBJECTS[name](value) | value
            flat |= {f"{name}.{key}": item for key, item in whole.items()}
        else:
            flat[name] = value
    return flat
