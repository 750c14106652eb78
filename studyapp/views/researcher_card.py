"""A card of the study page: its state in words, what is missing, and the one next action."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Tone(StrEnum):
    """How a card stands; shown as a sign and a colour beside the words that say it."""

    DONE = "done"
    NEXT = "next"
    BUSY = "busy"
    PROBLEM = "problem"
    #: Waits for an earlier card.
    WAITING = "waiting"
    #: Neither finished nor urgent.
    PLAIN = "plain"


@dataclass(frozen=True)
class Command:
    """A command line to type, and what it does."""

    says: str
    line: str


@dataclass(frozen=True)
class SetupLink:
    """A page of setting up: the name of its address, and what one does there."""

    url_name: str
    says: str


@dataclass(frozen=True)
class Card:
    """One card. ``template`` prints ``content``; a card that is not ``is_open`` folds to a line."""

    anchor: str
    title: str
    tone: Tone
    state: str
    template: str
    is_open: bool
    missing: list[str] = field(default_factory=list)
    command: Command | None = None
    #: The set-up page on which this is done in the browser, if there is one.
    setup: SetupLink | None = None
    content: Any = None


def manage(*words: str) -> str:
    """The command line of one of our management commands."""
    return " ".join(["python manage.py", *words])
