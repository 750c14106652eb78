"""Numbers for a terminal: undefined ones say so, p never reads as 0."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.comparison.table import p_text

NOTHING = "not defined"


def number(value: float | None, digits: int = 3) -> str:
    """``0.274``."""
    return NOTHING if value is None else f"{value:.{digits}f}"


def interval(limits: Sequence[float] | None, digits: int = 3) -> str:
    """``[0.221, 0.327]``."""
    if limits is None:
        return NOTHING
    return f"[{number(limits[0], digits)}, {number(limits[1], digits)}]"


def p_value(p: float | None) -> str:
    """Three digits, or ``< 0.001`` (statistics.md 9)."""
    return NOTHING if p is None else p_text(p)


def share(count: int, n: int) -> str:
    """``94/100, 94.0 %``; n must be above 0."""
    return f"{count}/{n}, {100 * count / n:.1f} %"
