"""A study export becomes a draft again: the same claims, evidence, texts and schedule.

Or, with its data, the study that it was (import_data).
"""

from __future__ import annotations

import json
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db import DataError, IntegrityError, transaction

from rankers.formats.lines import deep_text_problem
from studyapp.domain import audit
from studyapp.domain.closing import closed_of
from studyapp.domain.condition_check import check_slug
from studyapp.domain.configuration import check_configuration, create_study
from studyapp.domain.cycles import unlike_record
from studyapp.domain.export_archive import JSON_TABLES
from studyapp.domain.export_settings import FORMAT_VERSION
from studyapp.domain.import_data import store_data
from studyapp.domain.import_results import store_results
from studyapp.domain.import_schedule import store_schedule
from studyapp.domain.import_tables import DATA_FILES
from studyapp.domain.importing import import_claims
from studyapp.domain.lifecycle import freeze_record
from studyapp.enums import AuditAction, TrialKind
from studyapp.errors import BadUpload, StudyError
from studyapp.models import Claim, Study

#: The files a study is made from, and the most that each may unpack to, in bytes.
LIMITS = {
    "study.json": 64 * 1024**2,
    "claims.jsonl": 1024**3,
    "rankings.jsonl": 1024**3,
}
#: Other ways of packing unpack a whole piece at once, however large it becomes.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
#: More files than any export holds.
MAX_MEMBERS = 100
#: Closed slots named in a note.
MAX_NAMED = 10
#: What the opening froze and an import must give again.
_FROZEN_PARTS = ("claims", "rankings", "selections", "texts", "sitting")

#: Parts that a de-identified export never holds whole.
_SHORTENED_PARTS = frozenset({"texts", "sitting"})
_CHANGED = "not as frozen when the original opened (a changed file)"
_LEFT_OUT = (
    "not as frozen when the original opened: the export is de-identified, so contact, return "
    "addresses or codes were left out of it; set them again"
)


@dataclass
class ImportedStudy:
    """The new study and what it holds. ``notes`` are remarks for the researcher.

    ``n_participants`` and ``n_trials`` are 0 for a draft.
    """

    study: Study
    n_claims: int = 0
    n_results: int = 0
    n_slots: int = 0
    n_participants: int = 0
    n_trials: int = 0
    notes: list[str] = field(default_factory=list)


def import_study(
    path: Path | str,
    slug: str | None = None,
    *,
    owner_name: str | None = None,
    with_data: bool = False,
) -> ImportedStudy:
    """Make the exported study again as a draft without participants, all or nothing.

    ``with_data`` brings participants, trials and events along: the study is then what it was, but
    paused where it was open.
    ``slug`` is the new study's; by default that of the export. Raises BadUpload for a file that is
    no sound export, naming file, line and field, and StudyError for a slug that is taken.
    """
    path = Path(path)
    with tempfile.TemporaryDirectory(prefix="suffice-import-") as folder:
        files = _unpack(path, Path(folder), with_data)
        content = _study_content(path, files["study.json"])
        slug = slug or str(content["study_id"])
        check_slug(slug, "slug")
        if Study.objects.filter(slug=slug).exists():
            raise StudyError(f"study {slug!r} exists already: give another one with --slug.")
        try:
            with transaction.atomic():
                made = _make_study(slug, owner_name, content, files)
                if with_data:
                    made.n_participants, made.n_trials = store_data(made.study, path, content)
                return made
        except (IntegrityError, DataError, RecursionError) as error:
            # What the checks before could not foresee; the database keeps nothing of it.
            raise BadUpload(f"{path}: its content cannot be stored ({error}).") from error


def _make_study(
    slug: str, owner_name: str | None, content: dict[str, Any], files: dict[str, Path]
) -> ImportedStudy:
    settings = {name: value for name, value in content.items() if name != "schedule"}
    with _named("study.json"):
        check_configuration(settings)
    study = create_study(slug, configuration=settings, owner_name=owner_name)
    made = ImportedStudy(study)
    if files["claims.jsonl"].stat().st_size:
        roles = _roles(content.get("roles") or {})
        made.n_claims = import_claims(study, files["claims.jsonl"], roles=roles).n_imported
        _refuse_unknown(study, roles)
    made.n_results = store_results(study, files["rankings.jsonl"])
    made.n_slots = store_schedule(study, content)
    audit.record(AuditAction.STUDY_IMPORTED, study, claims=made.n_claims, rankings=made.n_results)
    study.refresh_from_db()
    study.origin = _origin(content)
    study.save(update_fields=["origin"])
    frozen = content.get("frozen") or {}
    if not isinstance(frozen, dict):
        raise BadUpload("study.json, field frozen: must be an object")
    made.notes = _differences(study, frozen, is_deidentified=bool(content.get("deidentified")))
    if closed := closed_of(study):
        shown = ", ".join(closed[:MAX_NAMED]) + (" …" if len(closed) > MAX_NAMED else "")
        made.notes.append(f"schedule: closed as in the export, given to nobody: {shown}")
    return made


def _origin(content: dict[str, Any]) -> dict[str, Any]:
    """The history of the original: the copy is a draft, whose own versions begin at its opening."""
    versions = content.get("versions") or []
    if not isinstance(versions, list) or not all(isinstance(each, dict) for each in versions):
        raise BadUpload("study.json, field versions: must be a list of objects")
    if not versions:
        return {}
    kept = ("study_id", "opened_at", "versions", "origin")
    return {name: content[name] for name in kept if content.get(name)}


def _roles(given: Any) -> dict[str, str]:
    """The role of every claim that study.json names one for, by its id."""
    kinds = (TrialKind.PRACTICE.value, TrialKind.ATTENTION.value)
    lists = given.values() if isinstance(given, dict) and set(given) <= set(kinds) else [None]
    if not all(isinstance(ids, list) and all(isinstance(i, str) for i in ids) for ids in lists):
        raise BadUpload("study.json, field roles: must hold lists of claim ids by role")
    roles = {claim_id: kind for kind, ids in given.items() for claim_id in ids}
    if len(roles) < sum(map(len, given.values())):
        raise BadUpload("study.json, field roles: a claim is there twice")
    return roles


def _refuse_unknown(study: Study, roles: dict[str, str]) -> None:
    known = set(Claim.objects.filter(study=study).values_list("claim_id", flat=True))
    if unknown := sorted(set(roles) - known):
        raise BadUpload(f"study.json, field roles: {unknown[0]!r} is no claim of claims.jsonl")


def _differences(study: Study, frozen: dict[str, Any], *, is_deidentified: bool) -> list[str]:
    """Where the new draft is not what the original froze when it opened."""
    if not frozen:
        return ["The exported study had not opened: there are no hashes to compare with."]
    record = freeze_record(study)
    # Studies that opened before there were sittings have nothing to compare.
    frozen = {"sitting": record["sitting"]} | frozen
    notes = [
        f"{part}: {_LEFT_OUT if is_deidentified and part in _SHORTENED_PARTS else _CHANGED}"
        for part in _FROZEN_PARTS
        if record[part] != frozen.get(part)
    ]
    if (difference := unlike_record(study, frozen)) is not None:
        notes.append(f"schedule: {difference}")
    return notes


def _study_content(path: Path, file: Path) -> dict[str, Any]:
    """study.json, of a format version that is read here."""
    try:
        content = json.loads(file.read_text(encoding="utf-8-sig"))
        problem = deep_text_problem(content)
    except UnicodeDecodeError:
        raise BadUpload(f"{path}: study.json: not UTF-8.") from None
    except (ValueError, RecursionError) as error:
        raise BadUpload(f"{path}: study.json: not JSON ({error}).") from None
    if not isinstance(content, dict):
        raise BadUpload(f"{path}: study.json: must hold one object.")
    if problem is not None:
        raise BadUpload(f"{path}: study.json: {problem}.")
    version = content.get("format_version")
    if version is None:
        raise BadUpload(f"{path}: study.json: field format_version: missing; not a study export.")
    if str(version) != FORMAT_VERSION:
        raise BadUpload(
            f"{path}: study.json: field format_version: {version!r} is not {FORMAT_VERSION!r}, the "
            "one read here; import it with the version of Suffice that wrote it, or a newer one."
        )
    if not isinstance(content.get("study_id"), str) or not content["study_id"]:
        raise BadUpload(f"{path}: study.json: field study_id: must be a text.")
    return content


def _unpack(path: Path, folder: Path, with_data: bool) -> dict[str, Path]:
    """The files of ``LIMITS``, unpacked into ``folder``; names in the zip never become paths."""
    try:
        with zipfile.ZipFile(path) as archive:
            _check_members(path, archive, with_data)
            return {name: _unpack_one(archive, name, folder / name) for name in LIMITS}
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise BadUpload(f"{path}: no zip file, or a damaged one ({error}).") from None
    except (NotImplementedError, RuntimeError):
        raise BadUpload(f"{path}: encrypted or packed in an unusual way; export again.") from None
    except OSError as error:
        raise BadUpload(f"{path}: cannot be read ({error.strerror or error}).") from None


def _check_members(path: Path, archive: zipfile.ZipFile, with_data: bool) -> None:
    infos = archive.infolist()
    names = [info.filename for info in infos]
    if len(names) > MAX_MEMBERS:
        raise BadUpload(f"{path}: holds {len(names)} files; this is not a study export.")
    odd = sorted(name for name in set(names) if not _is_plain(name))
    if odd:
        raise BadUpload(f"{path}: holds {odd[0]!r}; the names in an export are plain file names.")
    problems = [f"{path}: {name} is not in the zip." for name in LIMITS if name not in names]
    read = [*LIMITS, *DATA_FILES] if with_data else list(LIMITS)
    problems += [
        f"{path}: {name} is in the zip more than once." for name in read if names.count(name) > 1
    ]
    problems += [
        f"{path}: {info.filename} unpacks to {info.file_size} bytes; at most "
        f"{LIMITS[info.filename]} are read."
        for info in infos
        if info.filename in LIMITS and info.file_size > LIMITS[info.filename]
    ]
    problems += [
        f"{path}: {info.filename} is packed in an unusual way; export the study again."
        for info in infos
        if info.filename in LIMITS and info.compress_type not in _METHODS
    ]
    if with_data:
        from analysis.members import size_problems  # with pandas: no draft should wait for it

        problems += size_problems(archive, DATA_FILES, str(path))
    if problems:
        raise BadUpload(problems)


def _is_plain(name: str) -> bool:
    """Whether a member is one of ours, or a further one beside them that can be passed over."""
    parts = name.removesuffix("/").split("/")
    is_nested_twin = parts[-1] in LIMITS and parts[:-1] not in ([], [JSON_TABLES])
    is_named = all(part and not part.startswith(".") for part in parts)
    return is_named and "\\" not in name and not is_nested_twin


def _unpack_one(archive: zipfile.ZipFile, name: str, target: Path) -> Path:
    # The zip's reader stops at the size that the zip declares, and that was checked.
    with archive.open(name) as packed, target.open("wb") as plain:
        shutil.copyfileobj(packed, plain, 1024 * 1024)
    return target


@contextmanager
def _named(file: str) -> Iterator[None]:
    """Put the file's name before the problems found in its content."""
    try:
        yield
    except StudyError as error:
        raise BadUpload([f"{file}: {problem}" for problem in error.problems]) from None
