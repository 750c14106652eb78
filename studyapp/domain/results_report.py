"""The report of a study as a file to download: complete under its name, or not there at all."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from django.conf import settings

from studyapp.codes import random_code
from studyapp.domain.export import export_study
from studyapp.domain.export_snapshot import read_snapshot
from studyapp.domain.results_version import DataVersion, data_version
from studyapp.errors import StudyError
from studyapp.models import Study

logger = logging.getLogger(__name__)

#: The same date for every file in the zip, so that the same data give the same bytes.
_FILE_DATE = (1980, 1, 1, 0, 0, 0)
#: How the folder begins in which a report is made.
_MAKING = "making-"


def folder_of(study: Study) -> Path:
    """Where the reports of a study are kept, inside the data folder."""
    return Path(settings.DATA_DIR) / "reports" / str(study.pk)


def report_path(study: Study, content: dict[str, Any] | None) -> Path | None:
    """The file behind a stored result, or None when it is not there (any more)."""
    if not content:
        return None
    path = folder_of(study) / content["file"]
    return path if path.is_file() else None


def build(study: Study, include_simulated: bool) -> tuple[DataVersion, dict[str, Any]]:
    """Build the report's zip; returns the version of its data and what to store about it.

    ``file`` is its name in ``folder_of``, with ``n_trials`` rows of its trial table, ``n_files``,
    ``n_bytes`` and ``sha256``. Raises StudyError when it cannot be written, ValueError when the
    analysis refuses the data. What is unfinished is removed in any case, also what a worker left
    that was killed: the caller holds the lease of this study's report of this kind.
    """
    folder = folder_of(study)
    kind = "all" if include_simulated else "real"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _remove_unfinished(folder, kind)
        with tempfile.TemporaryDirectory(dir=folder, prefix=f"{_MAKING}{kind}-") as made:
            version, n_trials, files = _report_files(study, Path(made), include_simulated)
            partial = Path(made) / "report.part"
            _zip(files, partial)
            path = folder / f"{kind}-{random_code(16)}.zip"
            with partial.open("rb") as written:
                digest = hashlib.file_digest(written, "sha256").hexdigest()
            partial.replace(path)
    except OSError as error:
        raise StudyError(f"The report cannot be written ({error.strerror or error}).") from error
    return version, {
        "file": path.name,
        "n_trials": n_trials,
        "n_files": len(files),
        "n_bytes": path.stat().st_size,
        "sha256": digest,
    }


def keep_only(study: Study, name: str) -> None:
    """Delete the earlier files of the kind that ``name`` is of."""
    kind = name.partition("-")[0]
    for path in folder_of(study).glob(f"{kind}-*.zip"):
        if path.name != name:
            path.unlink(missing_ok=True)


def drop(study: Study, name: str) -> None:
    """Delete one file."""
    (folder_of(study) / name).unlink(missing_ok=True)


def delete_files(study: Study) -> None:
    """Delete every report of the study, finished or not.

    A file that cannot be deleted is logged and keeps nobody from withdrawing: without its row it
    is offered no more, and the next report takes it along.
    """
    try:
        shutil.rmtree(folder_of(study))
    except FileNotFoundError:
        pass
    except OSError:
        logger.exception("the reports of study %s could not be deleted", study.slug)


def _remove_unfinished(folder: Path, kind: str) -> None:
    """Delete what earlier builds of the kind left half made; the other kind's has its own lease.

    Somebody whose lease ran out and who still writes there fails, and would have kept nothing.
    """
    [other] = {"all", "real"} - {kind}
    for path in folder.glob(f"{_MAKING}*"):
        if not path.name.startswith(f"{_MAKING}{other}-"):
            shutil.rmtree(path, ignore_errors=True)


def _report_files(
    study: Study, folder: Path, include_simulated: bool
) -> tuple[DataVersion, int, list[Path]]:
    """Export the study and write its report below ``folder``; version, trials and the files."""
    from analysis.report import build_report

    archive = folder / f"{study.slug}.zip"
    with read_snapshot():
        version = data_version(Study.objects.get(pk=study.pk), include_simulated)
        summary = export_study(study, archive, include_simulated)
    report = folder / "report"
    build_report([archive], report, include_simulated=include_simulated)
    files = sorted(path for path in report.rglob("*") if path.is_file())
    return version, summary.rows["trials.csv"], files


def _zip(files: list[Path], path: Path) -> None:
    """Pack the files under their names below ``report``, and see them to the disk."""
    root = path.parent / "report"
    with zipfile.ZipFile(path, "x", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            info = zipfile.ZipInfo(file.relative_to(root).as_posix(), _FILE_DATE)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3
            info.external_attr = 0o100644 << 16
            archive.writestr(info, file.read_bytes())
    with path.open("rb") as written:
        os.fsync(written.fileno())
