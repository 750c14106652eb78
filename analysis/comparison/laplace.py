"""The logistic model with two crossed random intercepts, by the Laplace approximation.

The criterion is that of lme4's glmer (nAGQ = 1): the likelihood is approximated at the mode of the
random effects, which Newton steps find for every trial value of the scales and fixed effects
(Breslow and Clayton 1993; Bates et al. 2015). Errors come from the Hessian over all parameters,
so that the uncertainty of the variances is in them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from analysis.comparison.crossed import Crossed, Factored
from analysis.comparison.model_rows import CannotFit, ModelRows, check_factors, check_rank
from analysis.comparison.searching import stops_beyond, without_needless

#: SDs of claims and participants where the search begins.
_STARTS = ((1.0, 0.5), (0.3, 1.0))
#: A search ends here; an SD or log odds that a step leaves beyond has run away for good.
_MAX_STEPS = 200
_RUN_AWAY = 15.0
#: Steps of the differences: for the gradient, for the Hessian.
_GRADIENT_STEP = 1e-4
_HESSIAN_STEP = 1e-2
#: The mode is found when a Newton step gains less; a step may lose so much by rounding.
_MODE_GAIN = 1e-16
_ROUNDING = 1e-11


@dataclass(frozen=True, slots=True)
class LaplaceFit:
    """Log odds and standard errors (None where the likelihood is flat); variances; -2 log L."""

    estimates: np.ndarray
    errors: np.ndarray | None
    claim_variance: float
    participant_variance: float
    deviance: float


def fit_laplace(rows: ModelRows, columns: np.ndarray) -> LaplaceFit:
    """Fit the binary ``rows.outcome`` to the fixed effects ``columns``, shape (trials, effects).

    Raises CannotFit where all outcomes are equal or a factor has one level. Estimates may run
    away on data that do not identify them: the caller guards.
    """
    check_factors(rows)
    check_rank(columns)
    if np.ptp(rows.outcome) == 0:
        raise CannotFit("all trials have the same outcome")
    model = _Laplace(rows, columns)
    best = min((model.search(start) for start in _STARTS), key=model.deviance)
    best = without_needless(model.deviance, best)
    return LaplaceFit(
        best[2:],
        _errors(model, best),
        float(best[0] ** 2),
        float(best[1] ** 2),
        model.deviance(best),
    )


class _Laplace:
    """-2 log-likelihood as a function of (claim SD, participant SD, fixed effects)."""

    def __init__(self, rows: ModelRows, columns: np.ndarray):
        self.crossed = Crossed(rows)
        self.columns = columns
        self.outcome = rows.outcome
        self.modes = np.zeros(self.crossed.n_larger + self.crossed.n_smaller)

    def search(self, start: tuple[float, float]) -> np.ndarray:
        """The best parameters from a start; even in both SDs, so that none is bounded."""
        self.modes[:] = 0
        first = np.concatenate([start, np.zeros(self.columns.shape[1])])
        found = minimize(
            self.deviance,
            first,
            jac=self.gradient,
            method="BFGS",
            callback=stops_beyond(_RUN_AWAY),
            options={"gtol": 1e-4, "maxiter": _MAX_STEPS},
        )
        return np.concatenate([np.abs(found.x[:2]), found.x[2:]])

    def deviance(self, parameters: np.ndarray) -> float:
        """-2 times the approximate log-likelihood."""
        scales = self.crossed.scales(*parameters[:2])
        fixed = self.columns @ parameters[2:]
        modes, factored = self._mode(scales, fixed)
        return -2 * self._log_joint(modes, scales, fixed) + factored.log_determinant

    def gradient(self, parameters: np.ndarray) -> np.ndarray:
        """Its slope by central differences."""
        steps = _GRADIENT_STEP * np.eye(len(parameters))
        rises = [self.deviance(parameters + s) - self.deviance(parameters - s) for s in steps]
        return np.array(rises) / (2 * _GRADIENT_STEP)

    def _mode(self, scales: np.ndarray, fixed: np.ndarray) -> tuple[np.ndarray, Factored]:
        """The random effects that maximise the joint density, by damped Newton steps."""
        modes = self.modes
        value = self._log_joint(modes, scales, fixed)
        for _ in range(100):
            chance = expit(fixed + self.crossed.spread(scales * modes))
            slope = scales * self.crossed.sums(self.outcome - chance) - modes
            factored = self.crossed.factored(self.crossed.cells(chance * (1 - chance)), scales)
            step = factored.solve(slope)
            if slope @ step < _MODE_GAIN:
                break
            modes, value = self._uphill(modes, step, value, scales, fixed)
        self.modes = modes
        return modes, factored

    def _uphill(
        self,
        modes: np.ndarray,
        step: np.ndarray,
        value: float,
        scales: np.ndarray,
        fixed: np.ndarray,
    ) -> tuple[np.ndarray, float]:
        """The step, halved until it does not lead down."""
        for halvings in range(30):
            there = modes + step / 2**halvings
            reached = self._log_joint(there, scales, fixed)
            if reached >= value - _ROUNDING:
                return there, reached
        return modes, value

    def _log_joint(self, modes: np.ndarray, scales: np.ndarray, fixed: np.ndarray) -> float:
        """Log-likelihood given the random effects, less half their squared length."""
        eta = fixed + self.crossed.spread(scales * modes)
        log_likelihood = (self.outcome * eta - np.logaddexp(0, eta)).sum()
        return float(log_likelihood - modes @ modes / 2)


def _errors(model: _Laplace, best: np.ndarray) -> np.ndarray | None:
    """Standard errors of the fixed effects; None where the surface does not curve up.

    Twice the inverse of the Hessian of -2 log L is the covariance of all parameters. An SD of 0
    stays out: the surface is even in it, so that it shares no curvature with the others.
    """
    free = [place for place in range(len(best)) if place > 1 or best[place] > 0]
    steps = _HESSIAN_STEP * np.eye(len(best))[free]
    hessian = np.empty((len(free), len(free)))
    for i, one in enumerate(steps):
        for j, other in enumerate(steps[: i + 1]):
            corners = (
                model.deviance(best + one + other)
                - model.deviance(best + one - other)
                - model.deviance(best - one + other)
                + model.deviance(best - one - other)
            )
            hessian[i, j] = hessian[j, i] = corners / (4 * _HESSIAN_STEP**2)
    if not np.isfinite(hessian).all() or np.linalg.eigvalsh(hessian)[0] < 1e-6:
        return None
    n_fixed = len(best) - 2
    return np.sqrt(np.diag(2 * np.linalg.inv(hessian)))[-n_fixed:]
