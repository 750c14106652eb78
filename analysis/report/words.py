"""Numbers as a reader meets them: p values, differences, intervals, counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from analysis.comparison.table import p_text

__all__ = [
    "UNITS",
    "counted",
    "difference_text",
    "interval",
    "interval_text",
    "listed",
    "number",
    "p_text",
    "points",
    "reason_of",
]

#: Labels of the compared measures with the unit of their differences.
UNITS = {
    "success": "Success, points",
    "undecided": "Undecided, points",
    "over_read_msr": "Over-read (over_read_msr), points",
    "read": "Sentences",
    "log_active": "Active time, ratio",
}


def number(value: float, digits: int = 2) -> str:
    """A number with a real minus sign; a rounded zero has none."""
    text = f"{value:.{digits}f}"
    if text.startswith("-"):
        text = text[1:] if not float(text) else f"−{text[1:]}"
    return text


def points(value: float) -> str:
    """A difference of two shares: ``20.0 points``."""
    return f"{number(100 * value, 1)} points"


def interval(limits: Sequence[float | None] | None, scale: float = 1, digits: int = 2) -> str:
    """``[0.04, 0.36]``; a limit that does not exist is named so."""
    if limits is None:
        return ""
    shown = ["no limit" if x is None else number(scale * x, digits) for x in limits]
    return f"[{', '.join(shown)}]"


def difference_text(key: str, value: float | None) -> str:
    """A difference in the unit that ``UNITS`` names."""
    if value is None:
        return ""
    if key == "log_active":
        return number(float(np.exp(value)))
    return number(value) if key == "read" else number(100 * value, 1)


def interval_text(key: str, limits: Sequence[float | None] | None) -> str:
    """The interval of a difference, in the same unit."""
    if limits is None:
        return ""
    if key == "log_active":
        return interval([None if x is None else float(np.exp(x)) for x in limits])
    return interval(limits) if key == "read" else interval(limits, 100, 1)


def counted(n: int, one: str, many: str | None = None) -> str:
    """``1 trial`` or ``3 trials``."""
    return f"{n} {one if n == 1 else many or one + 's'}"


def listed(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    *rest, last = list(names) or ["none"]
    return f"{', '.join(rest)} and {last}" if rest else last


def reason_of(document: Mapping[str, Any], path: str, block: Any = None) -> str:
    """Why something of the document is not defined: said in the block itself or by its path."""
    if isinstance(block, Mapping):
        for key in ("left_out", "reason", "note"):
            if isinstance(block.get(key), str):
                return block[key]
        for reason in (block.get("reasons") or {}).values():
            return str(reason)
    return document["not_defined"].get(path, "not worked out")
