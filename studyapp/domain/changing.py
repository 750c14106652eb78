"""Change a draft's settings, and move a study between its states by name."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from studyapp.domain import audit
from studyapp.domain.configuration import MERGED, check_configuration
from studyapp.domain.lifecycle import set_state
from studyapp.domain.scheduled import REMOVE_IT
from studyapp.enums import AuditAction, StudyState
from studyapp.errors import NotEditable, StudyError
from studyapp.models import Study

#: Settings that a schedule was made with, by their names in study.json.
OF_SCHEDULE = {
    "order_policy": "order_policy",
    "condition_policy": "condition_policy",
    "subsets": "n_subsets",
    "seed": "seed",
}
#: What opening fills in where a draft leaves it open.
_LEFT_TO_OPENING = "response_options"


def change_draft(study: Study, changes: dict[str, Any]) -> None:
    """Change settings of a draft, named as in study.json, all or nothing.

    ``sitting``, ``recruiting`` and ``preregistered`` are merged with what is stored; None takes a
    setting out. ``response_options`` None leaves them to the opening. Raises StudyError with a
    line a field, NotEditable once the study has opened, or for a setting that its schedule was
    made with.
    """
    with transaction.atomic():
        locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        if not locked.is_draft:
            raise NotEditable("The study has opened: its settings are frozen.")
        # Settings are checked as they will stand: some go together, or not.
        fields = _checked(locked, changes)
        if locked.n_replications:
            _refuse_change_of_schedule(locked, fields)
        for name, value in fields.items():
            setattr(locked, name, value)
        locked.save(update_fields=list(fields))
        # Which settings, not what they say: texts are long, and the export has them.
        named = audit.shortened(", ".join(sorted(changes)))
        audit.record(AuditAction.SETTINGS_CHANGED, locked, settings=named)
    for name, value in fields.items():
        setattr(study, name, value)


def _checked(study: Study, changes: dict[str, Any]) -> dict[str, Any]:
    """The model's fields with their new values, the merged objects whole."""
    if "conditions" in changes:
        raise StudyError("field conditions: conditions are changed one by one.")
    wanted = changes | {
        name: merged(getattr(study, name), changes[name]) for name in MERGED & set(changes)
    }
    if changes.get(_LEFT_TO_OPENING, "given") is None:
        wanted = {name: value for name, value in wanted.items() if name != _LEFT_TO_OPENING}
    fields, _ = check_configuration(wanted)
    if _LEFT_TO_OPENING in changes:
        fields.setdefault(_LEFT_TO_OPENING, [])
    return fields


def merged(stored: dict[str, Any], given: Any) -> Any:
    """An object of settings with what is given of it; None takes a setting out."""
    return without_none(stored | given) if isinstance(given, dict) else given


def without_none(values: Any) -> Any:
    """An object without what is None; anything else is for the checks to refuse."""
    if not isinstance(values, dict):
        return values
    return {name: value for name, value in values.items() if value is not None}


def _refuse_change_of_schedule(study: Study, fields: dict[str, Any]) -> None:
    changed = [
        name
        for name, field in OF_SCHEDULE.items()
        if field in fields and fields[field] != getattr(study, field)
    ]
    if changed:
        raise NotEditable(
            [
                f"field {name}: the study's schedule was made with "
                f"{getattr(study, OF_SCHEDULE[name])}; {REMOVE_IT}"
                for name in changed
            ]
        )


def pause_study(study: Study) -> None:
    """Let nobody in and start no further trial. Raises NotEditable unless the study is open."""
    set_state(study, StudyState.PAUSED, allowed_from=(StudyState.OPEN,))


def resume_study(study: Study) -> None:
    """Open a paused study again. Raises NotEditable from any other state."""
    set_state(study, StudyState.OPEN, allowed_from=(StudyState.PAUSED,))


def close_study(study: Study) -> None:
    """Close for good. Raises NotEditable unless the study is open or paused."""
    set_state(study, StudyState.CLOSED, allowed_from=(StudyState.OPEN, StudyState.PAUSED))
