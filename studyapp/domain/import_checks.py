"""What study.json tells of people, checked before an import with data stores anything of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.utils.dateparse import parse_datetime

from studyapp.enums import RunKind, StudyState
from studyapp.errors import BadUpload

#: The most people who withdrew, of each kind of run, and the most trials that went with them.
MAX_WITHDRAWN = 100_000
#: States of a study that has data.
_STATES = (StudyState.OPEN.value, StudyState.PAUSED.value, StudyState.CLOSED.value)
_COUNTS = ("participants", "trials")


def check_told(content: dict[str, Any]) -> None:
    """Check ``state`` and ``withdrawn`` of study.json. Raises BadUpload naming every bad field."""
    problems = []
    if content.get("state") not in _STATES:
        problems.append(f"study.json, field state: must be one of {', '.join(_STATES)}")
    problems += _withdrawn_problems(content.get("withdrawn"))
    if problems:
        raise BadUpload(problems)


def utc_moment(value: Any) -> datetime | None:
    """A time of study.json in UTC; None for what is none, and for one that no UTC clock shows."""
    try:
        moment = parse_datetime(value) if isinstance(value, str) else None
        return moment.astimezone(UTC) if moment is not None and moment.tzinfo else None
    except (ValueError, OverflowError):
        return None


def _withdrawn_problems(withdrawn: Any) -> list[str]:
    if withdrawn is None:
        return []
    where = "study.json, field withdrawn"
    if not isinstance(withdrawn, dict) or not set(withdrawn) <= set(RunKind.values):
        return [f"{where}: must hold counts for {', '.join(RunKind.values)}"]
    problems = []
    for kind, counts in withdrawn.items():
        if not isinstance(counts, dict) or not set(counts) <= set(_COUNTS):
            problems.append(f"{where}.{kind}: must hold {' and '.join(_COUNTS)}")
            continue
        problems += [
            f"{where}.{kind}.{name}: must be a whole number from 0 to {MAX_WITHDRAWN}"
            for name, value in counts.items()
            if type(value) is not int or not 0 <= value <= MAX_WITHDRAWN
        ]
    return problems
