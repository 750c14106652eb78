"""The algebra of two crossed random intercepts, for linear and logistic models alike.

With b = scale * u, u standard normal, both models need H = I + S Z' W Z S again and again: Z the
indicators of claims and participants, W a weight a trial, S the scales. H has two diagonal blocks
and one block of counts, so the larger factor is eliminated and only a matrix of the size of the
smaller one is decomposed. Bates et al. (2015), Journal of Statistical Software 67(1), section 3,
describe the criteria that are built on H.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from analysis.comparison.model_rows import CannotFit, ModelRows

#: Larger factor x smaller factor squared: the products of one decomposition, of which a fit needs
#: some hundred. At this size a logistic fit takes about ten seconds.
MAX_WORK = 50_000_000


@dataclass(frozen=True, slots=True)
class Factored:
    """H, decomposed. Vectors list the levels of the larger factor, then those of the smaller."""

    log_determinant: float
    diagonal: np.ndarray
    cross: np.ndarray
    lower: tuple[np.ndarray, bool]

    def solve(self, right: np.ndarray) -> np.ndarray:
        """H^-1 ``right``; shape (levels,) or (levels, k)."""
        n_large = len(self.diagonal)
        inverse = (1 / self.diagonal) if right.ndim == 1 else (1 / self.diagonal)[:, None]
        top = right[:n_large] * inverse
        small = cho_solve(self.lower, right[n_large:] - self.cross.T @ top)
        return np.concatenate([top - (self.cross @ small) * inverse, small])


class Crossed:
    """Claims and participants of some trials as two crossed factors.

    ``larger`` and ``smaller`` hold each trial's level; scales are given in the order claim,
    participant. Raises CannotFit where the tables would be too large.
    """

    def __init__(self, rows: ModelRows):
        self._claims_first = rows.n_claims >= rows.n_people
        pair = (rows.claims, rows.people) if self._claims_first else (rows.people, rows.claims)
        self.larger, self.smaller = pair
        sizes = sorted((rows.n_claims, rows.n_people), reverse=True)
        self.n_larger, self.n_smaller = sizes
        if self.n_larger * self.n_smaller**2 > MAX_WORK:
            most = math.isqrt(MAX_WORK // self.n_larger)
            raise CannotFit(
                f"{self.n_larger} x {self.n_smaller} participants and claims are too many for it; "
                f"beside {self.n_larger}, up to {most} are fitted"
            )
        self._cell = self.larger * self.n_smaller + self.smaller

    def scales(self, claim: float, participant: float) -> np.ndarray:
        """The scale of every level; shape (levels,)."""
        both = (claim, participant) if self._claims_first else (participant, claim)
        return np.repeat(both, [self.n_larger, self.n_smaller])

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Z' ``values``: sums over the trials of every level; shape (levels,)."""
        return np.concatenate(
            [
                np.bincount(self.larger, values, self.n_larger),
                np.bincount(self.smaller, values, self.n_smaller),
            ]
        )

    def spread(self, effects: np.ndarray) -> np.ndarray:
        """Z ``effects``: the sum of both levels' effects for every trial; shape (trials,)."""
        return effects[self.larger] + effects[self.n_larger + self.smaller]

    def cells(self, weights: np.ndarray) -> np.ndarray:
        """Weights summed over the trials of every pair of levels; shape (larger, smaller)."""
        size = self.n_larger * self.n_smaller
        return np.bincount(self._cell, weights, size).reshape(self.n_larger, self.n_smaller)

    def factored(self, cells: np.ndarray, scales: np.ndarray) -> Factored:
        """H for the weights summed in ``cells`` and the ``scales`` of the levels."""
        large, small = scales[: self.n_larger], scales[self.n_larger :]
        diagonal = 1 + large**2 * cells.sum(axis=1)
        cross = (large[0] * small[0]) * cells
        rest = np.diag(1 + small**2 * cells.sum(axis=0))
        lower = cho_factor(rest - cross.T @ (cross / diagonal[:, None]), lower=True)
        log_determinant = np.log(diagonal).sum() + 2 * np.log(np.diag(lower[0])).sum()
        return Factored(float(log_determinant), diagonal, cross, lower)
