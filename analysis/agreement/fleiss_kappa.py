"""Fleiss' kappa: a rotating pool of raters, as many ratings for every item (statistics.md 6)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from analysis.agreement.alpha import alphas
from analysis.agreement.draws import DRAWS, drawn_counts, kinds_of_items, percentile95
from analysis.agreement.ratings import read_ratings
from analysis.errors import BadTable
from analysis.plain import plain

_ONE_LABEL = "not defined, because every rating has the same label"
_ONE_ITEM = "not defined, because one item leaves nothing to draw from"

_ABOUT = {
    "method": "Fleiss' kappa; percentile bootstrap over items",
    "assumptions": "items are a sample; each item's raters are drawn from one pool; labels have "
    "no order",
    "library": "kappa: statsmodels fleiss_kappa; bootstrap: own code, numpy",
}


def fleiss(
    table: pd.DataFrame, *, seed: int = 0, draws: int = DRAWS, source: str = "ratings"
) -> dict[str, Any]:
    """Fleiss' kappa of a table of ratings (see ``read_ratings``), with a bootstrap interval.

    Keys: ``fleiss_kappa``, ``ci95`` (percentile bootstrap over items), ``observed_agreement``
    (share of pairs of ratings of one item that agree), ``marginals`` (share of all ratings a
    label), ``krippendorff_nominal``, counts, ``not_defined``. Raises BadTable where items have
    unequal numbers of ratings, or one each: ``krippendorff`` takes the former.
    """
    ratings = read_ratings(table, None, source)
    per_item = ratings.per_item
    least, most = int(per_item.min()), int(per_item.max())
    if least != most:
        raise BadTable(
            f"{source}: items have {least} to {most} ratings, and Fleiss' kappa needs as many for "
            "every item; use --kind alpha"
        )
    if most < 2:
        raise BadTable(f"{source}: every item has one rating; agreement needs two or more")
    counts = ratings.counts().toarray()
    shares = counts.sum(axis=0) / counts.sum()
    once = np.ones((1, len(counts)))
    document = {
        "kind": "fleiss",
        **_kappa(counts, seed, draws),
        "krippendorff_nominal": alphas(ratings.counts(), once, "nominal", None)[0],
        "observed_agreement": _pair_agreement(counts).mean(),
        "marginals": dict(zip(ratings.labels, shares, strict=True)),
        "labels": ratings.labels,
        "n_items": len(counts),
        "n_raters": len(ratings.raters),
        "n_ratings": len(ratings.item),
        "ratings_per_item": most,
        "draws": draws,
        "seed": seed,
        **_ABOUT,
    }
    if document["fleiss_kappa"] is None:
        document["not_defined"]["krippendorff_nominal"] = _ONE_LABEL
    return plain(document)


def fleiss_of(counts: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Fleiss' kappa for every row of weights; shape (rows,), NaN where there is one label only.

    ``counts`` (items, labels) with equal row sums of two or more; ``weights`` (rows, items) say how
    often each item is drawn.
    """
    agreed = weights @ _pair_agreement(counts) / weights.sum(axis=1)
    totals = weights @ counts
    shares = totals / totals.sum(axis=1, keepdims=True)
    by_chance = (shares**2).sum(axis=1)
    result = np.full(len(weights), np.nan)
    defined = (totals > 0).sum(axis=1) > 1
    result[defined] = (agreed[defined] - by_chance[defined]) / (1 - by_chance[defined])
    return result


def _kappa(counts: np.ndarray, seed: int, draws: int) -> dict[str, Any]:
    """``fleiss_kappa``, ``ci95`` and ``not_defined``."""
    from statsmodels.stats.inter_rater import fleiss_kappa

    if (counts.sum(axis=0) > 0).sum() == 1:
        reasons = {"fleiss_kappa": _ONE_LABEL, "ci95": _ONE_LABEL}
        return {"fleiss_kappa": None, "ci95": None, "not_defined": reasons}
    kappa = fleiss_kappa(counts)
    if len(counts) == 1:
        return {"fleiss_kappa": kappa, "ci95": None, "not_defined": {"ci95": _ONE_ITEM}}
    kinds, frequency = kinds_of_items(sparse.csr_array(counts))
    drawn = [
        fleiss_of(kinds.toarray(), weights) for weights in drawn_counts(frequency, draws, seed)
    ]
    interval, reason = percentile95(np.concatenate(drawn))
    reasons = {"ci95": reason} if reason else {}
    return {"fleiss_kappa": kappa, "ci95": interval, "not_defined": reasons}


def _pair_agreement(counts: np.ndarray) -> np.ndarray:
    """Share of each item's pairs of ratings that agree; shape (items,)."""
    size = counts.sum(axis=1)
    return ((counts**2).sum(axis=1) - size) / (size * (size - 1))
