"""The whole schedule as CSV: one row a planned trial, slot by slot in the order of the trials."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from studyapp.codes import random_code
from studyapp.errors import StudyError
from studyapp.models import PlannedTrial, Study

#: Columns in order, and where they come from.
COLUMNS = {
    "replication": "slot__replication",
    "slot": "slot__number",
    "position": "position",
    "block": "block",
    "subset": "claim__subset__number",
    "claim_id": "claim__claim_id",
    "condition": "condition__name",
}
#: What a spreadsheet would take for a formula.
_FORMULA = ("=", "+", "-", "@")
CHUNK = 2000


def csv_lines(study: Study) -> Iterator[str]:
    """A header, then a line for every planned trial; read in chunks by one query."""
    writer = csv.writer(_Echo())
    yield writer.writerow(COLUMNS)
    planned = PlannedTrial.objects.filter(slot__study=study).order_by(
        "slot__replication", "slot__number", "position"
    )
    id_place = list(COLUMNS).index("claim_id")
    for row in planned.values_list(*COLUMNS.values()).iterator(CHUNK):
        yield writer.writerow([*row[:id_place], _harmless(row[id_place]), *row[id_place + 1 :]])


def write_csv(study: Study, path: Path) -> int:
    """Write the table to a file, whole or not at all; returns the number of planned trials.

    Raises StudyError when the file cannot be written.
    """
    partial = path.with_name(f".{path.name}.{random_code(8)}.part")
    try:
        with partial.open("w", encoding="utf-8", newline="") as file:
            n_lines = sum(bool(file.write(line)) for line in csv_lines(study))
        partial.replace(path)
    except OSError as error:
        raise StudyError(f"{path}: cannot be written ({error.strerror or error}).") from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
    return n_lines - 1


def _harmless(text: str) -> str:
    """An id that no spreadsheet takes for a formula: an apostrophe is put before it."""
    return f"'{text}" if text.startswith(_FORMULA) else text


class _Echo:
    """A file that gives back what is written to it, so that csv makes single lines."""

    def write(self, line: str) -> str:
        return line
