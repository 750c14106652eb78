"""Claims and people to look at: listed in the report, never left out by it."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.report.data import ReportData
from analysis.report.table import Table


def review_tables(data: ReportData) -> Iterator[Table]:
    """The tables of the section on items and response quality."""
    return iter(())
