"""Drawing claims at random, by strata."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from rankers.errors import BadInput
from rankers.metrics import size_bucket
from rankers.values import Claim

#: What a sample can be balanced by. Gold sets are the minimal ones: a superset is no second way.
STRATA: dict[str, Callable[[Claim], str]] = {
    "label": lambda claim: claim.label,
    "gold_min_size": lambda claim: size_bucket(claim.gold_min_size or 0),
    "gold_sets": lambda claim: "1" if len(claim.gold_sets) == 1 else "2+",
    "hops": lambda claim: str(claim.meta.get("num_hops", "")),
    "source": lambda claim: claim.source or "",
    "lang": lambda claim: claim.lang,
}

Stratum = tuple[str, ...]


def check_strata(names: Sequence[str]) -> None:
    """Raise BadInput for a name that is none of ``STRATA``."""
    unknown = [name for name in names if name not in STRATA]
    if unknown:
        raise BadInput(f"--stratify {','.join(unknown)}: choose from {', '.join(STRATA)}")


def stratum_of(claim: Claim, names: Sequence[str]) -> Stratum:
    """Return the values of a claim in the named strata."""
    return tuple(STRATA[name](claim) for name in names)


def draw(strata: Sequence[Stratum], size: int, seed: int, *, equal: bool = False) -> set[int]:
    """Return ``size`` positions drawn by ``seed``, from each stratum by its share.

    ``equal`` takes the same number from each instead, as far as it goes.
    """
    members: dict[Stratum, list[int]] = defaultdict(list)
    for position, stratum in enumerate(strata):
        members[stratum].append(position)
    sizes = {stratum: len(members[stratum]) for stratum in sorted(members)}
    seats = equal_seats(sizes, size) if equal else proportional_seats(sizes, size)
    rng = random.Random(seed)
    return {
        position for stratum in sizes for position in rng.sample(members[stratum], seats[stratum])
    }


def proportional_seats(sizes: Mapping[Stratum, int], total: int) -> dict[Stratum, int]:
    """Share out ``total`` seats by size, the rest by largest remainders.

    Between equal remainders the stratum that comes first in alphabetical order.
    """
    n = sum(sizes.values())
    seats = {stratum: total * size // n for stratum, size in sizes.items()}
    by_remainder = sorted(sizes, key=lambda stratum: (-(total * sizes[stratum] % n), stratum))
    for stratum in by_remainder[: total - sum(seats.values())]:
        seats[stratum] += 1
    return seats


def equal_seats(sizes: Mapping[Stratum, int], total: int) -> dict[Stratum, int]:
    """Deal out ``total`` seats one by one, in alphabetical order, to strata that are not full."""
    seats = dict.fromkeys(sorted(sizes), 0)
    while total > 0 and (waiting := [one for one in seats if seats[one] < sizes[one]]):
        for stratum in waiting[:total]:
            seats[stratum] += 1
        total -= min(total, len(waiting))
    return seats
