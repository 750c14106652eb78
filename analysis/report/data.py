"""What a report is made from: the exports, their documents, and all of them pooled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from analysis.comparison.contrast import Contrast
from analysis.document import document_of
from analysis.inclusion import exclusion_reasons
from analysis.load import Tables
from analysis.measures import BREAKDOWNS, measures_by
from analysis.pool import pool
from analysis.settings import StudySettings


@dataclass(frozen=True)
class Source:
    """One export: its label, tables, scored trials, why each does not count, and its document."""

    label: str
    tables: Tables
    scored: pd.DataFrame
    reasons: pd.Series
    document: Mapping[str, Any]

    @property
    def settings(self) -> StudySettings:
        """The study's settings."""
        return self.tables.settings

    @property
    def study(self) -> Mapping[str, Any]:
        """The content of study.json."""
        return self.tables.study

    @property
    def design_set(self) -> pd.DataFrame:
        """The scored trials of the design set."""
        return self.scored[(self.reasons == "").to_numpy()]

    @property
    def available_set(self) -> pd.DataFrame:
        """The scored trials of the available set."""
        return self.scored[self.reasons.isin(["", "superseded"]).to_numpy()]

    @property
    def counted_kinds(self) -> pd.DataFrame:
        """The scored trials of the kinds of run that count, whatever else keeps a trial out."""
        return self.scored[~self.reasons.isin(["simulated", "pilot"]).to_numpy()]


@dataclass(frozen=True)
class ReportData:
    """All exports and, pooled, their document and design set.

    ``breakdowns`` are the tables of ``measures_by`` with the index levels (breakdown, condition).
    """

    sources: tuple[Source, ...]
    document: Mapping[str, Any]
    settings: StudySettings
    design_set: pd.DataFrame
    breakdowns: Mapping[str, pd.DataFrame]
    contrast: Contrast | None
    include_simulated: bool

    @property
    def is_pooled(self) -> bool:
        """Whether there are several exports."""
        return len(self.sources) > 1


def report_data(
    names: Sequence[str], exports: Sequence[Tables], include_simulated: bool = False
) -> ReportData:
    """Measure the exports one by one and pooled. Raises BadTable when they cannot be pooled."""
    labels, scored, settings = pool(names, exports)
    document = document_of(scored, settings, include_simulated)
    reasons = exclusion_reasons(scored, include_simulated=include_simulated)
    sources = []
    for label, tables in zip(labels, exports, strict=True):
        own = (scored["export"] == label).to_numpy()
        single = (
            document
            if len(exports) == 1
            else document_of(scored[own], tables.settings, include_simulated)
        )
        sources.append(Source(label, tables, scored[own], reasons[own], single))
    if len(sources) > 1:
        document["by_export"] = {
            source.label: {block: source.document[block] for block in ("excluded", "design_set")}
            for source in sources
        }
    design_set = scored[(reasons == "").to_numpy()]
    breakdowns = {by: measures_by(design_set, [by, "condition"]) for by in (*BREAKDOWNS, "quarter")}
    return ReportData(
        tuple(sources),
        document,
        settings,
        design_set,
        breakdowns,
        settings.planned.contrast,
        include_simulated,
    )
