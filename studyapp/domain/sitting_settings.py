"""The settings of a sitting, checked field by field (defaults: models.study.SITTING_DEFAULTS)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from studyapp.domain.return_addresses import asks_for_code, is_return_address
from studyapp.models.study import SITTING_DEFAULTS

#: Never exported, like the completion code: who reads an export must not be able to use it.
SECRET_SETTINGS = frozenset({"declined_code", "screened_out_code", "failed_checks_code"})
_RETURN_URLS = frozenset({"return_url", "screened_out_url", "failed_checks_url"})

QUESTION_KINDS = ("choice", "scale", "text", "number")
#: A scale stands in one line of a phone.
MAX_SCALE_POINTS = 11
MAX_QUESTIONS = 100
#: With answers of at most MAX_ANSWER characters the whole form stays one that is read.
MAX_TEXT_QUESTIONS = 10
MAX_ANSWER = 1000
MAX_TRIES = 20

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
_ITEM_FIELDS = {"name", "text", "kind", "required"}
_OWN_FIELDS = {
    "choice": {"options"},
    "scale": {"min", "max"},
    "number": {"min", "max"},
    "text": set(),
}


def sitting_problems(value: Any) -> list[str]:
    """One line for every setting that cannot be used, beginning with its path."""
    if not isinstance(value, dict):
        return ["sitting: must be an object"]
    problems = []
    for name, setting in value.items():
        if name not in SITTING_DEFAULTS:
            known = ", ".join(SITTING_DEFAULTS)
            problems.append(f"sitting.{name}: not known; known are {known}")
        elif name == "questionnaire":
            problems += _questionnaire_problems(setting)
        elif not _CHECKS[name][0](setting):
            problems.append(f"sitting.{name}: must be {_CHECKS[name][1]}")
    return problems


def shared_settings(sitting: dict[str, Any]) -> dict[str, Any]:
    """What an export tells of the settings: all but the secret ones.

    A return address without a place for a code may be a secret as a whole, as that of SONA is,
    which grants credit.
    """
    return {
        name: value
        for name, value in sitting.items()
        if name not in SECRET_SETTINGS
        and (name not in _RETURN_URLS or not value or asks_for_code(value))
    }


def _questionnaire_problems(value: Any) -> list[str]:
    where = "sitting.questionnaire"
    if not isinstance(value, list) or len(value) > MAX_QUESTIONS:
        return [f"{where}: must be a list of at most {MAX_QUESTIONS} questions"]
    problems = []
    seen: set[str] = set()
    for number, item in enumerate(value, start=1):
        if not isinstance(item, dict):
            problems.append(f"{where}, number {number}: must be an object")
            continue
        problems += [f"{where}, number {number}: {fault}" for fault in _question_faults(item)]
        if (name := str(item.get("name"))) in seen:
            problems.append(f"{where}, number {number}: name {name!r} is there twice")
        seen.add(name)
    n_texts = sum(isinstance(item, dict) and item.get("kind") == "text" for item in value)
    if n_texts > MAX_TEXT_QUESTIONS:
        problems.append(f"{where}: at most {MAX_TEXT_QUESTIONS} questions may be of kind text")
    return problems


def _question_faults(item: dict[str, Any]) -> list[str]:
    """What is wrong with one question, field first."""
    kind = item.get("kind")
    if kind not in QUESTION_KINDS:
        return [f"kind must be {', '.join(QUESTION_KINDS)}"]
    allowed = _ITEM_FIELDS | _OWN_FIELDS[kind]
    faults = [f"{name} is not known for kind {kind}" for name in sorted(set(item) - allowed)]
    name, text = item.get("name"), item.get("text")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        faults.append(
            "name must begin with a letter and hold up to 40 letters, digits, hyphens and "
            "underscores"
        )
    if not _is_line(text, 500):
        faults.append("text must be a text of 1 to 500 characters")
    if not isinstance(item.get("required", False), bool):
        faults.append("required must be true or false")
    return faults + _OWN_FAULTS[kind](item)


def _choice_faults(item: dict[str, Any]) -> list[str]:
    options = item.get("options")
    if (
        isinstance(options, list)
        and 2 <= len(options) <= 100
        and all(_is_line(option, 200) and len(option.splitlines()) == 1 for option in options)
        and len({option.strip() for option in options}) == len(options)
    ):
        return []
    return ["options must be a list of 2 to 100 different texts of 1 to 200 characters"]


def _scale_faults(item: dict[str, Any]) -> list[str]:
    low, high = item.get("min"), item.get("max")
    if _is_whole(low) and _is_whole(high) and 1 <= high - low < MAX_SCALE_POINTS:
        return []
    return [f"min and max must be whole numbers that make a scale of 2 to {MAX_SCALE_POINTS}"]


def _number_faults(item: dict[str, Any]) -> list[str]:
    ends = [item[name] for name in ("min", "max") if name in item]
    if all(_is_number(end) for end in ends) and ends == sorted(ends):
        return []
    return ["min and max must be numbers, min not above max"]


_OWN_FAULTS: dict[str, Callable[[dict[str, Any]], list[str]]] = {
    "choice": _choice_faults,
    "scale": _scale_faults,
    "number": _number_faults,
    "text": lambda item: [],
}


def _is_line(value: Any, longest: int) -> bool:
    return isinstance(value, str) and bool(value.strip()) and len(value) <= longest


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**9


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 10**9


def _is_tries(value: Any) -> bool:
    return _is_whole(value) and 1 <= value <= MAX_TRIES


def _is_period(value: Any) -> bool:
    return _is_whole(value) and value >= 0


def _is_code(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= 60


def _is_failures(value: Any) -> bool:
    return value is None or _is_period(value)


_CODE = "a text of at most 60 characters"
_RETURN_URL = (
    "an https address with {code}, {id} or {id:NAME} where the code or a recruiter's parameter goes"
)
_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "practice_tries": (_is_tries, f"a whole number from 1 to {MAX_TRIES}"),
    "break_every": (_is_period, "a whole number of main trials, 0 for no breaks"),
    "confidence": (lambda v: v in ("off", "optional", "required"), "off, optional or required"),
    "reason": (lambda v: v in ("off", "optional"), "off or optional"),
    "return_url": (is_return_address, _RETURN_URL),
    "declined_code": (_is_code, _CODE),
    "allows_translation": (lambda v: isinstance(v, bool), "true or false"),
    "practice_must_pass": (lambda v: isinstance(v, bool), "true or false"),
    "attention_failures_allowed": (
        _is_failures,
        "a whole number of wrong answers, or null for no rule",
    ),
    "screened_out_code": (_is_code, _CODE),
    "screened_out_url": (is_return_address, _RETURN_URL),
    "failed_checks_code": (_is_code, _CODE),
    "failed_checks_url": (is_return_address, _RETURN_URL),
}
