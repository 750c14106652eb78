"""Differences between two conditions and their 95 % limits, for many simulated studies at once.

Every function takes ``values`` of shape (runs, trials): one row a simulated study, all with the
same trials. The design is prepared once, in ``Grouping``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

#: Of a two-sided test, and of the 95 % limits.
LEVEL = 0.05
#: An error smaller than this share of the values' own size is rounding.
_ROUNDING = 1e-10


@dataclass(frozen=True)
class Estimate:
    """First minus second of every run, and half the width of its 95 % interval; shape (runs,).

    The width is infinite where a run has no standard error: such a study finds nothing.
    """

    difference: np.ndarray
    half_width: np.ndarray

    @property
    def differs(self) -> np.ndarray:
        """Whether the interval leaves out 0."""
        return np.abs(self.difference) > self.half_width

    @property
    def is_below_zero(self) -> np.ndarray:
        """Whether the upper limit is below 0."""
        return self.difference + self.half_width < 0

    def is_above(self, bound: float) -> np.ndarray:
        """Whether the lower limit is above ``bound``."""
        return self.difference - self.half_width > bound


@dataclass(frozen=True)
class Grouping:
    """Trials put in groups: the order that brings groups together, and where each begins."""

    order: np.ndarray
    starts: np.ndarray
    sizes: np.ndarray
    #: The value that the trials of each group share, ascending.
    codes: np.ndarray

    @classmethod
    def of(cls, codes: np.ndarray) -> Grouping:
        """Groups of trials with the same code."""
        unique, starts, sizes = np.unique(np.sort(codes), return_index=True, return_counts=True)
        return cls(np.argsort(codes, kind="stable"), starts, sizes, unique)

    def __len__(self) -> int:
        return len(self.starts)

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sums a group; (runs, trials) to (runs, groups).

        ``take`` keeps the rows in one piece of memory, so that a row is summed the same way
        whatever the number of rows.
        """
        return np.add.reduceat(np.take(values, self.order, axis=1), self.starts, axis=1)


@dataclass(frozen=True)
class TwoWay:
    """The primary test (statistics.md 4.1) of one design, in closed form.

    The slope of an OLS on the condition alone is the difference of means, and a trial's part in
    its error is its residual over the number of trials of its condition, negative in the second.
    """

    is_first: np.ndarray
    participants: Grouping
    claims: Grouping
    pairs: Grouping

    @classmethod
    def of(cls, is_first: np.ndarray, participant: np.ndarray, claim: np.ndarray) -> TwoWay:
        """The test of trials with these codes (whole numbers from 0), all of shape (trials,)."""
        pair = participant.astype(np.int64) * (int(claim.max()) + 1) + claim
        return cls(is_first, Grouping.of(participant), Grouping.of(claim), Grouping.of(pair))

    def estimate(self, values: np.ndarray) -> Estimate:
        """Difference with its limits by t with min(participants, claims) - 1 degrees."""
        difference, error = self.errors(values)
        freedom = min(len(self.participants), len(self.claims)) - 1
        return Estimate(difference, critical(freedom) * _above_zero(error, values))

    def errors(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Difference and standard error: the largest of two-way, participants' and claims'."""
        first, second = self.is_first, ~self.is_first
        means = values[:, first].mean(axis=1), values[:, second].mean(axis=1)
        parts = np.empty_like(values, dtype=float)
        parts[:, first] = (values[:, first] - means[0][:, None]) / first.sum()
        parts[:, second] = (means[1][:, None] - values[:, second]) / second.sum()
        people, claims = (
            self._variance(parts, self.participants),
            self._variance(parts, self.claims),
        )
        both = people + claims - self._variance(parts, self.pairs)
        # A negative two-way variance is passed over by the largest.
        return means[0] - means[1], np.sqrt(np.maximum(both, np.maximum(people, claims)))

    def _variance(self, parts: np.ndarray, groups: Grouping) -> np.ndarray:
        """Clustered by one grouping, with its factor G/(G-1) (N-1)/(N-K), K = 2."""
        trials, count = len(self.is_first), len(groups)
        sums = parts if count == trials else groups.sums(parts)
        return (sums**2).sum(axis=1) * count / (count - 1) * (trials - 1) / (trials - 2)


@dataclass(frozen=True)
class Paired:
    """The paired t test over units (people, or claims) that have trials in both conditions."""

    cells: Grouping
    first: np.ndarray
    second: np.ndarray

    @classmethod
    def of(cls, is_first: np.ndarray, unit: np.ndarray) -> Paired:
        """The test of trials with these units (whole numbers from 0), both of shape (trials,)."""
        cells = Grouping.of(2 * unit.astype(np.int64) + is_first)
        in_first, in_second = cells.codes % 2 == 1, cells.codes % 2 == 0
        both = np.intersect1d(cells.codes[in_first] // 2, cells.codes[in_second] // 2)
        paired = np.isin(cells.codes // 2, both)
        return cls(cells, np.flatnonzero(in_first & paired), np.flatnonzero(in_second & paired))

    @property
    def units(self) -> int:
        """Units with trials in both conditions."""
        return len(self.first)

    def estimate(self, values: np.ndarray) -> Estimate | None:
        """Mean of the units' differences with its limits; None with fewer than two units."""
        if self.units < 2:
            return None
        means = self.cells.sums(values) / self.cells.sizes
        differences = np.take(means, self.first, axis=1) - np.take(means, self.second, axis=1)
        error = differences.std(axis=1, ddof=1) / np.sqrt(self.units)
        width = critical(self.units - 1) * _above_zero(error, values)
        return Estimate(differences.mean(axis=1), width)


def _above_zero(error: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Standard errors, infinite where there is none: the analysis has no test there either."""
    return np.where(error > _ROUNDING * np.abs(values).max(axis=1), error, np.inf)


def critical(freedom: int) -> float:
    """The two-sided critical value of t with so many degrees of freedom."""
    return float(stdtrit(freedom, 1 - LEVEL / 2))
