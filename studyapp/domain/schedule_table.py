"""The schedule read as a table: its slots and how they stand, its claims, its strata.

Every read is a fixed number of queries, and what is read in pages is read for the page alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, QuerySet

from studyapp.domain.balance import SlotKey
from studyapp.domain.queries import main_claims
from studyapp.enums import EnrolmentState, RunKind, SlotState
from studyapp.models import Claim, Enrolment, PlannedTrial, Slot, Study, Subset
from studyapp.models.assignment import HOLDING


@dataclass(frozen=True)
class SlotRow:
    """One slot: its cells, its places, and how many real runs hold or finished them.

    ``cells`` are pairs of a subset's number and a condition's position; ``closed_subsets`` are the
    closed ones among its subsets; ``closed_at`` is the slot's own. ``n_over`` of the holders sit
    beyond the target, and take none of its places.
    """

    key: SlotKey
    pk: int
    n_trials: int
    target: int
    cells: list[list[int]]
    closed_at: datetime | None
    closed_subsets: list[int]
    n_running: int
    n_completed: int
    n_over: int = 0

    @property
    def taken(self) -> int:
        """Its planned places that somebody holds or finished."""
        return self.n_running + self.n_completed - self.n_over

    @property
    def free(self) -> int:
        """Its planned places that nobody has; in a closed slot they are not given out."""
        return self.target - self.taken

    @property
    def subsets(self) -> list[int]:
        return sorted({subset for subset, _ in self.cells})

    def subsets_under(self, condition: int) -> list[int]:
        """The subsets that the slot shows under the condition at this position."""
        return [subset for subset, position in self.cells if position == condition]

    @property
    def is_closed(self) -> bool:
        """Whether nobody new gets this slot."""
        return self.closed_at is not None or bool(self.closed_subsets)

    @property
    def state(self) -> SlotState:
        if not self.free:
            is_done = self.n_completed >= self.target
            return SlotState.COMPLETED if is_done else SlotState.HELD
        return SlotState.CLOSED if self.is_closed else SlotState.FREE


@dataclass(frozen=True)
class SubsetRow:
    """One subset: its claims and since when it is closed, if it is."""

    number: int
    n_claims: int
    closed_at: datetime | None


@dataclass(frozen=True)
class Stratum:
    """Main claims of one label and smallest gold set: how many each subset has, by its number."""

    label: str
    gold_min_size: int
    per_subset: dict[int, int]


@dataclass(frozen=True)
class ClaimRow:
    """One claim in one cycle: for each condition by name, slot and position where it is shown."""

    claim: Claim
    places: dict[str, list[tuple[SlotKey, int]]]


def slot_rows(study: Study) -> list[SlotRow]:
    """Every slot in order: three queries."""
    closed = set(_subsets(study).filter(closed_at__isnull=False).values_list("number", flat=True))
    holders = _holders(study)
    rows = []
    for slot in Slot.objects.filter(study=study).order_by("replication", "number"):
        rows.append(
            SlotRow(
                key=(slot.replication, slot.number),
                pk=slot.pk,
                n_trials=slot.n_trials,
                target=slot.target,
                cells=slot.cells,
                closed_at=slot.closed_at,
                closed_subsets=sorted({subset for subset, _ in slot.cells} & closed),
                n_running=sum(state != EnrolmentState.COMPLETED for state, _ in holders[slot.pk]),
                n_completed=sum(state == EnrolmentState.COMPLETED for state, _ in holders[slot.pk]),
                n_over=sum(seat > slot.target for _, seat in holders[slot.pk]),
            )
        )
    return rows


def subset_rows(study: Study) -> list[SubsetRow]:
    """Every subset in order: one query."""
    rows = _subsets(study).annotate(n=Count("claims")).order_by("number")
    return [SubsetRow(*row) for row in rows.values_list("number", "n", "closed_at")]


def trial_orders(slots: Collection[SlotRow]) -> dict[int, list[int]]:
    """The condition (by position) of every trial of these slots, in order, by the slot's key in
    the database: one query."""
    orders: dict[int, list[int]] = {slot.pk: [] for slot in slots}
    planned = (
        PlannedTrial.objects.filter(slot_id__in=orders)
        .order_by("slot_id", "position")
        .values_list("slot_id", "condition__position")
    )
    for slot_id, condition in planned:
        orders[slot_id].append(condition)
    return orders


def position_counts(study: Study) -> dict[int, Counter[str]]:
    """For each position from 1, how many slots have each condition there: one query."""
    counts: dict[int, Counter[str]] = defaultdict(Counter)
    rows = (
        PlannedTrial.objects.filter(slot__study=study)
        .values_list("position", "condition__name")
        .annotate(n=Count("id"))
        .order_by("position")
    )
    for position, name, n in rows:
        counts[position][name] = n
    return dict(counts)


def strata_of(study: Study) -> list[Stratum]:
    """The strata of the main claims over the subsets, by label and size: one query.

    Claims that are in no subset count under subset 0.
    """
    counts: dict[tuple[str, int], dict[int, int]] = defaultdict(dict)
    rows = (
        main_claims(study)
        .values_list("label", "gold_min_size", "subset__number")
        .annotate(n=Count("id"))
        .order_by("label", "gold_min_size", "subset__number")
    )
    for label, size, subset, n in rows:
        counts[label, size][subset or 0] = n
    return [Stratum(*key, per_subset) for key, per_subset in counts.items()]


def claims_found(
    study: Study, *, subset: int | None = None, label: str = "", text: str = ""
) -> QuerySet[Claim]:
    """The main claims in order; of one subset, of one label, with ``text`` in their id."""
    claims = main_claims(study).order_by("position")
    if subset is not None:
        claims = claims.filter(subset__number=subset)
    if label:
        claims = claims.filter(label=label)
    return claims.filter(claim_id__icontains=text) if text else claims


def claim_rows(claims: Sequence[Claim], cycle: int) -> list[ClaimRow]:
    """Where these claims are shown in a cycle: one query."""
    places: dict[int, dict[str, list[tuple[SlotKey, int]]]] = {claim.pk: {} for claim in claims}
    planned = (
        PlannedTrial.objects.filter(claim__in=places, replication=cycle)
        .order_by("slot__replication", "slot__number", "position")
        .values_list("claim_id", "condition__name", "slot__replication", "slot__number", "position")
    )
    for claim_id, name, replication, number, position in planned:
        places[claim_id].setdefault(name, []).append(((replication, number), position))
    return [ClaimRow(claim, places[claim.pk]) for claim in claims]


def _subsets(study: Study) -> QuerySet[Subset]:
    return Subset.objects.filter(study=study)


def _holders(study: Study) -> dict[int, list[tuple[str, int]]]:
    """State and seat of every real run that holds a place, by slot: one query."""
    holders: dict[int, list[tuple[str, int]]] = defaultdict(list)
    runs = Enrolment.objects.filter(
        slot__study=study, run_kind=RunKind.REAL, state__in=HOLDING
    ).values_list("slot_id", "state", "seat")
    for slot_id, state, seat in runs:
        holders[slot_id].append((state, seat))
    return holders
