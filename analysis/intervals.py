"""Intervals that know of participants and claims, for every measure that is a ratio of sums.

Wilson intervals take trials for independent; these resample participants and claims instead
(the crossed bootstrap, statistics.md 4.2), one condition at a time under the same draws.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from analysis.resampling import (
    NO_SPREAD,
    Crossed,
    Sums,
    crossed,
    divide,
    does_not_vary,
    resample,
    summarize,
    why_not,
)
from analysis.typed import floats

DRAWS = 2_000
METHOD = (
    "crossed bootstrap, percentile 95 %: participants and claims drawn independently with "
    "replacement, a trial weighs the product of its two multiplicities"
)

_TRIALS = "trials"
_LOG_ACTIVE = "log_active_s"

#: Measure, numerator, denominator: columns of the scored trials, ``trials`` is 1 for each.
RATIOS: tuple[tuple[str, str, str], ...] = (
    ("success_rate", "success", "scorable"),
    ("wrong_rate", "wrong", "scorable"),
    ("undecided_rate", "undecided", "scorable"),
    ("mean_read", "n_read", _TRIALS),
    ("mean_required", "gold_min_size", _TRIALS),
    ("mean_surplus", "surplus", _TRIALS),
    ("mean_ranker_excess", "ranker_excess", "sufficient_available"),
    ("mean_reader_excess", "reader_excess", "sufficient_available"),
    ("over_read_msr_rate", "over_read_msr", _TRIALS),
    ("over_read_min_rate", "over_read_min", _TRIALS),
    ("over_read_msr_rate_if_sufficient_available", "over_read_msr", "sufficient_available"),
    ("exact_stop_rate", "exact_stop", _TRIALS),
    ("shown_insufficient_rate", "shown_insufficient", _TRIALS),
    ("system_insufficient_rate", "system_insufficient", _TRIALS),
    ("decided_insufficient_rate", "decided_insufficient", _TRIALS),
    ("under_read_rate", "under_read", _TRIALS),
    ("lucky_rate", "lucky", "scorable"),
    ("lucky_share_of_successes", "lucky", "success"),
    ("missed_rate", "missed", _TRIALS),
    ("mean_active_s", "active_s", _TRIALS),
    ("geomean_active_s", _LOG_ACTIVE, _TRIALS),
    ("pooled_time_per_sentence_s", "active_s", "n_read"),
)
FOLDINGS: tuple[tuple[str, str, str], ...] = (
    ("sensitivity_success_partial_as_supported", "as_supported", _TRIALS),
    ("sensitivity_success_partial_as_refuted", "as_refuted", _TRIALS),
)

_NO_RATIO = "not resampled, because it is no ratio of sums over trials"
#: Measures with a single value a condition that get no interval here.
LEFT_OUT = dict.fromkeys(
    ("sd_read", "median_read", "median_active_s", "median_time_per_sentence_s"), _NO_RATIO
)

_NO_TRIAL = "not defined, because the set has no trial of this condition"
_NO_DENOMINATOR = {
    "scorable": "not defined, because the response options can score none of these trials",
    "sufficient_available": (
        "not defined, because no trial had a gold set among the sentences available"
    ),
    "success": "not defined, because no trial was a success",
}
_NO_NUMERATOR = {
    "under_read": "not defined, because all sentences were shown at once",
    _LOG_ACTIVE: "not defined, because a trial has an active time of 0",
}


def bootstrap_intervals(
    design_set: pd.DataFrame,
    conditions: Sequence[str],
    seed: int,
    draws: int = DRAWS,
    *,
    foldings: bool = False,
) -> dict[str, Any]:
    """Crossed percentile 95 % intervals of the measures of every condition.

    ``design_set`` holds scored trials; ``seed`` is a whole number from 0 up; ``foldings`` adds
    the two of partially supported claims. Returns ``intervals`` and ``redrawn`` by condition and
    measure (two limits or None; draws that gave the measure no weight and were replaced),
    ``not_defined`` (why, by ``condition.measure``), ``left_out`` (why, by measure), ``B`` and
    ``method``.
    """
    trials, design = crossed(design_set)
    ratios = RATIOS + (FOLDINGS if foldings else ())
    parts = [_part(trials, design, condition, ratios) for condition in conditions]
    defined = [part for part in parts if part.names]
    spreads = iter(_spreads(design, defined, draws, seed) if defined else [])
    intervals: dict[str, dict[str, list[float] | None]] = {}
    redrawn: dict[str, dict[str, int]] = {}
    for part in parts:
        intervals[part.condition] = {name: None for name, _, _ in ratios}
        redrawn[part.condition] = {name: 0 for name, _, _ in ratios}
        for name in part.names:
            low, high, again = next(spreads)
            intervals[part.condition][name] = [low, high]
            redrawn[part.condition][name] = again
    return {
        "intervals": intervals,
        "redrawn": redrawn,
        "not_defined": {
            f"{part.condition}.{name}": why for part in parts for name, why in part.reasons.items()
        },
        "left_out": dict(LEFT_OUT),
        "B": draws,
        "method": METHOD,
    }


@dataclass(frozen=True, slots=True)
class _Part:
    """One condition: its columns, the measures to be resampled, and why others are not.

    ``numerators`` and ``denominators`` are places of columns, one each for every name.
    """

    condition: str
    sums: Sums
    names: list[str]
    numerators: list[int]
    denominators: list[int]
    reasons: dict[str, str]

    def ratios(self, sums: np.ndarray) -> np.ndarray:
        """The measures of every draw from the weighted sums; shape (draws, names)."""
        values = divide(sums, self.numerators, self.denominators)
        logs = [place for place, name in enumerate(self.names) if name == "geomean_active_s"]
        values[:, logs] = np.exp(values[:, logs])
        return values


def _part(
    trials: pd.DataFrame, design: Crossed, condition: str, ratios: Sequence[tuple[str, str, str]]
) -> _Part:
    """The columns of one condition and what can be resampled of it."""
    rows = np.flatnonzero((trials["condition"] == condition).to_numpy())
    own = trials.iloc[rows]
    names = sorted({column for _, *pair in ratios for column in pair})
    columns = np.column_stack([_column(own, name) for name in names])
    by_name = dict(zip(names, columns.T, strict=True))
    people, claims = design.people[rows], design.claims[rows]
    why = {name: _why_not(people, claims, by_name, *pair) for name, *pair in ratios}
    kept = [ratio for ratio in ratios if not why[ratio[0]]]
    return _Part(
        condition,
        Sums(rows, np.nan_to_num(columns)),
        [name for name, _, _ in kept],
        [names.index(above) for _, above, _ in kept],
        [names.index(below) for _, _, below in kept],
        {name: reason for name, reason in why.items() if reason},
    )


def _column(trials: pd.DataFrame, name: str) -> np.ndarray:
    """A column as floats, NaN where it has no value."""
    if name == _TRIALS:
        return np.ones(len(trials))
    if name != _LOG_ACTIVE:
        return floats(trials[name])
    active = floats(trials["active_s"])
    return np.log(active, out=np.full(len(active), np.nan), where=active > 0)


def _why_not(
    people: np.ndarray,
    claims: np.ndarray,
    columns: Mapping[str, np.ndarray],
    numerator: str,
    denominator: str,
) -> str:
    """Why a condition has no interval for this ratio; empty when it has."""
    if not len(people):
        return _NO_TRIAL
    counted = columns[denominator] > 0
    if not counted.any():
        return _NO_DENOMINATOR[denominator]
    above, below = columns[numerator][counted], columns[denominator][counted]
    if np.isnan(above).any():
        return _NO_NUMERATOR[numerator]
    return why_not(people[counted], claims[counted]) or (
        NO_SPREAD if does_not_vary(above, below) else ""
    )


def _spreads(
    design: Crossed, parts: Sequence[_Part], draws: int, seed: int
) -> Iterator[tuple[float, float, int]]:
    """Lower limit, upper limit and replaced draws of every measure, part after part."""

    def statistic(sums: list[np.ndarray]) -> np.ndarray:
        return np.hstack([part.ratios(one) for part, one in zip(parts, sums, strict=True)])

    drawn, redrawn = resample(design, [part.sums for part in parts], statistic, draws, seed)
    _, lows, highs = summarize(drawn)
    for low, high, again in zip(lows, highs, redrawn, strict=True):
        yield float(low), float(high), int(again)
