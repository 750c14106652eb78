"""Tying a study to Prolific: its ids there, the screen-out code, and when runs are asked back.

How people come is not what they see, so all of this can be changed while a study runs.
"""

from __future__ import annotations

import re
from typing import Any

from django.conf import settings
from django.db import transaction

from studyapp.domain import audit
from studyapp.domain.recruiting_settings import recruiting_problems
from studyapp.enums import AuditAction
from studyapp.errors import StudyError
from studyapp.models import ProlificLink, Study
from studyapp.models.prolific import MAX_PROLIFIC_ID
from studyapp.recruiters.prolific import Prolific, ProlificStudy
from studyapp.recruiters.prolific_errors import ProlificError

MAX_STUDY_IDS = 20
MAX_CODE = 60
_STUDY_ID = re.compile(rf"[A-Za-z0-9_-]{{8,{MAX_PROLIFIC_ID}}}")


def set_up(
    study: Study,
    *,
    study_ids: list[str] | None = None,
    screen_out_code: str | None = None,
    return_after_minutes: int | None = None,
) -> ProlificLink:
    """Change what is given, in one transaction. Raises StudyError with a line a problem."""
    if problems := _problems(study_ids, screen_out_code, return_after_minutes):
        raise StudyError(problems)
    with transaction.atomic():
        locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        link, _ = ProlificLink.objects.get_or_create(study=locked)
        if study_ids is not None:
            link.study_ids = study_ids
        if screen_out_code is not None:
            link.screen_out_code = screen_out_code.strip()
        link.save(update_fields=["study_ids", "screen_out_code"])
        if return_after_minutes is not None:
            locked.recruiting = locked.recruiting | {"return_after_minutes": return_after_minutes}
            locked.save(update_fields=["recruiting"])
            study.recruiting = locked.recruiting
        audit.record(
            AuditAction.PROLIFIC_SET_UP,
            locked,
            prolific_studies=audit.shortened(", ".join(link.study_ids)),
            return_after_minutes=locked.recruiting_setting("return_after_minutes"),
        )
    return link


def _problems(ids: list[str] | None, code: str | None, minutes: int | None) -> list[str]:
    problems = []
    if ids is not None:
        problems += [
            f"study id {each[:MAX_PROLIFIC_ID]!r}: Prolific's ids are letters and digits; copy it "
            "from the address of the study at Prolific."
            for each in ids
            if not _STUDY_ID.fullmatch(each)
        ]
        if len(set(ids)) < len(ids):
            problems.append("study ids: one is there twice.")
        if len(ids) > MAX_STUDY_IDS:
            problems.append(f"study ids: there are {len(ids)}; the most is {MAX_STUDY_IDS}.")
    if code is not None and (len(code) > MAX_CODE or not code.isprintable()):
        problems.append(f"screen-out code: use up to {MAX_CODE} signs in one line.")
    if minutes is not None:
        problems += recruiting_problems({"return_after_minutes": minutes})
    return problems


def link_of(study: Study) -> ProlificLink:
    """The study's tie to Prolific; a new one that is not stored where there is none."""
    return ProlificLink.objects.filter(study=study).first() or ProlificLink(study=study)


def is_connected(link: ProlificLink) -> bool:
    """Whether Prolific can be asked about the study."""
    return bool(link.study_ids) and bool(_secrets_of(link.study, settings.PROLIFIC_API_TOKENS))


def client_for(study: Study, **options: Any) -> Prolific:
    """A client with the study's token. Raises ProlificError where this server has none."""
    tokens = _secrets_of(study, settings.PROLIFIC_API_TOKENS)
    if not tokens:
        raise ProlificError(
            "This server has no token for Prolific: set PROLIFIC_API_TOKEN and start it again."
        )
    return Prolific(settings.PROLIFIC_API_URL, tokens[0], **options)


def webhook_secrets(study: Study) -> tuple[str, ...]:
    """The secrets with which messages for the study may be signed."""
    return _secrets_of(study, settings.PROLIFIC_WEBHOOK_SECRETS)


def has_token(study: Study) -> bool:
    return bool(_secrets_of(study, settings.PROLIFIC_API_TOKENS))


def _secrets_of(study: Study, table: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Those that name the study, else those for all."""
    return table.get(study.slug) or table.get("", ())


def try_connection(study: Study) -> list[ProlificStudy]:
    """Ask Prolific for each of the study's ids. Raises ProlificError."""
    link = link_of(study)
    if not link.study_ids:
        raise ProlificError("No study at Prolific is named yet: give its id first.")
    client = client_for(study, tries=1, timeout=10.0)
    return [client.study(each) for each in link.study_ids]


def webhook_address(study: Study) -> str:
    """Where Prolific's webhook has to send its messages."""
    return f"{settings.PUBLIC_URL}/hooks/prolific/{study.code}/"
