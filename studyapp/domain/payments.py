"""Who is to be paid: recruiter ids, and names of personal links, with how their runs ended, apart
from everything they answered.

There is no pseudonym in it, and times are cut to the minute. Where few people came, such times
may still lead from an id to a row of the raw export: who holds both can compare them.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from django.db import transaction
from django.db.models import F, Q

from studyapp.domain import audit
from studyapp.domain.held_slots import finished_main_trials
from studyapp.domain.recruiting import recruits_by_id
from studyapp.enums import AuditAction, EnrolmentState
from studyapp.models import Enrolment, Study

#: A run saw the code where it was finished, also if it was rejected afterwards.
COLUMNS = (
    "recruiter_id",
    "link_name",
    "state",
    "completion_code_issued",
    "trials_done",
    "trials_planned",
    "consented_at",
    "started_at",
    "ended_at",
)

_FIELDS = (
    "participant__recruiter_id__value",
    "participant__personal_link__name",
    "state",
    "n_done",
    "slot__n_trials",
    "ended_from",
    "consented_at",
    "started_at",
    "ended_at",
)


def payment_rows(study: Study) -> list[tuple[Any, ...]]:
    """A row for each run that an id or a personal link led to: see COLUMNS.

    The ids come first, in their order, then the names in theirs; each row has one of the two. That
    they were read is logged in the same transaction. Times are ISO 8601 in UTC, to the minute (cut,
    not rounded).
    """
    with transaction.atomic():
        rows = list(_rows(study))
        audit.record(AuditAction.PAYMENTS_EXPORTED, study)
    return rows


def has_payments(study: Study) -> bool:
    """Whether people may be paid by an id or a name: at most one query."""
    return recruits_by_id(study) or study.personal_links.exists()


def _rows(study: Study) -> Iterator[tuple[Any, ...]]:
    is_named = Q(participant__recruiter_id__study=study) | Q(
        participant__personal_link__study=study
    )
    runs = (
        Enrolment.objects.filter(is_named, slot__study=study)
        .annotate(n_done=finished_main_trials())
        .order_by(
            F("participant__recruiter_id__value").asc(nulls_last=True),
            "participant__personal_link__name",
            "pk",
        )
    )
    for value, name, state, n_done, n_trials, ended_from, *times in runs.values_list(*_FIELDS):
        yield (
            value,
            name,
            state,
            "yes" if EnrolmentState.COMPLETED in (state, ended_from) else "no",
            n_done,
            n_trials,
            *map(_minute, times),
        )


def _minute(moment: datetime | None) -> str | None:
    if moment is None:
        return None
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%MZ}"
