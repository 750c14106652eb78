"""Messages of Prolific's webhook: checked, counted, and kept before they are answered.

From docs.prolific.com/api-reference/webhooks: a message of ``submission.status.change`` holds
``resource_id`` (the submission), ``participant_id`` and ``status``; messages come in any order and
more than once. A subscription is a workspace's, so those of its other studies come here as well;
the signature does not cover the address. So a message finds a run by its submission alone.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from studyapp.domain.prolific_setup import webhook_secrets
from studyapp.domain.prolific_submissions import Message, Outcome, note
from studyapp.errors import StudyError
from studyapp.models import ProlificLink, Study
from studyapp.models.prolific import MAX_PROLIFIC_ID
from studyapp.recruiters.prolific_signature import signed_at
from studyapp.recruiters.prolific_statuses import read_status

#: Longest body that is read.
MAX_BYTES = 64_000
STATUS_CHANGE = "submission.status.change"
#: Ids of people are as short as those of submissions.
_FIELDS = ("resource_id", "participant_id", "status")


class NotSigned(StudyError):
    """The message is not Prolific's, or too old to be believed."""

    status = 403


class BadMessage(StudyError):
    """The message is Prolific's and cannot be read."""


def receive(study_code: str, timestamp: str, signature: str, body: bytes) -> Outcome:
    """Take one message, in one transaction. Raises NotSigned or BadMessage; both are counted.

    Messages of another kind are taken and left alone, as are those of submissions that are not
    this study's.
    """
    study = Study.objects.filter(code=study_code, prolific__isnull=False).first()
    if study is None:
        raise NotSigned("not a study that takes messages")
    now = timezone.now()
    at = signed_at(webhook_secrets(study), timestamp, signature, body, now)
    try:
        if at is None:
            raise NotSigned("not signed by Prolific within the last minutes")
        message = _read(body, min(at, now))
    except StudyError:
        ProlificLink.objects.filter(study=study).update(
            n_messages_refused=F("n_messages_refused") + 1
        )
        raise
    with transaction.atomic():
        outcome = note(study, message) if message else Outcome.NOTED
        _count(study, outcome, now)
    return outcome


def _count(study: Study, outcome: Outcome, now: datetime) -> None:
    is_unmatched = outcome == Outcome.UNMATCHED
    ProlificLink.objects.filter(study=study).update(
        n_messages=F("n_messages") + 1,
        n_messages_unmatched=F("n_messages_unmatched") + int(is_unmatched),
        last_message_at=now,
    )


def _read(body: bytes, at: datetime) -> Message | None:
    """What a body says; None for an event of another kind. Raises BadMessage."""
    try:
        content: Any = json.loads(body)
    except (ValueError, RecursionError):
        raise BadMessage("the body is not JSON") from None
    if not isinstance(content, dict) or not isinstance(content.get("event_type"), str):
        raise BadMessage("the body names no event_type")
    if content["event_type"] != STATUS_CHANGE:
        return None
    submission, participant, status = (content.get(name, "") for name in _FIELDS)
    if not _is_id(submission) or not isinstance(status, str) or not status:
        raise BadMessage("the event names no submission or no status")
    known = participant if _is_id(participant) else ""
    return Message(submission, known, read_status(status), at)


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and value.isprintable() and 0 < len(value) <= MAX_PROLIFIC_ID
