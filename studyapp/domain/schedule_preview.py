"""What a schedule would look like, worked out from the same arithmetic and stored nowhere."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from studyapp.domain import latin
from studyapp.domain.queries import main_claims
from studyapp.domain.schedule import check_numbers
from studyapp.enums import ConditionPolicy, OrderPolicy
from studyapp.errors import NotReady
from studyapp.models import Study

#: Slots drawn; a schedule may have thousands.
MAX_DRAWN = 40


@dataclass(frozen=True)
class Stratum:
    """Claims of one label and smallest gold set: how many of them are in each subset."""

    label: str
    gold_min_size: int
    per_subset: list[int]


@dataclass(frozen=True)
class PlannedSlot:
    """One slot: its cycle and number, the subsets (from 1) by condition, conditions in order."""

    replication: int
    number: int
    subsets: list[list[int]]
    order: list[int]


@dataclass(frozen=True)
class SchedulePlan:
    """A schedule before it is laid out. ``slots`` holds the first ``MAX_DRAWN`` of ``n_slots``."""

    conditions: list[str]
    strata: list[Stratum]
    sizes: list[int]
    n_slots: int
    n_trials: int
    slots: list[PlannedSlot]


def plan_schedule(study: Study, k: int, n_replications: int, seed: int) -> SchedulePlan:
    """The schedule that ``lay_out`` would make, by the policies that ``study`` holds in memory.

    Two queries. Raises NotReady without claims or conditions, or when the numbers do not fit.
    """
    strata = list(main_claims(study).order_by("position").values_list("label", "gold_min_size"))
    names = list(study.conditions.order_by("position").values_list("name", flat=True))
    if not strata or not names:
        raise NotReady("A schedule needs claims and conditions first.")
    check_numbers(study, k, len(strata), len(names))
    subset_of = latin.split_stratified(strata, k, seed)
    items_of: list[list[int]] = [[] for _ in range(k)]
    for item, subset in enumerate(subset_of):
        items_of[subset].append(item)
    rows = latin.n_rows(k, len(names), within=study.condition_policy == ConditionPolicy.WITHIN)
    places = [(replication, row) for replication in range(1, n_replications + 1)
              for row in range(rows)]  # fmt: skip
    return SchedulePlan(
        conditions=names,
        strata=_strata(strata, subset_of, k),
        sizes=[len(items) for items in items_of],
        n_slots=len(places),
        n_trials=n_replications * len(strata) * len(names),
        slots=[_slot(study, items_of, len(names), seed, *place) for place in places[:MAX_DRAWN]],
    )


def _strata(strata: list[tuple[str, int]], subset_of: list[int], k: int) -> list[Stratum]:
    counts = Counter(zip(strata, subset_of, strict=True))
    return [
        Stratum(label, size, [counts[(label, size), subset] for subset in range(k)])
        for label, size in sorted(set(strata))
    ]


def _slot(
    study: Study, items_of: list[list[int]], m: int, seed: int, replication: int, row: int
) -> PlannedSlot:
    k = len(items_of)
    within = study.condition_policy == ConditionPolicy.WITHIN
    cells = latin.cells_within(k, m, replication, row) if within else latin.cells_between(k, m, row)
    order = latin.order_trials(
        items_of,
        cells,
        slot_index=(replication - 1) * latin.n_rows(k, m, within=within) + row,
        seed=seed,
        blocked=study.order_policy == OrderPolicy.BLOCKED,
    )
    subsets: list[list[int]] = [[] for _ in range(m)]
    for cell in cells:
        subsets[cell.condition].append(cell.subset + 1)
    return PlannedSlot(replication, row + 1, subsets, [place.condition + 1 for place in order])
