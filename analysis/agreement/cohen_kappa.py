"""Cohen's kappa: agreement of two fixed raters (statistics.md 6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from analysis.agreement.alpha import alphas
from analysis.agreement.fleiss_kappa import fleiss_of
from analysis.agreement.ratings import Ratings, read_ratings
from analysis.errors import BadTable
from analysis.plain import plain

#: Name of a block and what statsmodels and scikit-learn call its weights.
WEIGHTS = {"unweighted": None, "linear": "linear", "quadratic": "quadratic"}

_ONE_LABEL = "not defined, because both raters gave every item the same label"
_NO_SPREAD = (
    "not defined, because the formula of the standard error gives no positive variance here"
)

_ABOUT = {
    "method": "Cohen's kappa, asymptotic standard error; the interval is kappa plus and minus "
    "1.96 of it and may pass 1",
    "assumptions": "the same two raters rated every item, each alone; weights count steps along "
    "the list of labels",
    "library": "kappa: scikit-learn cohen_kappa_score; error and interval: statsmodels "
    "cohens_kappa",
}


def cohen(
    table: pd.DataFrame,
    weights: str | None = None,
    *,
    order: Sequence[str] | None = None,
    source: str = "ratings",
) -> dict[str, Any]:
    """Cohen's kappa of two raters, with observed agreement and both marginals beside it.

    ``table`` is one of ``read_ratings`` with exactly two raters; items without both ratings are
    left out and counted. ``weights`` (none, linear, quadratic; default none) is the kappa repeated
    at the top; labels that are numbers, or that have an ``order``, get all three under
    ``unweighted``, ``linear``, ``quadratic``. None stands for what is not defined, with its reason
    in ``not_defined``. Raises BadTable for another number of raters, no item with both ratings, and
    weights for labels without an order.
    """
    ratings = read_ratings(table, order, source)
    pairs = _pairs(ratings, source)
    wanted = "unweighted" if weights in (None, "none") else str(weights)
    possible = list(WEIGHTS) if ratings.ordered else ["unweighted"]
    if wanted not in possible:
        raise BadTable(
            f"{source}: {wanted} weights need labels that are numbers, or their order (--order)"
        )
    crossed = _crossed(pairs, len(ratings.labels))
    blocks: dict[str, dict[str, Any]] = {}
    not_defined: dict[str, str] = {}
    for name in possible:
        blocks[name], reasons = _kappa(pairs, crossed, WEIGHTS[name])
        not_defined |= {f"{name}.{key}": reason for key, reason in reasons.items()}
        if name == wanted:
            not_defined |= reasons
    more, reasons = _others(ratings, pairs, crossed)
    document = {
        "kind": "cohen",
        "weights": "none" if wanted == "unweighted" else wanted,
        **blocks[wanted],
        "observed_agreement": np.trace(crossed) / crossed.sum(),
        "marginals": _marginals(ratings, crossed),
        **more,
        **(blocks if ratings.ordered else {}),
        "labels": ratings.labels,
        "raters": ratings.raters,
        "n_items": len(pairs),
        "n_items_left_out": len(ratings.items) - len(pairs),
        "not_defined": not_defined | reasons,
        **_ABOUT,
    }
    return plain(document)


def _pairs(ratings: Ratings, source: str) -> np.ndarray:
    """Labels of both raters, items with both only; shape (items, 2)."""
    if len(ratings.raters) != 2:
        raise BadTable(
            f"{source}: {len(ratings.raters)} raters, and Cohen's kappa compares two; use --kind "
            "fleiss (as many ratings for every item) or --kind alpha"
        )
    both = np.full((len(ratings.items), 2), -1)
    both[ratings.item, ratings.rater] = ratings.label
    pairs = both[(both >= 0).all(axis=1)]
    if not len(pairs):
        raise BadTable(f"{source}: no item has a rating by both {' and '.join(ratings.raters)}")
    return pairs


def _crossed(pairs: np.ndarray, n_labels: int) -> np.ndarray:
    """Items by label of the first rater (rows) and of the second (columns)."""
    cells = np.bincount(pairs[:, 0] * n_labels + pairs[:, 1], minlength=n_labels**2)
    return cells.reshape(n_labels, n_labels)


def _kappa(
    pairs: np.ndarray, crossed: np.ndarray, weights: str | None
) -> tuple[dict[str, Any], dict[str, str]]:
    """``kappa``, ``ase``, ``ci95``, and why one of them is None."""
    from sklearn.metrics import cohen_kappa_score
    from statsmodels.stats.inter_rater import cohens_kappa

    if len(np.unique(pairs)) == 1:
        nothing = dict.fromkeys(("kappa", "ase", "ci95"))
        return nothing, dict.fromkeys(nothing, _ONE_LABEL)
    labels = range(len(crossed))
    kappa = cohen_kappa_score(pairs[:, 0], pairs[:, 1], labels=labels, weights=weights)
    # Its one-sided test statistic divides by an error that may be 0, and is not used here.
    with np.errstate(divide="ignore", invalid="ignore"):
        found = cohens_kappa(crossed, wt=weights)
    block = {"kappa": kappa, "ase": found.std_kappa, "ci95": [found.kappa_low, found.kappa_upp]}
    if found.std_kappa > 0:
        return block, {}
    return block | {"ase": None, "ci95": None}, {"ase": _NO_SPREAD, "ci95": _NO_SPREAD}


def _marginals(ratings: Ratings, crossed: np.ndarray) -> dict[str, dict[str, float]]:
    """Share of items that each rater gave each label."""
    shares = [crossed.sum(axis=axis) / crossed.sum() for axis in (1, 0)]
    return {
        rater: dict(zip(ratings.labels, share.tolist(), strict=True))
        for rater, share in zip(ratings.raters, shares, strict=True)
    }


def _others(
    ratings: Ratings, pairs: np.ndarray, crossed: np.ndarray
) -> tuple[dict[str, Any], dict[str, str]]:
    """The same ratings by Fleiss and Krippendorff, and by rank for numbers.

    ``yes_share`` (both raters together) is given where the labels are yes and no.
    """
    counts = np.stack([(pairs == label).sum(axis=1) for label in range(len(crossed))], axis=1)
    alpha = alphas(sparse.csr_array(counts), np.ones((1, len(pairs))), "nominal", None)[0]
    values: dict[str, Any] = {
        "fleiss_kappa": fleiss_of(counts, np.ones((1, len(pairs))))[0],
        "krippendorff_nominal": alpha,
    }
    if set(ratings.labels) == {"yes", "no"}:
        values["yes_share"] = counts[:, ratings.labels.index("yes")].sum() / counts.sum()
    reasons = {name: _ONE_LABEL for name, value in values.items() if np.isnan(value)}
    if ratings.values is not None:
        values["spearman"], why = _spearman(pairs)
        reasons |= {"spearman": why} if why else {}
    return values, reasons


def _spearman(pairs: np.ndarray) -> tuple[float | None, str | None]:
    from scipy.stats import spearmanr

    if len(pairs) < 2 or (np.ptp(pairs, axis=0) == 0).any():
        return None, "not defined, because one rater gave every item the same label"
    return float(spearmanr(pairs[:, 0], pairs[:, 1]).statistic), None
