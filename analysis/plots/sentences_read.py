"""Figure: sentences read or shown against sentences required."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from analysis.plots.style import ACCENT, INK, PAPER, Picture, draw, label, short
from analysis.typed import floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: More sentences than these share one bar at the end.
LAST_BAR = 15

_NAME = "sentences_read"


def sentences_read(
    design_set: pd.DataFrame, conditions: Sequence[str], interfaces: Mapping[str, str | None]
) -> Picture:
    """How many sentences were read (or shown) against how many the claims required.

    ``design_set`` holds scored or plain trials with ``condition``, ``n_read`` and
    ``gold_min_size``. One panel a condition: bars are shares of trials, the line with dots the
    shares of claims' requirements.
    """
    data = _numbers(design_set, conditions)
    words = "; ".join(_means(design_set, condition, interfaces) for condition in conditions)
    svg, png = draw(
        _NAME,
        0.7 + 1.8 * len(conditions),
        lambda figure: _paint(figure, design_set, conditions, interfaces),
    )
    return Picture(
        _NAME,
        "Sentences read or shown, and required",
        f"Share of trials by number of sentences, bars; share by number required, dots. {words}.",
        data,
        svg,
        png,
    )


def sentences_read_svg(
    design_set: pd.DataFrame, conditions: Sequence[str], interfaces: Mapping[str, str | None]
) -> str:
    """The figure alone (see ``sentences_read``): a standalone SVG without outside reference."""
    return sentences_read(design_set, conditions, interfaces).svg


def _means(design_set: pd.DataFrame, condition: str, interfaces: Mapping[str, str | None]) -> str:
    trials = _trials(design_set, condition)
    if trials.empty:
        return f"{condition}: no trials"
    read, required = floats(trials["n_read"]).mean(), floats(trials["gold_min_size"]).mean()
    word = _word(interfaces, condition)
    return f"{condition}: mean {read:.2f} {word}, {required:.2f} required, {len(trials)} trials"


def _numbers(design_set: pd.DataFrame, conditions: Sequence[str]) -> pd.DataFrame:
    """Trials by number of sentences, read and required, one row a number and condition."""
    last = _last(design_set)
    rows = []
    for condition in conditions:
        trials = _trials(design_set, condition)
        read, required = (
            _counts(floats(trials[name]), last) for name in ("n_read", "gold_min_size")
        )
        rows += [
            {
                "Condition": condition,
                "Sentences": _bar_name(place, last, design_set),
                "Trials that read or were shown so many": int(read[place - 1]),
                "Trials that required so many": int(required[place - 1]),
            }
            for place in range(1, last + 1)
        ]
    return pd.DataFrame(rows)


def _trials(design_set: pd.DataFrame, condition: str) -> pd.DataFrame:
    return design_set[(design_set["condition"] == condition).to_numpy()]


def _word(interfaces: Mapping[str, str | None], condition: str) -> str:
    return "shown" if interfaces.get(condition) == "all_at_once" else "read"


def _most(design_set: pd.DataFrame) -> int:
    return 0 if design_set.empty else int(design_set[["n_read", "gold_min_size"]].max().max())


def _last(design_set: pd.DataFrame) -> int:
    return min(LAST_BAR, max(_most(design_set), 2))


def _bar_name(place: int, last: int, design_set: pd.DataFrame) -> str:
    """The number under a bar; the last one may stand for more."""
    return f"{place}+" if place == last and _most(design_set) > last else str(place)


def _counts(values: np.ndarray, last: int) -> np.ndarray:
    """How many values are 1..last, larger ones counted at ``last``."""
    return np.bincount(np.minimum(values, last).astype(int), minlength=last + 1)[1:]


def _paint(
    figure: Figure,
    design_set: pd.DataFrame,
    conditions: Sequence[str],
    interfaces: Mapping[str, str | None],
) -> None:
    axes = figure.subplots(len(conditions), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    last = _last(design_set)
    for axis, condition in zip(axes, conditions, strict=True):
        _panel(axis, _trials(design_set, condition), condition, _word(interfaces, condition), last)
    ticks = list(range(1, last + 1))
    axes[-1].set_xticks(ticks, [_bar_name(place, last, design_set) for place in ticks])
    axes[-1].set_xlabel("sentences")
    figure.supylabel("share of trials, %")


def _panel(axis: Axes, trials: pd.DataFrame, condition: str, word: str, last: int) -> None:
    """Bars of sentences read and the line of sentences required, for one condition."""
    if trials.empty:
        axis.set_title(label(f"{short(condition)}: no trials"))
        return
    read, required = floats(trials["n_read"]), floats(trials["gold_min_size"])
    places = np.arange(1, last + 1)
    shares = [100 * _counts(values, last) / len(trials) for values in (read, required)]
    axis.bar(places, shares[0], width=0.72, color=ACCENT, linewidth=0)
    axis.plot(
        places,
        shares[1],
        "--o",
        color=INK,
        markersize=6.5,
        markeredgecolor=PAPER,
        markeredgewidth=1,
    )
    means = f"bars {word}, mean {read.mean():.2f}; dots required, mean {required.mean():.2f}"
    axis.set_title(f"{label(f'{short(condition)} (n = {len(trials)})', 52)}\n{means}")
