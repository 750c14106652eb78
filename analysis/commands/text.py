"""Tables for a terminal."""

from __future__ import annotations

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as lines with columns of equal width."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def with_footnotes(rows: Sequence[Sequence[str]]) -> tuple[list[list[str]], list[str]]:
    """Rows whose long reasons (``not defined, because ...``) are numbers, and the reasons."""
    reasons: dict[str, int] = {}

    def short(cell: str) -> str:
        before, mark, reason = cell.partition("not defined, because ")
        if not mark:
            return cell
        return f"{before}not defined ({reasons.setdefault(reason, len(reasons) + 1)})"

    shortened = [[short(cell) for cell in row] for row in rows]
    return shortened, [f"({number}) because {reason}" for reason, number in reasons.items()]
