"""How people and claims differ, crudely, from a pilot's outcomes by moments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from analysis.power.assumptions import Assumptions
from analysis.power.simulate import steepness

#: Fewer people or claims say nothing about their spread.
_LEAST_UNITS = 4

#: A spread estimated above this comes from rates near 0 or 1, not from people or claims.
_LARGEST_SD = 3.0

#: The steepness of the curve depends on the spreads that it turns rates into.
_ROUNDS = 10

#: Claims that differ more raise the power, since both conditions meet the same ones; every other
#: spread lowers it. Of a pilot's estimate and the default, the less favourable one is taken.
_RAISES_POWER = "sd_claim"

_NAMES = (("participant_id", "sd_participant"), ("claim_id", "sd_claim"))


@dataclass(frozen=True)
class _Moments:
    """Of people's or claims' success rates: what level and slope are made of.

    The two conditions' trials of a unit are different ones, so the covariance of its rates holds no
    trial noise. ``noise`` of a unit's rates by condition needs two trials a cell; else it is None.
    """

    rates: np.ndarray
    noise: np.ndarray | None

    def sds(self, steep: np.ndarray) -> tuple[float, float | None]:
        """Level and slope SD on the logit, rates divided by the steepness of each condition.

        The covariance is the level's variance less a quarter of the slope's; the variance of the
        differences, less the noise, is the slope's.
        """
        logits = self.rates / steep
        covariance = float(np.cov(logits.T)[0, 1])
        if self.noise is None:
            return _root(covariance), None
        noise = float((self.noise / steep**2).sum())
        slope = _root(float((logits[:, 0] - logits[:, 1]).var(ddof=1)) - noise)
        return _root(covariance + slope**2 / 4), slope


def spreads(scorable: pd.DataFrame, names: tuple[str, str], notes: list[str]) -> dict[str, float]:
    """SDs on the logit that are less favourable than their defaults, by field of ``Assumptions``.

    ``scorable`` holds the scored trials of the conditions ``names``. Adds to ``notes`` why others
    keep their default.
    """
    found: dict[str, float] = {}
    for name, sd in _estimates(scorable, names).items():
        default = float(getattr(Assumptions(), name))
        if sd is None:
            notes.append(f"{name}: the pilot cannot tell; {default:g}, the default, is taken.")
        elif sd <= default if name != _RAISES_POWER else sd >= default:
            notes.append(
                f"{name}: {sd:.2f} by the pilot; {default:g}, the default, is taken, since it "
                "promises less power."
            )
        else:
            found[name] = sd
    if found:
        notes.append(
            f"{', '.join(found)}: crude estimates by moments, cut at {_LARGEST_SD:g}; try others, "
            "since people and claims are few."
        )
    return found


def _estimates(scorable: pd.DataFrame, names: tuple[str, str]) -> dict[str, float | None]:
    """All four SDs; None where the pilot cannot tell."""
    moments = {name: _moments(scorable, unit, names) for unit, name in _NAMES}
    overall = [
        float(scorable.loc[(scorable["condition"] == name).to_numpy(), "success"].mean())
        for name in names
    ]
    found: dict[str, float | None] = {}
    total = Assumptions().total_sd
    for _ in range(_ROUNDS):
        steep = np.array([steepness(rate, total) for rate in overall])
        for name, of_units in moments.items():
            known = of_units is not None and bool((steep > 0).all())
            level, slope = of_units.sds(steep) if of_units and known else (None, None)
            found |= {name: level, f"{name}_slope": slope}
        total = _total(found)
    return found


def _total(found: dict[str, float | None]) -> float:
    """Spread of a trial's logit with these SDs, a default for one that is not known."""
    default = Assumptions()
    sds: dict[str, Any] = {n: getattr(default, n) if sd is None else sd for n, sd in found.items()}
    return replace(default, **sds).total_sd


def _moments(scorable: pd.DataFrame, unit: str, names: tuple[str, str]) -> _Moments | None:
    """Of the units with trials in both conditions; None when they are too few."""
    success = scorable["success"].astype(float)
    by_cell = success.groupby([scorable[unit], scorable["condition"].astype(str)])
    means = by_cell.mean().unstack().reindex(columns=list(names)).dropna()
    if len(means) < _LEAST_UNITS:
        return None
    rates = means.to_numpy()
    counts = by_cell.size().unstack().loc[means.index, list(names)].to_numpy(dtype=float)
    if (counts < 2).any():
        return _Moments(rates, None)
    return _Moments(rates, (rates * (1 - rates) / (counts - 1)).mean(axis=0))


def _root(variance: float) -> float:
    """The SD of an estimated variance, which may be below 0; at most _LARGEST_SD."""
    return min(float(np.sqrt(max(variance, 0.0))), _LARGEST_SD)
