"""Claims files that a researcher has sent and that cannot be imported as they are.

Such a file waits in the data folder, beside the report of what is wrong with it, until the
researcher imports its good claims or throws it away; after a day it is thrown away for them.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import SuspiciousFileOperation
from django.utils.text import get_valid_filename

from rankers.formats import NOTICE_WORDS, Problem
from studyapp.codes import random_code
from studyapp.domain.claims_check import FileCheck, check_claims_file
from studyapp.domain.importing import ImportReport, import_claims
from studyapp.errors import BadUpload
from studyapp.models import Study

#: How long a refused file is kept, in seconds.
KEPT_SECONDS = 24 * 3600
#: Problems on the page; the file of problems has them all.
MAX_SHOWN = 200
#: The file, in a folder of its own, that holds the notices of an import.
NOTICES = "notices.json"
PROBLEM_COLUMNS = ("line", "claim_id", "field", "problem")

_TOKEN = re.compile(r"[a-z0-9]{20}")


@dataclass(frozen=True)
class Found:
    """One problem: its place in the file and what to do about it, as texts."""

    line: str
    claim_id: str
    field: str
    problem: str


@dataclass(frozen=True)
class WaitingFile:
    """A refused file with its report: counts, the first problems, notices and reasons."""

    token: str
    name: str
    format_name: str
    role: str
    n_good: int
    n_new: int
    n_bad: int
    n_repeated: int
    n_conflicts: int
    n_problems: int
    shown: list[Found]
    notices: list[str]
    left_out: dict[str, int]

    @property
    def can_skip(self) -> bool:
        """Whether an import without the bad claims is possible."""
        return not self.n_conflicts and self.n_good > 0


@dataclass(frozen=True)
class KeptNotices:
    """What an import had to remark on the file ``name``: how much, and the first lines of it."""

    name: str
    n: int
    shown: list[str]


def take_file(
    study: Study, name: str, chunks: Iterable[bytes], format_name: str, role: str
) -> ImportReport | WaitingFile:
    """Import a claims file, or keep it with a report of everything that is wrong with it.

    Raises NotEditable, and BadUpload for a file that cannot be read at all; nothing stays then.
    """
    throw_away_old()
    token = random_code(20)
    folder = _folder(study, token)
    folder.mkdir(parents=True)
    path = folder / _safe_name(name)
    try:
        with path.open("wb") as file:
            for chunk in chunks:
                file.write(chunk)
        try:
            report = import_claims(study, path, format_name, role=role)
        except BadUpload:
            check = check_claims_file(study, path, format_name, role=role)
            if not (check.problems or check.conflicts):
                raise
            return _keep(folder, token, path.name, format_name, role, check)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)
    return report


def keep_notices(study: Study, name: str, notices: list[str]) -> str:
    """Keep the notices of an import for a day; returns the token to find them by."""
    token = random_code(20)
    folder = _folder(study, token)
    folder.mkdir(parents=True)
    kept = {"name": _safe_name(name), "notices": notices}
    (folder / NOTICES).write_text(json.dumps(kept), encoding="utf-8")
    return token


def kept_notices(study: Study, token: str) -> KeptNotices | None:
    """The notices kept under ``token``, or None."""
    if not _TOKEN.fullmatch(token):
        return None
    try:
        kept = json.loads((_folder(study, token) / NOTICES).read_text(encoding="utf-8"))
    except OSError:
        return None
    return KeptNotices(kept["name"], len(kept["notices"]), kept["notices"][:MAX_SHOWN])


def waiting_file(study: Study, token: str) -> WaitingFile | None:
    """The file that waits under ``token``, or None."""
    if not _TOKEN.fullmatch(token):
        return None
    try:
        kept = json.loads((_folder(study, token) / "report.json").read_text(encoding="utf-8"))
    except OSError:
        return None
    return WaitingFile(**(kept | {"shown": [Found(**found) for found in kept["shown"]]}))


def waiting_files(study: Study) -> list[WaitingFile]:
    """Every file of a study that waits, the oldest first."""
    folders = sorted(
        (path for path in _study_folder(study).glob("*") if path.is_dir()),
        key=lambda path: path.stat().st_mtime,
    )
    found = [waiting_file(study, path.name) for path in folders]
    return [file for file in found if file is not None]


def import_waiting(study: Study, file: WaitingFile) -> ImportReport:
    """Import the good claims of a waiting file and throw it away. Raises as ``import_claims``."""
    path = _folder(study, file.token) / file.name
    report = import_claims(study, path, file.format_name, skip_invalid=True, role=file.role)
    throw_away(study, file)
    return report


def throw_away(study: Study, file: WaitingFile) -> None:
    """Delete a waiting file and its report."""
    shutil.rmtree(_folder(study, file.token), ignore_errors=True)


def problems_path(study: Study, file: WaitingFile) -> Path:
    """The CSV file with every problem of a waiting file."""
    return _folder(study, file.token) / "problems.csv"


def delete_files(study: Study) -> None:
    """Delete every waiting file of a study."""
    shutil.rmtree(_study_folder(study), ignore_errors=True)


def throw_away_old() -> None:
    """Delete what has waited for longer than a day, of all studies."""
    for folder in _root().glob("*/*"):
        try:
            if time.time() - folder.stat().st_mtime > KEPT_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:  # gone meanwhile
            continue


def _keep(
    folder: Path, token: str, name: str, format_name: str, role: str, check: FileCheck
) -> WaitingFile:
    n_problems = len(check.conflicts) + len(check.problems)
    file = WaitingFile(
        token=token,
        name=name,
        format_name=format_name,
        role=role,
        n_good=check.n_good,
        n_new=check.n_new,
        n_bad=check.n_bad,
        n_repeated=check.n_repeated,
        n_conflicts=len(check.conflicts),
        n_problems=n_problems,
        shown=list(_found(check, MAX_SHOWN)),
        notices=_notice_counts(check),
        left_out=dict(sorted(check.left_out.items())),
    )
    with (folder / "problems.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(PROBLEM_COLUMNS)
        writer.writerows(tuple(asdict(found).values()) for found in _found(check, n_problems))
    (folder / "report.json").write_text(json.dumps(asdict(file)), encoding="utf-8")
    return file


def _found(check: FileCheck, most: int) -> Iterator[Found]:
    for problem in [*check.conflicts, *check.problems][:most]:
        yield _as_found(problem)


def _as_found(problem: Problem) -> Found:
    return Found(
        line="" if problem.line is None else str(problem.line),
        claim_id=problem.claim_id or "",
        field=(problem.field or "").removeprefix("field "),
        problem=problem.message,
    )


def _notice_counts(check: FileCheck) -> list[str]:
    counts: dict[str, Any] = {}
    for notice in check.notices:
        counts[notice.kind] = counts.get(notice.kind, 0) + 1
    return [f"{n} {NOTICE_WORDS.get(kind, kind)}" for kind, n in sorted(counts.items())]


def _safe_name(name: str) -> str:
    """The researcher's own name for the file, fit for a folder; messages repeat it."""
    try:
        safe = get_valid_filename(Path(name).name)[-80:]
    except SuspiciousFileOperation:  # a name of dots alone is no name
        return "claims"
    return "claims-" + safe if safe in ("report.json", "problems.csv") else safe


def _root() -> Path:
    return Path(settings.DATA_DIR) / "uploads"


def _study_folder(study: Study) -> Path:
    return _root() / str(study.pk)


def _folder(study: Study, token: str) -> Path:
    return _study_folder(study) / token
