"""Keys of participants' addresses, kept out of every log."""

from __future__ import annotations

import logging
import re

from django.conf import settings

#: An address of participants, whole or a path, with what follows its first question mark.
_ADDRESS = re.compile(r"(/p/+)([^\s?]*)(\?\S*)?")
#: A submission at Prolific is a recruiter's id.
_SUBMISSION = re.compile(r"(/submissions/)[A-Za-z0-9_-]+")
#: The words of participants' addresses (urls_participant.py); all else behind the code of a study
#: may be a run token or the code of a trial, or one that was mistyped.
_WORDS = frozenset(
    {"", "r", "t", "join", "declined", "begin", "questionnaire", "help", "withdraw"}
    | {"reveal", "decide", "seen"}
)
MASK = "***"


class MaskedKeys(logging.Filter):
    """Masks run tokens, trial codes and queries in the message and the traceback of a record."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the record in place; it is always let through."""
        message = record.getMessage()
        masked = masked_keys(message)
        if masked != message:
            record.msg, record.args = masked, ()
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = masked_keys(record.exc_text)
        if record.stack_info:
            record.stack_info = masked_keys(record.stack_info)
        return True


def masked_keys(text: str) -> str:
    """``text`` with the addresses of participants in it cut down to study and action.

    Ids of submissions at Prolific and its secrets are masked as well.
    """
    text = _ADDRESS.sub(_masked, text) if "/p/" in text else text
    text = _SUBMISSION.sub(rf"\1{MASK}", text)
    for secret in _secrets():
        text = text.replace(secret, MASK)
    return text


def _secrets() -> list[str]:
    """What this server and Prolific know each other by."""
    tables = (settings.PROLIFIC_API_TOKENS, settings.PROLIFIC_WEBHOOK_SECRETS)
    return [secret for table in tables for known in table.values() for secret in known]


def _masked(found: re.Match[str]) -> str:
    prefix, path, query = found.groups()
    study, *rest = path.split("/")
    known = [study, *(part if part in _WORDS else MASK for part in rest)]
    return prefix + "/".join(known) + (f"?{MASK}" if query else "")
