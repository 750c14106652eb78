"""The list of exports in words: what each is, how far it is, what can be done with it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from studyapp.domain import export_files, export_jobs
from studyapp.domain.progress import worker_answers
from studyapp.enums import JobState, SpreadsheetCopies
from studyapp.models import ExportJob, Study
from studyapp.views.researcher_card import Tone
from studyapp.views.researcher_words import ago, counted, listed, moment, number

#: Exports on the page; the command lists them all.
MOST_LISTED = 50


@dataclass(frozen=True)
class ExportRow:
    """One export, ready to print. ``facts`` and ``rows`` are empty without a sound file."""

    id: int
    title: str
    tone: Tone
    state: str
    asked: str
    error: str
    can_retry: bool
    has_file: bool
    size: str
    sha256: str
    n_rows: str
    rows: list[tuple[str, str]]


@dataclass(frozen=True)
class ExportList:
    """The exports of a study. ``is_silent``: one waits and no worker answers."""

    rows: list[ExportRow]
    is_under_way: bool
    is_silent: bool
    problems: list[str]


def export_list(study: Study, problems: list[str]) -> ExportList:
    """Read the list: one query, and one more while an export waits."""
    jobs = list(export_jobs.exports_of(study)[:MOST_LISTED])
    for job in jobs:
        job.study = study
    waits = any(job.state == JobState.QUEUED for job in jobs)
    now = timezone.now()
    return ExportList(
        rows=[_row(job, now) for job in jobs],
        is_under_way=any(job.state in (JobState.QUEUED, JobState.LEASED) for job in jobs),
        is_silent=waits and not worker_answers(),
        problems=problems,
    )


def _row(job: ExportJob, now: datetime) -> ExportRow:
    has_file = export_files.sound_file(job) is not None
    is_lost = job.state == JobState.DONE and not has_file
    tone, state = _state(job, is_lost, now)
    is_failed = job.state == JobState.FAILED
    return ExportRow(
        id=job.pk,
        title=_title(job),
        tone=tone,
        state=state,
        asked=f"Asked for on {moment(job.asked_at)} UTC by {_who(job)}.",
        error=(job.error or "no reason was recorded") if is_failed else "",
        can_retry=is_failed or is_lost,
        has_file=has_file,
        size=f"{number(job.n_bytes or 0)} bytes",
        sha256=job.sha256,
        n_rows=counted(sum(job.rows.values()), "row"),
        rows=[(name, number(n)) for name, n in job.rows.items()],
    )


def _title(job: ExportJob) -> str:
    more = [
        words
        for words, is_there in (
            ("simulated runs", job.with_simulated),
            ("JSON Lines", job.with_jsonl),
            ("spreadsheet copies", job.spreadsheet != SpreadsheetCopies.NONE),
        )
        if is_there
    ]
    return job.get_variant_display() + (f", with {listed(more)}" if more else "")


def _state(job: ExportJob, is_lost: bool, now: datetime) -> tuple[Tone, str]:
    if is_lost:
        return Tone.PROBLEM, "The file is missing or damaged, so it is not offered"
    if job.state == JobState.DONE and job.made_at:
        return Tone.DONE, f"Made on {moment(job.made_at)} UTC"
    if job.state == JobState.FAILED:
        return Tone.PROBLEM, "Failed"
    waits = "Waiting for a worker" if job.state == JobState.QUEUED else "Being made"
    return Tone.BUSY, f"{waits}; asked for {ago(job.asked_at, now)}"


def _who(job: ExportJob) -> str:
    return job.asked_by.get_username() if job.asked_by else "a command, or an account that is gone"
