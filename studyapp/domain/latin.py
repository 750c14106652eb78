"""The general Latin-square schedule, as plain arithmetic (statistics.md, section 3).

k disjoint subsets, m conditions. In replication r (from 1) the participant in row s (from 0) sees
subset (s + j*g) mod k under condition j; the shift g changes with r, so that different pairs of
people judge the same claim.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Cell:
    """Subset ``subset`` (from 0) under condition ``condition`` (from 0)."""

    subset: int
    condition: int


@dataclass(frozen=True)
class Place:
    """One trial of a slot: item and condition by index, block and position from 1."""

    item: int
    condition: int
    block: int
    position: int


def allowed_shifts(k: int, m: int) -> list[int]:
    """Shifts g for which j*g mod k are distinct for j < m (every g from 1 to k-1 if k is prime).

    k = 1 has the shift 0 alone. Raises ValueError when m > k or a number is below 1.
    """
    if k < 1 or m < 1:
        raise ValueError("subsets and conditions are counted from 1")
    if m > k:
        raise ValueError(
            f"{m} conditions need at least {m} subsets, so that nobody meets a claim twice; got {k}"
        )
    if k == 1:
        return [0]
    return [g for g in range(1, k) if len({j * g % k for j in range(m)}) == m]


def cells_within(k: int, m: int, replication: int, row: int) -> list[Cell]:
    """What row ``row`` (from 0) of a replication sees: one subset under each condition."""
    shifts = allowed_shifts(k, m)
    shift = shifts[(replication - 1) % len(shifts)]
    return [Cell((row + j * shift) % k, j) for j in range(m)]


def cells_between(k: int, m: int, row: int) -> list[Cell]:
    """What row ``row`` (from 0, of k*m) sees when each person has one condition: one subset."""
    return [Cell(row // m, row % m)]


def n_rows(k: int, m: int, *, within: bool) -> int:
    """Slots in one replication: k within participants, k*m between them."""
    return k if within else k * m


def split_stratified(strata: Sequence[Hashable], k: int, seed: int) -> list[int]:
    """Deal items into k subsets: sizes differ by at most 1, also inside every stratum.

    ``strata`` names each item's stratum. Items of a stratum are shuffled from the seed and dealt in
    turn, going on where the last stratum stopped. Returns the subset (from 0) of each item. Raises
    ValueError when there are fewer items than subsets.
    """
    if len(strata) < k:
        raise ValueError(f"{k} subsets need at least {k} claims; the study has {len(strata)}")
    generator = random.Random(f"subsets:{seed}")
    subset_of = [0] * len(strata)
    dealt = 0
    for stratum in sorted(set(strata), key=str):
        members = [index for index, name in enumerate(strata) if name == stratum]
        generator.shuffle(members)
        for index in members:
            subset_of[index] = dealt % k
            dealt += 1
    return subset_of


def order_trials(
    items_of: Sequence[Sequence[int]],
    cells: Sequence[Cell],
    *,
    slot_index: int,
    seed: int,
    blocked: bool,
) -> list[Place]:
    """The trials of one slot in order, shuffled from the recorded seed.

    ``items_of[subset]`` lists the subset's items. Blocked: one block a condition, the first
    condition alternating over slots by ``slot_index`` (from 0). Interleaved: one shuffled block.
    """
    generator = random.Random(f"order:{seed}:{slot_index}")
    turn = slot_index % len(cells)
    blocks: list[list[tuple[int, int]]] = []
    for cell in [*cells[turn:], *cells[:turn]]:
        trials = [(item, cell.condition) for item in items_of[cell.subset]]
        generator.shuffle(trials)
        blocks.append(trials)
    if not blocked:
        mixed = [trial for block in blocks for trial in block]
        generator.shuffle(mixed)
        blocks = [mixed]
    places = []
    for number, block in enumerate(blocks, start=1):
        for item, condition in block:
            places.append(Place(item, condition, number, len(places) + 1))
    return places
