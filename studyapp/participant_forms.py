"""What participants' forms send, read strictly: a small dataclass a form, BadAnswer otherwise.

Plain functions instead of form classes: these run on every click of every participant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from studyapp.domain.events import clean_client_ms
from studyapp.errors import BadAnswer

#: No ranking has more sentences than this, so more digits are no rank.
MAX_RANK_DIGITS = 6
INCOMPLETE = "The page sent something incomplete. Nothing was stored: try again."


@dataclass(frozen=True)
class RevealInput:
    """The rank asked for and the browser's clock."""

    rank: int
    client_ms: int | None


@dataclass(frozen=True)
class DecisionInput:
    """The answer chosen, how many sentences the page showed, and the browser's clock."""

    decision: str
    n_shown: int
    client_ms: int | None


def read_reveal(data: Mapping[str, str]) -> RevealInput:
    """Raises BadAnswer unless ``rank`` is a whole number from 1."""
    return RevealInput(_count(data.get("rank")), clean_client_ms(data.get("client_ms")))


def read_decision(data: Mapping[str, str]) -> DecisionInput:
    """Raises BadAnswer unless ``n_shown`` is a whole number from 1.

    Which decisions there are is the study's business: the domain checks ``decision``.
    """
    return DecisionInput(
        data.get("decision", ""),
        _count(data.get("n_shown")),
        clean_client_ms(data.get("client_ms")),
    )


def gives_consent(data: Mapping[str, str]) -> bool:
    """Whether the consent box was ticked."""
    return data.get("consent") == "yes"


def _count(value: str | None) -> int:
    if value is None or not value.isascii() or not value.isdigit() or len(value) > MAX_RANK_DIGITS:
        raise BadAnswer(INCOMPLETE)
    if not (number := int(value)):
        raise BadAnswer(INCOMPLETE)
    return number
