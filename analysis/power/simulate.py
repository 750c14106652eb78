"""Draw the trials of simulated studies (statistics.md 5).

Every run has random numbers of its own, by seed and number of the run, so that it comes out the
same in any batch. How many are drawn depends on the layout alone: studies under other assumptions
with the same seed share them (common random numbers).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from analysis.power.assumptions import Assumptions, Reading, Shares
from analysis.power.layout import Layout

#: Points of a standard normal and their weights. Equal steps are far more exact than Gauss-Hermite
#: nodes here: below 1e-12 up to a spread of 10.
_POINTS = np.linspace(-8.5, 8.5, 1701)
_WEIGHTS = np.exp(-(_POINTS**2) / 2) / np.exp(-(_POINTS**2) / 2).sum()

#: The two streams of a run.
_SUCCESS, _READING = 0, 1


@dataclass(frozen=True)
class Read:
    """Sentences of every trial; all of shape (runs, trials), floats.

    ``rank`` is that of the first sufficient prefix, infinite where all was shown at once: there
    over-reading says nothing about a reader.
    """

    n_read: np.ndarray
    required: np.ndarray
    rank: np.ndarray


def intercept(rate: float, sd: float) -> float:
    """The logit at which an SD of ``sd`` around it gives the marginal ``rate``, by bisection.

    A rate of 0 or 1 gives an infinite one.
    """
    if rate in (0.0, 1.0):
        return float(logit(rate))
    reach = 10.0 + 6.0 * sd
    low, high = float(logit(rate)) - reach, float(logit(rate)) + reach
    for _ in range(60):
        middle = (low + high) / 2
        if float((_WEIGHTS * expit(middle + sd * _POINTS)).sum()) < rate:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def steepness(rate: float, sd: float) -> float:
    """The mean slope of the logistic curve around the intercept of ``rate``: what a small step on
    the logit adds to the marginal rate."""
    rates = expit(intercept(rate, sd) + sd * _POINTS)
    return float((_WEIGHTS * rates * (1 - rates)).sum())


def successes(layout: Layout, assumptions: Assumptions, seed: int, runs: range) -> np.ndarray:
    """1.0 for success, 0.0 for none; shape (runs, trials)."""
    people, claims = layout.participants, layout.claims
    normals = np.empty((len(runs), 2 * (people + claims)))
    uniforms = np.empty((len(runs), layout.trials))
    for row, run in enumerate(runs):
        generator = np.random.default_rng((seed, run, _SUCCESS))
        normals[row] = generator.standard_normal(normals.shape[1])
        uniforms[row] = generator.random(layout.trials)
    of_people, of_claims = normals[:, : 2 * people], normals[:, 2 * people :]
    logits = _effects(
        of_people, assumptions.sd_participant, assumptions.sd_participant_slope, layout, "people"
    )
    logits += _effects(
        of_claims, assumptions.sd_claim, assumptions.sd_claim_slope, layout, "claims"
    )
    first, second = intercepts(assumptions)
    logits += np.where(layout.is_first, first, second)
    return (uniforms < expit(logits)).astype(float)


def intercepts(assumptions: Assumptions) -> tuple[float, float]:
    """The logits of the two conditions that give their marginal success rates."""
    first, second = assumptions.success
    return intercept(first, assumptions.total_sd), intercept(second, assumptions.total_sd)


def reading(layout: Layout, assumptions: Assumptions, seed: int, runs: range) -> Read:
    """Sentences required, first sufficient rank and sentences read of every trial."""
    people, claims, trials = layout.participants, layout.claims, layout.trials
    of_claims = np.empty((len(runs), 7, claims))
    of_trials = np.empty((len(runs), 2, trials))
    shifts = np.empty((len(runs), people))
    for row, run in enumerate(runs):
        generator = np.random.default_rng((seed, run, _READING))
        of_claims[row] = generator.random((7, claims))
        of_trials[row] = generator.random((2, trials))
        shifts[row] = generator.standard_normal(people)
    required = np.take(_sizes(of_claims[:, 0], assumptions.reading.required), layout.claim, axis=1)
    rank, n_read = np.full(required.shape, np.inf), np.empty(required.shape)
    for condition, interface in enumerate(assumptions.interfaces):
        rows = layout.is_first if condition == 0 else ~layout.is_first
        drawn = np.take(of_claims[:, 1 + 3 * condition : 4 + 3 * condition], layout.claim[rows], 2)
        if interface == "all_at_once":
            n_read[:, rows] = _sizes(drawn[:, 0], assumptions.reading.shown)
            continue
        own = required[:, rows] + _ranker_excess(drawn[:, 1], drawn[:, 2], assumptions.reading)
        shift = np.take(shifts, layout.participant[rows], axis=1)
        rank[:, rows] = own
        n_read[:, rows] = _stops(own, of_trials[:, :, rows], shift, assumptions.reading)
    return Read(n_read, required, rank)


def _effects(
    normals: np.ndarray, sd: float, sd_slope: float, layout: Layout, who: str
) -> np.ndarray:
    """What people or claims add to the logit of every trial: level, and slope times ±½.

    ``normals`` holds the levels of all of them, then the slopes; shape (runs, 2 x number).
    """
    number = normals.shape[1] // 2
    level, slope = sd * normals[:, :number], sd_slope * normals[:, number:] / 2
    by_condition = np.concatenate([level + slope, level - slope], axis=1)
    unit = layout.participant if who == "people" else layout.claim
    return np.take(by_condition, np.where(layout.is_first, unit, unit + number), axis=1)


def _sizes(uniforms: np.ndarray, shares: Shares) -> np.ndarray:
    """Sizes with these shares."""
    sizes = np.array([size for size, _ in shares], dtype=float)
    bounds = np.cumsum([share for _, share in shares])
    return sizes[np.searchsorted(bounds[:-1] / bounds[-1], uniforms, side="right")]


def _ranker_excess(optimal: np.ndarray, excess: np.ndarray, reading: Reading) -> np.ndarray:
    """Sentences that a ranked list shows beyond the smallest gold set: M - q."""
    chance = np.full(1, reading.excess)
    return np.where(optimal < reading.optimal, 0.0, _geometric(excess, chance))


def _stops(
    rank: np.ndarray, uniforms: np.ndarray, shift: np.ndarray, reading: Reading
) -> np.ndarray:
    """Sentences read of incremental trials; ``uniforms`` has shape (runs, 2, trials)."""
    if reading.reader == "oracle":
        return rank
    shift = reading.sd_reader * shift
    before = np.minimum(expit(logit(reading.early) + shift) + reading.gives_up, 1.0)
    early = _geometric(uniforms[:, 0], before)
    late = rank - 1 + _geometric(uniforms[:, 1], expit(logit(reading.stops) + shift))
    return np.where(early < rank, early, late)


def _geometric(uniforms: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """The number of the first of independent tries that succeeds, from 1; infinite for chance 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        tries = np.floor(np.log1p(-uniforms) / np.log1p(-chance)) + 1
    return np.where(chance <= 0, np.inf, np.where(chance >= 1, 1.0, tries))
