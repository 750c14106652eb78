"""The places of a study: how many are filled, held, free or closed, and what that fills.

A place is one person's work in one slot. Each kind of run fills places of its own, so everything
here is counted for one kind. What counts is who holds a place: a run that was returned, paid in
part, rejected or timed out keeps its data, and its place is filled by somebody else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, F, Q, Sum

from studyapp.enums import EnrolmentState, TrialKind, TrialState
from studyapp.models import Claim, PlannedTrial, Slot, Study, Subset, Trial
from studyapp.models.assignment import HOLDING, RUNNING


@dataclass
class Places:
    """Places by what they are now; ``over`` counts people beyond the target of a slot.

    ``target`` is ``completed + running + free + closed - over``.
    """

    target: int = 0
    completed: int = 0
    running: int = 0
    free: int = 0
    closed: int = 0
    over: int = 0

    def add(self, target: int, completed: int, running: int, over: int, *, is_closed: bool) -> None:
        """Count one slot's places. A closed slot has none that is free."""
        left = target - (completed + running - over)
        self.target += target
        self.completed += completed
        self.running += running
        self.over += over
        if is_closed:
            self.closed += left
        else:
            self.free += left

    def plus(self, other: Places) -> Places:
        """Both together."""
        return Places(
            *(mine + theirs for mine, theirs in zip(_all(self), _all(other), strict=True))
        )


def _all(places: Places) -> list[int]:
    return list(vars(places).values())


#: A subset's number and a condition's position.
CellKey = tuple[int, int]


@dataclass
class Filling:
    """The places of a study, and those of each cell: a subset under a condition.

    ``per_cycle`` is how many people every cell is planned for in one cycle; None where they differ.
    """

    all: Places = field(default_factory=Places)
    cells: dict[CellKey, Places] = field(default_factory=dict)
    n_cycles: int = 0
    per_cycle: int | None = None

    @property
    def subsets(self) -> list[int]:
        """The numbers of the subsets, in order."""
        return sorted({subset for subset, _ in self.cells})


def filling_of(study: Study, run_kind: str) -> Filling:
    """Count the places from the slots and who holds them: two queries."""
    closed_subsets = set(
        Subset.objects.filter(study=study, closed_at__isnull=False).values_list("number", flat=True)
    )
    found = Filling()
    planned: dict[tuple[int, int, int], int] = defaultdict(int)
    for slot in _slots_with_holders(study, run_kind):
        cells = [(subset, condition) for subset, condition in slot["cells"]]
        is_closed = slot["closed_at"] is not None or any(
            subset in closed_subsets for subset, _ in cells
        )
        numbers = (slot["target"], slot["n_completed"], slot["n_running"], slot["n_over"])
        found.all.add(*numbers, is_closed=is_closed)
        for cell in cells:
            found.cells.setdefault(cell, Places()).add(*numbers, is_closed=is_closed)
            planned[slot["replication"], *cell] += slot["target"]
    found.n_cycles = len({replication for replication, *_ in planned})
    sizes = set(planned.values())
    found.per_cycle = sizes.pop() if len(sizes) == 1 else None
    return found


def _slots_with_holders(study: Study, run_kind: str) -> Any:
    mine = Q(enrolments__run_kind=run_kind)
    return (
        Slot.objects.filter(study=study)
        .order_by()
        .annotate(
            n_completed=Count(
                "enrolments", filter=mine & Q(enrolments__state=EnrolmentState.COMPLETED)
            ),
            n_running=Count("enrolments", filter=mine & Q(enrolments__state__in=RUNNING)),
            n_over=Count(
                "enrolments",
                filter=mine & Q(enrolments__state__in=HOLDING, enrolments__seat__gt=F("target")),
            ),
        )
        .values("replication", "target", "cells", "closed_at", "n_completed", "n_running", "n_over")
    )


# ---- claims --------------------------------------------------------------------------------------


@dataclass
class ClaimCell:
    """One claim under one condition: people planned, finished, and holding a place for it."""

    planned: int = 0
    completed: int = 0
    running: int = 0


def claim_cells(
    study: Study, run_kind: str, claims: Collection[Claim]
) -> dict[tuple[int, int], ClaimCell]:
    """The cells of ``claims`` by primary keys of claim and condition: three queries.

    ``completed`` counts finished trials of runs that hold a place; ``running`` what people who hold
    one have still to do.
    """
    chosen = [claim.pk for claim in claims]
    cells: dict[tuple[int, int], ClaimCell] = defaultdict(ClaimCell)
    planned = PlannedTrial.objects.filter(slot__study=study, claim__in=chosen).order_by()
    targets = planned.values_list("claim_id", "condition_id").annotate(n=Sum("slot__target"))
    for claim, condition, n in targets:
        cells[claim, condition].planned = n
    held = Q(slot__enrolments__run_kind=run_kind, slot__enrolments__state__in=RUNNING)
    holders = planned.filter(held).values_list("claim_id", "condition_id")
    for claim, condition, n in holders.annotate(n=Count("slot__enrolments")):
        cells[claim, condition].running += n
    for claim, condition, state, n in _finished(run_kind, chosen):
        cells[claim, condition].completed += n
        if state in RUNNING:
            cells[claim, condition].running -= n
    return cells


def _finished(run_kind: str, claims: list[int]) -> Any:
    """Finished main trials by claim, condition and state of their run."""
    return (
        Trial.objects.filter(
            claim__in=claims,
            kind=TrialKind.MAIN,
            state=TrialState.COMPLETED,
            enrolment__run_kind=run_kind,
            enrolment__state__in=HOLDING,
        )
        .order_by()
        .values_list("claim_id", "condition_id", "enrolment__state")
        .annotate(n=Count("pk"))
    )


def finished_by_condition(study: Study) -> dict[tuple[str, int], int]:
    """Finished main trials of runs that hold a place, by kind of run and condition: one query."""
    rows = (
        Trial.objects.filter(
            enrolment__slot__study=study,
            kind=TrialKind.MAIN,
            state=TrialState.COMPLETED,
            enrolment__state__in=HOLDING,
        )
        .order_by()
        .values_list("enrolment__run_kind", "condition_id")
        .annotate(n=Count("pk"))
    )
    return {(kind, condition): n for kind, condition, n in rows}
