"""Who holds a slot now, until when, and who was not heard from.

What a browser's silence means is told from stored events alone. A page that is hidden says so; one
in view that says nothing for SILENCE may have lost its connection, or somebody reads for long.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db.models import Count, IntegerField, OuterRef, Subquery
from django.db.models.functions import Coalesce

from studyapp.enums import EventKind, TrialKind, TrialState
from studyapp.models import Enrolment, Event, Study, Trial
from studyapp.models.assignment import RUNNING

#: A page in view that says nothing for longer is taken for a dropped connection.
SILENCE = timedelta(minutes=10)


@dataclass(frozen=True)
class Contact:
    """What the events of a trial say of its page.

    ``longest_gap`` is the longest time in view without a word between two events. ``is_silent``:
    the page is in view and the silence lasts.
    """

    heard_at: datetime
    longest_gap: timedelta
    is_silent: bool

    @property
    def is_back(self) -> bool:
        """Whether the page came back after a silence."""
        return self.longest_gap > SILENCE and not self.is_silent


def contact_of(events: Iterable[tuple[str, datetime]], now: datetime) -> Contact | None:
    """Go through one trial's events (kind, server time) in the server's order; None without any.

    Time never runs backwards here, whatever clocks say.
    """
    heard_at: datetime | None = None
    longest = timedelta(0)
    is_hidden = False
    for kind, server_at in events:
        at = server_at if heard_at is None else max(heard_at, server_at)
        if heard_at is not None and not is_hidden:
            longest = max(longest, at - heard_at)
        is_hidden = kind == EventKind.PAGE_HIDDEN or (is_hidden and kind != EventKind.PAGE_VISIBLE)
        heard_at = at
    if heard_at is None:
        return None
    return Contact(heard_at, longest, not is_hidden and now - heard_at > SILENCE)


@dataclass(frozen=True)
class HeldSlot:
    """A run under way and the slot that it holds. ``contact`` is None outside a trial."""

    participant: str
    slot: str
    run_kind: str
    state: str
    since: datetime
    lease_until: datetime
    n_done: int
    n_trials: int
    contact: Contact | None
    now: datetime

    @property
    def is_at_the_end(self) -> bool:
        """Whether only the last questions are left; such a run keeps its slot."""
        return bool(self.n_trials) and self.n_done >= self.n_trials

    @property
    def is_expired(self) -> bool:
        """Whether the next arrival may get the slot."""
        return self.lease_until < self.now and not self.is_at_the_end


def held_slots(study: Study, now: datetime) -> list[HeldSlot]:
    """Every run under way, those that expired first: two queries."""
    contacts = _contacts(study, now)
    rows = (
        Enrolment.objects.filter(slot__study=study, state__in=RUNNING)
        .annotate(n_done=finished_main_trials())
        .order_by("lease_until", "pk")
        .values(*_FIELDS)
    )
    held = [_held_slot(row, contacts.get(row["pk"]), now) for row in rows]
    return sorted(held, key=lambda each: not each.is_expired)


_FIELDS = (
    "pk",
    "participant__code",
    "slot__replication",
    "slot__number",
    "slot__n_trials",
    "run_kind",
    "state",
    "consented_at",
    "lease_until",
    "n_done",
)


def _held_slot(row: dict[str, Any], contact: Contact | None, now: datetime) -> HeldSlot:
    return HeldSlot(
        participant=row["participant__code"],
        slot=f"{row['slot__replication']}.{row['slot__number']}",
        run_kind=row["run_kind"],
        state=row["state"],
        since=row["consented_at"],
        lease_until=row["lease_until"],
        n_done=row["n_done"],
        n_trials=row["slot__n_trials"],
        contact=contact,
        now=now,
    )


def finished_main_trials() -> Coalesce:
    """For an annotation of runs: how many main trials are finished."""
    finished = Trial.objects.filter(
        enrolment=OuterRef("pk"), kind=TrialKind.MAIN, state=TrialState.COMPLETED
    )
    counts = finished.order_by().values("enrolment").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counts, output_field=IntegerField()), 0)


def _contacts(study: Study, now: datetime) -> dict[int, Contact]:
    """What is known of every trial that is open, by its run: one query."""
    events = (
        Event.objects.filter(
            trial__enrolment__slot__study=study,
            trial__enrolment__state__in=RUNNING,
            trial__state=TrialState.OPEN,
        )
        .order_by("trial__enrolment_id", "seq")
        .values_list("trial__enrolment_id", "kind", "server_at")
    )
    found = {}
    for run, group in groupby(events, key=itemgetter(0)):
        contact = contact_of(((kind, at) for _, kind, at in group), now)
        assert contact is not None  # a group has an event
        found[run] = contact
    return found
