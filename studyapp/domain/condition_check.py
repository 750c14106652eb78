"""What a condition must be: checked for new conditions and for changed ones alike."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import validate_slug

import rankers
from rankers.formats.lines import text_problem
from rankers.method_info import EMBEDDER, LOCAL_MODEL, MODEL
from rankers.registry import method_needs
from studyapp.domain.scheduled import refuse_scheduled
from studyapp.enums import Interface
from studyapp.errors import NotEditable, StudyError
from studyapp.models import Condition, Study

KIND_OF_INTERFACE = {Interface.INCREMENTAL: "ranker", Interface.ALL_AT_ONCE: "selector"}


def check_slug(slug: str, what: str) -> None:
    """Raise StudyError unless ``slug`` is made of letters, digits, hyphens and underscores."""
    try:
        validate_slug(slug)
    except ValidationError:
        raise StudyError(
            f"{what} {slug!r}: use letters, digits, hyphens and underscores only."
        ) from None


def check_params(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The parameters of ``method``, typed. Raises StudyError naming the wrong one."""
    try:
        return rankers.method_params(method, params)
    except rankers.RankerError as error:
        raise StudyError(str(error)) from None


def checked_condition(
    name: str, interface: str, method: str, model: str, embedder: str, params: dict[str, Any]
) -> dict[str, Any]:
    """The fields of a condition, typed; what the method does not use is emptied.

    ``incremental`` takes rankers and ``all_at_once`` takes selectors. Raises StudyError for an
    unknown method, a wrong parameter, or a text that cannot be kept.
    """
    check_slug(name, "condition")
    for field, value in (("name", name), ("model", model), ("embedder", embedder)):
        limit = Condition._meta.get_field(field).max_length
        if len(value) > limit or text_problem(value):
            raise StudyError(f"condition {field}: use at most {limit} ordinary characters.")
    if interface not in Interface.values:
        raise StudyError(f"interface {interface!r}: use {' or '.join(Interface.values)}.")
    try:
        info = rankers.method_info(method)
    except rankers.UnknownMethod as error:
        raise StudyError(str(error)) from None
    if info.kind != KIND_OF_INTERFACE[Interface(interface)]:
        raise StudyError(
            f"interface {interface} takes a {KIND_OF_INTERFACE[Interface(interface)]}, "
            f"but {method} is a {info.kind}."
        )
    clean = check_params(method, params)
    needs = set(method_needs(method, clean))
    return {
        "name": name,
        "interface": interface,
        "method": method,
        "model": model if needs & {MODEL, LOCAL_MODEL} else "",
        "embedder": embedder if EMBEDDER in needs else "",
        "params": clean,
    }


def refuse_frozen_conditions(study: Study) -> None:
    """Raise NotEditable where the conditions of ``study`` cannot change any more."""
    if not study.is_draft:
        raise NotEditable("The study has opened: its conditions are frozen.")
    refuse_scheduled(study, "change its conditions, and lay the schedule out again")
