"""What a schedule keeps from changing, and how to go on."""

from __future__ import annotations

from studyapp.errors import NotEditable
from studyapp.models import Study

#: Where a schedule is taken away again, on the pages and from the command line.
REMOVE_IT = "remove it first, in the step Schedule or with remove_schedule"


def refuse_scheduled(study: Study, then: str) -> None:
    """Raise NotEditable where the study has a schedule; ``then`` says what comes after removing."""
    if study.n_replications:
        raise NotEditable(f"The study has a schedule already: {REMOVE_IT}; then {then}.")
