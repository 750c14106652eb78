"""Who is excluded, and by which end of their run (statistics.md 1.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pandas as pd

from analysis.report.data import Source
from analysis.report.words import counted

#: What an excluded run ended with, where the export does not say which of them.
_ANY_END = "rejected, screened out or failed checks"


def excluded_people(trials: pd.DataFrame) -> list[str]:
    """The ids of excluded participants among scored trials, sorted."""
    held = trials.loc[(trials["participant_status"] == "excluded").to_numpy(), "participant_id"]
    return sorted(set(held.astype(str)))


def how_many_excluded(found: Iterable[tuple[Source, Iterable[str]]]) -> str:
    """``2 participants were excluded (rejected 1, screened out 1)``, of each export its people.

    The ends are those of participants.csv; without it the three that make a run excluded are named.
    """
    ends: list[str | None] = [
        source.tables.end_reasons.get(person) for source, people in found for person in people
    ]
    text = f"{counted(len(ends), 'participant')} {'was' if len(ends) == 1 else 'were'} excluded"
    return f"{text} ({_by_end(ends)})" if ends else text


def _by_end(ends: list[str | None]) -> str:
    if not any(ends):
        return _ANY_END
    numbers = Counter((end or "no reason recorded").replace("_", " ") for end in ends)
    return ", ".join(f"{end} {n}" for end, n in sorted(numbers.items()))
