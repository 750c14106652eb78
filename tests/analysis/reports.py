"""Reports of small tables for tests."""

from __future__ import annotations

import csv
import io
from typing import Any

import pandas as pd

from analysis import check_tables
from analysis.load import Tables
from analysis.report import report_files
from analysis.report.data import Source, report_data
from tests.analysis.builders import selection_trial, study, trial, trials


def files(
    table: pd.DataFrame | None = None, settings: dict[str, Any] | None = None, **options: bool
) -> dict[str, bytes]:
    """The files of a report on a table; without one, on the two sound trials."""
    return report_files(["small"], [checked(table, settings)], **options)


def checked(table: pd.DataFrame | None = None, settings: dict[str, Any] | None = None) -> Tables:
    """Checked tables of the small study."""
    return check_tables(trials() if table is None else table, None, settings or study())


def source(
    table: pd.DataFrame | None = None, settings: dict[str, Any] | None = None, **options: bool
) -> Source:
    """The one export of a report."""
    return report_data(["small"], [checked(table, settings)], **options).sources[0]


def rows_of(content: bytes) -> list[dict[str, str]]:
    """A CSV file as rows by heading."""
    return list(csv.DictReader(io.StringIO(content.decode())))


def full_study(people: int = 2, **changes: Any) -> pd.DataFrame:
    """A balanced study of two subsets: two claims, every participant one of each condition."""
    rows = []
    for number in range(people):
        first, second = ("001", "002") if number % 2 == 0 else ("002", "001")
        own = {
            "participant_id": f"P{number + 1}",
            "slot": number % 2 + 1,
            "replication": number // 2 + 1,
        }
        # Times differ, so that there is an error to estimate.
        rows += [
            trial(
                trial_id=f"a{number}",
                claim_id=first,
                active_ms=15000 - 100 * number,
                hidden_ms=5000 + 100 * number,
                **own,
            ),
            selection_trial(trial_id=f"b{number}", claim_id=second, **own),
        ]
    return trials(*[row | {key: str(value) for key, value in changes.items()} for row in rows])
