"""Precompute: run a condition's method on a claim and store the result once.

The job row is the truth and a Celery message its bell (see ``leases``). Rows whose lease ran out,
and queued rows whose bell was lost, are found by ``ring_due`` whenever somebody looks.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

import rankers
from rankers.errors import SpendLimitReached
from rankers.method_info import GOLD, MODEL
from rankers.registry import method_needs
from studyapp.domain import audit, spending
from studyapp.domain.leases import (
    Lease,
    finish,
    kept,
    lease_period,
    release,
    requeue_expired,
    storable,
    take,
)
from studyapp.domain.queries import main_claims
from studyapp.domain.responses import DatabaseStore
from studyapp.enums import AuditAction, JobState
from studyapp.errors import BrokerAway, NotReady, StudyError
from studyapp.models import (
    Candidate,
    Condition,
    GoldSet,
    PrecomputeJob,
    Ranking,
    Selection,
    Study,
)

logger = logging.getLogger(__name__)

# ---- queueing ------------------------------------------------------------------------------------


def queue_jobs(study: Study, *, retry_failed: bool = True) -> int:
    """Make sure that every claim and condition without a result has a queued job; ring for them.

    Returns how many jobs are now waiting. Raises NotReady without claims or conditions.
    """
    conditions = list(study.conditions.all())
    claim_ids = list(main_claims(study).values_list("id", flat=True))
    if not claim_ids:
        raise NotReady("The study has no claims: import them first (import_claims).")
    if not conditions:
        raise NotReady("The study has no conditions: add them first (add_condition).")
    with transaction.atomic():
        for condition in conditions:
            PrecomputeJob.objects.bulk_create(
                (PrecomputeJob(condition=condition, claim_id=pk) for pk in claim_ids),
                ignore_conflicts=True,
                batch_size=1000,
            )
        _requeue_lost(study)
        if retry_failed:
            PrecomputeJob.objects.filter(condition__study=study, state=JobState.FAILED).update(
                state=JobState.QUEUED, rung_at=None, n_attempts=0
            )
        audit.record(AuditAction.PRECOMPUTE_QUEUED, study)
    ring_due(study)
    return PrecomputeJob.objects.filter(condition__study=study, state=JobState.QUEUED).count()


def _requeue_lost(study: Study) -> None:
    """Queue again what is done by its job and has no result: nothing else would ever bring it."""
    key = {"condition": OuterRef("condition"), "claim": OuterRef("claim")}
    PrecomputeJob.objects.filter(condition__study=study, state=JobState.DONE).exclude(
        Exists(Ranking.objects.filter(**key))
    ).exclude(Exists(Selection.objects.filter(**key))).update(
        state=JobState.QUEUED, rung_at=None, n_attempts=0, finished_at=None
    )


def retry_job(job: PrecomputeJob) -> None:
    """Queue one failed job again. Raises StudyError when it is not failed."""
    with transaction.atomic():
        changed = PrecomputeJob.objects.filter(pk=job.pk, state=JobState.FAILED).update(
            state=JobState.QUEUED, rung_at=None, n_attempts=0
        )
        if not changed:
            raise StudyError("Only a failed claim can be retried.")
        audit.record(AuditAction.PRECOMPUTE_QUEUED, job.condition.study, jobs=1)
    ring_due(job.condition.study)


def ring_due(study: Study | None = None, account: spending.Account | None = None) -> int:
    """Queue rows whose lease ran out, and ring for queued rows that no bell is known for.

    A row that was rung is rung again only after a lease period in which no job of its study was
    held or finished by anybody: while workers are busy, the earlier bell is still on its way.
    Jobs that wait because their study's spend limit is reached are left alone; ``account``
    is the study's, where the caller has read it. Returns the number of bells.
    """
    now = timezone.now()
    jobs = PrecomputeJob.objects.all()
    if study is not None:
        jobs = jobs.filter(condition__study=study)
    requeue_expired(jobs, now)
    waiting = jobs.filter(state=JobState.QUEUED)
    if held := spending.held_conditions(study, account):
        waiting = waiting.exclude(condition_id__in=held)
    found = list(
        waiting.filter(Q(rung_at__isnull=True) | Q(rung_at__lt=now - lease_period()))
        .order_by("pk")
        .values_list("pk", "rung_at", "condition__study_id")
    )
    # Only for bells that rang before does it matter who is busy.
    busy = _busy_studies(jobs, now) if any(rung_at for _, rung_at, _ in found) else set()
    return _ring((pk for pk, rung_at, of in found if rung_at is None or of not in busy), now)


def _busy_studies(jobs: QuerySet[PrecomputeJob], now: datetime) -> set[int]:
    """Studies of which a job is held, or was finished within the last lease period."""
    active = Q(state=JobState.LEASED, lease_until__gte=now) | Q(
        finished_at__gte=now - lease_period()
    )
    return set(jobs.filter(active).values_list("condition__study_id", flat=True).distinct())


def _ring(job_ids: Iterable[int], now: datetime) -> int:
    from studyapp.tasks import prepare

    job_ids = list(job_ids)
    # Marked first: a second caller at the same moment does not ring again.
    for start in range(0, len(job_ids), 500):
        PrecomputeJob.objects.filter(pk__in=job_ids[start : start + 500]).update(rung_at=now)
    for job_id in job_ids:
        try:
            prepare.delay(job_id)
        except Exception as error:  # kombu raises its own and each transport's errors
            PrecomputeJob.objects.filter(pk__in=job_ids, state=JobState.QUEUED).update(rung_at=None)
            raise BrokerAway(
                f"The message broker cannot be reached ({error}). The jobs are queued in the "
                "database and run once it answers."
            ) from error
    return len(job_ids)


# ---- running -------------------------------------------------------------------------------------


def run_job(job_id: int) -> bool:
    """Take the job, run its method, store the result. A second delivery returns False at once.

    A job that its study's spend limit does not allow stays queued.
    """
    rows = PrecomputeJob.objects.select_related("condition__study", "claim").filter(pk=job_id)
    job = rows.first()
    if job is None:  # its condition was changed or removed at this moment
        return False
    if spending.is_held(job.condition):
        rows.filter(state=JobState.QUEUED).update(rung_at=None)
        return False
    lease = take_job(job_id)
    if lease is None:
        return False
    started = time.monotonic()
    with kept(lease):
        try:
            result, method = _compute(job)
            return store_result(lease, job, method, result, time.monotonic() - started)
        except SpendLimitReached:
            return release(lease)
        except rankers.RankerError as error:
            return fail_job(lease, str(error), getattr(error, "raw", ""))
        except Exception as error:
            logger.exception("precompute of claim %s failed", job.claim.claim_id)
            return fail_job(lease, f"{type(error).__name__}: {error}")


def take_job(job_id: int) -> Lease | None:
    """Lease a queued (or expired) job, or None when it is not to be had."""
    return take(PrecomputeJob, job_id)


def store_result(
    lease: Lease,
    job: PrecomputeJob,
    method: rankers.Ranker | rankers.Selector,
    result: rankers.Ranking | rankers.Selection,
    seconds: float,
) -> bool:
    """Write the result and finish the job in one transaction; False when the lease was lost."""
    common = {
        "condition": job.condition,
        "claim": job.claim,
        "method": method.name,
        "model": method.model or "",
        "prompt_version": method.prompt_version or "",
        "params": dict(method.params),
        "status": result.status,
        "n_calls": result.usage.calls,
        "prompt_tokens": result.usage.prompt_tokens,
        "cached_prompt_tokens": result.usage.cached_prompt_tokens,
        "completion_tokens": result.usage.completion_tokens,
        "seconds": seconds,
    }
    with transaction.atomic():
        if not finish(lease, JobState.DONE, raw_reply=""):
            return False
        if isinstance(result, rankers.Ranking):
            Ranking.objects.create(
                **common,
                order=list(result.order),
                origins=list(result.origins),
                scores=None if result.scores is None else list(result.scores),
                fallback_from=result.fallback_from,
            )
        else:
            Selection.objects.create(**common, selected=list(result.selected))
    return True


def fail_job(lease: Lease, error: str, raw_reply: str = "") -> bool:
    """End the job with the reason and the raw reply, if there was one. Returns False."""
    finish(lease, JobState.FAILED, error=storable(error), raw_reply=storable(raw_reply))
    return False


def build_method(condition: Condition) -> rankers.Ranker | rankers.Selector:
    """The ranker or selector behind a condition. Raises RankerError."""
    # Embeddings from a server are paid for as well, so the store is there for every method.
    store = DatabaseStore()
    llm = account = None
    if spending.is_paid(condition):
        account = spending.StudySpending(condition.study)
    if MODEL in method_needs(condition.method, condition.params):
        from rankers.llm import LLM

        llm = LLM.from_environment(condition.model or None, store=store, spending=account)
    return rankers.build(
        condition.method,
        model=condition.model or None,
        embedder=condition.embedder or None,
        params=condition.params,
        llm=llm,
        store=store,
        spending=account,
    )


def _compute(job: PrecomputeJob) -> tuple[Any, rankers.Ranker | rankers.Selector]:
    method = build_method(job.condition)
    claim = _claim_for(job)
    if isinstance(method, rankers.Ranker):
        return method.rank_claim(claim), method
    return method.select_claim(claim), method


def _claim_for(job: PrecomputeJob) -> rankers.Claim:
    """What the condition's method may see of the claim: gold sets only where it says it needs them.

    The label is never told.
    """
    candidates = Candidate.objects.filter(claim=job.claim).order_by("position")
    gold_sets: list[list[int]] = []
    if GOLD in method_needs(job.condition.method, job.condition.params):
        gold_sets = list(
            GoldSet.objects.filter(claim=job.claim)
            .order_by("position")
            .values_list("members", flat=True)
        )
    return rankers.Claim(
        id=job.claim.claim_id,
        claim=job.claim.text,
        label="",
        candidates=tuple(candidates.values_list("text", flat=True)),
        gold_sets=tuple(map(tuple, gold_sets)),
    )
