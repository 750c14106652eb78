"""The balance of a schedule, counted by the database from what is stored (statistics.md, 3).

Everything is derived from one table of cells: which slot shows how many claims of which subset
under which condition, and where. It has a few rows a slot, however long the slots are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db.models import Count, Min, Q, Sum

from studyapp.domain.queries import main_claims
from studyapp.enums import TrialKind
from studyapp.models import PlannedTrial, Study, Subset

#: Replication and number of a slot.
SlotKey = tuple[int, int]


@dataclass(frozen=True)
class StoredCell:
    """One subset under one condition in one slot.

    ``n_claims`` counts the study's main claims among its ``n_trials``; that a claim is there once
    is the database's promise (a unique constraint). Positions count from 1.
    """

    slot: SlotKey
    condition: str
    subset: int | None
    n_trials: int
    n_claims: int
    position_sum: int
    first_position: int
    #: Whether it is given to nobody any more: its slot or its subset is closed.
    is_closed: bool


@dataclass
class Balance:
    """The balance table of a schedule, and every way in which it is not balanced."""

    n_slots: int
    n_trials: int
    #: (replication, condition name) -> claims seen exactly once there
    claims_once: dict[tuple[int, str], int] = field(default_factory=dict)
    #: rows: replication, slot, trials, first condition, subset numbers by condition name, and
    #: whether the slot is closed, by itself or with a subset
    rows: list[dict] = field(default_factory=list)
    #: condition name -> mean position of its trials (from 1)
    mean_position: dict[str, float] = field(default_factory=dict)
    #: condition name -> slots that begin with it
    first_condition: dict[str, int] = field(default_factory=dict)
    subset_sizes: dict[int, int] = field(default_factory=dict)
    #: condition name -> its trials
    trials_of: dict[str, int] = field(default_factory=dict)
    #: slots that show one subset under two conditions: somebody would meet claims twice
    n_repeating: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def is_balanced(self) -> bool:
        return not self.problems


def balance_of(study: Study) -> Balance:
    """Check the stored schedule: each claim once per condition and cycle, nobody twice."""
    conditions = study.conditions.order_by("position")
    # With the number of cycles, which the caller's study may not know yet.
    rows = list(conditions.values_list("name", "study__n_replications"))
    n_cycles = rows[0][1] if rows else 0
    n_claims = main_claims(study).count()
    balance = counted_balance(stored_cells(study), [name for name, _ in rows], n_claims, n_cycles)
    balance.subset_sizes = subset_sizes(study)
    return balance


def stored_cells(study: Study) -> list[StoredCell]:
    """The cells of every slot, slot by slot: one query."""
    is_own = Q(claim__role=TrialKind.MAIN, claim__study=study)
    rows = (
        PlannedTrial.objects.filter(slot__study=study)
        .values_list(
            "slot__replication",
            "slot__number",
            "condition__name",
            "claim__subset__number",
            "slot__closed_at",
            "claim__subset__closed_at",
        )
        .annotate(
            n=Count("id"),
            n_own=Count("id", filter=is_own),
            total=Sum("position"),
            first=Min("position"),
        )
        .order_by("slot__replication", "slot__number", "first")
    )
    return [
        StoredCell((row[0], row[1]), row[2], row[3], *row[6:], is_closed=bool(row[4] or row[5]))
        for row in rows
    ]


def counted_balance(
    cells: Sequence[StoredCell], names: Sequence[str], n_claims: int, n_cycles: int
) -> Balance:
    """The balance of these cells for conditions, main claims and cycles; without subset sizes."""
    slots: dict[SlotKey, list[StoredCell]] = defaultdict(list)
    for cell in cells:
        slots[cell.slot].append(cell)
    balance = Balance(n_slots=len(slots), n_trials=sum(cell.n_trials for cell in cells))
    balance.rows = [_row(slot, slots[slot], names) for slot in sorted(slots)]
    balance.n_repeating = sum(_repeats(of_slot) for of_slot in slots.values())
    _count_claims(balance, cells, names, n_claims, n_cycles)
    _count_positions(balance, cells, names)
    if balance.n_repeating:
        balance.problems.append(
            f"slots that show the same claims under two conditions: {balance.n_repeating}"
        )
    return balance


def subset_sizes(study: Study) -> dict[int, int]:
    """How many claims each subset has, by its number: one query."""
    subsets = Subset.objects.filter(study=study).annotate(size=Count("claims"))
    return dict(subsets.order_by("number").values_list("number", "size"))


def _row(slot: SlotKey, cells: list[StoredCell], names: Sequence[str]) -> dict:
    subsets: dict[str, set[int]] = {name: set() for name in names}
    for cell in cells:
        if cell.subset is not None:
            subsets[cell.condition].add(cell.subset)
    return {
        "replication": slot[0],
        "slot": slot[1],
        "n_trials": sum(cell.n_trials for cell in cells),
        "first_condition": min(cells, key=lambda cell: cell.first_position).condition,
        "subsets": {name: sorted(numbers) for name, numbers in subsets.items()},
        "closed": any(cell.is_closed for cell in cells),
    }


def _repeats(cells: list[StoredCell]) -> bool:
    """Whether a slot shows a subset twice; subsets are disjoint, so nothing else can repeat."""
    times = Counter(cell.subset for cell in cells if cell.subset is not None)
    return max(times.values(), default=0) > 1


def _count_claims(
    balance: Balance,
    cells: Sequence[StoredCell],
    names: Sequence[str],
    n_claims: int,
    n_cycles: int,
) -> None:
    once: Counter[tuple[int, str]] = Counter()
    for cell in cells:
        once[cell.slot[0], cell.condition] += cell.n_claims
    last = max([n_cycles, *(replication for replication, _ in once)]) if cells else 0
    for replication in range(1, last + 1):
        for name in names:
            n = balance.claims_once[replication, name] = once[replication, name]
            if n != n_claims:
                balance.problems.append(
                    f"replication {replication}, {name}: {n_claims - n} of {n_claims} claims are "
                    "not seen exactly once"
                )


def _count_positions(balance: Balance, cells: Sequence[StoredCell], names: Sequence[str]) -> None:
    totals, trials = Counter[str](), Counter[str]()
    for cell in cells:
        totals[cell.condition] += cell.position_sum
        trials[cell.condition] += cell.n_trials
    first = Counter(row["first_condition"] for row in balance.rows)
    balance.trials_of = {name: trials[name] for name in names}
    balance.first_condition = {name: first[name] for name in names}
    balance.mean_position = {name: totals[name] / trials[name] for name in names if trials[name]}
