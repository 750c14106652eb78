"""Cycles that a schedule got after its study opened: recorded beside what was frozen then.

The hash of the schedule at the opening stays what it was; each addition brings its own.
"""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from studyapp.domain.digests import schedule_digest
from studyapp.domain.export_times import utc_text
from studyapp.models import Study

#: The one part of the freeze record that grows: a list of what ``addition`` returns.
ADDED = "cycles_added"


def addition(study: Study, first: int, last: int) -> dict[str, Any]:
    """The record of the cycles from ``first`` to ``last``, laid out just now."""
    return {
        "at": utc_text(timezone.now()),
        "first_replication": first,
        "last_replication": last,
        "schedule": schedule_digest(study, first, last),
    }


def frozen_with(study: Study, first: int, last: int) -> dict[str, Any]:
    """The freeze record of an opened study with one more addition."""
    return study.frozen | {ADDED: [*study.frozen.get(ADDED, []), addition(study, first, last)]}


def frozen_at_opening(frozen: dict[str, Any]) -> dict[str, Any]:
    """The freeze record without what was added later."""
    return {name: value for name, value in frozen.items() if name != ADDED}


def unlike_record(study: Study, frozen: dict[str, Any]) -> str | None:
    """How the study's schedule differs from a freeze record, or None.

    ``frozen`` may come from anywhere: a list of additions that is none is a difference.
    """
    added = frozen.get(ADDED, [])
    if not isinstance(added, list) or not all(map(_is_addition, added)):
        return f"{ADDED}: not a record of added cycles"
    next_replication = min(
        [a["first_replication"] for a in added], default=study.n_replications + 1
    )
    if schedule_digest(study, 1, next_replication - 1) != frozen.get("schedule"):
        return "not as frozen when the original opened (cycles added later, or a changed file)"
    for one in added:
        first, last = one["first_replication"], one["last_replication"]
        if first != next_replication or schedule_digest(study, first, last) != one["schedule"]:
            return f"replications {first} to {last} are not as they were added"
        next_replication = last + 1
    if next_replication <= study.n_replications:
        return f"no record says when replication {next_replication} was added"
    return None


def _is_addition(given: Any) -> bool:
    if not isinstance(given, dict) or not isinstance(given.get("schedule"), str):
        return False
    numbers = (given.get("first_replication"), given.get("last_replication"))
    return all(type(number) is int and 0 < number < 2**31 for number in numbers)
