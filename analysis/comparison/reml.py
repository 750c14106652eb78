"""The linear model with two crossed random intercepts, by restricted maximum likelihood.

The same criterion that lme4's lmer and statsmodels' MixedLM minimise, profiled over the fixed
effects and the residual variance (Bates et al. 2015, section 3.4), so that two scales are left to
search. MixedLM takes about 20 s a fit at 5,000 trials and stops short on a zero variance; this
takes a tenth of a second, since no matrix has the size of the trials.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from analysis.comparison.crossed import Crossed
from analysis.comparison.model_rows import CannotFit, ModelRows, check_factors, check_rank
from analysis.comparison.searching import stops_beyond, without_needless

#: Where the search begins: claim and participant SD over that of the residual.
_STARTS = ((1.0, 1.0), (1.0, 0.1), (0.1, 1.0), (0.1, 0.1))
#: A scale beyond it has run away: claims and participants explain everything.
_RUN_AWAY = 1e3
#: The share of the residual in the total variance below which the model fits exactly.
_EXACT = 1e-10


@dataclass(frozen=True, slots=True)
class RemlFit:
    """Estimates and standard errors of the fixed effects; variances; the REML log-likelihood."""

    estimates: np.ndarray
    errors: np.ndarray
    claim_variance: float
    participant_variance: float
    residual_variance: float
    log_likelihood: float


def fit_reml(rows: ModelRows, columns: np.ndarray) -> RemlFit:
    """Fit ``rows.outcome`` to the fixed effects ``columns``, shape (trials, effects).

    Raises CannotFit where a variance cannot be identified or the outcomes leave no residual.
    """
    check_factors(rows)
    check_rank(columns)
    if len(rows) <= columns.shape[1] + 1:
        raise CannotFit(f"{len(rows)} trials are too few for it")
    if np.ptp(rows.outcome) == 0:
        raise CannotFit("all trials have the same value")
    profile = _Profile(rows, columns)
    scales = without_needless(profile.deviance, _search(profile))
    return profile.fit_at(scales)


class _Profile:
    """The criterion as a function of the two scales (SD over residual SD)."""

    def __init__(self, rows: ModelRows, columns: np.ndarray):
        self.crossed = Crossed(rows)
        self.n, self.n_effects = columns.shape
        # Centred outcomes keep digits that a large mean would cost.
        self.centre = rows.outcome.mean()
        both = np.column_stack([columns, rows.outcome - self.centre])
        self.products = both.T @ both
        self.level_sums = np.column_stack([self.crossed.sums(column) for column in both.T])
        self.cells = self.crossed.cells(np.ones(self.n))

    def deviance(self, scales: np.ndarray) -> float:
        """-2 REML log-likelihood; infinite where the model fits exactly or rounding decides."""
        inner, log_determinant = self._inner(scales)
        try:
            residual = self._residual(inner)
        except np.linalg.LinAlgError:
            return np.inf
        if residual <= _EXACT * self.products[-1, -1]:
            return np.inf
        df = self.n - self.n_effects
        _, log_fixed = np.linalg.slogdet(inner[:-1, :-1])
        return float(log_determinant + log_fixed + df * (1 + np.log(2 * np.pi * residual / df)))

    def fit_at(self, scales: np.ndarray) -> RemlFit:
        """The estimates for given scales. The centre goes back to the intercept, column 0."""
        inner, _ = self._inner(scales)
        variance = self._residual(inner) / (self.n - self.n_effects)
        estimates = np.linalg.solve(inner[:-1, :-1], inner[:-1, -1])
        estimates[0] += self.centre
        covariance = variance * np.linalg.inv(inner[:-1, :-1])
        claim, participant = variance * scales**2
        return RemlFit(
            estimates,
            np.sqrt(np.diag(covariance)),
            float(claim),
            float(participant),
            float(variance),
            -self.deviance(scales) / 2,
        )

    def _inner(self, scales: np.ndarray) -> tuple[np.ndarray, float]:
        """[X y]' V^-1 [X y], V in units of the residual variance, and log det V."""
        every = self.crossed.scales(*scales)
        factored = self.crossed.factored(self.cells, every)
        right = every[:, None] * self.level_sums
        return self.products - right.T @ factored.solve(right), factored.log_determinant

    def _residual(self, inner: np.ndarray) -> float:
        """The weighted residual sum of squares at the best fixed effects."""
        fixed = np.linalg.solve(inner[:-1, :-1], inner[:-1, -1])
        return float(inner[-1, -1] - inner[:-1, -1] @ fixed)


def _search(profile: _Profile) -> np.ndarray:
    """The best scales over all starts. The criterion is even in each, so none is bounded."""
    if not np.isfinite(profile.deviance(np.zeros(2))):
        raise CannotFit("the conditions explain the outcomes without a residual")
    found = [
        minimize(
            profile.deviance,
            start,
            method="Nelder-Mead",
            callback=stops_beyond(_RUN_AWAY),
            options={"xatol": 1e-7, "fatol": 1e-10, "maxiter": 2_000},
        )
        for start in _STARTS
    ]
    best = min(found, key=lambda result: result.fun)
    if not np.isfinite(best.fun) or np.abs(best.x).max() > _RUN_AWAY:
        raise CannotFit("claims and participants explain the outcomes without a residual")
    return np.abs(best.x)
