"""Gold sets, and the two numbers that follow from them: ``gold_min_size`` and ``msr``.

Written here a second time on purpose: the export computes both with other code, and a table whose
numbers disagree is refused (statistics.md 1.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd


def parse_gold_sets(text: str) -> tuple[frozenset[str], ...]:
    """Read ``a|b;c`` as the minimal sets {a, b} and {c}; empty text holds no set.

    Raises ValueError for an empty set or an empty id.
    """
    if not text:
        return ()
    found = []
    for part in text.split(";"):
        ids = part.split("|")
        if "" in ids:
            raise ValueError("an empty gold set or sentence id" if part else "an empty gold set")
        found.append(frozenset(ids))
    return minimal_sets(found)


def minimal_sets(sets: Iterable[frozenset[str]]) -> tuple[frozenset[str], ...]:
    """The sets that contain no other one, each once, smallest first."""
    kept: list[frozenset[str]] = []
    for candidate in sorted(set(sets), key=lambda s: (len(s), sorted(s))):
        if not any(smaller <= candidate for smaller in kept):
            kept.append(candidate)
    return tuple(kept)


def minimal_sufficient_rank(
    order: Sequence[str], gold_sets: Iterable[frozenset[str]]
) -> int | None:
    """Rank (1-based) of the shortest prefix of ``order`` that holds a gold set, else None."""
    rank = {sentence: place for place, sentence in enumerate(order, start=1)}
    ends = [
        max(rank[sentence] for sentence in gold_set)
        for gold_set in gold_sets
        if all(sentence in rank for sentence in gold_set)
    ]
    return min(ends, default=None)


def derive_gold(
    shown_order: pd.Series, gold_sets: pd.Series
) -> tuple[np.ndarray, np.ndarray, dict[str, str]]:
    """``gold_min_size`` and ``msr`` of every row (NaN where there is none).

    Both arguments are text columns. Each distinct pair is worked out once: a study shows the same
    order to many people. The third value maps each unreadable gold text to what is wrong with it.
    """
    order_codes, orders = pd.factorize(shown_order)
    gold_codes, golds = pd.factorize(gold_sets)
    parsed: list[tuple[frozenset[str], ...]] = []
    faults: dict[str, str] = {}
    for text in golds:
        try:
            parsed.append(parse_gold_sets(text))
        except ValueError as error:
            faults[text] = str(error)
            parsed.append(())
    sizes = np.array([min(map(len, sets), default=np.nan) for sets in parsed], dtype=float)
    lists = [text.split("|") for text in orders]
    pairs, row_pair = np.unique(order_codes * max(len(golds), 1) + gold_codes, return_inverse=True)
    ranks = np.full(len(pairs), np.nan)
    for place, pair in enumerate(pairs):
        order_code, gold_code = divmod(int(pair), max(len(golds), 1))
        rank = minimal_sufficient_rank(lists[order_code], parsed[gold_code])
        if rank is not None:
            ranks[place] = rank
    if not len(golds):
        return np.empty(0), np.empty(0), faults
    return sizes[gold_codes], ranks[row_pair], faults


def list_lengths(lists: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Number of ids in every ``a|b|c`` text, and whether one is empty or occurs twice."""
    codes, texts = pd.factorize(lists)
    split = [text.split("|") for text in texts]
    lengths = np.array([len(ids) if texts[i] else 0 for i, ids in enumerate(split)], dtype=int)
    faulty = np.array([len(set(ids)) < len(ids) or "" in ids for ids in split], dtype=bool)
    return lengths[codes], faulty[codes]
