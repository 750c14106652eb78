"""What participants' forms send, read strictly: a small dataclass a form, BadAnswer otherwise.

Plain functions instead of form classes: these run on every click of every participant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from studyapp.domain.events import clean_client_ms
from studyapp.domain.questionnaire import plain_text
from studyapp.errors import BadAnswer
from studyapp.protocols.verification import CONFIDENCE_SCALE

#: No ranking has more sentences than this, so more digits are no rank.
MAX_RANK_DIGITS = 6
_POINTS = {str(point): point for point in CONFIDENCE_SCALE}
#: Before the name of a question in the form of the questionnaire.
QUESTION_PREFIX = "q-"
INCOMPLETE = _("The page sent something incomplete. Nothing was stored: try again.")


@dataclass(frozen=True)
class RevealInput:
    """The rank asked for and the browser's clock."""

    rank: int
    client_ms: int | None


@dataclass(frozen=True)
class DecisionInput:
    """What was answered, how many sentences the page showed, and the browser's clock.

    ``confidence`` is None where nothing was chosen, and 0 for what is no number of its scale.
    """

    decision: str
    confidence: int | None
    reason: str
    n_shown: int
    client_ms: int | None


def read_reveal(data: Mapping[str, str]) -> RevealInput:
    """Raises BadAnswer unless ``rank`` is a whole number from 1."""
    return RevealInput(_count(data.get("rank")), clean_client_ms(data.get("client_ms")))


def read_decision(data: Mapping[str, str]) -> DecisionInput:
    """Raises BadAnswer unless ``n_shown`` is a whole number from 1.

    Which answers there are is the study's business: the domain checks them.
    """
    confidence = data.get("confidence")
    return DecisionInput(
        data.get("decision", ""),
        _POINTS.get(confidence, 0) if confidence else None,
        plain_text(data.get("reason", "")).strip(),
        _count(data.get("n_shown")),
        clean_client_ms(data.get("client_ms")),
    )


def read_questionnaire(data: Mapping[str, str]) -> dict[str, str]:
    """What was sent, by the names of the questions; the domain checks it."""
    return {
        name.removeprefix(QUESTION_PREFIX): plain_text(value)
        for name, value in data.items()
        if name.startswith(QUESTION_PREFIX)
    }


def read_texts(data: Mapping[str, str]) -> dict[str, str]:
    """What was chosen and typed beside a decision, to be shown again."""
    return {name: plain_text(data.get(name, "")) for name in ("decision", "confidence", "reason")}


def gives_consent(data: Mapping[str, str]) -> bool:
    """Whether the consent box was ticked."""
    return data.get("consent") == "yes"


def _count(value: str | None) -> int:
    if value is None or not value.isascii() or not value.isdigit() or len(value) > MAX_RANK_DIGITS:
        raise BadAnswer(INCOMPLETE)
    if not (number := int(value)):
        raise BadAnswer(INCOMPLETE)
    return number
