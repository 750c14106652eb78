"""A CSV file as text cells that know their line, for tables that people write by hand."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.errors import NAMED_IDS, BadTable

#: A number as trials.csv takes it: digits from 0 to 9, a point, an exponent.
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def read_text_table(path: Path) -> pd.DataFrame:
    """Every cell as text without blanks around it; the index, named ``line``, holds line numbers.

    Blank lines are left out. Raises BadTable for a file that cannot be read, is not UTF-8, has no
    row, names a column twice, or has a row of another length than its header.
    """
    rows = _rows(path)
    if not rows:
        raise BadTable(f"{path}: empty; the first line must name the columns")
    header = rows[0][1]
    twice = sorted({name for name in header if header.count(name) > 1})
    problems = [f"{path}: line 1: the column {name!r} occurs twice" for name in twice]
    problems += [
        f"{path}: line {line}: {len(cells)} cells where the header has {len(header)}"
        for line, cells in rows[1:]
        if len(cells) != len(header)
    ]
    if len(rows) == 1:
        problems.append(f"{path}: no row below the header")
    if problems:
        raise BadTable(problems)
    lines = pd.Index([line for line, _ in rows[1:]], name="line")
    return pd.DataFrame([cells for _, cells in rows[1:]], columns=header, index=lines, dtype=object)


def text_cells(table: pd.DataFrame) -> pd.DataFrame:
    """Any data frame as text cells, missing ones empty; the index is kept."""
    cells = table.astype(object)
    return cells.where(cells.notna(), "").map(lambda cell: str(cell).strip())


def number_of(cell: str) -> float:
    """A cell as a finite number, NaN where it is none: ``1_0`` and ``inf`` are none."""
    value = float(cell) if _NUMBER.fullmatch(cell) else math.nan
    return value if math.isfinite(value) else math.nan


def require_columns(table: pd.DataFrame, names: Sequence[str], source: str) -> None:
    """Raise BadTable that names every column of ``names`` that the table lacks."""
    absent = [name for name in names if name not in table.columns]
    has = ", ".join(map(str, table.columns))
    if absent:
        raise BadTable(
            [f"{source}: column {name}: missing; the table has {has}" for name in absent]
        )


def faults(
    table: pd.DataFrame, wrong: Iterable[bool] | np.ndarray, source: str, column: str, what: str
) -> list[str]:
    """One message for the rows that are ``wrong``, none where no row is.

    ``table: line 3 and 8: column score: 'x' is not a number``: the cell is the first row's, and a
    frame that was not read from a file has rows in place of lines.
    """
    rows = table[np.asarray(wrong, dtype=bool)]
    if rows.empty:
        return []
    every = list(dict.fromkeys(rows.index))
    places = [str(place) for place in every[:NAMED_IDS]]
    more = f" and {len(every) - NAMED_IDS} more" if len(every) > NAMED_IDS else ""
    where = f"{table.index.name or 'row'} {', '.join(places)}{more}"
    return [f"{source}: {where}: column {column}: {str(rows[column].iloc[0])!r} {what}"]


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """Rows that are not blank, each with the number of the line that it ends on."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise BadTable(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise BadTable(f"{path}: not UTF-8 ({error.reason}); save it as UTF-8") from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows = []
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if any(cells):
                rows.append((reader.line_num, cells))
    except csv.Error as error:
        raise BadTable(
            f"{path}: line {reader.line_num}: not a comma-separated table ({error})"
        ) from error
    return rows
