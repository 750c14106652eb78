"""Figure: the difference between two conditions, participant by participant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from analysis.comparison.contrast import Contrast
from analysis.plots.style import ACCENT, BAD, LINE, MUTED, Picture, draw, label, short
from analysis.typed import floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NAME = "participant_differences"
#: More people than these are drawn without their names.
NAMED = 30

#: Column, axis, colour and marker of a panel; the key that the comparison has it under.
_PANELS = (
    ("success", "success, points", 100.0, ACCENT, "o"),
    ("read", "sentences", 1.0, BAD, "s"),
)


def participant_differences(
    design_set: pd.DataFrame, contrast: Contrast, two_way: Mapping[str, Any] | None = None
) -> Picture | None:
    """Every participant's difference in success and sentences, with the overall interval if given.

    ``design_set`` holds scored trials; ``two_way`` maps ``success`` and ``read`` to ``difference``
    and ``ci95`` of the primary comparison. None when nobody has trials under both conditions.
    """
    people = differences(design_set, contrast)
    if people.empty:
        return None
    height = 1.6 + 0.16 * 2 * min(max(len(people), 5), NAMED)
    svg, png = draw(
        _NAME, min(height, 8.5), lambda figure: _paint(figure, people, contrast, two_way or {})
    )
    data = people.rename(
        columns={"success": "Difference in success, share", "read": "Difference in sentences"}
    )
    data.index.name = "Participant"
    return Picture(
        _NAME,
        f"{contrast.first} minus {contrast.second}, by participant",
        f"{_words(people['success'] * 100, 'success', ' points')}. "
        f"{_words(people['read'], 'sentences', '')}.",
        data.reset_index(),
        svg,
        png,
    )


def differences(design_set: pd.DataFrame, contrast: Contrast) -> pd.DataFrame:
    """First minus second condition of every participant with trials in both, sorted by id.

    Columns ``success`` (share of scorable trials; NaN where one side has none) and ``read``.
    """
    trials = contrast.trials_of(design_set)
    frame = pd.DataFrame(
        {
            "person": trials["participant_id"].astype(str),
            "first": contrast.is_first(trials) > 0,
            "read": floats(trials["n_read"]),
            "success": np.where(trials["scorable"], trials["success"].astype(float), np.nan),
        }
    )
    sides = [
        frame[frame["first"] == side].groupby("person")[["success", "read"]].mean()
        for side in (True, False)
    ]
    return (sides[0] - sides[1]).dropna(subset=["read"]).sort_index()


def _words(values: pd.Series, what: str, unit: str) -> str:
    values = values.dropna()
    if values.empty:
        return f"Difference in {what}: nobody can be scored in both conditions"
    above, below = int((values > 0).sum()), int((values < 0).sum())
    return (
        f"Difference in {what} of {len(values)} participants: from {_number(values.min())} "
        f"to {_number(values.max())}{unit}, mean {_number(values.mean())}; above 0 in {above}, "
        f"below 0 in {below}"
    )


def _number(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def _paint(
    figure: Figure, people: pd.DataFrame, contrast: Contrast, two_way: Mapping[str, Any]
) -> None:
    axes = figure.subplots(1, 2, sharey=True)
    order = people.sort_values("read", kind="stable")
    for axis, (column, what, scale, colour, marker) in zip(axes, _PANELS, strict=True):
        _panel(axis, scale * order[column].to_numpy(), colour, marker)
        _overall(axis, two_way.get(column), scale, len(order))
        axis.set_xlabel(what)
    if len(order) <= NAMED:
        axes[0].set_yticks(range(len(order)), [label(short(name), 20) for name in order.index])
    else:
        axes[0].set_yticks([])
        axes[0].set_ylabel(f"{len(order)} participants")
    has_interval = any(two_way.get(column) for column, *_ in _PANELS)
    below = "\nbelow, the overall 95 % interval" if has_interval else ""
    title = label(f"{short(contrast.first)} minus {short(contrast.second)}")
    figure.suptitle(f"{title}{below}", fontsize="medium", ha="left", x=0.01)


def _panel(axis: Axes, values: np.ndarray, colour: str, marker: str) -> None:
    places = np.arange(len(values))
    axis.axvline(0, color=MUTED, lw=1)
    axis.hlines(places, 0, np.nan_to_num(values), color=LINE, lw=1.2)
    axis.plot(values, places, marker, color=colour, markersize=5.5)


def _overall(axis: Axes, found: Mapping[str, Any] | None, scale: float, n: int) -> None:
    """The difference and 95 % interval of the primary comparison, under the participants."""
    place = -1 - 0.04 * n
    axis.set_ylim(place - 0.8, n - 0.4)
    if not found or found.get("difference") is None or found.get("ci95") is None:
        return
    low, high = (scale * limit for limit in found["ci95"])
    axis.plot([low, high], [place, place], "-", color=MUTED, lw=3, solid_capstyle="butt")
    axis.plot([scale * found["difference"]], [place], "D", color=MUTED, markersize=7)
