"""Generalised estimating equations with cluster-robust errors: the numbers behind ``gee``.

Independence working correlation; errors model-based, by the sandwich (CR0) and corrected for its
bias by Mancl and DeRouen (2001), which is CR3 of Bell and McCaffrey (statistics.md 4.3).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from analysis.comparison.model_rows import CannotFit, check_rank

#: Trials x columns squared, and a third of the clusters' sizes cubed: about 3 s of work.
MAX_WORK = 1_500_000_000
#: A cluster whose own leverage comes so near 1 has no residual to estimate an error from.
_FULL_LEVERAGE = 1 - 1e-7


@dataclass(frozen=True, slots=True)
class ClusteredFit:
    """Estimates and their three errors a column; ``corrected`` None where it is not defined."""

    estimates: np.ndarray
    model: np.ndarray
    sandwich: np.ndarray
    corrected: np.ndarray | None


def fit_clustered(
    outcome: np.ndarray, columns: np.ndarray, clusters: np.ndarray, *, logit: bool
) -> ClusteredFit:
    """Fit ``outcome`` to ``columns``, shape (trials, effects), with ``clusters`` numbered from 0.

    ``logit`` is the binomial family, else the normal one with differences. Raises CannotFit where
    there is one cluster, columns depend on one another, or the work exceeds MAX_WORK.
    """
    _check_size(columns, clusters)
    check_rank(columns)
    import statsmodels.api as sm

    family = sm.families.Binomial() if logit else sm.families.Gaussian()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # Separated people make statsmodels warn of what the caller's guard reports.
        warnings.simplefilter("ignore")
        model = sm.GEE(outcome, columns, groups=clusters, family=family)
        found = model.fit(cov_type="bias_reduced", ctol=1e-9)
        fitted = np.asarray(found.fittedvalues)
    weights = fitted * (1 - fitted) if logit else np.ones(len(outcome))
    if not np.isfinite(found.params).all():
        raise CannotFit("the estimates do not converge")
    return ClusteredFit(
        np.asarray(found.params),
        np.asarray(found.standard_errors("naive")),
        np.asarray(found.standard_errors("robust")),
        None
        if _has_full_leverage(columns, weights, clusters)
        else np.asarray(found.standard_errors("bias_reduced")),
    )


def _check_size(columns: np.ndarray, clusters: np.ndarray) -> None:
    sizes = np.bincount(clusters).astype(float)
    if len(sizes) < 2:
        raise CannotFit("there is one cluster only")
    work = len(columns) * columns.shape[1] ** 2 + (sizes**3).sum() / 3
    if work > MAX_WORK:
        raise CannotFit(
            f"{len(columns)} trials with {columns.shape[1]} columns in {len(sizes)} clusters, the "
            f"largest of {int(sizes.max())}, take too long: {work:.2g} of {MAX_WORK:.2g} operations"
        )


def _has_full_leverage(columns: np.ndarray, weights: np.ndarray, clusters: np.ndarray) -> bool:
    """Whether some cluster determines an effect alone, so that I - H of it is singular."""
    weighted = columns * np.sqrt(weights)[:, None]
    gram = weighted.T @ weighted
    try:
        lower = np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        return True
    whitened = np.linalg.solve(lower, weighted.T).T
    for members in np.split(
        np.argsort(clusters, kind="stable"), np.cumsum(np.bincount(clusters))[:-1]
    ):
        own = whitened[members]
        small = own @ own.T if len(own) <= own.shape[1] else own.T @ own
        if np.linalg.eigvalsh(small)[-1] > _FULL_LEVERAGE:
            return True
    return False
