"""The versions of a study as they are stored, and how a run is shown the one it began under."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from django.utils import timezone

from studyapp.domain.cycles import frozen_at_opening
from studyapp.models import Enrolment, Study, StudyVersion

#: What a new version may change, by the names that study.json and the study's row share. Nothing
#: here says which claims are read under which condition, or how an answer is scored.
CHANGEABLE = (
    "title",
    "texts",
    "completion_code",
    "lease_minutes",
    "confirms_decision",
    "sitting",
    "recruiting",
)
#: What of it the freezing hashes on its own (lifecycle.py), or must not give away.
_HASHED_APART = frozenset({"texts", "sitting", "completion_code"})


def content_of(study: Study) -> dict[str, Any]:
    """The values of a study that a version keeps."""
    return {name: getattr(study, name) for name in CHANGEABLE}


def write_version(study: Study, who: str, reason: str = "") -> StudyVersion:
    """Keep the study's present values as the version that its row names.

    Call it in the transaction that changes the study.
    """
    content = content_of(study)
    rest = {name: content[name] for name in CHANGEABLE if name not in _HASHED_APART}
    text = json.dumps(rest, sort_keys=True, ensure_ascii=False)
    return StudyVersion.objects.create(
        study=study,
        number=study.version,
        content=content,
        hashes=frozen_at_opening(study.frozen)
        | {"settings": hashlib.sha256(text.encode()).hexdigest()},
        reason=reason,
        who=who,
        created_at=timezone.now(),
    )


def on_its_version(enrolment: Enrolment) -> Enrolment:
    """The run, its study holding the values of the version that the run began under.

    Whoever loads a run to show or to go on with it calls this. It takes no query for a run on the
    newest version, and one for any other. The study must not be saved afterwards.
    """
    study = enrolment.slot.study
    if enrolment.version != study.version:
        version = StudyVersion.objects.filter(
            study_id=enrolment.slot.study_id, number=enrolment.version
        ).first()
        if version is not None:
            lay_over(study, version)
    return enrolment


def setting_of(study: Study, number: int, name: str) -> Any:
    """One value of version ``number``: no query for the newest one."""
    if number == study.version:
        return getattr(study, name)
    version = StudyVersion.objects.filter(study=study, number=number).first()
    return version.content[name] if version is not None else getattr(study, name)


def lay_over(study: Study, version: StudyVersion) -> None:
    """Give a study in memory the values of one of its versions."""
    for name, value in version.content.items():
        setattr(study, name, value)
    study.version = version.number
