"""The versions of an export become those of the study that comes back with its data."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from studyapp.domain import audit
from studyapp.domain.configuration import check_configuration
from studyapp.domain.import_checks import utc_moment
from studyapp.domain.version_rows import CHANGEABLE, content_of, write_version
from studyapp.errors import BadUpload, StudyError
from studyapp.models import Study, StudyVersion


def restore_versions(study: Study, content: dict[str, Any]) -> None:
    """Give a study that was just put back as it was the versions that ``content`` lists.

    ``content`` is study.json. An export of before there were versions gives version 1, as the
    study is. No export holds codes: those of the study stand in all versions. The study's row must
    hold the newest values already; call it in the transaction that made it. Raises BadUpload.
    """
    told = content.get("versions") or []
    if not isinstance(told, list) or not all(isinstance(each, dict) for each in told):
        raise BadUpload("study.json, field versions: must be a list of objects")
    study.version = max(len(told), 1)
    study.origin = content.get("origin") or {}
    study.save(update_fields=["version", "origin"])
    if not told:
        write_version(study, who=audit.IMPORT)
        return
    present = content_of(study)
    StudyVersion.objects.bulk_create(
        _version(study, number, each, present) for number, each in enumerate(told, start=1)
    )


def _version(
    study: Study, number: int, told: dict[str, Any], present: dict[str, Any]
) -> StudyVersion:
    where = f"study.json, field versions, number {number}"
    if told.get("number") != number:
        raise BadUpload(f"{where}: field number: {told.get('number')!r} is not {number}")
    for name, kind in (("settings", dict), ("hashes", dict), ("reason", str)):
        if not isinstance(told.get(name), kind):
            article = "an object" if kind is dict else "a text"
            raise BadUpload(f"{where}: field {name}: must be {article}")
    settings = {name: value for name, value in told["settings"].items() if name in CHANGEABLE}
    try:
        check_configuration(settings)
    except StudyError as error:
        raise BadUpload([f"{where}: {problem}" for problem in error.problems]) from None
    return StudyVersion(
        study=study,
        number=number,
        content=present | settings,
        hashes=told["hashes"],
        reason=told["reason"],
        who=audit.IMPORT,
        created_at=_time(where, told.get("created_at")),
    )


def _time(where: str, value: Any) -> datetime:
    moment = utc_moment(value)
    if moment is None:
        raise BadUpload(f"{where}: field created_at: {value!r} is not a UTC time")
    return moment
