"""Which seat of which slot the next arrival gets."""

from __future__ import annotations

from collections.abc import Set
from datetime import datetime
from typing import NamedTuple

from django.db.models import Exists, OuterRef, QuerySet

from studyapp.enums import EnrolmentState, TrialKind, TrialState
from studyapp.errors import NoFreeSlot
from studyapp.models import Enrolment, PlannedTrial, Slot, Study, Trial
from studyapp.models.assignment import HOLDING, RUNNING


class Seat(NamedTuple):
    """A place in a slot."""

    slot: Slot
    number: int


def take_seat(study: Study, run_kind: str, now: datetime, *, avoid: Set[int] = frozenset()) -> Seat:
    """The first slot with a free seat for this kind of run; expired holders make room last.

    Slots with a claim in ``avoid`` (primary keys) are passed over. The caller holds the lock of the
    study. Raises NoFreeSlot.
    """
    slots = _slots_without(study, avoid)
    seat = _free_seat(slots, run_kind) or _expired_seat(slots, run_kind, now)
    if seat is None:
        raise NoFreeSlot("Every place in this study is taken. Thank you for your interest.")
    return seat


def _slots_without(study: Study, avoid: Set[int]) -> list[Slot]:
    slots = Slot.objects.filter(study=study).order_by("replication", "number")
    if avoid:
        met = PlannedTrial.objects.filter(slot=OuterRef("pk"), claim__in=avoid)
        slots = slots.filter(~Exists(met))
    return list(slots)


def _free_seat(slots: list[Slot], run_kind: str) -> Seat | None:
    held: dict[int, set[int]] = {slot.pk: set() for slot in slots}
    if not slots:
        return None
    holders = Enrolment.objects.filter(
        slot__study=slots[0].study_id, run_kind=run_kind, state__in=HOLDING
    ).values_list("slot_id", "seat")
    for slot_id, number in holders:
        held.setdefault(slot_id, set()).add(number)
    for slot in slots:
        for number in range(1, slot.target + 1):
            if number not in held[slot.pk]:
                return Seat(slot, number)
    return None


def _expired_seat(slots: list[Slot], run_kind: str, now: datetime) -> Seat | None:
    """A seat whose holder's lease ran out, or one whose holder left while we looked."""
    by_pk = {slot.pk: slot for slot in slots}
    if not slots:
        return None
    for enrolment in _expired_holds(slots[0].study_id, run_kind, now):
        if enrolment.slot_id in by_pk and _release_expired(enrolment, now):
            return Seat(by_pk[enrolment.slot_id], enrolment.seat)
    return _free_seat(slots, run_kind)


def _expired_holds(study_id: int, run_kind: str, now: datetime) -> QuerySet[Enrolment]:
    """Holds that nobody renewed in time. Who has only the questionnaire left keeps the slot."""
    last_trial = Trial.objects.filter(
        enrolment=OuterRef("pk"),
        kind=TrialKind.MAIN,
        state=TrialState.COMPLETED,
        position=OuterRef("slot__n_trials"),
    )
    return (
        Enrolment.objects.filter(slot__study=study_id, run_kind=run_kind, lease_until__lt=now)
        .filter(~Exists(last_trial), state__in=RUNNING)
        .order_by("lease_until", "pk")
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
