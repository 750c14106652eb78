"""A study as one zip: everything needed to recompute its numbers, and to run it again."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studyapp.codes import random_code
from studyapp.domain.deidentify import Deidentified
from studyapp.domain.export_archive import Archive, Copies
from studyapp.domain.export_evidence import claim_records, result_records
from studyapp.domain.export_readme import readme
from studyapp.domain.export_rows import (
    BY_SLOT,
    claim_rows,
    event_rows,
    events_with_people,
    participant_rows,
    questionnaire_rows,
    trial_rows,
)
from studyapp.domain.export_settings import (
    asked_questions,
    study_json,
    study_settings,
    study_versions,
)
from studyapp.domain.export_snapshot import read_snapshot
from studyapp.domain.spreadsheet import is_number
from studyapp.errors import StudyError
from studyapp.models import Study

Rows = Iterable[dict[str, Any]]


@dataclass(frozen=True)
class Shape:
    """How an export is written, whichever runs are in it."""

    deidentified: bool = False
    jsonl: bool = False
    spreadsheet: bool = False
    has_bom: bool = True


#: As it always was: the exact tables alone.
RAW = Shape()


@dataclass(frozen=True)
class ExportSummary:
    """What was written: rows by file, size in bytes, and the SHA-256 of the zip."""

    path: Path
    rows: dict[str, int]
    n_bytes: int
    sha256: str


def export_study(
    study: Study,
    path: Path | str,
    include_simulated: bool = False,
    *,
    shape: Shape = RAW,
    advance: Callable[[int], object] | None = None,
) -> ExportSummary:
    """Write the study to the zip ``path``, from one consistent view of the database.

    ``path`` holds a complete export or what it held before, never a part. The same data give the
    same bytes. ``advance`` is called with the number of rows written since its last call. Raises
    StudyError when the file cannot be written.
    """
    path = Path(path)
    if path.is_dir():
        raise StudyError(f"{path} is a folder: name the zip file to write.")
    if not path.parent.is_dir():
        raise StudyError(f"{path}: the folder {path.parent} does not exist; create it first.")
    try:
        with _completed_file(path) as partial:
            archive = Archive(partial, advance or (lambda n: None), _copies(shape))
            rows = _write_zip(study, archive, include_simulated, shape)
        with path.open("rb") as written:
            digest = hashlib.file_digest(written, "sha256").hexdigest()
        return ExportSummary(path, rows, path.stat().st_size, digest)
    except OSError as error:
        raise StudyError(f"{path}: cannot be written ({error.strerror or error}).") from error


@contextmanager
def _completed_file(path: Path) -> Iterator[Path]:
    """A new file beside ``path`` that takes its name at the end, or is gone after a failure."""
    partial = path.with_name(f".{path.name}.{random_code(8)}.part")
    try:
        yield partial
        with partial.open("rb") as written:
            os.fsync(written.fileno())
        partial.replace(path)
    except BaseException:
        with suppress(OSError):
            partial.unlink()
        raise


def _copies(shape: Shape) -> Copies:
    return Copies(shape.jsonl, shape.spreadsheet, shape.has_bom)


def _write_zip(
    study: Study, archive: Archive, include_simulated: bool, shape: Shape
) -> dict[str, int]:
    from analysis import columns  # pandas takes half a second, which no other page should wait for

    with archive, read_snapshot():
        study = Study.objects.get(pk=study.pk)
        people = Deidentified(study, include_simulated) if shape.deidentified else None
        settings = study_settings(study)
        archive.add_text("README.txt", [readme(include_simulated, shape)])
        archive.add_text(
            "study.json", study_json(study, people.settings(settings) if people else settings)
        )
        archive.add_table("claims", _kinds(columns, "claims", shape), claim_rows(study))
        archive.add_records("claims.jsonl", claim_records(study))
        archive.add_records("rankings.jsonl", result_records(study))
        for name, rows in _tables_of_people(study, include_simulated, shape).items():
            rows = people.rows(name, rows) if people else rows
            is_answer = _answers_in_numbers(study) if name == "questionnaire" else _never
            archive.add_table(name, _kinds(columns, name, shape), rows, is_answer)
        codebook = columns.codebook(has_moved_times=shape.deidentified)
        kinds = dict.fromkeys(codebook, "string")
        archive.add_table("codebook", kinds, codebook.to_dict("records"))
    return archive.rows


def _tables_of_people(study: Study, include_simulated: bool, shape: Shape) -> dict[str, Rows]:
    """The rows by table, in the order of the zip. Nothing is read before they are gone through."""
    versions = study_versions(study)
    if not shape.deidentified:
        trials: Rows = trial_rows(study, include_simulated, versions)
        events: Rows = event_rows(study, include_simulated)
    else:
        trials = trial_rows(study, include_simulated, versions, order=BY_SLOT)
        events = (
            row | {"participant_id": person}
            for person, row in events_with_people(study, include_simulated, BY_SLOT)
        )
    return {
        "participants": participant_rows(study, include_simulated),
        "questionnaire": questionnaire_rows(study, include_simulated),
        "trials": trials,
        "events": events,
    }


def _kinds(columns: Any, table: str, shape: Shape) -> dict[str, str]:
    """The kind of every column of a table, in the order of the file."""
    listed = columns.columns_of(table, has_moved_times=shape.deidentified)
    return {column.name: column.kind for column in listed}


def _answers_in_numbers(study: Study) -> Callable[[dict[str, Any], str], bool]:
    """Which answers of the questionnaire are numbers, though their column holds texts too.

    Those to questions that were for a number in every version.
    """
    questions = list(asked_questions(study))
    worded = {each["name"] for each in questions if each["kind"] not in ("scale", "number")}
    numeric = {each["name"] for each in questions} - worded
    return lambda row, column: (
        column == "value" and row["name"] in numeric and is_number(row["value"])
    )


def _never(row: dict[str, Any], column: str) -> bool:
    return False
