"""Figure: how many sentences it takes until the evidence suffices and until readers are right."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from analysis.plots.style import ACCENT, BAD, Picture, draw, label, short
from analysis.typed import floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NAME = "verified_within"
#: The last number of sentences on the axis.
MOST = 15


def verified_within(design_set: pd.DataFrame, conditions: Sequence[str]) -> Picture | None:
    """Share of trials whose first k sentences suffice, and share decided right with at most k.

    ``design_set`` holds scored trials. The first share is of all trials of the condition and
    speaks of the order shown; the second is of the scorable trials and speaks of the reader. None
    without trials.
    """
    if design_set.empty:
        return None
    last = int(min(MOST, max(floats(design_set["n_read"]).max(), 2)))
    data = pd.concat([_numbers(design_set, c, last) for c in conditions], ignore_index=True)
    svg, png = draw(
        _NAME,
        0.7 + 1.9 * len(conditions),
        lambda figure: _paint(figure, data, conditions, last),
    )
    return Picture(
        _NAME,
        "Sufficient, and decided right, within k sentences",
        " ".join(f"{_words(data, condition)}." for condition in conditions),
        data.rename(columns={"k": "Sentences"}),
        svg,
        png,
    )


def _numbers(design_set: pd.DataFrame, condition: str, last: int) -> pd.DataFrame:
    """Both shares in per cent for k = 1..last, and what they are shares of."""
    trials = design_set[(design_set["condition"] == condition).to_numpy()]
    rank, read = floats(trials["msr"]), floats(trials["n_read"])
    scorable, right = trials["scorable"].to_numpy(bool), trials["success"].to_numpy(bool)
    rows = [
        {
            "Condition": condition,
            "k": k,
            "Sufficient within, %": _share((rank <= k).sum(), len(trials)),
            "Trials": len(trials),
            "Decided right within, %": _share((right & (read <= k)).sum(), scorable.sum()),
            "Scorable trials": int(scorable.sum()),
        }
        for k in range(1, last + 1)
    ]
    return pd.DataFrame(rows)


def _share(count: int, n: int) -> float:
    return 100 * count / n if n else np.nan


def _words(data: pd.DataFrame, condition: str) -> str:
    rows = data[(data["Condition"] == condition).to_numpy()]
    if not rows["Trials"].iloc[0]:
        return f"{condition}: no trials"
    parts = [
        f"within {row['k']}, {_pair(row)}"
        for row in rows.to_dict("records")
        if row["k"] in (1, 3, 5)
    ]
    return f"{condition}: {'; '.join(parts)}"


def _pair(row: Mapping[Hashable, Any]) -> str:
    right = row["Decided right within, %"]
    decided = "none can be scored" if np.isnan(right) else f"{right:.0f} % decided right"
    return f"{row['Sufficient within, %']:.0f} % sufficient and {decided}"


def _paint(figure: Figure, data: pd.DataFrame, conditions: Sequence[str], last: int) -> None:
    axes = figure.subplots(len(conditions), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for axis, condition in zip(axes, conditions, strict=True):
        rows = data[(data["Condition"] == condition).to_numpy()]
        axis.set_title(label(f"{short(condition)} (n = {rows['Trials'].iloc[0]})"))
        _panel(axis, rows)
    axes[-1].set_xticks(range(1, last + 1))
    axes[-1].set_ylim(0, 104)
    axes[-1].set_xlabel("within so many sentences")
    figure.supylabel("share of trials, %")


def _panel(axis: Axes, rows: pd.DataFrame) -> None:
    """The rising shares of one condition; the names stand at the ends, apart from each other."""
    curves = (
        ("Sufficient within, %", "sufficient", ACCENT, "-", "o"),
        ("Decided right within, %", "decided right", BAD, (0, (5, 2)), "s"),
    )
    ends = [rows[column].iloc[-1] for column, *_ in curves]
    up = 1 if ends[0] >= ends[1] else -1
    too_close = abs(ends[0] - ends[1]) < 12
    for (column, name, colour, dash, marker), side in zip(curves, (up, -up), strict=True):
        axis.plot(rows["k"], rows[column], color=colour, ls=dash, marker=marker, markersize=5)
        if np.isnan(rows[column].iloc[-1]):
            continue
        axis.annotate(
            name,
            (rows["k"].iloc[-1], rows[column].iloc[-1]),
            xytext=(8, 7 * side if too_close else 0),
            textcoords="offset points",
            color=colour,
            va="center",
            annotation_clip=False,
        )
