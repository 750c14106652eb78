"""Where the files of exports lie, and whether one is whole: damaged ones are never offered."""

from __future__ import annotations

import hashlib
import logging
import shutil
from functools import lru_cache
from pathlib import Path

from django.conf import settings

from studyapp.codes import random_code
from studyapp.enums import JobState
from studyapp.models import ExportJob, Study

logger = logging.getLogger(__name__)

#: How the folder of an export begins that is being made.
MAKING = "making-"


def folder_of(study: Study) -> Path:
    """Where the exports of a study are kept, inside the data folder."""
    return Path(settings.DATA_DIR) / "exports" / str(study.pk)


def sound_file(job: ExportJob) -> Path | None:
    """The file of a done job, or None unless it is there with the size and checksum it had."""
    if not job.file:
        return None
    path = folder_of(job.study) / job.file
    try:
        found = path.stat()
        is_whole = found.st_size == job.n_bytes and (
            _sha256(str(path), found.st_size, found.st_mtime_ns) == job.sha256
        )
    except OSError:
        return None
    return path if is_whole else None


@lru_cache(maxsize=256)
def _sha256(path: str, n_bytes: int, changed_ns: int) -> str:
    """The checksum of a file of this size and age: a page that is looked at again reads it once."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def making_folder(job: ExportJob) -> Path:
    """An empty folder to make the job's file in; what a killed worker left there is removed.

    Its name is of this attempt alone: a worker that has lost the job and cleans up after itself
    touches nothing of the next one's. The caller holds the job's lease. Raises OSError.
    """
    place = folder_of(job.study)
    for left in [place / f"{MAKING}{job.pk}", *place.glob(f"{MAKING}{job.pk}-*")]:
        shutil.rmtree(left, ignore_errors=True)
    folder = place / f"{MAKING}{job.pk}-{random_code(8)}"
    folder.mkdir(parents=True)
    return folder


def remove_strays(study: Study) -> None:
    """Delete what no row answers for: what could not be deleted before, or a killed worker left.

    Jobs that are under way are left alone; their workers look after their files.
    """
    rows = {str(job.pk): job for job in study.exports.all()}
    for path in list(folder_of(study).glob("*")):
        number = path.name.removeprefix(MAKING).partition("-")[0]
        job = rows.get(number)
        if job is not None and (job.state == JobState.LEASED or job.file == path.name):
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            delete_file(study, path.name)


def delete_file(study: Study, name: str) -> None:
    """Delete one file; one that cannot be deleted is logged: without its row nobody gets it."""
    try:
        (folder_of(study) / name).unlink(missing_ok=True)
    except OSError:
        logger.exception("the export %s of study %s could not be deleted", name, study.slug)


def delete_files(study: Study) -> None:
    """Delete every export of the study, finished or not; what cannot be deleted is logged."""
    try:
        shutil.rmtree(folder_of(study))
    except FileNotFoundError:
        pass
    except OSError:
        logger.exception("the exports of study %s could not be deleted", study.slug)
