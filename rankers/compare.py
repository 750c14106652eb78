"""Is the difference between two rankers more than chance? A paired bootstrap over claims.

Both rankers are scored on the same claims, and claims are drawn with replacement. The interval is
BCa, bias-corrected and accelerated (Efron 1987; Efron and Tibshirani, "An Introduction to the
Bootstrap", 1993, section 14.3). The p-value is that of the shifted bootstrap, as used for
retrieval measures (Smucker, Allan and Carterette, CIKM 2007, section 2.4): how often a difference
of at least the observed size is drawn when the draws are moved to a mean of 0. Interval and test
are made in different ways, so near the border one may exclude 0 where the other does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankers.errors import BadInput
from rankers.evaluate import BY_LABEL, Evaluation
from rankers.metrics import Score

MEASURES = ("mrr", "sr", "ndcg")
DRAWS = 9_999
#: Fewer say nothing about the tails of an interval.
MIN_DRAWS = 100
SEED = 0
CONFIDENCE = 0.95

#: How many drawn claims are held at once: some 16 MB.
_CELLS = 1_000_000
#: Equal sums of differences in [-1, 1] differ by less, whatever the order of their terms.
_TOLERANCE = 1e-12
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean difference, its interval (None for a single claim) and a two-sided p-value."""

    difference: float
    low: float | None
    high: float | None
    p: float | None


def compare(
    result: Evaluation, first: str, second: str, *, draws: int = DRAWS, seed: int = SEED
) -> dict[str, Any]:
    """Return the differences ``first - second`` of MRR, SR and NDCG, over all and by IMSR.

    ``{"draws", "seed", "scored_for_one_only", "all": {"n", "mrr", "sr", "ndcg"},
    "gold_min_size=…": …}``, each measure ``{"difference", "low", "high", "p"}``. Only claims that
    both have a score for are compared. Raises BadInput for a name that was not evaluated, for a
    ranker against itself, for rankers without a common claim, and for too few draws.
    """
    _check(result, first, second, draws)
    mine, theirs = result.scores[first], result.scores[second]
    common = {claim_id: one for claim_id, one in mine.items() if claim_id in theirs}
    if not common:
        raise BadInput(f"{first} and {second} have no claim in common that both are scored for")
    found: dict[str, Any] = {
        "draws": draws,
        "seed": seed,
        "scored_for_one_only": len(mine) + len(theirs) - 2 * len(common),
    }
    for bucket, claim_ids in result.buckets(common).items():
        if bucket.startswith(BY_LABEL):
            continue
        values = _measures(mine, claim_ids) - _measures(theirs, claim_ids)
        differences = paired_differences(values, draws, seed)
        named = {key: asdict(one) for key, one in zip(MEASURES, differences, strict=True)}
        found[bucket] = {"n": len(claim_ids), **named}
    return found


def paired_differences(
    values: NDArray[np.float64], draws: int = DRAWS, seed: int = SEED
) -> list[Difference]:
    """Return the mean, interval and p-value of each row of differences, shape (measures, claims).

    The same claims are drawn for every row. Takes memory for ``draws`` means a row, and a fixed
    amount besides. The same numbers, draws and seed give the same result.
    """
    if values.shape[1] == 1:
        return [Difference(float(row[0]), None, None, None) for row in values]
    means = _drawn_means(values, draws, seed)
    found = []
    for row, drawn in zip(values, means, strict=True):
        low, high = bca_interval(row, drawn)
        found.append(Difference(float(row.mean()), low, high, shifted_p(row, drawn)))
    return found


def bca_interval(
    values: NDArray[np.float64], drawn: NDArray[np.float64], confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Return the BCa interval of the mean of ``values``, given the means of the bootstrap draws.

    Where all values are equal no draw can differ, and the interval is their mean.
    """
    mean = float(values.mean())
    if float(np.ptp(values)) <= _TOLERANCE:
        return mean, mean
    bias, acceleration = _bias(drawn, mean), _acceleration(values)
    tail = (1 - confidence) / 2
    levels = [_corrected(level, bias, acceleration) for level in (tail, 1 - tail)]
    low, high = np.quantile(drawn, levels)
    return float(low), float(high)


def shifted_p(values: NDArray[np.float64], drawn: NDArray[np.float64]) -> float:
    """Return the two-sided p-value of a mean of 0, given the means of the bootstrap draws.

    (b + 1) / (B + 1) for b of B shifted draws as far from 0 as the observed mean: the data are one
    outcome more, so that p is never 0 (Phipson and Smyth 2010). Nor is it below 2^(1 - n), the
    least that the signs of n differences can give: a handful of claims that agree would otherwise
    look certain, as the bootstrap knows no values but theirs.
    """
    mean = float(values.mean())
    as_far = int(np.count_nonzero(np.abs(drawn - mean) >= abs(mean) - _TOLERANCE))
    return max((as_far + 1) / (len(drawn) + 1), 2.0 ** (1 - len(values)))


def _check(result: Evaluation, first: str, second: str, draws: int) -> None:
    for name in (first, second):
        if name not in result.scores:
            names = ", ".join(map(repr, result.scores))
            raise BadInput(f"no ranker named {name!r} to compare: there are {names}")
    if first == second:
        raise BadInput(f"{first!r} cannot be compared with itself: name two rankers")
    if draws < MIN_DRAWS:
        raise BadInput(f"{draws} draws are too few: use at least {MIN_DRAWS}")


def _measures(scores: Mapping[str, Score], claim_ids: Sequence[str]) -> NDArray[np.float64]:
    """The measures of defined scores in the order of ``MEASURES``, shape (measures, claims)."""
    chosen = [scores[claim_id] for claim_id in claim_ids]
    return np.array([[one.rr, one.sr, one.ndcg] for one in chosen], dtype=np.float64).T


def _drawn_means(values: NDArray[np.float64], draws: int, seed: int) -> NDArray[np.float64]:
    """Means of claims drawn with replacement, shape (measures, draws), some draws at a time."""
    generator = np.random.default_rng(seed)
    n_measures, n = values.shape
    step = max(1, _CELLS // n)
    means = np.empty((n_measures, draws))
    for start in range(0, draws, step):
        stop = min(start + step, draws)
        claims = generator.integers(0, n, size=(stop - start, n))
        for row, out in zip(values, means, strict=True):
            out[start:stop] = row[claims].mean(axis=1)
    return means


def _bias(drawn: NDArray[np.float64], mean: float) -> float:
    """z0: where the observed mean stands among the draws, ties half below and half above it.

    Kept half a draw away from both ends, where it would be infinite.
    """
    below = np.count_nonzero(drawn < mean - _TOLERANCE)
    at_most = np.count_nonzero(drawn <= mean + _TOLERANCE)
    share = (below + at_most) / (2 * len(drawn))
    margin = 1 / (2 * len(drawn))
    return _NORMAL.inv_cdf(min(max(share, margin), 1 - margin))


def _acceleration(values: NDArray[np.float64]) -> float:
    """The skewness of the jackknife means over 6, for a mean.

    Leaving out x moves the mean by (mean - x) / (n - 1), and the factor cancels out.
    """
    apart = values - values.mean()
    return float((apart**3).sum() / (6 * (apart**2).sum() ** 1.5))


def _corrected(level: float, bias: float, acceleration: float) -> float:
    """The level of the draws that stands for ``level`` (Efron and Tibshirani, section 14.3)."""
    shifted = bias + _NORMAL.inv_cdf(level)
    # Only a single huge outlier with hardly a draw on one side brings the divisor to 0.
    divisor = max(1 - acceleration * shifted, _TOLERANCE)
    return _NORMAL.cdf(bias + shifted / divisor)
