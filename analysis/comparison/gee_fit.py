"""Generalised estimating equations with cluster-robust errors: the numbers behind ``gee``.

Independence working correlation; errors model-based, by the sandwich (CR0) and corrected for its
bias by Mancl and DeRouen (2001), which is CR3 of Bell and McCaffrey (statistics.md 4.3).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.comparison.model_rows import CannotFit, check_rank

#: Trials x columns squared, and a third of the clusters' sizes cubed: about 3 s of work.
MAX_WORK = 1_500_000_000
#: A cluster whose own leverage comes so near 1 has no residual to estimate an error from.
_FULL_LEVERAGE = 1 - 1e-7
#: Residuals and errors below this share of their scale are rounding.
_EXACT = 1e-9


@dataclass(frozen=True, slots=True)
class ClusteredFit:
    """Estimates and their three errors a column; ``corrected`` None where it is not defined."""

    estimates: np.ndarray
    model: np.ndarray
    sandwich: np.ndarray
    corrected: np.ndarray | None


def fit_clustered(
    outcome: np.ndarray,
    columns: np.ndarray,
    clusters: np.ndarray,
    *,
    logit: bool,
    people: np.ndarray | None = None,
) -> ClusteredFit:
    """Fit ``outcome`` to ``columns``, shape (trials, effects), with ``clusters`` numbered from 0.

    ``people``, numbered from 0, adds a dummy column each behind the effects. ``logit`` is the
    binomial family, else the normal one with differences. Raises CannotFit where there is one
    cluster, columns depend on one another, the work exceeds MAX_WORK, or nothing varies.
    """
    n_dummies = 0 if people is None else int(people.max()) + 1
    _check_size(len(columns), columns.shape[1] + n_dummies, clusters)
    if np.ptp(outcome) == 0:
        raise CannotFit("all trials have the same value")
    if people is not None:
        columns = np.column_stack([columns, np.eye(n_dummies)[people]])
    check_rank(columns)
    import statsmodels.api as sm

    family = sm.families.Binomial() if logit else sm.families.Gaussian()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # Separated people make statsmodels warn of what the caller's guard reports.
        warnings.simplefilter("ignore")
        model = sm.GEE(outcome, columns, groups=clusters, family=family)
        found = _fitted(model)
        fitted = np.asarray(found.fittedvalues)
    if not np.isfinite(found.params).all():
        raise CannotFit("the estimates do not converge")
    if np.abs(outcome - fitted).max() < _EXACT * np.ptp(outcome):
        raise CannotFit("the effects explain the outcomes without a residual")
    weights = fitted * (1 - fitted) if logit else np.ones(len(outcome))
    model_errors = _roots(found.cov_naive)
    corrected = None
    if found.cov_type == "bias_reduced" and not _has_full_leverage(columns, weights, clusters):
        corrected = _without_dust(_roots(found.cov_robust_bc), model_errors)
    return ClusteredFit(
        np.asarray(found.params),
        model_errors,
        _without_dust(_roots(found.cov_robust), model_errors),
        corrected,
    )


def _fitted(model: Any) -> Any:
    """The fitted model; without the corrected error where a cluster's I - H is exactly singular."""
    try:
        return model.fit(cov_type="bias_reduced", ctol=1e-9)
    except np.linalg.LinAlgError:
        return model.fit(cov_type="robust", ctol=1e-9)


def _roots(covariance: np.ndarray) -> np.ndarray:
    """Roots of the variances; rounding may leave one that is 0 below it."""
    return np.sqrt(np.maximum(np.diag(covariance), 0))


def _without_dust(errors: np.ndarray, model_errors: np.ndarray) -> np.ndarray:
    """Errors; 0 where they are 0 but for rounding, as when all clusters' scores cancel."""
    return np.where(errors > _EXACT * model_errors, errors, 0.0)


def _check_size(n_trials: int, n_columns: int, clusters: np.ndarray) -> None:
    sizes = np.bincount(clusters).astype(float)
    if len(sizes) < 2:
        raise CannotFit("there is one cluster only")
    work = n_trials * n_columns**2 + (sizes**3).sum() / 3
    if work > MAX_WORK:
        raise CannotFit(
            f"{n_trials} trials with {n_columns} columns in {len(sizes)} clusters, the largest of "
            f"{int(sizes.max())}, take {work:.1e} operations, more than the {MAX_WORK:.1e} allowed"
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
