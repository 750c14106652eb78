"""A study as one zip: everything needed to recompute its numbers, and to run it again."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studyapp.codes import random_code
from studyapp.domain.export_evidence import claim_records, result_records
from studyapp.domain.export_rows import (
    claim_rows,
    event_rows,
    participant_rows,
    questionnaire_rows,
    trial_rows,
)
from studyapp.domain.export_settings import FORMAT_VERSION, study_json, study_versions
from studyapp.domain.export_snapshot import read_snapshot
from studyapp.errors import StudyError
from studyapp.models import Study

#: The same date for every file in every zip, so that the same data give the same bytes.
_FILE_DATE = (1980, 1, 1, 0, 0, 0)
#: Rows between two reports of progress.
_REPORT_EVERY = 1000

README = """\
Suffice study export, format version {version}

study.json          settings, texts, conditions, hashes of what was frozen, the whole schedule
claims.csv          the claims, one row each; practice and attention claims have that role
claims.jsonl        the claims with their candidate sentences, in the interchange format
rankings.jsonl      the ranking or selection of every claim and condition
participants.csv    people by pseudonym, with status and times
questionnaire.csv   what they answered after their last trial, one row an answer
trials.csv          one row a trial
events.csv          one row an event: start, every reveal, page hidden and visible, decision
codebook.csv        every column of the tables: type, unit, allowed values, meaning

Text is UTF-8, times are UTC with milliseconds, an empty cell is a missing value. A sentence is
named by its position among the claim's candidates: s0, s1, ...

Practice and attention trials are included and marked in trial_kind; the measures leave them out.
Pilot runs are included and marked pilot = true; the measures leave them out. Simulated runs
{simulated}. Nothing is here of people who withdrew but their number (withdrawn in study.json).
Claims keep the source and licence stated with them.

Recompute the numbers:   python -m analysis report EXPORT.zip -o DIR
Run the study again:     python manage.py import_study EXPORT.zip --slug NEW
"""


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
            rows = _write_zip(study, partial, include_simulated, advance or (lambda n: None))
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


def _write_zip(
    study: Study, path: Path, include_simulated: bool, advance: Callable[[int], object]
) -> dict[str, int]:
    from analysis import columns  # pandas takes half a second, which no other page should wait for

    archive = _Archive(path, advance)
    with archive, read_snapshot():
        study = Study.objects.get(pk=study.pk)
        versions = study_versions(study)
        said = "are included and marked simulated = true" if include_simulated else "are left out"
        archive.add_text("README.txt", [README.format(version=FORMAT_VERSION, simulated=said)])
        archive.add_text("study.json", study_json(study))
        archive.add_table("claims.csv", columns.names_of("claims"), claim_rows(study))
        archive.add_records("claims.jsonl", claim_records(study))
        archive.add_records("rankings.jsonl", result_records(study))
        for name, rows in (
            ("participants", participant_rows(study, include_simulated)),
            ("questionnaire", questionnaire_rows(study, include_simulated)),
            ("trials", trial_rows(study, include_simulated, versions)),
            ("events", event_rows(study, include_simulated)),
        ):
            archive.add_table(f"{name}.csv", columns.names_of(name), rows)
        codebook = columns.codebook()
        archive.add_table("codebook.csv", list(codebook), codebook.to_dict("records"))
    return archive.rows


class _Archive:
    """A zip that is written file by file from streams; counts the rows of each."""

    def __init__(self, path: Path, advance: Callable[[int], object]):
        self.rows: dict[str, int] = {}
        self._zip = zipfile.ZipFile(path, "x", zipfile.ZIP_DEFLATED)
        self._advance = advance

    def __enter__(self) -> _Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def add_text(self, name: str, pieces: Iterable[str]) -> None:
        """A text file from pieces of it."""
        with self._member(name) as file:
            file.writelines(pieces)

    def add_table(self, name: str, columns: list[str], rows: Iterable[dict[str, Any]]) -> None:
        """A CSV file (RFC 4180) with a header; every row must hold every column."""
        with self._member(name) as file:
            # With \r\n as line end the writer also quotes cells that hold a lone \r or \n.
            writer = csv.writer(file, lineterminator="\r\n")
            writer.writerow(columns)
            for row in self._counted(name, rows):
                writer.writerow([row[column] for column in columns])

    def add_records(self, name: str, records: Iterable[dict[str, Any]]) -> None:
        """A JSON Lines file."""
        with self._member(name) as file:
            for record in self._counted(name, records):
                file.write(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")

    @contextmanager
    def _member(self, name: str) -> Iterator[io.TextIOWrapper]:
        info = zipfile.ZipInfo(name, _FILE_DATE)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.create_system = 3
        info.external_attr = 0o100644 << 16
        # Sizes are not known beforehand and may pass 4 GB.
        with self._zip.open(info, "w", force_zip64=True) as raw:
            with io.TextIOWrapper(raw, encoding="utf-8", newline="") as text:
                yield text

    def _counted(self, name: str, rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        count = 0
        for row in rows:
            yield row
            count += 1
            if count % _REPORT_EVERY == 0:
                self._advance(_REPORT_EVERY)
        self._advance(count % _REPORT_EVERY)
        self.rows[name] = count
