"""The rankings card: progress and cost per condition, failures, and whether a worker answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Max, Min, Q, Sum
from django.utils import timezone

from studyapp.domain import precompute, progress
from studyapp.domain.progress import ConditionProgress
from studyapp.enums import JobState
from studyapp.errors import StudyError
from studyapp.models import PrecomputeJob, Ranking, Selection, Study
from studyapp.views.researcher_card import Tone
from studyapp.views.researcher_words import counted, duration, moment, number

#: Failed claims listed on the page; the command lists them all.
MAX_FAILURES = 50
UNSETTLED = Q(state__in=(JobState.QUEUED, JobState.LEASED))


@dataclass(frozen=True)
class ConditionRow:
    """One condition's line, ready to print; ``done_value`` and ``n_claims`` draw its bar."""

    name: str
    done_value: int
    n_claims: int
    done: str
    queued: str
    running: str
    failed: str
    fallback: str
    computing: str
    calls: str
    prompt_tokens: str
    cached_tokens: str
    completion_tokens: str


@dataclass(frozen=True)
class FailureRow:
    """A failed claim; ``key`` changes with every new failure of it."""

    job_id: int
    key: str
    condition: str
    claim_id: str
    claim_text: str
    reason: str
    attempts: str
    has_reply: bool


@dataclass(frozen=True)
class PrecomputeStatus:
    """Everything the rankings card says. ``is_settled``: no job is waiting or running."""

    tone: Tone
    state: str
    rows: list[ConditionRow]
    failures: list[FailureRow]
    failed: str
    n_unlisted: int
    is_settled: bool
    is_silent: bool
    time_line: str
    to_queue: str
    fallback_note: str
    problems: list[str] = field(default_factory=list)


def ring(study: Study) -> list[str]:
    """Ring for jobs that were left behind; a broker that cannot be reached is said, not raised."""
    try:
        precompute.ring_due(study)
    except StudyError as error:
        return error.problems
    return []


def precompute_status(
    study: Study,
    problems: list[str] | None = None,
    rows: list[ConditionProgress] | None = None,
) -> PrecomputeStatus:
    """Read the rankings card from the stored rows; ``problems`` are shown on top of it.

    ``rows`` is the progress where the caller has read it already.
    """
    rows = progress.progress_of(study) if rows is None else rows
    failures = progress.failures_of(study) if any(row.failed for row in rows) else []
    seconds = _computing_seconds(study)
    is_settled = not sum(row.queued + row.running for row in rows)
    is_silent = not is_settled and not progress.worker_answers()
    listed = failures[:MAX_FAILURES]
    tone, state = _state(rows, is_settled, is_silent)
    n_unqueued = sum(row.waiting - row.queued - row.running for row in rows)
    return PrecomputeStatus(
        tone=tone,
        state=state,
        rows=[_row(row, seconds.get(row.condition.pk, 0.0)) for row in rows if row.n_claims],
        failures=[_failure(job) for job in listed],
        failed=counted(len(failures), "failed claim"),
        n_unlisted=len(failures) - len(listed),
        is_settled=is_settled,
        is_silent=is_silent,
        time_line="" if is_silent else _time_line(study, is_settled, timezone.now()),
        to_queue=number(n_unqueued) if n_unqueued > 0 and tone != Tone.WAITING else "",
        fallback_note=_fallback_note(sum(row.fallback for row in rows)),
        problems=problems or [],
    )


def _state(rows: list[ConditionProgress], is_settled: bool, is_silent: bool) -> tuple[Tone, str]:
    total = sum(row.n_claims for row in rows)
    done = sum(row.done for row in rows)
    failed = sum(row.failed for row in rows)
    if not total:
        return Tone.WAITING, "Waits for claims and conditions"
    if is_silent:
        return Tone.PROBLEM, f"No worker answers; {number(done)} of {number(total)} done"
    if not is_settled:
        said = f", {number(failed)} failed" if failed else ""
        return Tone.BUSY, f"Running: {number(done)} of {number(total)} done{said}"
    if failed:
        return Tone.PROBLEM, f"{number(failed)} of {number(total)} failed"
    if done < total:
        return Tone.NEXT, f"{number(total - done)} of {number(total)} still to prepare"
    return Tone.DONE, f"All {number(total)} are stored"


def _row(row: ConditionProgress, seconds: float) -> ConditionRow:
    cached = row.cached_prompt_tokens
    return ConditionRow(
        name=row.condition.name,
        done_value=row.done,
        n_claims=row.n_claims,
        done=f"{number(row.done)} of {number(row.n_claims)}",
        queued=number(row.queued),
        running=number(row.running),
        failed=number(row.failed),
        fallback=number(row.fallback),
        computing=duration(seconds) if row.done else "–",
        calls=number(row.calls),
        prompt_tokens=number(row.prompt_tokens),
        cached_tokens="unknown" if cached is None else number(cached),
        completion_tokens=number(row.completion_tokens),
    )


def _failure(job: PrecomputeJob) -> FailureRow:
    finished = int(job.finished_at.timestamp() * 1000) if job.finished_at else 0
    return FailureRow(
        job_id=job.pk,
        key=f"{job.pk}-{finished}",
        condition=job.condition.name,
        claim_id=job.claim.claim_id,
        claim_text=job.claim.text,
        reason=job.error or "no reason was recorded",
        attempts=counted(job.n_attempts, "attempt"),
        has_reply=bool(job.raw_reply),
    )


def _computing_seconds(study: Study) -> dict[int, float]:
    """Time the method worked, by condition: workers side by side count each for itself."""
    return {
        row["condition_id"]: row["seconds"]
        for table in (Ranking, Selection)
        for row in table.objects.filter(condition__study=study)
        .values("condition_id")
        .annotate(seconds=Sum("seconds"))
        .order_by()
    }


def _time_line(study: Study, is_settled: bool, now: datetime) -> str:
    times = PrecomputeJob.objects.filter(condition__study=study).aggregate(
        begun=Min("rung_at", filter=UNSETTLED), finished=Max("finished_at")
    )
    if not is_settled and times["begun"]:
        return f"Elapsed: {duration((now - times['begun']).total_seconds())}."
    if is_settled and times["finished"]:
        return f"Last finished {moment(times['finished'])} UTC."
    return ""


def _fallback_note(n_fallback: int) -> str:
    if not n_fallback:
        return ""
    return (
        f"{counted(n_fallback, 'result')} ended with a fallback: from some rank on the order is "
        "not the method's own. The export marks where."
    )
