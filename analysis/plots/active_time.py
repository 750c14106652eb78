"""Figure: how long trials took, on a logarithmic axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from analysis.plots.style import Picture, draw, label, line_of, short
from analysis.typed import floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NAME = "active_time"
_SHARES = (10, 25, 50, 75, 90)
#: Points that a line is drawn through at most.
_POINTS = 500
_TICKS = tuple(step * 10**power for power in range(-3, 7) for step in (1, 2, 5))


def active_time(design_set: pd.DataFrame, conditions: Sequence[str]) -> Picture | None:
    """Share of trials decided within so many seconds of visible time, one line a condition.

    ``design_set`` holds scored trials. Trials with an active time of 0 have no place on the axis
    and are counted in the words. None when no trial has a time.
    """
    times = {
        condition: floats(
            design_set.loc[(design_set["condition"] == condition).to_numpy(), "active_s"]
        )
        for condition in conditions
    }
    positive = {name: np.sort(values[values > 0]) for name, values in times.items()}
    if not any(len(values) for values in positive.values()):
        return None
    data = pd.DataFrame([_row(name, values) for name, values in positive.items()])
    svg, png = draw(_NAME, 3.6, lambda figure: _paint(figure, positive))
    return Picture(_NAME, "Active time of the trials", _words(positive, times), data, svg, png)


def _row(condition: str, values: np.ndarray) -> dict[str, object]:
    quantiles = np.percentile(values, _SHARES) if len(values) else [np.nan] * len(_SHARES)
    shares = {
        f"{share} % within (s)": value for share, value in zip(_SHARES, quantiles, strict=True)
    }
    return {"Condition": condition, "Trials": len(values), **shares}


def _words(positive: dict[str, np.ndarray], times: dict[str, np.ndarray]) -> str:
    parts = [
        f"{name}: median {np.median(values):.1f} s, half of the trials between "
        f"{np.percentile(values, 25):.1f} and {np.percentile(values, 75):.1f} s"
        if len(values)
        else f"{name}: no trials"
        for name, values in positive.items()
    ]
    n_zero = sum(len(times[name]) - len(values) for name, values in positive.items())
    zero = f" {n_zero} trials with an active time of 0 are not drawn." if n_zero else ""
    return f"{'; '.join(parts)}.{zero}"


def _paint(figure: Figure, positive: dict[str, np.ndarray]) -> None:
    axis = figure.subplots()
    axis.set_xscale("log")
    drawn = [(place, *item) for place, item in enumerate(positive.items()) if len(item[1])]
    for place, name, values in drawn:
        _line(axis, place, name, values)
    every = np.concatenate([values for _, _, values in drawn])
    low, high = every.min() / 1.15, every.max() * 1.15
    axis.set_xlim(low, high)
    ticks = [tick for tick in _TICKS if low <= tick <= high]
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
    axis.set_ylim(0, 104)
    axis.legend(
        loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False, handlelength=3.5, borderpad=0
    )
    axis.set_xlabel("active time, seconds (logarithmic axis)")
    axis.set_ylabel("trials decided by then, %")


def _line(axis: Axes, place: int, name: str, values: np.ndarray) -> None:
    """The rising line of one condition, its median marked and named."""
    colour, dash, marker = line_of(place)
    places = np.unique(np.linspace(0, len(values) - 1, _POINTS).round().astype(int))
    shares = 100 * (places + 1) / len(values)
    axis.step(values[places], shares, where="post", color=colour, ls=dash, lw=1.8)
    median = float(np.median(values))
    named = label(f"{short(name)}: median {median:.1f} s", 28)
    axis.plot([median], [50], marker, color=colour, ls=dash, lw=1.8, markersize=8, label=named)
    axis.axvline(median, ymax=50 / 104, color=colour, ls=dash, lw=0.9)
