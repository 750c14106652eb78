"""Keys of participants' addresses, kept out of every log."""

from __future__ import annotations

import logging
import re

#: An address of participants, whole or a path, with what follows its first question mark.
_ADDRESS = re.compile(r"(/p/+)([^\s?]*)(\?\S*)?")
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
    """``text`` with the addresses of participants in it cut down to study and action."""
    return _ADDRESS.sub(_masked, text) if "/p/" in text else text


def _masked(found: re.Match[str]) -> str:
    prefix, path, query = found.groups()
    study, *rest = path.split("/")
    known = [study, *(part if part in _WORDS else MASK for part in rest)]
    return prefix + "/".join(known) + (f"?{MASK}" if query else "")
