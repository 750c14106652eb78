"""The crossed ("pigeonhole") bootstrap: participants and claims drawn anew, each apart.

In a draw a trial weighs the number of times that its participant was drawn, times the number of
times that its claim was (statistics.md 4.2; Owen 2007, The pigeonhole bootstrap). What is
resampled is always a ratio of two weighted sums over trials, so a draw is a few sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

#: Draws that are worked out together, and the most trials whose weights lie in memory together:
#: the weights of one step fit a processor's cache.
DRAWS_AT_ONCE = 128
TRIALS_AT_ONCE = 512
#: A product of matrices of less work (trials x draws x columns) is done by one thread. More
#: threads gain nothing at these sizes, wait for each other on a busy machine (ten times longer
#: was measured), and may add in another order.
WORK_AT_ONCE = 1_000_000

#: Trials whose values differ from a fixed multiple of their weights by less do not vary.
_ROUNDING = 1e-12

ONE_PARTICIPANT = "not defined, because one participant alone cannot be resampled"
ONE_CLAIM = "not defined, because one claim alone cannot be resampled"
NO_SPREAD = "not defined, because every resample gives the same value: the trials do not differ"


@dataclass(frozen=True, slots=True)
class Crossed:
    """Who answered which claim: codes of every trial, and how many there are of each.

    ``people`` and ``claims`` have shape (trials,) and count from 0 in the order of the ids, so
    that the draws do not depend on the order of the rows.
    """

    people: np.ndarray
    claims: np.ndarray
    n_people: int
    n_claims: int

    def multiplicities(self, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Without end, how often ``DRAWS_AT_ONCE`` draws took every participant and claim.

        Shapes (participants, draws) and (claims, draws). ``seed`` is a whole number from 0 up.
        """
        of_people, of_claims = np.random.default_rng(seed).spawn(2)
        while True:
            yield _counts(of_people, self.n_people), _counts(of_claims, self.n_claims)


@dataclass(frozen=True, slots=True)
class Sums:
    """Columns of some of the trials, to be summed under each draw's weights.

    ``rows`` are places in ``Crossed``, ``columns`` has shape (rows, columns).
    """

    rows: np.ndarray
    columns: np.ndarray


def crossed(trials: pd.DataFrame) -> tuple[pd.DataFrame, Crossed]:
    """The trials sorted by participant and claim, numbered from 0, and their codes."""
    people, person_ids = pd.factorize(trials["participant_id"], sort=True)
    claims, claim_ids = pd.factorize(trials["claim_id"], sort=True)
    ranks = pd.factorize(trials["trial_id"], sort=True)[0]
    order = np.lexsort((ranks, claims, people))
    codes = Crossed(people[order], claims[order], len(person_ids), len(claim_ids))
    return trials.iloc[order].reset_index(drop=True), codes


def resample(
    design: Crossed,
    parts: Sequence[Sums],
    statistic: Callable[[list[np.ndarray]], np.ndarray],
    draws: int,
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """``draws`` values of every statistic, and how often each had to be drawn again.

    ``statistic`` turns the weighted sums of the parts, each of shape (draws, columns), into
    values of shape (draws, statistics), NaN where a draw gives its trials no weight; such a draw
    is replaced for that statistic alone. Returns arrays of shape (draws, statistics) and
    (statistics,). Raises ValueError for fewer than 2 draws, and where a statistic is not defined
    for the trials themselves, for it might never be.
    """
    if draws < 2:
        raise ValueError(f"{draws} draws have no spread; take 2 or more")
    if not np.isfinite(statistic([part.columns.sum(axis=0)[None] for part in parts])).all():
        raise ValueError("a statistic is not defined for the trials themselves")
    blocks: list[np.ndarray] = []
    found: np.ndarray | int = 0
    for people, claims in design.multiplicities(seed):
        values = statistic([_weighted(design, part, people, claims) for part in parts])
        blocks.append(values)
        found = found + np.isfinite(values).sum(axis=0)
        if np.all(found >= draws):
            break
    return _first_defined(np.concatenate(blocks), draws)


def summarize(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Standard error and percentile 95 % limits of draws of shape (draws, statistics)."""
    low, high = np.quantile(values, [0.025, 0.975], axis=0)
    return values.std(axis=0, ddof=1), low, high


def divide(sums: np.ndarray, numerators: Sequence[int], denominators: Sequence[int]) -> np.ndarray:
    """Ratios of columns of weighted sums, NaN where the denominator is not above 0."""
    below = sums[:, denominators]
    out = np.full(below.shape, np.nan)
    return np.divide(sums[:, numerators], below, out=out, where=below > 0)


def why_not(people: np.ndarray, claims: np.ndarray) -> str:
    """Why trials of these participants and claims have no crossed bootstrap; empty if they do."""
    if len(people) and (people == people[0]).all():
        return ONE_PARTICIPANT
    if len(claims) and (claims == claims[0]).all():
        return ONE_CLAIM
    return ""


def does_not_vary(numerator: np.ndarray, denominator: np.ndarray) -> bool:
    """Whether any weights give the same ratio of sums; the denominator's sum is above 0."""
    ratio = numerator.sum() / denominator.sum()
    differences = np.abs(numerator - ratio * denominator)
    return bool(differences.max() <= _ROUNDING * max(np.abs(numerator).max(), 1.0))


def _counts(generator: np.random.Generator, n: int) -> np.ndarray:
    """How often each of n was taken, n times with replacement; shape (n, DRAWS_AT_ONCE)."""
    counts = np.empty((DRAWS_AT_ONCE, n))
    for draw in counts:
        draw[:] = np.bincount(generator.integers(n, size=n), minlength=n)
    return np.ascontiguousarray(counts.T)


def _weighted(design: Crossed, part: Sums, people: np.ndarray, claims: np.ndarray) -> np.ndarray:
    """The weighted sums of a part's columns; shape (draws, columns)."""
    total = np.zeros((people.shape[1], part.columns.shape[1]))
    step = max(1, min(TRIALS_AT_ONCE, WORK_AT_ONCE // total.size))
    for start in range(0, len(part.rows), step):
        stop = start + step
        rows = part.rows[start:stop]
        weights = people[design.people[rows]]
        weights *= claims[design.claims[rows]]
        total += weights.T @ part.columns[start:stop]
    return total


def _first_defined(values: np.ndarray, draws: int) -> tuple[np.ndarray, np.ndarray]:
    """The first ``draws`` defined values of every column, and those passed over until then."""
    kept = np.empty((draws, values.shape[1]))
    again = np.empty(values.shape[1], dtype=int)
    for column, drawn in enumerate(values.T):
        places = np.flatnonzero(np.isfinite(drawn))[:draws]
        kept[:, column] = drawn[places]
        again[column] = places[-1] + 1 - draws
    return kept, again
