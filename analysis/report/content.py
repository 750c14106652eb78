"""What a report says, once, before any format: its tables, figures and sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from analysis.plots.active_time import active_time
from analysis.plots.claim_slopes import claim_slopes
from analysis.plots.participant_differences import participant_differences
from analysis.plots.sentences_read import sentences_read
from analysis.plots.style import Picture
from analysis.plots.verified_within import verified_within
from analysis.report import comparison, tables
from analysis.report.companions import companions_table
from analysis.report.data import ReportData
from analysis.report.deviations import deviations_table, deviations_text, findings_of
from analysis.report.finding import Finding
from analysis.report.learning import learning_table, order_table
from analysis.report.limitations import limitations
from analysis.report.methods import methods_text
from analysis.report.models import models_table
from analysis.report.review import review_tables
from analysis.report.table import Table
from analysis.report.table5 import table5_table
from analysis.report.verdict import verdicts

_GROUPS = {
    "participant_id": "Participant",
    "gold_label": "Label",
    "gold_min_size": "Required sentences",
}
_GROUPS_NOTE = "Design set; the same definitions, denominators counted inside each group."
_LEARNING_NOTE = (
    "Design set. A learning effect does not bias a counterbalanced comparison, it makes it less "
    "sharp; nothing is corrected for it."
)


@dataclass(frozen=True)
class Content:
    """Tables by name in reading order, figures in reading order, and the sentences.

    ``deviations`` and ``verdicts`` are sentences; ``findings`` are the checks by export.
    """

    tables: dict[str, Table]
    pictures: tuple[Picture, ...]
    verdicts: list[str]
    methods: list[str]
    findings: dict[str, list[Finding]]
    deviations: dict[str, list[str]]
    limitations: list[str]


def content_of(data: ReportData) -> Content:
    """Everything a report holds but its page."""
    findings = {source.label: findings_of(source) for source in data.sources}
    made = [*_measures(data), *_comparison(data), *_design(data), deviations_table(findings)]
    made += [*review_tables(data), *_groups(data), tables.definitions_table()]
    return Content(
        tables={table.name: table for table in made if table is not None and table.rows},
        pictures=tuple(_pictures(data)),
        verdicts=verdicts(data.document, data.contrast) if data.contrast else [],
        methods=methods_text(data),
        findings=findings,
        deviations={label: deviations_text(found) for label, found in findings.items()},
        limitations=limitations(data),
    )


def _measures(data: ReportData) -> Iterator[Table | None]:
    yield table5_table(data.document)
    yield table5_table(data.document, "available_set")
    yield tables.crossed_table(data.document)
    if data.is_pooled:
        yield tables.exports_table(_singles(data), data.document)


def _singles(data: ReportData) -> dict[str, dict]:
    return {source.label: dict(source.document) for source in data.sources}


def _comparison(data: ReportData) -> Iterator[Table | None]:
    """Nothing for a study with one condition."""
    document, contrast = data.document, data.contrast
    if contrast is None or not comparison.inference_of(document):
        return
    yield comparison.comparison_table(document, contrast)
    yield comparison.set_table(document, contrast)
    yield companions_table(document, contrast)
    yield models_table(document)
    yield comparison.contrasts_table(document)
    yield comparison.omnibus_table(document)
    if data.is_pooled:
        yield comparison.exports_table(_singles(data), contrast)


def _design(data: ReportData) -> Iterator[Table | None]:
    document = data.document
    yield tables.group_table(
        "by_quarter_table",
        "By quarter of the run",
        "Quarter",
        data.breakdowns["quarter"],
        _LEARNING_NOTE,
    )
    yield learning_table(document)
    yield order_table(document)
    yield tables.excluded_table(document)
    yield tables.holders_table(document)
    yield tables.attention_table(document)
    yield tables.sensitivity_table(document)
    yield tables.balance_table(document)
    yield tables.empty_cells_table(document)


def _groups(data: ReportData) -> Iterator[Table]:
    for by, heading in _GROUPS.items():
        name, title = f"by_{by}_table", f"By {heading.lower()}"
        yield tables.group_table(name, title, heading, data.breakdowns[by], _GROUPS_NOTE)


def _pictures(data: ReportData) -> Iterator[Picture]:
    """Those that the trials allow."""
    document, trials, contrast = data.document, data.design_set, data.contrast
    conditions = document["conditions"]
    two_way = comparison.inference_of(document).get("two_way")
    made = [
        sentences_read(trials, conditions, document["interfaces"]),
        claim_slopes(trials, contrast) if contrast else None,
        active_time(trials, conditions),
        verified_within(trials, conditions),
        participant_differences(trials, contrast, two_way) if contrast else None,
    ]
    yield from (picture for picture in made if picture is not None)
