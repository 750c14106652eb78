"""Leases: a worker's hold on the row of a job, taken and given up by guarded updates.

The row is the truth (queued, leased until, done, failed). A message of the broker only says "look
at this row"; it may be lost with a killed worker or come twice.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import close_old_connections, connection, transaction
from django.db.models import F, Q
from django.utils import timezone

from studyapp.codes import random_code
from studyapp.enums import JobState
from studyapp.models.job import LeasedJob

logger = logging.getLogger(__name__)

#: A job whose worker died this often is failed instead of killing the next one.
MAX_ATTEMPTS = 5

#: What a job without a lease holds in its place.
NO_LEASE: dict[str, Any] = {"lease_token": "", "lease_until": None}


@dataclass(frozen=True)
class Lease:
    """A worker's hold on a job of one table."""

    table: type[LeasedJob]
    job_id: int
    token: str


def lease_period() -> timedelta:
    return timedelta(seconds=settings.JOB_LEASE_SECONDS)


def take(table: type[LeasedJob], job_id: int) -> Lease | None:
    """Lease a queued (or expired) job by a guarded update, or None when it is not to be had."""
    now = timezone.now()
    lease = Lease(table, job_id, random_code(20))
    free = Q(state=JobState.QUEUED) | Q(state=JobState.LEASED, lease_until__lt=now)
    with transaction.atomic():
        job = _rows(table).select_for_update().filter(free, pk=job_id).first()
        if job is None:
            return None
        job.state = JobState.LEASED
        job.lease_token = lease.token
        job.lease_until = now + lease_period()
        job.n_attempts += 1
        job.save(update_fields=["state", "lease_token", "lease_until", "n_attempts"])
    return lease


def renew(lease: Lease) -> bool:
    """Hold the job for another period; False when it is no longer ours."""
    return bool(_held(lease).update(lease_until=timezone.now() + lease_period()))


def finish(lease: Lease, state: str, **fields: Any) -> bool:
    """End the job in ``state`` and set ``fields``; False, and no change, when it is not ours."""
    ended = {"state": state, "error": "", "finished_at": timezone.now()} | NO_LEASE
    return bool(_held(lease).update(**(ended | fields)))


def release(lease: Lease) -> bool:
    """Give the job back as if it had not been taken. Returns False, as for any job not ended."""
    _held(lease).update(
        state=JobState.QUEUED, rung_at=None, n_attempts=F("n_attempts") - 1, **NO_LEASE
    )
    return False


def requeue_expired(jobs: Any, now: datetime) -> None:
    """Queue those of ``jobs``, of one table, whose lease ran out; fail those that always do."""
    ids = list(jobs.filter(state=JobState.LEASED, lease_until__lt=now).values_list("pk", flat=True))
    if not ids:
        return
    mine = _rows(jobs.model).filter(pk__in=ids, state=JobState.LEASED, lease_until__lt=now)
    mine.filter(n_attempts__gte=MAX_ATTEMPTS).update(
        state=JobState.FAILED,
        finished_at=now,
        error=f"the worker ended without an answer {MAX_ATTEMPTS} times",
        **NO_LEASE,
    )
    mine.update(state=JobState.QUEUED, rung_at=None, **NO_LEASE)


@contextmanager
def kept(lease: Lease) -> Iterator[None]:
    """Renew the lease from a thread of its own while the work is done."""
    done = threading.Event()

    def keep() -> None:
        while not done.wait(settings.JOB_LEASE_SECONDS / 3):
            try:
                if not renew(lease):
                    return
            except Exception:
                logger.exception("the lease of job %s could not be renewed", lease.job_id)
            finally:
                close_old_connections()
        connection.close()

    thread = threading.Thread(target=keep, name=f"lease-{lease.job_id}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(timeout=5)


def storable(text: str) -> str:
    """No database keeps half characters, and PostgreSQL no U+0000: both are written out."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")


def _held(lease: Lease) -> Any:
    return _rows(lease.table).filter(
        pk=lease.job_id, state=JobState.LEASED, lease_token=lease.token
    )


def _rows(table: type[LeasedJob]) -> Any:
    return table._default_manager
