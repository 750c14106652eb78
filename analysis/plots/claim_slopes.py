"""Figure: every claim between two conditions, its sentences and its success."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from analysis.comparison.contrast import Contrast
from analysis.plots.style import ACCENT, BAD, INK, MUTED, Picture, draw, label, short
from analysis.typed import floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NAME = "claim_slopes"
#: Lines of claims that fall, stay and rise from the second condition to the first.
_LINES = {-1: (ACCENT, "-"), 0: (MUTED, ":"), 1: (BAD, (0, (5, 2)))}
#: Changes beyond these decimals are rounding.
_DECIMALS = 9


def claim_slopes(design_set: pd.DataFrame, contrast: Contrast) -> Picture | None:
    """Mean sentences and share of success of every claim under the two conditions.

    ``design_set`` holds scored trials. Claims with the same pair of values share one line, the
    thicker the more they are. None when no claim was met under both conditions.
    """
    claims = claim_means(design_set, contrast)
    if claims.empty:
        return None
    panels = [("read", "sentences"), ("success", "share of success")]
    words = ". ".join(_words(claims, column, what, contrast) for column, what in panels)
    svg, png = draw(_NAME, 6.2, lambda figure: _paint(figure, claims, contrast, panels))
    data = claims.rename(
        columns={
            "read_first": f"Sentences, {contrast.first}",
            "read_second": f"Sentences, {contrast.second}",
            "success_first": f"Success, {contrast.first}",
            "success_second": f"Success, {contrast.second}",
        }
    )
    data.index.name = "Claim"
    title = f"Every claim under {contrast.second} and under {contrast.first}"
    return Picture(_NAME, title, f"{words}.", data.reset_index(), svg, png)


def claim_means(design_set: pd.DataFrame, contrast: Contrast) -> pd.DataFrame:
    """A row a claim met under both conditions, sorted by claim.

    Columns ``read_first``, ``read_second`` (mean sentences) and ``success_first``,
    ``success_second`` (share of scorable trials, NaN without one).
    """
    trials = contrast.trials_of(design_set)
    frame = pd.DataFrame(
        {
            "claim": trials["claim_id"].astype(str),
            "side": np.where(contrast.is_first(trials) > 0, "first", "second"),
            "read": floats(trials["n_read"]),
            "success": np.where(trials["scorable"], trials["success"].astype(float), np.nan),
        }
    )
    sides = {
        side: frame[frame["side"] == side].groupby("claim")[["read", "success"]].mean()
        for side in ("first", "second")
    }
    both = sides["first"].join(
        sides["second"], how="inner", lsuffix="_first", rsuffix="_second", sort=True
    )
    return both[["read_first", "read_second", "success_first", "success_second"]]


def _pairs(claims: pd.DataFrame, column: str) -> pd.DataFrame:
    """Each pair of values (``second``, ``first``) that occurs and the number of its claims."""
    values = claims[[f"{column}_second", f"{column}_first"]].dropna().round(_DECIMALS)
    values.columns = ["second", "first"]
    return values.groupby(["second", "first"]).size().rename("claims").reset_index()


def _changes(pairs: pd.DataFrame) -> np.ndarray:
    """-1, 0 or 1 for every pair: lower, equal or higher under the first condition."""
    return np.sign(np.round((pairs["first"] - pairs["second"]).to_numpy(), _DECIMALS)).astype(int)


def _words(claims: pd.DataFrame, column: str, what: str, contrast: Contrast) -> str:
    pairs = _pairs(claims, column)
    counts = pairs["claims"].to_numpy()
    less, same, more = (int(counts[_changes(pairs) == sign].sum()) for sign in (-1, 0, 1))
    return (
        f"{what.capitalize()} of {less + same + more} claims: under {contrast.first} "
        f"lower in {less}, equal in {same}, higher in {more}"
    )


def _paint(
    figure: Figure, claims: pd.DataFrame, contrast: Contrast, panels: list[tuple[str, str]]
) -> None:
    axes = figure.subplots(len(panels), 1, height_ratios=[1.3, 1])
    contrast = Contrast(short(contrast.first), short(contrast.second))
    for axis, (column, what) in zip(axes, panels, strict=True):
        _panel(axis, _pairs(claims, column), what)
        axis.set_title(label(_words(claims, column, what, contrast), 52))
        axis.set_xticks([0, 1], [label(contrast.second, 24), label(contrast.first, 24)])
        axis.set_xlim(-0.45, 1.45)


def _panel(axis: Axes, pairs: pd.DataFrame, what: str) -> None:
    """A line a pair of values, and the mean of all claims with its numbers at both ends."""
    axis.set_ylabel(what)
    if pairs.empty:
        return
    counts = pairs["claims"].to_numpy(dtype=float)
    values = pairs[["second", "first"]].to_numpy(dtype=float)
    for pair, width, change in zip(
        values, np.sqrt(counts / counts.max()), _changes(pairs), strict=True
    ):
        colour, dash = _LINES[int(change)]
        axis.plot([0, 1], pair, color=colour, ls=dash, lw=0.5 + 2.7 * width, alpha=0.45)
    ends = np.average(values, axis=0, weights=counts)
    axis.plot([0, 1], ends, "-o", color=INK, lw=2.2, markersize=7)
    for x, value, side in ((0, ends[0], "right"), (1, ends[1], "left")):
        axis.annotate(
            f"mean {value:.2f}",
            (x, value),
            xytext=(-9 if x == 0 else 9, 0),
            textcoords="offset points",
            ha=side,
            va="center",
        )
