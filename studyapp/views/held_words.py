"""What the monitor prints of held slots: who holds one, what to do about it, who fell silent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.urls import reverse

from studyapp.domain.held_slots import SILENCE, HeldSlot
from studyapp.domain.run_actions import possible
from studyapp.enums import EnrolmentState, RunKind
from studyapp.models import Study
from studyapp.views.researcher_words import ago, counted, duration, moment, number

#: Held slots on the monitor; the list of participants has them all.
MOST_HELD = 50


def held_words(study: Study, held: Sequence[HeldSlot]) -> dict[str, Any]:
    """Who holds which slot, and what can be done about it."""
    shown = held[:MOST_HELD]
    base = reverse("study-participants", args=[study.slug])
    return {
        "rows": [_held_row(base, each) for each in shown],
        "n": counted(len(held), "slot"),
        "n_expired": number(sum(each.is_expired for each in held)),
        "more": number(len(held) - len(shown)) if len(held) > len(shown) else "",
    }


def _held_row(base: str, held: HeldSlot) -> dict[str, Any]:
    # Addresses are put together here: looking up hundreds of them would take half of the page.
    address = f"{base}{held.participant}/"
    return {
        "participant": held.participant,
        "address": address,
        "slot": held.slot,
        "kind": RunKind(held.run_kind).label,
        "state": EnrolmentState(held.state).label,
        "done": f"{number(held.n_done)} of {number(held.n_trials)}",
        "since": moment(held.since),
        "until": moment(held.lease_until),
        "note": _held_note(held),
        "is_expired": held.is_expired,
        "heard": ago(held.contact.heard_at, held.now) if held.contact else "",
        "contact": _contact_words(held),
        "actions": [
            {
                "name": action.name,
                "label": action.short,
                "address": f"{address}{action.name}/?back=monitor",
            }
            for action in possible(held.state)
        ],
    }


def _held_note(held: HeldSlot) -> str:
    if held.is_at_the_end:
        return "at the last questions"
    return "ran out" if held.is_expired else ""


def _contact_words(held: HeldSlot) -> str:
    if held.contact is None:
        return ""
    if held.contact.is_silent:
        return "silent"
    if held.contact.is_back:
        return f"back after {duration(held.contact.longest_gap.total_seconds(), 1)}"
    return ""


def connection_words(held: Sequence[HeldSlot]) -> dict[str, str]:
    """How many pages fell silent or came back, and what that means."""
    contacts = [each.contact for each in held if each.contact]
    minutes = int(SILENCE.total_seconds() // 60)
    return {
        "silent": number(sum(contact.is_silent for contact in contacts)),
        "back": number(sum(contact.is_back for contact in contacts)),
        "says": (
            f"Silent: a trial is open and its page in view, and nothing was heard from it for more "
            f"than {minutes} minutes. Back: it was in view and silent for more than {minutes} "
            "minutes in the trial now open, and was heard from again. What is heard is a start, a "
            "sentence shown, the page hidden or seen again. Long reading looks the same."
        ),
    }
