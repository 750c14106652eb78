"""Gold sets made minimal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def distinct_sets(gold_sets: Iterable[Sequence[int]]) -> list[tuple[int, ...]]:
    """Return the sets as ascending tuples without repeats, in order of first appearance."""
    return list(dict.fromkeys(tuple(sorted(set(gold))) for gold in gold_sets))


def minimal_sets(gold_sets: Iterable[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """Return the distinct sets that contain no other one, in order of first appearance.

    Measures do not change by this: whoever has seen a superset has seen the set.
    """
    distinct = distinct_sets(gold_sets)
    kept: set[tuple[int, ...]] = set()
    # A kept set can only be inside another one that holds its first member, so it is filed there.
    by_first: dict[int, list[frozenset[int]]] = {}
    for gold in sorted(distinct, key=len):
        members = frozenset(gold)
        if any(inner <= members for first in gold for inner in by_first.get(first, ())):
            continue
        kept.add(gold)
        if gold:
            by_first.setdefault(gold[0], []).append(members)
    return tuple(gold for gold in distinct if gold in kept)
