"""What the monitor prints: counts, times and places, in the words of its page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from studyapp.domain.filling import Filling, Places
from studyapp.domain.pace import LATEST, Strip, Times, tells_conditions, times_of
from studyapp.enums import RunKind
from studyapp.models import Condition, Study
from studyapp.views.researcher_words import counted, duration, moment, number

#: Subsets of the table of cells on the monitor; the claims' page tells of every claim.
MOST_SUBSETS = 50
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
        else (" By condition once the study is closed: it is blind until then.")
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
