"""Scores of two independent groups: Mann-Whitney (statistics.md 6)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from analysis.agreement.draws import DRAWS, drawn_counts, percentile95
from analysis.errors import BadTable
from analysis.plain import plain
from analysis.text_table import faults, number_of, require_columns, text_cells

#: The exact distribution is used up to so many scores a group, and without ties only.
MOST_EXACT = 50

_ALL_EQUAL = "not defined, because every score is the same"
_SMALL_GROUP = "not defined, because a group of one score leaves nothing to draw from"

_ABOUT = {
    "method": "Mann-Whitney U, two-sided: asymptotic with continuity correction where there "
    f"are ties or a group has more than {MOST_EXACT} scores, else exact",
    "assumptions": "all scores are independent: different people or items in the two groups; "
    "scores of the same claims under two systems are paired and need Wilcoxon",
    "library": "scipy mannwhitneyu; bootstrap: own code, numpy",
}


def mann_whitney(
    table: pd.DataFrame,
    first: str | None = None,
    *,
    seed: int = 0,
    draws: int = DRAWS,
    source: str = "scores",
) -> dict[str, Any]:
    """The Mann-Whitney test of two groups of different people or items; not for paired scores.

    ``table`` has ``group`` (two of them) and ``score`` (numbers). ``x`` is the group ``first``, or
    the alphabetically first. Keys: ``n_x``, ``n_y``, ``U_x``, ``p`` (two-sided, by ``p_method``),
    ``p_continuity`` and ``p_no_continuity`` (both asymptotic), ``common_language`` (share of pairs
    in which x is higher, ties counting half) with ``common_language_ci95`` (percentile bootstrap
    within groups) and ``rank_biserial`` (above 0 where x is higher). Raises BadTable.
    """
    x_name, y_name, x, y = _groups(text_cells(table), first, source)
    u, p_values, reasons = _test(x, y)
    share = u / (len(x) * len(y))
    interval, reason = _share_interval(x, y, seed, draws)
    if reason:
        reasons["common_language_ci95"] = reason
    return plain(
        {
            "kind": "mannwhitney",
            "x": x_name,
            "y": y_name,
            "n_x": len(x),
            "n_y": len(y),
            "median_x": _median(x),
            "median_y": _median(y),
            "U_x": u,
            **p_values,
            "common_language": share,
            "common_language_ci95": interval,
            "rank_biserial": 2 * share - 1,
            "draws": draws,
            "seed": seed,
            "not_defined": reasons,
            **_ABOUT,
        }
    )


def _groups(
    cells: pd.DataFrame, first: str | None, source: str
) -> tuple[str, str, np.ndarray, np.ndarray]:
    """Names and scores of both groups."""
    require_columns(cells, ["group", "score"], source)
    scores = np.array([number_of(cell) for cell in cells["score"]])
    problems = faults(cells, cells["group"] == "", source, "group", "may not be empty")
    problems += faults(cells, np.isnan(scores), source, "score", "is not a number")
    names = sorted(set(cells["group"]))
    if not problems and len(names) != 2:
        problems.append(f"{source}: two groups are compared, not {len(names)}: {', '.join(names)}")
    if not problems and first is not None and first not in names:
        problems.append(f"{source}: no group {first!r}; there are {' and '.join(names)}")
    if problems:
        raise BadTable(problems)
    x_name = first or names[0]
    y_name = next(name for name in names if name != x_name)
    is_x = (cells["group"] == x_name).to_numpy()
    return x_name, y_name, scores[is_x], scores[~is_x]


def _median(scores: np.ndarray) -> float:
    """The median; halves are added where the sum of the middle two is no finite number."""
    with np.errstate(over="ignore"):
        median = float(np.median(scores))
    return median if np.isfinite(median) else 2 * float(np.median(scores / 2))


def _test(x: np.ndarray, y: np.ndarray) -> tuple[float, dict[str, Any], dict[str, str]]:
    """U of x, the p-values by every method, and why some are None."""
    from scipy.stats import mannwhitneyu

    both = np.concatenate([x, y])
    names = ("p", "p_continuity", "p_no_continuity")
    if (both == both[0]).all():
        nothing = {**dict.fromkeys(names), "p_method": None}
        return len(x) * len(y) / 2, nothing, dict.fromkeys((*names, "p_method"), _ALL_EQUAL)
    asymptotic = mannwhitneyu(x, y, method="asymptotic")
    plain_p = mannwhitneyu(x, y, method="asymptotic", use_continuity=False).pvalue
    has_ties = len(np.unique(both)) < len(both)
    exact = not has_ties and max(len(x), len(y)) <= MOST_EXACT
    p = mannwhitneyu(x, y, method="exact").pvalue if exact else asymptotic.pvalue
    values = {
        "p": p,
        "p_method": "exact" if exact else "asymptotic",
        "p_continuity": asymptotic.pvalue,
        "p_no_continuity": plain_p,
    }
    return float(asymptotic.statistic), values, {}


def _share_interval(
    x: np.ndarray, y: np.ndarray, seed: int, draws: int
) -> tuple[list[float] | None, str | None]:
    """Percentile interval of the common-language share, or None and why.

    Both groups are drawn with replacement. What a drawn x beats is read from the cumulated counts
    of drawn y along the sorted values, so that no table of all pairs is needed.
    """
    if min(len(x), len(y)) < 2:
        return None, _SMALL_GROUP
    values, places = np.unique(np.concatenate([x, y]), return_inverse=True)
    n_x, n_y = (
        np.bincount(own, minlength=len(values)) for own in (places[: len(x)], places[len(x) :])
    )
    drawn = zip(
        drawn_counts(n_x, draws, (seed, 0)), drawn_counts(n_y, draws, (seed, 1)), strict=True
    )
    shares = []
    for drawn_x, drawn_y in drawn:
        beaten = np.cumsum(drawn_y, axis=1) - drawn_y / 2
        shares.append((drawn_x * beaten).sum(axis=1) / (len(x) * len(y)))
    return percentile95(np.concatenate(shares))
