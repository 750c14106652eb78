"""Runs that were under way when their study was exported: here nobody can go on with them."""

from __future__ import annotations

from studyapp.enums import RunKind
from studyapp.models import Enrolment, Study
from studyapp.models.assignment import RUNNING


def imported_under_way(study: Study, *kinds: RunKind) -> int:
    """How many runs, of these kinds or of all, came under way with an import and cannot go on.

    Their links stay with the original. They keep their state, which an export has to give again.
    One query for a study that came back with its data, none for any other.
    """
    if study.opened_at is None or study.opened_at >= study.created_at:
        return 0
    return Enrolment.objects.filter(
        slot__study=study,
        state__in=RUNNING,
        run_kind__in=kinds or RunKind.values,
        participant__joined_at__lt=study.created_at,
    ).count()
