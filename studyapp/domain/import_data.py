"""The data of an export: a draft made from it becomes the study it was, people and all."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from studyapp.domain.consent import keep_consent_text
from studyapp.domain.import_checks import check_told, utc_moment
from studyapp.domain.import_people import store_people, store_withdrawals
from studyapp.domain.import_tables import read_tables, rows_of
from studyapp.domain.import_trials import store_answers, store_trials
from studyapp.domain.import_versions import restore_versions
from studyapp.domain.texts import with_default_texts
from studyapp.enums import StudyState, TrialKind
from studyapp.errors import BadUpload
from studyapp.models import Claim, Study


def store_data(study: Study, path: Path, content: dict[str, Any]) -> tuple[int, int]:
    """Give a draft, just made from the export ``path``, its people, trials and events.

    The study comes back as closed as it was; one that was open is paused, so that nobody joins by
    surprise. Its frozen hashes are those of the original. To be called inside the transaction that
    made the draft. Returns the numbers of participants and trials. Raises BadUpload.
    """
    if content.get("deidentified"):
        raise BadUpload(
            f"{path}: a de-identified export comes back as a draft only, since the study's times "
            "and versions are not in it. Import it without its data, or take the raw export."
        )
    if not isinstance(content.get("frozen"), dict) or not content["frozen"]:
        raise BadUpload(
            f"{path}: the exported study had not opened, so there are no data: import it without."
        )
    check_told(content)
    tables = read_tables(path)
    _reopen(study, path, content)
    runs = store_people(study, rows_of(tables.participants))
    store_withdrawals(study, content.get("withdrawn"))
    n_trials = store_trials(study, tables, runs)
    store_answers(tables, runs)
    return len({run.participant_id for run in runs.values()}), n_trials


def _reopen(study: Study, path: Path, content: dict[str, Any]) -> None:
    """Take the study from a draft to the state it was exported in."""
    is_closed = content.get("state") == StudyState.CLOSED
    study.state = StudyState.CLOSED if is_closed else StudyState.PAUSED
    study.opened_at = _time(path, content, "opened_at")
    study.closed_at = _time(path, content, "closed_at") if is_closed else None
    study.frozen = content["frozen"]
    study.texts = with_default_texts(study.texts, study.lang)
    roles = list(Claim.objects.filter(study=study).values_list("role", flat=True))
    study.n_practice = roles.count(TrialKind.PRACTICE)
    study.n_attention = roles.count(TrialKind.ATTENTION)
    study.save()
    restore_versions(study, content)
    keep_consent_text(study)


def _time(path: Path, content: dict[str, Any], name: str) -> datetime:
    moment = utc_moment(content.get(name))
    if moment is None:
        raise BadUpload(
            f"{path}: study.json: field {name}: {content.get(name)!r} is not a UTC time."
        )
    return moment
