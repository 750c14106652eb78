"""The participants card: the link to give out, where everybody is, and who holds which slot."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Max, Sum
from django.utils import timezone

from studyapp.domain.personal_links import takes_personal_links_only
from studyapp.domain.queries import run_counts, runs_of
from studyapp.domain.recruiting import recruits_by_id, study_link
from studyapp.enums import EnrolmentState, RunKind, StudyState, TrialState
from studyapp.models import Enrolment, Event, Study, Trial
from studyapp.models.assignment import HOLDING, RUNNING
from studyapp.views.researcher_card import Card, Tone
from studyapp.views.researcher_recruiting import recruiting_content
from studyapp.views.researcher_words import ago, counted, listed, moment, number


@dataclass(frozen=True)
class RunRow:
    """One run, ready to print."""

    participant: str
    slot: str
    state: str
    note: str
    done: str
    last_activity: str
    last_activity_at: str


@dataclass(frozen=True)
class RunTable:
    """Runs of one kind. ``is_real`` ones come first and stand open."""

    title: str
    is_real: bool
    rows: list[RunRow]


@dataclass(frozen=True)
class People:
    """Where everybody is: counts of states by kind of run, seats, and every run."""

    counts: dict[str, dict[str, int]]
    n_seats: int
    tables: list[RunTable]

    @property
    def n_taken(self) -> int:
        """Seats that real participants hold."""
        return sum(self.counts[RunKind.REAL][state] for state in HOLDING)

    @property
    def n_under_way(self) -> int:
        return sum(self.counts[RunKind.REAL][state] for state in RUNNING)


def people_of(study: Study) -> People:
    """Read everybody's state: the same number of queries for any number of people."""
    now = timezone.now()
    last_activity = _last_activity(study)
    rows: dict[str, list[RunRow]] = {kind: [] for kind in RunKind.values}
    for run in runs_of(study):
        rows[run.run_kind].append(_run_row(run, last_activity.get(run.pk), now))
    return People(
        counts={kind: run_counts(study, kind) for kind in RunKind.values},
        n_seats=study.slots.aggregate(n=Sum("target"))["n"] or 0,
        tables=[
            RunTable(f"{RunKind(kind).label} runs", kind == RunKind.REAL, rows[kind])
            for kind in RunKind.values
            if rows[kind]
        ],
    )


def people_card(study: Study, people: People) -> Card:
    """Recruiting and monitoring in one place."""
    is_draft = study.is_draft
    completed = people.counts[RunKind.REAL][EnrolmentState.COMPLETED]
    if is_draft:
        state, tone = "Opens with the study", Tone.WAITING
    else:
        state = _only_others(people) or (
            f"{number(people.n_taken)} of {counted(people.n_seats, 'place')} taken, "
            f"{number(completed)} completed"
        )
        is_full = completed >= people.n_seats > 0
        tone = Tone.DONE if is_full else (Tone.BUSY if study.is_open else Tone.PLAIN)
    return Card(
        anchor="participants",
        title="Participants",
        tone=tone,
        state=state,
        template="researcher/_participants.html",
        is_open=not is_draft,
        content={
            "link": study_link(study),
            "recruiting": {} if is_draft else recruiting_content(study, timezone.now()),
            "is_draft": is_draft,
            "link_note": _link_note(study, people),
            "kinds": [kind.label for kind in _kinds(people)],
            "counts": _count_rows(people),
            "totals": [number(sum(people.counts[kind].values())) for kind in _kinds(people)],
            "tables": people.tables,
        },
    )


def _only_others(people: People) -> str:
    """What is said of pilot and simulated runs where nobody else has come; else empty."""
    if any(people.counts[RunKind.REAL].values()):
        return ""
    return listed(
        [
            f"{counted(finished, f'{kind} run')} finished"
            for kind in (RunKind.PILOT, RunKind.SIMULATED)
            if (finished := people.counts[kind][EnrolmentState.COMPLETED])
        ]
    )


def _link_note(study: Study, people: People) -> str:
    if study.state == StudyState.PAUSED:
        return "The study is paused: the link says so, and nobody can join."
    if study.state == StudyState.CLOSED:
        return "The study is closed: the link says so, and nobody can join."
    free = people.n_seats - people.n_taken
    if free <= 0:
        return "Every place is taken. Add a cycle to the schedule to let more people in."
    if takes_personal_links_only(study):
        return (
            "It opens nothing by itself: everybody needs a link of their own, made on the page "
            "Recruiting."
        )
    same = "" if recruits_by_id(study) else "Everybody gets the same link; "
    takes = "the consent form takes the next free slot."
    return f"{counted(free, 'place')} free. {same}{takes if same else takes.capitalize()}"


def _kinds(people: People) -> list[RunKind]:
    """Real runs always; the other kinds where there are any."""
    return [kind for kind in RunKind if kind == RunKind.REAL or any(people.counts[kind].values())]


def _count_rows(people: People) -> list[dict]:
    return [
        {
            "label": state.label,
            "cells": [number(people.counts[kind][state]) for kind in _kinds(people)],
        }
        for state in EnrolmentState
    ]


def _run_row(run: Enrolment, seen_at: datetime | None, now: datetime) -> RunRow:
    seen_at = seen_at or run.consented_at
    return RunRow(
        participant=run.participant.code,
        slot=str(run.slot),
        state=run.get_state_display(),
        note=_run_note(run, now),
        done=f"{number(run.n_done)} of {number(run.slot.n_trials)}",
        last_activity=ago(seen_at, now),
        last_activity_at=f"{moment(seen_at)} UTC",
    )


def _run_note(run: Enrolment, now: datetime) -> str:
    """What there is to know of a run under way."""
    if run.state not in RUNNING:
        return ""
    if run.slot.n_trials and run.n_done >= run.slot.n_trials:
        return "all trials done, at the last questions"
    return "place expired: the next arrival may get it" if run.lease_until < now else ""


def _last_activity(study: Study) -> dict[int, datetime]:
    """The last server time of each run. Only unfinished trials are looked up in the history:
    a finished one ends with its decision."""
    trials = (
        Trial.objects.filter(enrolment__slot__study=study)
        .values_list("enrolment_id")
        .annotate(started=Max("started_at"), ended=Max("ended_at"))
        .order_by()
    )
    events = (
        Event.objects.filter(
            trial__enrolment__slot__study=study,
            trial__state__in=(TrialState.OPEN, TrialState.INCOMPLETE),
        )
        .values_list("trial__enrolment_id")
        .annotate(last=Max("server_at"))
        .order_by()
    )
    seen: dict[int, datetime] = {}
    for run_id, started, ended in trials:
        seen[run_id] = max(started, ended or started)
    for run_id, last in events:
        seen[run_id] = max(last, seen[run_id])
    return seen
