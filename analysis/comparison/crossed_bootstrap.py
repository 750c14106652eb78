"""The difference of two conditions under the crossed bootstrap (statistics.md 4.2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from analysis.comparison.compared import FAMILY, Compared
from analysis.comparison.contrast import Contrast
from analysis.resampling import (
    NO_SPREAD,
    ONE_CLAIM,
    ONE_PARTICIPANT,
    Crossed,
    Sums,
    crossed,
    divide,
    does_not_vary,
    resample,
    summarize,
    why_not,
)

DRAWS = 10_000
DRAWS_OF_MANY = 2_000
#: Above so many trials the smaller number of draws is taken.
MANY_TRIALS = 20_000


def crossed_bootstrap(
    design_set: pd.DataFrame, contrast: Contrast, seed: int, draws: int | None = None
) -> dict[str, dict[str, Any]]:
    """The difference of means, first condition minus second, of every measure of the family.

    ``design_set`` holds scored trials; ``seed`` is a whole number from 0 up; ``draws`` is by
    default 10,000, and 2,000 above 20,000 trials. Returns by measure key: ``estimate``, ``se``,
    ``percentile95`` (two limits), ``B`` (draws used) and ``redrawn`` (draws that gave one of the
    conditions no weight and were replaced). What is not defined is None, and ``reason`` says why.
    """
    trials, design = crossed(contrast.trials_of(design_set))
    if draws is None:
        draws = DRAWS if len(trials) <= MANY_TRIALS else DRAWS_OF_MANY
    is_first = contrast.is_first(trials).astype(bool)
    result: dict[str, dict[str, Any]] = {}
    to_draw: dict[str, np.ndarray] = {}
    for measure in FAMILY:
        columns, reason = _columns(trials, measure)
        sides = (columns[:, 1] > 0) & is_first, (columns[:, 1] > 0) & ~is_first
        reason = reason or _without_trials(sides, contrast)
        estimate = None if reason else _difference(columns, sides)
        reason = reason or _why_not_drawn(design, columns, sides)
        result[measure.key] = {"estimate": estimate} | _not_drawn(reason)
        if not reason:
            to_draw[measure.key] = columns
    if to_draw:
        drawn = _draw(design, list(to_draw.values()), is_first, draws, seed)
        for key, values in zip(to_draw, drawn, strict=True):
            result[key] |= values
    return result


def _columns(trials: pd.DataFrame, measure: Compared) -> tuple[np.ndarray, str]:
    """Values and weights of a measure, 0 where a trial has none, and why there are no values.

    Shape (trials, 2).
    """
    columns = np.zeros((len(trials), 2))
    rows = measure.rows_of(trials)
    try:
        columns[rows.index, 0] = measure.values_of(rows)
    except ValueError as error:
        return columns, f"not defined, because {error}"
    columns[rows.index, 1] = 1
    return columns, ""


def _without_trials(sides: tuple[np.ndarray, np.ndarray], contrast: Contrast) -> str:
    """Which condition has no trial with a value; empty when both have."""
    for side, condition in zip(sides, (contrast.first, contrast.second), strict=True):
        if not side.any():
            return f"not defined, because no trial of {condition} has a value"
    return ""


def _difference(columns: np.ndarray, sides: tuple[np.ndarray, np.ndarray]) -> float:
    """Mean of the first condition's trials minus mean of the second's."""
    first, second = (float(columns[side, 0].mean()) for side in sides)
    return first - second


def _why_not_drawn(
    design: Crossed, columns: np.ndarray, sides: tuple[np.ndarray, np.ndarray]
) -> str:
    """Why the difference has no resamples; empty when it has."""
    reasons = [why_not(design.people[side], design.claims[side]) for side in sides]
    for reason in (ONE_PARTICIPANT, ONE_CLAIM):
        if reason in reasons:
            return reason
    return NO_SPREAD if all(does_not_vary(*columns[side].T) for side in sides) else ""


def _not_drawn(reason: str) -> dict[str, Any]:
    """What a measure without resamples says, before it gets any."""
    nothing = {"se": None, "percentile95": None, "B": 0, "redrawn": 0}
    return nothing | ({"reason": reason} if reason else {})


def _draw(
    design: Crossed, measures: list[np.ndarray], is_first: np.ndarray, draws: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Spread of the resampled differences, one dict a measure."""
    stacked = np.hstack(measures)
    parts = [Sums(np.flatnonzero(side), stacked[side]) for side in (is_first, ~is_first)]
    drawn, redrawn = resample(design, parts, _differences, draws, seed)
    for se, low, high, again in zip(*summarize(drawn), redrawn, strict=True):
        yield {
            "se": float(se),
            "percentile95": [float(low), float(high)],
            "B": draws,
            "redrawn": int(again),
        }


def _differences(sums: list[np.ndarray]) -> np.ndarray:
    """Differences of weighted means: columns are value and weight of one measure after another."""
    n = sums[0].shape[1]
    values, weights = range(0, n, 2), range(1, n, 2)
    first, second = (divide(part, values, weights) for part in sums)
    return first - second
