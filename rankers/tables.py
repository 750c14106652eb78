"""The summary of an evaluation as readable tables, after those of the evidence-ranking paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rankers.compare import MEASURES
from rankers.evaluate import ALL, BY_LABEL, BY_SIZE, NO_GOLD_SET, NO_RANKING

LEGEND = (
    "MSR: sentences read until a gold set is complete; IMSR: the fewest possible; "
    "MRR: mean of 1 / (MSR - IMSR + 1); SR: share with MSR = IMSR; "
    "NDCG: how early the sentences of that gold set come; "
    "±: standard error of the mean (SEM), sd / √n with n - 1 in sd; n: claims scored"
)
DIFFERENCES_LEGEND = (
    "difference: first minus second, above 0 where the first is better; 95 %: BCa bootstrap over "
    "claims, too narrow below some 30 of them; p: two-sided, shifted bootstrap, one "
    "pair by itself. For a paper take python -m analysis rankers: second minus first, Wilcoxon "
    "over claims, corrected over all pairs"
)
NOTHING = "–"

_REASONS = {NO_RANKING: "without a ranking", NO_GOLD_SET: "without a gold set in reach"}
#: Of each measure the heading, the factor and the digits it is shown with.
_SHOWN = {"mrr": ("MRR", 1, 3), "sr": ("SR %", 100, 1), "ndcg": ("NDCG", 1, 3)}

Rows = list[Sequence[str]]


def report(summary: dict[str, Any]) -> str:
    """Return the tables of a summary, their legend, and what the comparisons say, for reading.

    MRR, SR and NDCG over all claims (paper, Tables 2 and 6), MRR by IMSR (Table 3) and by label,
    shares verified at and within k sentences (Figures 3 and 8).
    """
    sections = [
        _section("all claims", _overall(summary)),
        _section("MRR by IMSR (n)", _by_bucket(summary, BY_SIZE)),
        _section("MRR by label (n)", _by_bucket(summary, BY_LABEL)),
        _section("% of claims verified after exactly k sentences", _shares(summary, "verified_at")),
        _section("% of claims verified within k sentences", _shares(summary, "verified_within")),
        LEGEND,
    ]
    differences = [
        _section(f"{first} - {second}", _differences(found)) + _left_over(found)
        for first, one in summary.items()
        for second, found in one.get("compared_with", {}).items()
    ]
    if differences:
        differences.append(DIFFERENCES_LEGEND)
    return "\n\n".join([*filter(None, sections), *differences])


def _overall(summary: dict[str, Any]) -> Rows:
    headings = [heading for heading, _, _ in _SHOWN.values()]
    rows: Rows = [("ranker", "n", *headings, "mean MSR", "left out")]
    for name, one in summary.items():
        total = one[ALL]
        rows.append(
            (
                name,
                str(total["n"]),
                *(_mean(total[measure], measure) for measure in _SHOWN),
                NOTHING if total["mean_msr"] is None else f"{total['mean_msr']:.2f}",
                ", ".join(f"{n} {_REASONS.get(why, why)}" for why, n in one["left_out"].items())
                or "0",
            )
        )
    return rows


def _by_bucket(summary: dict[str, Any], start: str) -> Rows:
    """MRR and n in the buckets whose names begin with ``start``, a column each."""
    keys = sorted({key for one in summary.values() for key in one if key.startswith(start)})

    def cell(one: dict[str, Any], key: str) -> str:
        return f"{_mean(one[key]['mrr'], 'mrr')} ({one[key]['n']})" if key in one else NOTHING

    return _by_ranker(summary, keys, cell, [key.removeprefix(start) for key in keys])


def _shares(summary: dict[str, Any], field: str) -> Rows:
    keys = list(dict.fromkeys(key for one in summary.values() for key in one[field]))

    def cell(one: dict[str, Any], key: str) -> str:
        return f"{100 * one[field][key]:.1f}" if one[field] else NOTHING

    return _by_ranker(summary, keys, cell, keys)


def _by_ranker(
    summary: dict[str, Any],
    keys: Sequence[str],
    cell: Callable[[dict[str, Any], str], str],
    header: Sequence[str],
) -> Rows:
    """A row for each ranker and a column for each key; nothing without keys."""
    if not keys:
        return []
    rows: Rows = [("ranker", *header)]
    rows += [(name, *(cell(one, key) for key in keys)) for name, one in summary.items()]
    return rows


def _differences(found: dict[str, Any]) -> Rows:
    rows: Rows = [("claims", "n", "measure", "difference", "95 %", "p")]
    for bucket, one in found.items():
        if isinstance(one, dict):
            claims = bucket.replace(BY_SIZE, "IMSR ")
            rows += [(claims, str(one["n"]), *_difference(one[key], key)) for key in MEASURES]
    return rows


def _difference(one: dict[str, float | None], measure: str) -> tuple[str, str, str, str]:
    heading, factor, digits = _SHOWN[measure]
    mean, low, high = [
        NOTHING if value is None else f"{value * factor:+.{digits}f}"
        for value in (one["difference"], one["low"], one["high"])
    ]
    interval = NOTHING if one["low"] is None else f"{low} to {high}"
    return heading, mean, interval, NOTHING if one["p"] is None else _p(one["p"])


def _p(p: float) -> str:
    """A p-value, which is never 0 and is not shown as such."""
    return f"{p:.4f}" if p >= 0.00005 else "< 0.0001"


def _left_over(found: dict[str, Any]) -> str:
    n = found["scored_for_one_only"]
    return f"\nleft out: {n} scored for one of them only" if n else ""


def _mean(value: dict[str, float | None], measure: str) -> str:
    mean, sem = value["mean"], value["sem"]
    _, factor, digits = _SHOWN[measure]
    if mean is None:
        return NOTHING
    shown = f"{mean * factor:.{digits}f}"
    return shown if sem is None else f"{shown} ± {sem * factor:.{digits}f}"


def _section(title: str, rows: Rows) -> str:
    """A titled table, first column to the left and the others to the right; empty without rows."""
    if not rows:
        return ""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [title]
    for first, *others in rows:
        cells = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *cells]).rstrip())
    return "\n".join(lines)
