"""What a server does not take from a request, learned from its refusals and remembered."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Set
from typing import Any

from rankers.errors import PermanentError

_log = logging.getLogger(__name__)

FORMAT = "response_format"
MAX_TOKENS = "max_tokens"
TEMPERATURE = "temperature"
LOGPROBS = "logprobs"

_DONE_WITHOUT = {
    FORMAT: "asks without response_format from now on",
    MAX_TOKENS: "sends max_completion_tokens instead of max_tokens from now on",
    TEMPERATURE: "leaves the temperature to the server from now on, so answers may vary",
    LOGPROBS: "asks without log probabilities from now on",
}
# A temperature of the wrong size is the user's to put right: leaving it out would hide the mistake.
_ABOUT_SIZE = re.compile(
    r"between|range|at (?:most|least)|(?:less|greater|lower|higher|more) than|[<>≤≥]"
)

# Remembered for the whole process, by address and model. setdefault is atomic: no lock needed.
_learned: dict[tuple[str, str, str], object] = {}


def refused(address: str, model: str) -> frozenset[str]:
    """What the server at ``address`` is known to refuse for ``model``."""
    return frozenset(what for what in _DONE_WITHOUT if (address, model, what) in _learned)


def remember(address: str, model: str, refusals: Set[str]) -> None:
    """Note refusals for good; each new one is logged once, as a warning."""
    for what in sorted(refusals):
        mine = object()
        if _learned.setdefault((address, model, what), mine) is mine:
            _log.warning("%s refuses %s for %s: %s", address, what, model, _DONE_WITHOUT[what])


def without(body: Mapping[str, Any], refusals: Set[str]) -> dict[str, Any]:
    """``body`` without what is refused."""
    adapted = dict(body)
    if FORMAT in refusals:
        adapted.pop("response_format", None)
    if TEMPERATURE in refusals:
        adapted.pop("temperature", None)
    if LOGPROBS in refusals:
        adapted.pop("logprobs", None)
        adapted.pop("top_logprobs", None)
    if MAX_TOKENS in refusals and "max_tokens" in adapted:
        adapted["max_completion_tokens"] = adapted.pop("max_tokens")
    return adapted


def cause(sent: Mapping[str, Any], refusal: PermanentError) -> str | None:
    """What in ``sent`` explains a refusal and can be done without; None when nothing does.

    Servers name a schema they do not like in many ways, so any 400 or 422 to a request with
    ``response_format`` that names nothing else is worth one request without it.
    """
    if refusal.status not in (400, 422):
        return None
    words = str(refusal).lower()
    if "max_tokens" in sent and "max_completion_tokens" in words:
        return MAX_TOKENS
    if "logprobs" in sent and "logprobs" in words:
        return LOGPROBS
    if "temperature" in sent and "temperature" in words and not _ABOUT_SIZE.search(words):
        return TEMPERATURE
    return FORMAT if "response_format" in sent else None
