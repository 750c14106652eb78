"""What Prolific answers, and what it means where it is a refusal."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from studyapp.recruiters.prolific_errors import ProlificError

MAX_WORDS = 300

#: What is to be done about a refusal, by its status; any other one is told as it is.
_ADVICE = {
    401: "Prolific does not accept the token: set PROLIFIC_API_TOKEN to a valid one.",
    403: "Prolific does not let this token do that: use the token of a member of the workspace.",
    404: "Prolific does not know this id: compare it with the address of the study at Prolific.",
}


@dataclass(frozen=True)
class Reply:
    """One answer: its status, its body, and the seconds to wait if it named any."""

    status: int
    body: bytes
    retry_after: float | None = None

    def json_object(self) -> dict[str, Any]:
        """The body as an object; an empty one is an empty object. Raises ProlificError."""
        if not self.body.strip():
            return {}
        try:
            content = json.loads(self.body)
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict):
            raise ProlificError(
                f"Prolific's answer (status {self.status}) cannot be read: it is no JSON object.",
                is_worth_retry=True,
                may_have_worked=True,
            )
        return content


def unusable(reply: Reply) -> ProlificError:
    """The error for an answer that is no success."""
    words = _words_of(reply.body)
    told = f" It said: {words}" if words else ""
    if reply.status == 429 or reply.status >= 500:
        busy = "is asked too often" if reply.status == 429 else "has a fault"
        return ProlificError(
            f"Prolific {busy} (status {reply.status}). It is asked again later.{told}",
            is_worth_retry=True,
            may_have_worked=reply.status not in (429, 503),
            retry_after=reply.retry_after,
            code=reply.status,
        )
    advice = _ADVICE.get(reply.status, f"Prolific refused this (status {reply.status}).")
    return ProlificError(advice + told, code=reply.status)


def retry_seconds(header: str) -> float | None:
    """What ``Retry-After`` asks for: seconds, or the time until a date. None where unreadable."""
    try:
        seconds = float(header)
    except ValueError:
        seconds = _seconds_until(header)
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _seconds_until(date: str) -> float:
    try:
        return (parsedate_to_datetime(date) - datetime.now(UTC)).total_seconds()
    except (TypeError, ValueError):
        return math.nan


def _words_of(body: bytes) -> str:
    """The words of an error body: Prolific nests them below ``error``. One line, cut."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    if isinstance(content, dict):
        content = content.get("error", content)
    if isinstance(content, dict):
        content = content.get("detail") or content.get("title") or content
    words = " ".join(" ".join(_texts(content)).split())
    printable = "".join(sign for sign in words if sign.isprintable())
    return printable if len(printable) <= MAX_WORDS else printable[: MAX_WORDS - 1] + "…"


def _texts(content: Any, depth: int = 0) -> Iterator[str]:
    """The texts in an answer of any shape, in order; names of fields go before theirs."""
    if isinstance(content, str):
        yield content
    elif depth < 5 and isinstance(content, list):
        for each in content:
            yield from _texts(each, depth + 1)
    elif depth < 5 and isinstance(content, dict):
        for name, each in content.items():
            yield f"{name}:"
            yield from _texts(each, depth + 1)
