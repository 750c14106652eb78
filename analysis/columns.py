"""The contract with the export: every column of its tables, named once.

The export writes from these lists, the codebook is printed from them, and the loader checks
against them.
"""

from __future__ import annotations

import pandas as pd

from analysis.column import Column
from analysis.people_columns import CLAIM_COLUMNS, PARTICIPANT_COLUMNS, QUESTIONNAIRE_COLUMNS
from analysis.trial_columns import EVENT_COLUMNS, SLOT_ORDER, TRIAL_COLUMNS

FORMAT_VERSION = "1"

TABLES: dict[str, tuple[Column, ...]] = {
    "trials": TRIAL_COLUMNS,
    "events": EVENT_COLUMNS,
    "claims": CLAIM_COLUMNS,
    "participants": PARTICIPANT_COLUMNS,
    "questionnaire": QUESTIONNAIRE_COLUMNS,
}

CODEBOOK_COLUMNS = (
    "table",
    "name",
    "type",
    "unit",
    "allowed",
    "missing",
    "origin",
    "formula",
    "meaning",
    "format_version",
)


def columns_of(table: str, *, has_moved_times: bool = False) -> tuple[Column, ...]:
    """Columns of one of ``TABLES``, in file order. Raises ValueError for another table.

    Exports with ``has_moved_times`` hide when each participant came, and have one column more.
    """
    if table not in TABLES:
        raise ValueError(f"no table {table!r}; the export has {', '.join(TABLES)}")
    more = (SLOT_ORDER,) if has_moved_times and table == SLOT_ORDER.table else ()
    return TABLES[table] + more


def names_of(table: str) -> list[str]:
    """Names of a table's columns, in file order."""
    return [column.name for column in columns_of(table)]


def codebook(*, has_moved_times: bool = False) -> pd.DataFrame:
    """One row a column of every exported table (statistics.md 1.4), all of it text."""
    rows = [
        (
            column.table,
            column.name,
            column.kind,
            column.unit,
            column.allowed_text,
            column.missing,
            column.origin,
            column.formula,
            column.meaning,
            FORMAT_VERSION,
        )
        for table in TABLES
        for column in columns_of(table, has_moved_times=has_moved_times)
    ]
    return pd.DataFrame(rows, columns=list(CODEBOOK_COLUMNS))
