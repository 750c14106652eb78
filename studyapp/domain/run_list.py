"""Runs as a list: filtered, sorted, page by page, with how far each one came."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, F, Max, Q, QuerySet

from studyapp.enums import TrialKind, TrialState
from studyapp.models import Enrolment, Event, Study, Trial

#: What a list can be sorted by, and the fields behind it.
SORTS: dict[str, tuple[str, ...]] = {
    "participant": ("participant__code",),
    "slot": ("slot__replication", "slot__number"),
    "kind": ("run_kind",),
    "state": ("state",),
    "joined": ("consented_at",),
    "ended": ("ended_at",),
}


def chosen(
    runs: QuerySet[Enrolment],
    *,
    state: str | None = None,
    kind: str | None = None,
    slot: str | None = None,
    pseudonym: str | None = None,
) -> QuerySet[Enrolment]:
    """The runs in a state, of a kind, on a slot (``cycle.number``), with a part of a pseudonym.

    What is empty or None lets everything through.
    """
    if state:
        runs = runs.filter(state=state)
    if kind:
        runs = runs.filter(run_kind=kind)
    if slot:
        replication, number = slot.split(".")
        runs = runs.filter(slot__replication=int(replication), slot__number=int(number))
    if pseudonym:
        runs = runs.filter(participant__code__contains=pseudonym.lower())
    return runs


def listed(study: Study, sort: str = "joined", *, descending: bool = False) -> QuerySet[Enrolment]:
    """Every run with its slot and participant, sorted; runs that are alike by the time they came.

    ``sort`` is a key of SORTS. What has no value comes last.
    """
    keys = [
        F(name).desc(nulls_last=True) if descending else F(name).asc(nulls_last=True)
        for name in SORTS[sort]
    ]
    runs = Enrolment.objects.filter(slot__study=study).select_related("slot", "participant")
    return runs.order_by(*keys, "pk")


@dataclass(frozen=True)
class Progress:
    """How many main trials of a run are finished, and when it was last heard from."""

    n_done: int
    heard_at: datetime


def progress_of(runs: Collection[int]) -> dict[int, Progress]:
    """The progress of runs that have begun, by primary key: two queries.

    Only unfinished trials are looked up in the history: a finished one ends with its decision.
    """
    done = Q(state=TrialState.COMPLETED, kind=TrialKind.MAIN)
    trials = (
        Trial.objects.filter(enrolment__in=runs)
        .order_by()
        .values_list("enrolment_id")
        .annotate(n=Count("pk", filter=done), started=Max("started_at"), ended=Max("ended_at"))
    )
    unfinished = (TrialState.OPEN, TrialState.INCOMPLETE)
    events = (
        Event.objects.filter(trial__enrolment__in=runs, trial__state__in=unfinished)
        .order_by()
        .values_list("trial__enrolment_id")
        .annotate(last=Max("server_at"))
    )
    heard = dict(events)
    return {
        run: Progress(n, max(started, ended or started, heard.get(run, started)))
        for run, n, started, ended in trials
    }
