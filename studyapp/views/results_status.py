"""What is said about a result beside its numbers: how old it is, and what is being done."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.utils import timezone

from studyapp.domain.results_jobs import Results
from studyapp.enums import JobState
from studyapp.views.researcher_words import ago, counted, moment


@dataclass(frozen=True)
class Status:
    """The line above a result, in parts.

    ``stamp`` says what the last result was made from, ``change`` what has happened since (empty:
    nothing), ``work`` what is being done about it. ``is_silent``: a job waits and no worker
    answers. ``error`` is the reason of a failure.
    """

    stamp: str
    change: str
    work: str
    error: str
    is_under_way: bool
    is_silent: bool
    is_stale: bool
    problems: tuple[str, ...]


def status_of(results: Results, made: str = "Computed") -> Status:
    """Put a job's state into words; ``made`` is the verb of the stamp."""
    job = results.job
    has_result = results.content is not None
    is_stale = has_result and not results.is_current
    is_silent = results.is_under_way and not results.is_answered and _waits(results)
    return Status(
        stamp=_stamp(results, made) if has_result else "",
        change=_change(results) if is_stale else "",
        work=_work(results, timezone.now()),
        error=(job.error or "no reason was recorded") if job and results.has_failed else "",
        is_under_way=results.is_under_way,
        is_silent=is_silent,
        is_stale=is_stale,
        problems=results.problems,
    )


def query_of(**wanted: object) -> str:
    """A query string of what was asked for, or nothing."""
    said = {name: "on" if value is True else value for name, value in wanted.items() if value}
    return f"?{urlencode(said)}" if said else ""


def _waits(results: Results) -> bool:
    return results.job is not None and results.job.state == JobState.QUEUED


def _stamp(results: Results, made: str) -> str:
    job = results.job
    if job is None or job.computed_at is None:
        return ""
    trials = counted(job.n_trials, "completed trial")
    return f"{made} from {trials} on {moment(job.computed_at)} UTC."


def _change(results: Results) -> str:
    n = results.now.n_trials - (results.job.n_trials if results.job else 0)
    if n > 0:
        return f"{counted(n, 'trial')} {'has' if n == 1 else 'have'} finished since."
    if n < 0:
        return f"{counted(-n, 'trial')} of them {'counts' if n == -1 else 'count'} no longer."
    return "Since then, the state of a person, a trial or the study has changed."


def _work(results: Results, now: datetime) -> str:
    job = results.job
    if job is None or not results.is_under_way:
        return ""
    again = " again" if results.content is not None else ""
    asked = f"asked for {ago(job.asked_at, now)}"
    if not _waits(results):
        return f"Being computed{again}; {asked}."
    if results.is_answered:
        return f"Waiting for a worker to compute it{again}; {asked}."
    return "Queued; no worker answers."
