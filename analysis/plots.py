"""Figures as SVG text, the same bytes for the same data."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from analysis.typed import floats

ACCENT = "#1f5a6b"
INK = "#1f2328"
MUTED = "#5b6470"
PAPER = "#fbfaf7"

#: More sentences than these share one bar at the end.
LAST_BAR = 15

_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "suffice",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def sentences_read_svg(
    design_set: pd.DataFrame, conditions: Sequence[str], interfaces: Mapping[str, str | None]
) -> str:
    """How many sentences were read (or shown) against how many the claims required.

    ``design_set`` holds scored or plain trials with ``condition``, ``n_read`` and
    ``gold_min_size``. One panel a condition: bars are shares of trials, the line with dots the
    shares of claims' requirements; both are labelled where they stand, and differ in shape, so
    that nothing rests on colour. Returns a standalone SVG without date or outside reference.
    """
    with rc_context(_STYLE):
        figure = Figure(figsize=(7.2, 0.7 + 1.9 * len(conditions)), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.subplots(len(conditions), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        most = 0 if design_set.empty else design_set[["n_read", "gold_min_size"]].max().max()
        last = min(LAST_BAR, max(int(most), 2))
        for axis, condition in zip(axes, conditions, strict=True):
            trials = design_set[(design_set["condition"] == condition).to_numpy()]
            word = "shown" if interfaces.get(condition) == "all_at_once" else "read"
            _panel(axis, trials, condition, word, last)
        ticks = list(range(1, last + 1))
        axes[-1].set_xticks(
            ticks, [*map(str, ticks[:-1]), f"{last}+" if most > last else str(last)]
        )
        axes[-1].set_xlabel("sentences")
        figure.supylabel("share of trials, %", fontsize=10)
        buffer = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(buffer, format="svg", transparent=True, metadata=nothing)
    return buffer.getvalue()


def _panel(axis: Axes, trials: pd.DataFrame, condition: str, word: str, last: int) -> None:
    """Bars of sentences read and the line of sentences required, for one condition."""
    axis.spines[["top", "right"]].set_visible(False)
    if trials.empty:
        axis.set_title(f"{condition}: no trials", loc="left", fontsize=10)
        return
    read, required = floats(trials["n_read"]), floats(trials["gold_min_size"])
    places = np.arange(1, last + 1)
    axis.bar(places, _shares(read, last), width=0.72, color=ACCENT, linewidth=0)
    axis.plot(
        places,
        _shares(required, last),
        "--o",
        color=INK,
        markersize=6.5,
        markeredgecolor=PAPER,
        markeredgewidth=1,
    )
    axis.set_title(
        f"{condition}: bars {word}, mean {read.mean():.2f}; "
        f"dots required, mean {required.mean():.2f} (n = {len(trials)})",
        loc="left",
        fontsize=10,
    )


def _shares(values: np.ndarray, last: int) -> np.ndarray:
    """Per cent of the values at 1..last, larger ones counted at ``last``."""
    counts = np.bincount(np.minimum(values, last).astype(int), minlength=last + 1)[1:]
    return 100 * counts / len(values)
