"""Slots and subsets that are given to nobody any more, and the way back.

Runs that are under way in them go on, and what was done there stays and counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from studyapp.domain import audit
from studyapp.enums import AuditAction, StudyState
from studyapp.errors import NotEditable, StudyError
from studyapp.models import Slot, Study, Subset


def close_slots(study: Study, replication: int, number: int | None = None) -> int:
    """Give a slot, or every slot of a replication, to nobody any more; returns how many.

    Raises StudyError where there is no such slot, or none of them is open; NotEditable, as all here
    do, where the study is closed.
    """
    return _change_slots(study, replication, number, is_closing=True)


def reopen_slots(study: Study, replication: int, number: int | None = None) -> int:
    """Give closed slots out again; returns how many. Raises StudyError as ``close_slots`` does."""
    return _change_slots(study, replication, number, is_closing=False)


def close_subset(study: Study, number: int) -> None:
    """Give no slot with the claims of a subset to anybody any more.

    Raises StudyError where there is no such subset, or it is closed already.
    """
    _change_subset(study, number, is_closing=True)


def reopen_subset(study: Study, number: int) -> None:
    """Give the slots of a closed subset out again, but for those that are closed by themselves.

    Raises StudyError where there is no such subset, or it is not closed.
    """
    _change_subset(study, number, is_closing=False)


def closed_of(study: Study) -> list[str]:
    """The closed slots and subsets of a study, by name: two queries."""
    slots = Slot.objects.filter(study=study, closed_at__isnull=False)
    subsets = Subset.objects.filter(study=study, closed_at__isnull=False)
    return [f"slot {slot}" for slot in slots] + [f"subset {subset}" for subset in subsets]


def refuse_closed(study: Study) -> None:
    """Raise NotEditable where the study is closed: nothing in it goes on or is given out."""
    if study.state == StudyState.CLOSED:
        raise NotEditable("the study is closed: it takes no answers and gives out no place.")


def _change_slots(study: Study, replication: int, number: int | None, *, is_closing: bool) -> int:
    name = str(replication) if number is None else f"{replication}.{number}"
    with _locked(study):
        slots = Slot.objects.filter(study=study, replication=replication)
        if number is not None:
            slots = slots.filter(number=number)
        what = f"slot {name}" if number is not None else f"slots of replication {name}"
        n = _change(slots, what, is_closing=is_closing)
        audit.record(_ACTIONS[is_closing], study, slot=name)
    return n


def _change_subset(study: Study, number: int, *, is_closing: bool) -> None:
    with _locked(study):
        subsets = Subset.objects.filter(study=study, number=number)
        _change(subsets, f"subset {number}", is_closing=is_closing)
        audit.record(_ACTIONS[is_closing], study, subset=number)


_ACTIONS = {True: AuditAction.SLOTS_CLOSED, False: AuditAction.SLOTS_REOPENED}


@contextmanager
def _locked(study: Study) -> Iterator[None]:
    """Arrivals wait: whoever comes after has seen the change."""
    with transaction.atomic():
        refuse_closed(Study.objects.select_for_update(no_key=True).get(pk=study.pk))
        yield


def _change(rows: QuerySet, what: str, *, is_closing: bool) -> int:
    """Close or open the rows that are not so yet. Raises StudyError where there is none."""
    changing = rows.filter(closed_at__isnull=is_closing)
    n = changing.update(closed_at=timezone.now() if is_closing else None)
    if not n and not rows.exists():
        raise StudyError(f"{what}: the schedule of this study has none.")
    if not n:
        raise StudyError(f"{what}: {'closed already' if is_closing else 'not closed'}.")
    return n
