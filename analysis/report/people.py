"""Who took part: participants, and apart from them simulated readers and the study's team."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from analysis.inclusion import run_kinds
from analysis.report.data import ReportData
from analysis.report.words import counted, listed

#: A person of each kind of run, one and several.
_NAMES = {
    "real": ("participant", "participants"),
    "simulated": ("simulated reader", "simulated readers"),
    "pilot": ("member of the study's team", "members of the study's team"),
}


def by_kind(trials: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The kinds of run that occur, real ones first, each with its trials."""
    kinds = run_kinds(trials).to_numpy()
    for kind in _NAMES:
        if (kinds == kind).any():
            yield kind, trials[kinds == kind]


def people_of(kind: str, n: int) -> str:
    """``3 simulated readers``."""
    return counted(n, *_NAMES[kind])


def who(trials: pd.DataFrame) -> str:
    """``7 participants and 3 simulated readers``: whose trials these are."""
    people = [people_of(kind, own["participant_id"].nunique()) for kind, own in by_kind(trials)]
    return listed(people) if people else people_of("real", 0)


def who_took_part(data: ReportData) -> str:
    """The sentence on those who count, and one on those who are kept apart from them."""
    counting = pd.concat([source.counted_kinds for source in data.sources])
    sentence = f"{who(counting)} took part in {counted(len(counting), 'trial')}."
    apart = pd.concat([source.scored.drop(source.counted_kinds.index) for source in data.sources])
    if apart.empty:
        return sentence
    trials = counted(len(apart), "trial")
    return f"{sentence} Apart from them, {trials} of {who(apart)} are recorded and do not count."
