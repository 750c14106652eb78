"""What a researcher sees of precompute: progress, cost, failures, and whether a worker answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Max, Min, Q, Sum
from django.utils import timezone

from studyapp.domain import spending
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
    """How far one condition is, and what it cost. ``cached_prompt_tokens`` None: unknown.

    ``is_held``: its queued jobs wait because the study's spend limit is reached. ``seconds`` is
    the time its method worked; ``begun_at`` when the bell for its oldest unsettled job rang.
    """

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
    seconds: float = 0.0
    is_held: bool = False
    begun_at: datetime | None = None
    finished_at: datetime | None = None

    @property
    def waiting(self) -> int:
        """Claims that are neither done nor failed, whether or not a job was queued for them."""
        return self.n_claims - self.done - self.failed

    @property
    def missing(self) -> int:
        """Claims without a result for which no job is on its way."""
        return max(self.waiting - self.queued - self.running, 0)

    @property
    def is_settled(self) -> bool:
        """Whether no job runs, and none waits for anything but a higher limit."""
        return not self.running and (self.is_held or not self.queued)


def progress_of(
    study: Study,
    conditions: list[Condition] | None = None,
    n_claims: int | None = None,
    account: spending.Account | None = None,
) -> list[ConditionProgress]:
    """Counts and cost per condition, from the stored rows, whatever the size: three queries.

    One more for each of the conditions, the number of main claims and the study's account that the
    caller does not know.
    """
    if n_claims is None:
        n_claims = main_claims(study).count()
    if conditions is None:
        conditions = list(study.conditions.order_by("position"))
    jobs: dict[tuple[int, str], dict[str, Any]] = {
        (row["condition_id"], row["state"]): row
        for row in PrecomputeJob.objects.filter(condition__study=study)
        .values("condition_id", "state")
        .annotate(n=Count("id"), begun=Min("rung_at"), finished=Max("finished_at"))
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
            seconds=Sum("seconds"),
        )
        .order_by()
    }
    is_reached = bool((account or spending.account_of(study)).reached)
    return [
        _condition_progress(
            condition,
            n_claims,
            {state: jobs.get((condition.pk, state), {}) for state in JobState.values},
            costs.get(condition.pk, {}),
            is_held=is_reached and spending.is_paid(condition),
        )
        for condition in conditions
    ]


def _condition_progress(
    condition: Condition,
    n_claims: int,
    jobs: dict[str, dict[str, Any]],
    cost: dict[str, Any],
    *,
    is_held: bool,
) -> ConditionProgress:
    unsettled = [jobs[state].get("begun") for state in (JobState.QUEUED, JobState.LEASED)]
    finished = [row.get("finished") for row in jobs.values()]
    return ConditionProgress(
        condition=condition,
        n_claims=n_claims,
        queued=jobs[JobState.QUEUED].get("n", 0),
        running=jobs[JobState.LEASED].get("n", 0),
        done=cost.get("n", 0),
        failed=jobs[JobState.FAILED].get("n", 0),
        fallback=cost.get("n_fallback", 0),
        calls=cost.get("calls", 0),
        prompt_tokens=cost.get("prompt", 0),
        cached_prompt_tokens=None if cost.get("n_unknown") else cost.get("cached", 0),
        completion_tokens=cost.get("completion", 0),
        seconds=cost.get("seconds", 0.0),
        is_held=is_held,
        begun_at=min((at for at in unsettled if at), default=None),
        finished_at=max((at for at in finished if at), default=None),
    )


def missing_evidence(rows: list[ConditionProgress]) -> list[str]:
    """One line for each condition whose rankings or selections are not complete."""
    problems = []
    for progress in rows:
        if progress.failed:
            problems.append(
                f"condition {progress.condition.name}: {progress.failed} of {progress.n_claims} "
                "claims failed; retry them on the page Rankings (or run precompute)"
            )
        if progress.waiting:
            problems.append(f"condition {progress.condition.name}: {_waiting_words(progress)}")
    return problems


def _waiting_words(progress: ConditionProgress) -> str:
    """No count where jobs are at work: a page that shows it would be wrong a second later."""
    result = _result_word(progress.condition)
    if not progress.missing and not progress.is_held:
        return f"claims have no {result} yet; they are being prepared"
    todo = "raise the limit" if progress.is_held else "press “Prepare the … missing”"
    return (
        f"{progress.waiting} of {progress.n_claims} claims have no {result} yet; {todo} on the "
        "page Rankings (or run precompute)"
    )


def failures_of(study: Study) -> list[PrecomputeJob]:
    """Failed jobs with claim and condition, in the claims' order."""
    return list(
        PrecomputeJob.objects.filter(condition__study=study, state=JobState.FAILED)
        .select_related("condition", "claim")
        .order_by("condition__position", "claim__position")
    )


def is_settled(study: Study) -> bool:
    """Whether no job runs, and none waits for anything but a higher limit."""
    unsettled = PrecomputeJob.objects.filter(
        condition__study=study, state__in=(JobState.QUEUED, JobState.LEASED)
    )
    if held := spending.held_conditions(study):
        unsettled = unsettled.exclude(state=JobState.QUEUED, condition_id__in=held)
    return not unsettled.exists()


def held_jobs(study: Study) -> int:
    """How many jobs wait because the study's spend limit is reached."""
    held = spending.held_conditions(study)
    return PrecomputeJob.objects.filter(condition_id__in=held, state=JobState.QUEUED).count()


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
