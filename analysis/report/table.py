"""A table of the report, before it becomes HTML, CSV, LaTeX or Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """Cells as text under headings; the first column names the rows.

    ``name`` is the stem of its files, ``title`` what stands above it, ``note`` what a reader must
    know to read it. ``texts`` are the places of further columns that hold words and not numbers,
    ``parts`` the rows that are a part of the row above.
    """

    name: str
    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    texts: frozenset[int] = frozenset()
    parts: frozenset[int] = frozenset()


def make_table(
    name: str,
    title: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[object]],
    note: str = "",
    texts: Iterable[int] = (),
) -> Table:
    """A table of anything that can be shown as text; None is an empty cell."""
    cells = tuple(tuple("" if c is None else str(c) for c in row) for row in rows)
    return Table(name, title, tuple(headings), cells, note, frozenset(texts))
