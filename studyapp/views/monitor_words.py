"""What the monitor prints: counts, times and places, in the words of its page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.urls import reverse

from studyapp.domain.held_slots import SILENCE, HeldSlot
from studyapp.domain.pace import LATEST, Strip, Times, tells_conditions, times_of
from studyapp.domain.places import Filling, Places
from studyapp.domain.run_actions import possible
from studyapp.enums import EnrolmentState, RunKind
from studyapp.models import Condition, Study
from studyapp.views.researcher_words import ago, counted, duration, listed, moment, number

#: Held slots on the monitor; the list of participants has them all.
MOST_HELD = 100
#: Subsets of the table of cells on the monitor; the claims' page tells of every claim.
MOST_SUBSETS = 100
#: Width and height of the drawn strip, in its own units.
STRIP_WIDTH, STRIP_HEIGHT = 600, 60


def places_words(places: Places, n_expired: int) -> dict[str, Any]:
    """The places as facts; what there is none of is left out, but for the sums."""
    facts = [
        ("Places", places.target, ""),
        ("Completed", places.completed, ""),
        (
            "Running",
            places.running,
            f"{counted(n_expired, 'lease')} ran out: the next arrival may get the place"
            if n_expired
            else "",
        ),
        ("Free", places.free, ""),
        ("Closed", places.closed, "not given out"),
        ("Beyond the target", places.over, "people more than their slot was planned for"),
    ]
    usual = {"Places", "Completed", "Running", "Free"}
    return {
        "facts": [
            {"label": label, "n": number(n), "note": note}
            for label, n, note in facts
            if n or label in usual
        ],
        "done": places.completed,
        "target": places.target,
    }


def filling_words(filling: Filling, conditions: Sequence[Condition]) -> dict[str, Any]:
    """The cells as a table: a row for each subset, three columns for each condition."""
    subsets = filling.subsets
    return {
        "conditions": [condition.name for condition in conditions],
        "rows": [
            {"subset": subset, "cells": [_cell(filling, subset, each) for each in conditions]}
            for subset in subsets[:MOST_SUBSETS]
        ],
        "sums": [_cell_words(_sum_of(filling, condition)) for condition in conditions],
        "more": number(len(subsets) - MOST_SUBSETS) if len(subsets) > MOST_SUBSETS else "",
        "planned": _planned(filling),
    }


def _planned(filling: Filling) -> str:
    cycles = counted(filling.n_cycles, "cycle")
    if filling.per_cycle is None:
        return f"The plan has {cycles}, whose cells differ."
    people = counted(filling.per_cycle, "person", "people")
    return f"Each cell is planned for {people} in each of {cycles}."


def _cell(filling: Filling, subset: int, condition: Condition) -> dict[str, Any]:
    return _cell_words(filling.cells.get((subset, condition.position)))


def _cell_words(places: Places | None) -> dict[str, Any]:
    if places is None:
        return {"completed": "–", "running": "–", "to_fill": "–"}
    return {
        "completed": f"{number(places.completed)} of {number(places.target)}",
        "running": number(places.running),
        "to_fill": number(places.free),
    }


def _sum_of(filling: Filling, condition: Condition) -> Places:
    total = Places()
    for (_, position), cell in filling.cells.items():
        if position == condition.position:
            total = total.plus(cell)
    return total


def balance_words(
    finished: dict[tuple[str, int], int], conditions: Sequence[Condition], kinds: list[RunKind]
) -> list[dict[str, Any]]:
    """Finished trials by kind of run and condition."""
    return [
        {
            "kind": kind.label,
            "cells": [number(finished.get((kind, each.pk), 0)) for each in conditions],
            "total": number(sum(finished.get((kind, each.pk), 0) for each in conditions)),
        }
        for kind in kinds
    ]


def times_words(
    study: Study, run_kind: str, active: list[tuple[int, float]], conditions: Sequence[Condition]
) -> dict[str, Any]:
    """Quartiles of active time: of all trials, and by condition where that may be told."""
    rows = [_time_row("All conditions", times_of([seconds for _, seconds in active]))]
    is_by_condition = tells_conditions(study, run_kind) and len(conditions) > 1
    if is_by_condition:
        for condition in conditions:
            mine = [seconds for pk, seconds in active if pk == condition.pk]
            rows.append(_time_row(condition.name, times_of(mine)))
    latest = f"The latest {number(LATEST)} trials. " if len(active) == LATEST else ""
    hidden = (
        ""
        if is_by_condition or len(conditions) < 2
        else (
            " By condition once the study is closed: until then, whoever runs it stays blind to them."
        )
    )
    return {
        "rows": [row for row in rows if row],
        "says": f"{latest}From the start to the decision, without the time in which the page was "
        f"hidden.{hidden}",
    }


def _time_row(name: str, times: Times | None) -> dict[str, str]:
    if times is None:
        return {}
    return {
        "name": name,
        "n": number(times.n),
        "median": duration(times.median),
        "quartiles": f"{duration(times.lower)} to {duration(times.upper)}",
    }


def strip_words(strip: Strip | None) -> dict[str, Any]:
    """The strip as bars, and the same in words."""
    if strip is None or not any(strip.counts):
        return {}
    most = max(strip.counts)
    width = STRIP_WIDTH / len(strip.counts)
    bars = [
        {
            "x": f"{k * width + 0.5:.1f}",
            "width": f"{max(width - 1, 0.5):.1f}",
            "y": f"{STRIP_HEIGHT * (1 - n / most):.1f}",
            "height": f"{STRIP_HEIGHT * n / most:.1f}",
        }
        for k, n in enumerate(strip.counts)
        if n
    ]
    one = "hour" if strip.is_hourly else "day"
    best = strip.counts.index(most)
    return {
        "bars": bars,
        "width": STRIP_WIDTH,
        "height": STRIP_HEIGHT,
        "first": _stretch(strip, 0),
        "last": _stretch(strip, len(strip.counts) - 1),
        "title": f"Finished trials per {one}",
        "says": (
            f"{counted(sum(strip.counts), 'trial')} in {counted(len(strip.counts), one)}; "
            f"the most, {number(most)}, in the {one} of {_stretch(strip, best)} UTC; "
            f"{number(strip.counts[-1])} in the last {one} shown."
        ),
    }


def _stretch(strip: Strip, index: int) -> str:
    text = moment(strip.start_of(index))
    return text if strip.is_hourly else text.split(",")[0]


def held_words(study: Study, held: Sequence[HeldSlot]) -> dict[str, Any]:
    """Who holds which slot, and what can be done about it."""
    shown = held[:MOST_HELD]
    return {
        "rows": [_held_row(study, each) for each in shown],
        "n": counted(len(held), "slot"),
        "n_expired": number(sum(each.is_expired for each in held)),
        "more": number(len(held) - len(shown)) if len(held) > len(shown) else "",
    }


def _held_row(study: Study, held: HeldSlot) -> dict[str, Any]:
    return {
        "participant": held.participant,
        "address": reverse("study-participant", args=[study.slug, held.participant]),
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
                "label": action.label,
                "address": action_address(study, held.participant, action.name, "monitor"),
            }
            for action in possible(held.state)
        ],
    }


def action_address(study: Study, participant: str, action: str, back: str = "") -> str:
    """The page that asks before an action is done."""
    address = reverse("participant-action", args=[study.slug, participant, action])
    return f"{address}?back={back}" if back else address


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


def kinds_words(address: str, kinds: list[RunKind], chosen: str) -> list[dict[str, Any]]:
    """Links to the same page for each kind of run there is; none where all runs are real."""
    if len(kinds) < 2:
        return []
    return [
        {
            "label": kind.label,
            "address": address if kind == RunKind.REAL else f"{address}?kind={kind.value}",
            "is_chosen": kind == chosen,
        }
        for kind in kinds
    ]


def listed_kinds(kinds: list[RunKind]) -> str:
    """``real, pilot and simulated``."""
    return listed([kind.label.lower() for kind in kinds])
