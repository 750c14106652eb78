"""What a researcher sees of precompute: progress, cost, failures, and whether a worker answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Count, Q, Sum
from django.utils import timezone

from studyapp.domain.queries import main_claims
from studyapp.enums import Interface, JobState
from studyapp.models import (
    Condition,
    PrecomputeJob,
    Ranking,
    Selection,
    Study,
    WorkerPresence,
)

#: A worker writes its presence this often, and counts as gone after three silences.
PRESENCE_SECONDS = 10


@dataclass(frozen=True)
class ConditionProgress:
    """How far one condition is, and what it cost. ``cached_prompt_tokens`` None: unknown."""

    condition: Condition
    n_claims: int
    queued: int
    running: int
    done: int
    failed: int
    fallback: int
    calls: int
    prompt_tokens: int
    cached_prompt_tokens: int | None
    completion_tokens: int

    @property
    def waiting(self) -> int:
        """Claims that are neither done nor failed, whether or not a job was queued for them."""
        return self.n_claims - self.done - self.failed


def progress_of(
    study: Study, conditions: list[Condition] | None = None, n_claims: int | None = None
) -> list[ConditionProgress]:
    """Counts and cost per condition, from the stored rows, whatever the size: three queries, and
    two for the conditions and the number of main claims where the caller does not know them."""
    if n_claims is None:
        n_claims = main_claims(study).count()
    if conditions is None:
        conditions = list(study.conditions.order_by("position"))
    counts: dict[tuple[int, str], int] = {
        (row["condition_id"], row["state"]): row["n"]
        for row in PrecomputeJob.objects.filter(condition__study=study)
        .values("condition_id", "state")
        .annotate(n=Count("id"))
        .order_by()
    }
    costs = {
        row["condition_id"]: row
        for table in (Ranking, Selection)
        for row in table.objects.filter(condition__study=study)
        .values("condition_id")
        .annotate(
            n=Count("id"),
            n_unknown=Count("id", filter=Q(cached_prompt_tokens__isnull=True)),
            n_fallback=Count("id", filter=Q(status="fallback")),
            calls=Sum("n_calls"),
            prompt=Sum("prompt_tokens"),
            cached=Sum("cached_prompt_tokens"),
            completion=Sum("completion_tokens"),
        )
        .order_by()
    }
    return [
        _condition_progress(condition, n_claims, counts, costs.get(condition.pk))
        for condition in conditions
    ]


def _condition_progress(
    condition: Condition, n_claims: int, counts: dict, cost: dict[str, Any] | None
) -> ConditionProgress:
    cost = cost or {}
    return ConditionProgress(
        condition=condition,
        n_claims=n_claims,
        queued=counts.get((condition.pk, JobState.QUEUED), 0),
        running=counts.get((condition.pk, JobState.LEASED), 0),
        done=cost.get("n", 0),
        failed=counts.get((condition.pk, JobState.FAILED), 0),
        fallback=cost.get("n_fallback", 0),
        calls=cost.get("calls", 0),
        prompt_tokens=cost.get("prompt", 0),
        cached_prompt_tokens=None if cost.get("n_unknown") else cost.get("cached", 0),
        completion_tokens=cost.get("completion", 0),
    )


def missing_evidence(rows: list[ConditionProgress]) -> list[str]:
    """One line for each condition whose rankings or selections are not complete."""
    problems = []
    for progress in rows:
        if progress.failed:
            problems.append(
                f"condition {progress.condition.name}: {progress.failed} of {progress.n_claims} "
                "claims failed; retry them (precompute)"
            )
        if progress.waiting:
            problems.append(
                f"condition {progress.condition.name}: {progress.waiting} of {progress.n_claims} "
                f"claims have no {_result_word(progress.condition)} yet; run precompute"
            )
    return problems


def failures_of(study: Study) -> list[PrecomputeJob]:
    """Failed jobs with claim and condition, in the claims' order."""
    return list(
        PrecomputeJob.objects.filter(condition__study=study, state=JobState.FAILED)
        .select_related("condition", "claim")
        .order_by("condition__position", "claim__position")
    )


def is_settled(study: Study) -> bool:
    """Whether no job of the study is waiting or running any more."""
    return not PrecomputeJob.objects.filter(
        condition__study=study, state__in=(JobState.QUEUED, JobState.LEASED)
    ).exists()


def _result_word(condition: Condition) -> str:
    return "ranking" if condition.interface == Interface.INCREMENTAL else "selection"


def note_presence(name: str) -> None:
    """Say that the worker ``name`` is alive."""
    WorkerPresence.objects.update_or_create(name=name, defaults={"seen_at": timezone.now()})


def forget_presence(name: str) -> None:
    """The worker has stopped properly."""
    WorkerPresence.objects.filter(name=name).delete()


def worker_answers() -> bool:
    """Whether any worker said in the last three periods that it is alive."""
    since = timezone.now() - timedelta(seconds=3 * PRESENCE_SECONDS)
    return WorkerPresence.objects.filter(seen_at__gte=since).exists()
