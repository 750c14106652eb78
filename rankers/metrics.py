"""How good an order is: minimal sufficient rank and what follows from it.

Definitions of the evidence-ranking paper (sections 3 and 4: MSR, IMSR, MRR, SR, NDCG). A gold set
is sufficient on its own; a set with a position outside the candidates can never be completed, is
ignored and counted. Where no set is reachable every measure is None, never 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

#: Ranks at which ``verified_at`` is reported; all later ones are counted under ``BEYOND``.
AT = tuple(range(1, 11))
BEYOND = f"{AT[-1] + 1}+"
#: Ranks at which ``verified_within`` is reported.
WITHIN = (*AT, 15, 20)


@dataclass(frozen=True, slots=True)
class Score:
    """One claim's measures; all but ``unreachable`` are None where no gold set is reachable.

    ``imsr`` size of the smallest reachable set, ``msr`` minimal sufficient rank (1-based),
    ``rr`` in (0, 1], ``sr`` 0 or 1, ``ndcg`` in (0, 1], ``unreachable`` number of ignored sets.
    """

    imsr: int | None
    msr: int | None
    rr: float | None
    sr: int | None
    ndcg: float | None
    unreachable: int = 0


def minimal_sufficient_rank(order: Sequence[int], gold_sets: Iterable[Sequence[int]]) -> int | None:
    """Return the smallest k whose first k entries of ``order`` hold a whole gold set.

    ``order`` may be partial (the sentences shown so far, or a selection in reading order); sets
    that are not wholly inside it do not count. None when there is none. Raises ValueError for a
    position named twice and for an empty gold set.
    """
    ranks = _ranks(order)
    worst = [
        max(ranks[position] for position in gold)
        for gold in _as_sets(gold_sets)
        if gold <= ranks.keys()
    ]
    return min(worst, default=None)


def score(
    order: Sequence[int],
    gold_sets: Iterable[Sequence[int]],
    n_candidates: int | None = None,
    *,
    strict: bool = False,
) -> Score:
    """Score a full ranking of candidates 0..n-1 against the claim's gold sets.

    ``n_candidates`` defaults to the length of ``order``. Raises ValueError when a candidate is
    missing, repeated or unknown, for an empty gold set, and with ``strict`` when no set is
    reachable.
    """
    ranks = _full_ranks(order, len(order) if n_candidates is None else n_candidates)
    sets = _as_sets(gold_sets)
    reachable = [gold for gold in sets if gold <= ranks.keys()]
    unreachable = len(sets) - len(reachable)
    if not reachable:
        if strict:
            raise ValueError("no gold set can be reached with these candidates")
        return Score(None, None, None, None, None, unreachable)
    complete_at = [max([ranks[position] for position in gold]) for gold in reachable]
    msr = min(complete_at)
    imsr = min(map(len, reachable))
    inside = [gold for gold, rank in zip(reachable, complete_at, strict=True) if rank == msr]
    return Score(
        imsr, msr, 1.0 / (msr - imsr + 1), int(msr == imsr), _ndcg(ranks, inside), unreachable
    )


def mean_sem(values: Sequence[float]) -> dict[str, float | None]:
    """Return mean and standard error (sd with denominator n - 1, over the root of n).

    The mean of nothing and the error of a single value are None.
    """
    n = len(values)
    if n == 0:
        return {"mean": None, "sem": None}
    mean = math.fsum(values) / n
    if n == 1:
        return {"mean": mean, "sem": None}
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    return {"mean": mean, "sem": math.sqrt(variance / n)}


def aggregate(scores: Iterable[Score]) -> dict[str, Any]:
    """Return ``{n, mean_msr, mrr, sr, ndcg}`` over the scores that are defined."""
    defined = [one for one in scores if one.msr is not None]
    return {
        "n": len(defined),
        "mean_msr": mean_sem([one.msr for one in defined if one.msr is not None])["mean"],
        "mrr": mean_sem([one.rr for one in defined if one.rr is not None]),
        "sr": mean_sem([one.sr for one in defined if one.sr is not None]),
        "ndcg": mean_sem([one.ndcg for one in defined if one.ndcg is not None]),
    }


def verified_at(scores: Iterable[Score]) -> dict[str, float]:
    """Return the share of defined scores whose MSR is exactly k (paper, Figure 3).

    The keys are the k in ``AT`` and ``BEYOND``, so that the shares add up to 1; no keys without
    defined scores.
    """
    ranks = _defined_ranks(scores)
    if not ranks:
        return {}
    shares = {str(k): ranks.count(k) / len(ranks) for k in AT}
    return {**shares, BEYOND: sum(rank > AT[-1] for rank in ranks) / len(ranks)}


def verified_within(scores: Iterable[Score], within: Sequence[int] = WITHIN) -> dict[str, float]:
    """Return the share of defined scores whose MSR is at most k, for each k (paper, Figure 8)."""
    ranks = _defined_ranks(scores)
    if not ranks:
        return {}
    return {str(k): sum(rank <= k for rank in ranks) / len(ranks) for k in within}


def size_bucket(imsr: int) -> str:
    """Return ``1``, ``2`` or ``3+``: the buckets in which results are reported."""
    return str(imsr) if imsr < 3 else "3+"


def _defined_ranks(scores: Iterable[Score]) -> list[int]:
    return [one.msr for one in scores if one.msr is not None]


def _ranks(order: Sequence[int]) -> dict[int, int]:
    ranks = {position: rank for rank, position in enumerate(order, start=1)}
    if len(ranks) != len(order):
        raise ValueError("a position is ranked twice")
    return ranks


def _full_ranks(order: Sequence[int], n: int) -> dict[int, int]:
    ranks, candidates = _ranks(order), set(range(n))
    if ranks.keys() != candidates:
        missing = sorted(candidates - ranks.keys())
        unknown = sorted(ranks.keys() - candidates)
        raise ValueError(f"not a ranking of {n} candidates: missing {missing}, unknown {unknown}")
    return ranks


def _as_sets(gold_sets: Iterable[Sequence[int]]) -> list[frozenset[int]]:
    """Gold sets without repeats, in order of first appearance."""
    sets = list(dict.fromkeys(frozenset(gold) for gold in gold_sets))
    if frozenset() in sets:
        raise ValueError("an empty gold set")
    return sets


def _ndcg(ranks: dict[int, int], inside: list[frozenset[int]]) -> float:
    """NDCG of the smallest of the gold sets that the MSR prefix holds (paper, section A.3).

    Between equally small ones the paper is silent; the one with the largest DCG is taken, which
    depends on no label and no input order.
    """
    size = min(map(len, inside))
    best = max(
        math.fsum([_discount(ranks[position]) for position in gold])
        for gold in inside
        if len(gold) == size
    )
    return best / math.fsum([_discount(rank) for rank in range(1, size + 1)])


def _discount(rank: int) -> float:
    return 1.0 / math.log2(rank + 1)
