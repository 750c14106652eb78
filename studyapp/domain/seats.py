"""Which seat of which slot the next arrival gets.

A slot fills cells, each a subset under a condition. The next arrival gets the slot whose cells are
least filled by the runs of its kind that are finished or under way, so that who drops out is
replaced where it is missed most (statistics.md, section 3: every cell alike).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Exists, OuterRef, QuerySet, Value

from studyapp.enums import EnrolmentState, TrialKind, TrialState
from studyapp.errors import NoFreeSlot
from studyapp.models import Enrolment, PlannedTrial, Slot, Study, Subset, Trial
from studyapp.models.assignment import HOLDING, RUNNING

Cell = tuple[int, int]


class Seat(NamedTuple):
    """A place in a slot, both by number: the primary key of the slot, the seat from 1."""

    slot_id: int
    number: int


@dataclass(frozen=True, slots=True)
class Place:
    """What is asked of a slot here. ``is_open`` ones are given out, to this arrival if
    ``is_new`` as well (it has met none of the claims)."""

    pk: int
    target: int
    cells: tuple[Cell, ...]
    is_open: bool
    is_new: bool


@dataclass(frozen=True)
class Filling:
    """The slots of a study in their order, and the seats held in each by one kind of run."""

    places: list[Place]
    held: dict[int, set[int]]

    def loads(self, without: Counter[int] | None = None) -> Counter[Cell]:
        """How many runs fill each cell; ``without`` so many of a slot."""
        loads: Counter[Cell] = Counter()
        for place in self.places:
            n = len(self.held[place.pk]) - (without or {}).get(place.pk, 0)
            for cell in place.cells:
                loads[cell] += n
        return loads

    def free(self, place: Place, more: int = 0) -> Iterator[int]:
        """The free seats of a slot, ``more`` beyond its target too."""
        seats = range(1, place.target + more + 1)
        return (number for number in seats if number not in self.held[place.pk])

    def is_full(self) -> bool:
        """Whether every place that is given out is taken."""
        return not any(any(self.free(place)) for place in self.places if place.is_open)

    def best_seat(self, more: int = 0) -> Seat | None:
        """A free seat where the cells are least filled; among equals in the order of the slots."""
        loads = self.loads()
        free = (
            (sum(loads[cell] for cell in place.cells), Seat(place.pk, number))
            for place in self.places
            if place.is_open and place.is_new
            for number in [next(self.free(place, more), 0)]
            if number
        )
        best = min(free, key=lambda found: found[0], default=None)
        return best and best[1]


def take_seat(study: Study, run_kind: str, now: datetime, *, avoid: Set[int] = frozenset()) -> Seat:
    """A free seat for this kind of run; expired holders make room last.

    Slots with a claim in ``avoid`` (primary keys) are passed over, and so are closed ones. Once
    every place is taken, the study's ``extra_places`` beyond the target of each slot are given
    out. The caller holds the lock of the study. Three queries where a seat is free, whatever the
    size. Raises NoFreeSlot.
    """
    filling = read_filling(study, run_kind, avoid)
    seat = (
        filling.best_seat()
        or _extra_seat(study, filling)
        or _expired_seat(study, filling, run_kind, now, avoid)
    )
    if seat is None:
        raise NoFreeSlot("Every place in this study is taken. Thank you for your interest.")
    return seat


def read_filling(study: Study, run_kind: str, avoid: Set[int] = frozenset()) -> Filling:
    """The slots of a study and who holds them: three queries."""
    closed = set(closed_subsets(study).values_list("number", flat=True))
    met = PlannedTrial.objects.filter(slot=OuterRef("pk"), claim__in=avoid)
    slots = (
        Slot.objects.filter(study=study)
        .annotate(is_met=Exists(met) if avoid else Value(False))
        .order_by("replication", "number")
        .values_list("pk", "target", "cells", "closed_at", "is_met")
    )
    places = [_place(*row, closed) for row in slots]
    held: dict[int, set[int]] = {place.pk: set() for place in places}
    holders = Enrolment.objects.filter(
        slot__study=study, run_kind=run_kind, state__in=HOLDING
    ).values_list("slot_id", "seat")
    for slot_id, number in holders:
        held[slot_id].add(number)
    return Filling(places, held)


def free_seat_in(study: Study, run: Enrolment) -> int:
    """The seat that an ended run had in its slot, or the first free one. Raises NoFreeSlot."""
    held = set(
        Enrolment.objects.filter(
            slot=run.slot_id, run_kind=run.run_kind, state__in=HOLDING
        ).values_list("seat", flat=True)
    )
    seats = range(1, run.slot.target + study.recruiting_setting("extra_places") + 1)
    free = [number for number in seats if number not in held]
    if not free:
        raise NoFreeSlot(f"Every place of slot {run.slot} is taken.")
    return run.seat if run.seat in free else free[0]


def closed_subsets(study: Study) -> QuerySet[Subset]:
    """The subsets of which no slot is given out."""
    return Subset.objects.filter(study=study, closed_at__isnull=False)


def _place(
    pk: int, target: int, cells: Any, closed_at: datetime | None, is_met: bool, closed: set[int]
) -> Place:
    pairs = tuple((subset, condition) for subset, condition in cells)
    is_open = closed_at is None and not any(subset in closed for subset, _ in pairs)
    return Place(pk, target, pairs, is_open, is_new=not is_met)


def _extra_seat(study: Study, filling: Filling) -> Seat | None:
    """A seat beyond the target of a slot, where the study has such and all others are taken."""
    more = study.recruiting_setting("extra_places")
    return filling.best_seat(more) if more and filling.is_full() else None


def _expired_seat(
    study: Study, filling: Filling, run_kind: str, now: datetime, avoid: Set[int]
) -> Seat | None:
    """A seat whose holder's lease ran out, or one whose holder left while we looked.

    It is one where the fewest others fill the same cells, and among equals the longest expired.
    """
    can_take = {place.pk: place for place in filling.places if place.is_open and place.is_new}
    expired = list(_expired_holds(study, run_kind, now))
    loads = filling.loads(without=Counter(enrolment.slot_id for enrolment in expired))
    takable = [enrolment for enrolment in expired if enrolment.slot_id in can_take]
    takable.sort(key=lambda run: sum(loads[cell] for cell in can_take[run.slot_id].cells))
    for enrolment in takable:
        if _release_expired(enrolment, now):
            return Seat(enrolment.slot_id, enrolment.seat)
    return read_filling(study, run_kind, avoid).best_seat() if takable else None


def _expired_holds(study: Study, run_kind: str, now: datetime) -> QuerySet[Enrolment]:
    """Holds that nobody renewed in time. Who has only the questionnaire left keeps the slot."""
    last_trial = Trial.objects.filter(
        enrolment=OuterRef("pk"),
        kind=TrialKind.MAIN,
        state=TrialState.COMPLETED,
        position=OuterRef("slot__n_trials"),
    )
    return (
        Enrolment.objects.filter(slot__study=study, run_kind=run_kind, lease_until__lt=now)
        .filter(~Exists(last_trial), state__in=RUNNING)
        .order_by("lease_until", "pk")
        .only("slot_id", "seat")
    )


def _release_expired(enrolment: Enrolment, now: datetime) -> bool:
    """End an expired hold; its data stay, marked. False when the holder came back meanwhile."""
    released = Enrolment.objects.filter(
        pk=enrolment.pk, lease_until__lt=now, state__in=RUNNING
    ).update(state=EnrolmentState.TIMED_OUT, ended_at=now, end_reason="timed_out")
    if released:
        mark_incomplete(enrolment)
    return bool(released)


def mark_incomplete(enrolment: Enrolment) -> None:
    """The trial that a run was in when it ended will get no decision."""
    Trial.objects.filter(enrolment=enrolment, state=TrialState.OPEN).update(
        state=TrialState.INCOMPLETE
    )
