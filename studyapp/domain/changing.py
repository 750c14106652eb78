"""Change a draft's settings, and move a study between its states by name."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from studyapp.domain.configuration import check_configuration
from studyapp.domain.lifecycle import set_state
from studyapp.enums import StudyState
from studyapp.errors import NotEditable, StudyError
from studyapp.models import Study

#: Settings that a schedule was made with, by their names in study.json.
OF_SCHEDULE = {
    "order_policy": "order_policy",
    "condition_policy": "condition_policy",
    "subsets": "n_subsets",
    "seed": "seed",
}


def change_settings(study: Study, changes: dict[str, Any]) -> Study:
    """Set some of a draft's settings (the schema of study.json), all or none; returns the study.

    Raises StudyError with every problem, NotEditable once the study has opened, or for a setting
    that its schedule was made with.
    """
    if "conditions" in changes:
        raise StudyError("field conditions: conditions are added one by one, not changed.")
    fields, _ = check_configuration(changes)
    with transaction.atomic():
        study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        if not study.is_draft:
            raise NotEditable("The study has opened: its settings are frozen.")
        if study.n_replications:
            _refuse_change_of_schedule(study, fields)
        for name, value in fields.items():
            setattr(study, name, value)
        study.save(update_fields=list(fields))
    return study


def _refuse_change_of_schedule(study: Study, fields: dict[str, Any]) -> None:
    changed = [
        name
        for name, field in OF_SCHEDULE.items()
        if field in fields and fields[field] != getattr(study, field)
    ]
    if changed:
        raise NotEditable(
            [
                f"field {name}: the study's schedule was made with {getattr(study, field)}"
                for name, field in OF_SCHEDULE.items()
                if name in changed
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
