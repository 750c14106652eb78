"""Bells of jobs that are done one by one: what results and exports of a study have in common.

The row is the truth (see ``leases``); a message of the broker only says that there is one to look
at. Rankings come by the thousand and have a rule of their own (``precompute``).
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import Q
from django.utils import timezone

from studyapp.domain.leases import Lease, finish, lease_period, requeue_expired, storable
from studyapp.enums import JobState
from studyapp.errors import BrokerAway

ENDED = (JobState.DONE, JobState.FAILED)


def queue_again(jobs: Any, **fields: Any) -> bool:
    """Queue those of ``jobs`` that have ended, by a guarded update; whether there was one."""
    anew = {"state": JobState.QUEUED, "rung_at": None, "n_attempts": 0, "error": ""}
    return bool(jobs.filter(state__in=ENDED).update(**(anew | fields)))


def ring_due(jobs: Any, task: Any, what: str) -> int:
    """Queue those of ``jobs`` whose lease ran out, and ring ``task`` for queued ones that no bell
    is known for.

    Returns the number of bells. Raises BrokerAway, which says that ``what`` ("the results") wait.
    """
    now = timezone.now()
    requeue_expired(jobs, now)
    is_due = Q(rung_at__isnull=True) | Q(rung_at__lt=now - lease_period())
    due = jobs.filter(is_due, state=JobState.QUEUED).order_by("pk")
    return sum(_ring(jobs, pk, now, task, what) for pk in list(due.values_list("pk", flat=True)))


def _ring(jobs: Any, job_id: int, now: datetime, task: Any, what: str) -> int:
    row = jobs.filter(pk=job_id, state=JobState.QUEUED)
    # Marked first: a second caller at the same moment does not ring again.
    row.update(rung_at=now)
    try:
        task.delay(job_id)
    except Exception as error:  # kombu raises its own and each transport's errors
        row.update(rung_at=None)
        raise BrokerAway(
            f"The message broker cannot be reached ({error}). {what.capitalize()} are queued in "
            "the database and go on once it answers."
        ) from error
    return 1


def fail(lease: Lease, error: str) -> bool:
    """End the job with the reason; an earlier result stays. Returns False."""
    finish(lease, JobState.FAILED, error=storable(error))
    return False
