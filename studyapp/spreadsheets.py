"""CSV files that people open in a spreadsheet."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from typing import Any

from django.http import HttpResponse

from studyapp.domain.spreadsheet import without_formula


def safe_cell(value: Any) -> str:
    """A value as text that no spreadsheet runs: None is empty, formulas get an apostrophe."""
    return "" if value is None else without_formula(str(value))


def csv_download(name: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> HttpResponse:
    """A CSV file to save under ``name``, in UTF-8 with a mark that spreadsheets know it by."""
    response = HttpResponse("\ufeff", content_type="text/csv; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    response.headers["Cache-Control"] = "no-store"
    writer = csv.writer(response)
    writer.writerow(header)
    writer.writerows([safe_cell(value) for value in row] for row in rows)
    return response
