"""How precompute stands, ready to print: the rankings card, and the head of the rankings page."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from django.utils import timezone

from studyapp.domain import precompute, progress, spending
from studyapp.domain.progress import ConditionProgress
from studyapp.domain.spending import Account
from studyapp.errors import StudyError
from studyapp.models import Study
from studyapp.views.researcher_card import Tone
from studyapp.views.researcher_words import counted, duration, moment, number


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
class PrecomputeStatus:
    """How the study's rankings stand.

    ``is_settled``: no job runs, and none waits for anything but a higher limit. ``limit`` says
    which limit keeps jobs waiting, if one does; ``to_queue`` and ``to_retry`` how many claims lack
    a job and how many failed, empty where there are none.
    """

    tone: Tone
    state: str
    progress: list[ConditionProgress]
    rows: list[ConditionRow]
    is_settled: bool
    is_silent: bool
    time_line: str
    to_queue: str
    to_retry: str
    limit: str
    fallback_note: str
    problems: list[str] = field(default_factory=list)


def ring(study: Study, account: Account | None = None) -> list[str]:
    """Ring for jobs that were left behind; a broker that cannot be reached is said, not raised."""
    try:
        precompute.ring_due(study, account)
    except StudyError as error:
        return error.problems
    return []


def precompute_status(
    study: Study,
    problems: list[str] | None = None,
    rows: list[ConditionProgress] | None = None,
    account: Account | None = None,
) -> PrecomputeStatus:
    """Read how a study's rankings stand; ``problems`` are shown above it. At most seven queries.

    ``rows`` and ``account`` are given where the caller has read them already.
    """
    account = account or spending.account_of(study)
    rows = progress.progress_of(study, account=account) if rows is None else rows
    is_settled = all(row.is_settled for row in rows)
    is_silent = not is_settled and not progress.worker_answers()
    tone, state = _state(rows, account, is_settled, is_silent)
    n_failed = sum(row.failed for row in rows)
    n_missing = sum(row.missing for row in rows)
    return PrecomputeStatus(
        tone=tone,
        state=state,
        progress=rows,
        rows=[_row(row) for row in rows if row.n_claims],
        is_settled=is_settled,
        is_silent=is_silent,
        time_line="" if is_silent else _time_line(rows, is_settled, timezone.now()),
        to_queue=number(n_missing) if n_missing and tone != Tone.WAITING else "",
        to_retry=number(n_failed) if n_failed else "",
        limit=_limit(rows, account),
        fallback_note=_fallback_note(sum(row.fallback for row in rows)),
        problems=problems or [],
    )


def _state(
    rows: list[ConditionProgress], account: Account, is_settled: bool, is_silent: bool
) -> tuple[Tone, str]:
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
    if n_held := _n_held(rows):
        return Tone.PROBLEM, (
            f"{number(n_held)} of {number(total)} wait: limit of {account.reached} reached"
        )
    if failed:
        return Tone.PROBLEM, f"{number(failed)} of {number(total)} failed"
    if done < total:
        return Tone.NEXT, f"{number(total - done)} of {number(total)} still to prepare"
    return Tone.DONE, f"All {number(total)} are stored"


def _n_held(rows: list[ConditionProgress]) -> int:
    return sum(row.queued for row in rows if row.is_held)


def _limit(rows: list[ConditionProgress], account: Account) -> str:
    n_held = _n_held(rows)
    if not n_held:
        return ""
    return (
        f"The study's limit of {account.reached} is reached. {counted(n_held, 'claim')} "
        f"{'waits' if n_held == 1 else 'wait'} and will go on when the limit is raised; "
        "nothing is lost."
    )


def _row(row: ConditionProgress) -> ConditionRow:
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
        computing=duration(row.seconds) if row.done else "–",
        calls=number(row.calls),
        prompt_tokens=number(row.prompt_tokens),
        cached_tokens="unknown" if cached is None else number(cached),
        completion_tokens=number(row.completion_tokens),
    )


def _time_line(rows: list[ConditionProgress], is_settled: bool, now: datetime) -> str:
    begun = [row.begun_at for row in rows if row.begun_at]
    finished = [row.finished_at for row in rows if row.finished_at]
    if not is_settled and begun:
        return f"Elapsed: {duration((now - min(begun)).total_seconds())}."
    if is_settled and finished:
        return f"Last finished {moment(max(finished))} UTC."
    return ""


def _fallback_note(n_fallback: int) -> str:
    if not n_fallback:
        return ""
    return (
        f"{counted(n_fallback, 'result')} ended with a fallback: from some rank on the order is "
        "not the method's own. The export marks where."
    )
