"""Who took part: participants, and apart from them simulated readers and the study's team."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from analysis.inclusion import run_kinds
from analysis.readers import KINDS, readers_text
from analysis.report.data import ReportData
from analysis.report.words import counted


def by_kind(trials: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The kinds of run that occur, real ones first, each with its trials."""
    kinds = run_kinds(trials).to_numpy()
    for kind in KINDS:
        if (kinds == kind).any():
            yield kind, trials[kinds == kind]


def who_took_part(data: ReportData) -> str:
    """The sentence on those who count, and one on those who are kept apart from them."""
    counting = pd.concat([source.counted_kinds for source in data.sources])
    sentence = f"{readers_text(counting)} took part in {counted(len(counting), 'trial')}."
    apart = pd.concat([source.scored.drop(source.counted_kinds.index) for source in data.sources])
    if apart.empty:
        return sentence
    trials = f"{counted(len(apart), 'trial')} of {readers_text(apart)}"
    return f"{sentence} Apart from them, {trials} are recorded and do not count."
