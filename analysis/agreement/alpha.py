"""Krippendorff's alpha: agreement of any number of raters, with ratings missing.

Klaus Krippendorff, "Content Analysis", 3rd edition 2013, chapter 12: alpha = 1 - observed over
expected disagreement. Ours are few lines because NLTK has no ordinal level (statistics.md 8); it
gives the same nominal and interval values.

Both disagreements are sums over pairs of ratings of a distance. On the interval level it is the
squared difference of the values; on the ordinal level the number of ratings between two labels,
half of their own included, squared: the squared difference of the labels' mid-ranks. A sum of
squared differences over pairs needs only the sums of the values and of their squares, so no
coincidence matrix is laid out, and thousands of bootstrap draws are a few matrix products.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from analysis.agreement.draws import DRAWS, drawn_counts, kinds_of_items, percentile95
from analysis.agreement.ratings import Ratings, read_ratings
from analysis.errors import BadTable
from analysis.plain import plain

LEVELS = ("nominal", "ordinal", "interval")

_NO_PAIR = "not defined, because no item has two ratings"
_ONE_LABEL = "not defined, because every rating that can be compared has the same label"
_TOO_CLOSE = (
    "not defined, because the numbers of the labels are too close to each other, against their "
    "size, to be told apart"
)
_ONE_ITEM = "not defined, because one item leaves nothing to draw from"

_ABOUT = {
    "method": "Krippendorff's alpha; percentile bootstrap over items",
    "assumptions": "items are a sample of the items in question; any raters may rate any item; "
    "an item with one rating carries no information",
    "library": "own code, numpy and scipy.sparse; nominal and interval tested against NLTK",
}


def krippendorff(
    table: pd.DataFrame,
    level: str | None = None,
    *,
    order: Sequence[str] | None = None,
    seed: int = 0,
    draws: int = DRAWS,
    source: str = "ratings",
) -> dict[str, Any]:
    """Alpha of a table of ratings (see ``read_ratings``) on every level that its labels allow.

    ``level`` (nominal, ordinal, interval; default ordinal for numbers and for a given ``order``,
    else nominal) is the one repeated as ``alpha``. Keys: ``alpha_<level>`` and
    ``alpha_<level>_ci95`` (percentile bootstrap over items), ``krippendorff_nominal`` (the nominal
    alpha by the name that ``cohen`` and ``fleiss`` use), counts, ``not_defined`` with a reason for
    each None. Raises BadTable for a table that cannot be read and a level that its labels do not
    have.
    """
    ratings = read_ratings(table, order, source)
    possible = _possible(ratings)
    level = level or ("ordinal" if ratings.ordered else "nominal")
    if level not in possible:
        needed = "numbers" if level == "interval" else "numbers, or an order for them (--order)"
        raise BadTable(f"{source}: the level {level} needs labels that are {needed}")
    return plain({"kind": "alpha", **_block(ratings, level, possible, seed, draws)})


def alphas(
    counts: sparse.csr_array, weights: np.ndarray, level: str, values: np.ndarray | None
) -> np.ndarray:
    """Alpha for every row of weights; shape (rows,), NaN where it is not defined.

    ``counts`` (items, labels) says how often an item got a label, with labels in their order and
    two ratings or more an item; ``weights`` (rows, items) how often an item is drawn; ``values``
    (labels,) are needed on the interval level.
    """
    size = counts.sum(axis=1)
    totals = weights @ counts
    n = totals.sum(axis=1)
    if level == "nominal":
        observed = weights @ ((size**2 - counts.power(2).sum(axis=1)) / (size - 1))
        expected = n**2 - (totals**2).sum(axis=1)
    else:
        places = _midranks(totals) if level == "ordinal" else _centred(values, totals)
        apart = size * (places**2 @ counts.T) - (places @ counts.T) ** 2
        observed = (weights * (apart / (size - 1))).sum(axis=1)
        expected = n * (totals * places**2).sum(axis=1) - (totals * places).sum(axis=1) ** 2
    defined = ((totals > 0).sum(axis=1) > 1) & (expected > 0)
    result = np.full(len(weights), np.nan)
    result[defined] = 1 - (n[defined] - 1) * observed[defined] / expected[defined]
    return result


def alpha_block(
    ratings: Ratings, level: str, seed: int, draws: int
) -> tuple[float | None, list[float] | None, str | None]:
    """Alpha, its interval, and why one of them is not defined."""
    counts = ratings.counts()[ratings.per_item > 1]
    n_items = counts.shape[0]
    if not n_items:
        return None, None, _NO_PAIR
    alpha = alphas(counts, np.ones((1, n_items)), level, ratings.values)[0]
    if np.isnan(alpha):
        is_one = (counts.sum(axis=0) > 0).sum() == 1
        return None, None, _ONE_LABEL if is_one else _TOO_CLOSE
    if n_items == 1:
        return float(alpha), None, _ONE_ITEM
    kinds, frequency = kinds_of_items(counts)
    drawn = [
        alphas(kinds, weights, level, ratings.values)
        for weights in drawn_counts(frequency, draws, seed, sum(kinds.shape))
    ]
    return float(alpha), *percentile95(np.concatenate(drawn))


def _block(
    ratings: Ratings, level: str, possible: tuple[str, ...], seed: int, draws: int
) -> dict[str, Any]:
    per_item = ratings.per_item
    values: dict[str, Any] = {}
    not_defined = {}
    for name in possible:
        alpha, interval, reason = alpha_block(ratings, name, seed, draws)
        values |= {f"alpha_{name}": alpha, f"alpha_{name}_ci95": interval}
        if reason and alpha is None:
            not_defined[f"alpha_{name}"] = reason
        if reason:
            not_defined[f"alpha_{name}_ci95"] = reason
    same = {
        "alpha": f"alpha_{level}",
        "ci95": f"alpha_{level}_ci95",
        "krippendorff_nominal": "alpha_nominal",
    }
    not_defined |= {name: not_defined[key] for name, key in same.items() if key in not_defined}
    return {
        "level": level,
        **values,
        **{name: values[key] for name, key in same.items()},
        "labels": ratings.labels,
        "n_items": len(ratings.items),
        "n_items_with_two": int((per_item > 1).sum()),
        "n_raters": len(ratings.raters),
        "n_ratings": len(ratings.item),
        "draws": draws,
        "seed": seed,
        "not_defined": not_defined,
        **_ABOUT,
    }


def _possible(ratings: Ratings) -> tuple[str, ...]:
    if ratings.values is not None:
        return LEVELS
    return LEVELS[:2] if ratings.ordered else LEVELS[:1]


def _midranks(totals: np.ndarray) -> np.ndarray:
    """The mid-rank of every label, counted from the middle; shape (rows, labels)."""
    return np.cumsum(totals, axis=1) - totals / 2 - totals.sum(axis=1, keepdims=True) / 2


def _centred(values: np.ndarray | None, totals: np.ndarray) -> np.ndarray:
    """The labels' values around the middle of their range; shape (rows, labels).

    Alpha has no unit: a power of 2 makes the largest less than 1, so that no square is infinite.
    """
    assert values is not None
    scaled = np.ldexp(values, -np.frexp(np.abs(values).max())[1])
    centred = scaled - (scaled.min() + scaled.max()) / 2
    return np.broadcast_to(centred, totals.shape)
