"""Live results: the measures of a running study, by the same rules as those of its export."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from studyapp.domain.blinding import refuse_while_blind
from studyapp.domain.export_rows import exported_runs, trial_rows
from studyapp.domain.export_settings import study_settings, study_versions
from studyapp.domain.export_snapshot import read_snapshot
from studyapp.domain.results_version import DataVersion, data_version
from studyapp.enums import RunKind, TrialKind, TrialState
from studyapp.models import Claim, Study, Trial

if TYPE_CHECKING:
    from analysis.load import Tables

# pandas and its companions take more than a second to load: only who works results out waits for
# them, so ``analysis`` is imported inside the functions.

NO_TRIALS = "No completed trials yet."
#: Claims and people listed on the page; the report's tables hold all.
MAX_LISTED = 100


@dataclass(frozen=True)
class Data:
    """A study's trial table and settings at one moment; ``trials`` None without a trial."""

    version: DataVersion
    trials: Any
    settings: dict[str, Any]


def read_data(study: Study, include_simulated: bool = False) -> Data:
    """Read what the measures need, with the version it has, from one view of the database."""
    with read_snapshot():
        study = Study.objects.get(pk=study.pk)
        version = data_version(study, include_simulated)
        if not _counting_trials(study, include_simulated).exists():
            return Data(version, None, {})
        settings = study_settings(study)
        return Data(version, _trial_frame(study, include_simulated), settings)


def live_document(
    study: Study, include_simulated: bool = False, with_comparison: bool = True
) -> dict[str, Any]:
    """The measures document (statistics.md) of the study as it is now.

    Without a completed trial that counts it is ``{"study_id", "rows": 0, "message"}``. Events are
    not read a second time here: the export's reader replays them. The comparison of the conditions
    takes seconds. Raises ValueError when the stored data contradict themselves, Blinded while the
    results of the study are hidden.
    """
    refuse_while_blind(study)

    from analysis.document import build_document

    data = read_data(study, include_simulated)
    if data.trials is None:
        return {"study_id": study.slug, "rows": 0, "message": NO_TRIALS}
    return build_document(_checked(data), include_simulated, with_comparison)


def results_content(
    study: Study, data: Data, include_simulated: bool = False, with_comparison: bool = True
) -> dict[str, Any]:
    """What the results page shows, as plain values for JSON.

    ``message`` alone without a trial; else ``headings`` and ``rows`` of Table 5 with its
    ``caption``, ``comparison`` (see ``_comparison``), ``n_trials`` and ``n_available`` (trials of
    the two sets), ``notices``, ``balance``, ``planned_cells``
    (see ``analysis.design``), ``left_out`` (reason and number), ``items`` and
    ``people`` (see ``_listed``). Without the comparison, which takes most of the time, it is None.
    Raises ValueError when the data contradict themselves.
    """
    if data.trials is None:
        return {"message": NO_TRIALS}

    from analysis.design import planned_cells
    from analysis.document import document_of, scored_trials
    from analysis.inclusion import REASON_TEXTS, exclusion_reasons, run_kinds
    from analysis.report.table5 import CAPTION, table5, table5_headings
    from analysis.review import item_review, quality_flags

    tables = _checked(data)
    scored = scored_trials(tables)
    document = document_of(scored, tables.settings, include_simulated, with_comparison)
    reasons = exclusion_reasons(scored, include_simulated=include_simulated)
    design_set = scored[(reasons == "").to_numpy()]
    return {
        "headings": table5_headings(document),
        "rows": [asdict(row) for row in table5(document)],
        "caption": CAPTION,
        "comparison": _comparison(document) if with_comparison else None,
        "n_trials": document["n_design_set"],
        "n_available": document["n_available_set"],
        "notices": document["notices"],
        "balance": document["balance"],
        "planned_cells": planned_cells(
            document["balance"], tables.settings, run_kinds(design_set).nunique()
        ),
        "left_out": [[REASON_TEXTS[key], n] for key, n in document["excluded"].items() if n],
        "items": _with_texts(study, _listed(item_review(design_set))),
        "people": _listed(quality_flags(scored, include_simulated=include_simulated)),
    }


def _comparison(document: dict[str, Any]) -> dict[str, Any]:
    """The comparison's ``headings``, ``rows`` (``cells``, ``is_part``), ``notes``, ``caption``.

    ``left_out`` says why there is none; the rest is then empty.
    """
    from analysis.comparison.table import (
        CAPTION,
        comparison_headings,
        comparison_notes,
        comparison_table,
    )

    rows = comparison_table(document)
    return {
        "headings": comparison_headings(document),
        "rows": [{"cells": row.cells, "is_part": row.is_part} for row in rows],
        "notes": comparison_notes(document),
        "caption": CAPTION,
        "left_out": document["inference_design_set"].get("left_out", ""),
    }


def _listed(table: Any) -> dict[str, Any]:
    """Those rows of a review that have a reason: ``n`` of ``n_all``, the first as ``rows``."""
    listed = table[(table["reason"] != "").to_numpy()]
    rows = listed.head(MAX_LISTED).astype(object)
    return {
        "n_all": len(table),
        "n": len(listed),
        "rows": rows.where(rows.notna(), None).to_dict("records"),
    }


def _with_texts(study: Study, listed: dict[str, Any]) -> dict[str, Any]:
    """The same with every claim's own text beside its id."""
    ids = [row["claim_id"] for row in listed["rows"]]
    texts = dict(
        Claim.objects.filter(study=study, claim_id__in=ids).values_list("claim_id", "text")
    )
    rows = [row | {"text": texts[row["claim_id"]]} for row in listed["rows"]]
    return listed | {"rows": rows}


def _checked(data: Data) -> Tables:
    from analysis.load import check_tables

    return check_tables(data.trials, None, data.settings)


def _counting_trials(study: Study, include_simulated: bool) -> Any:
    """Completed main trials of the kinds of run that are counted."""
    kinds = [RunKind.REAL, RunKind.SIMULATED] if include_simulated else [RunKind.REAL]
    return Trial.objects.filter(
        exported_runs(study, include_simulated, "enrolment__"),
        enrolment__run_kind__in=kinds,
        state=TrialState.COMPLETED,
        kind=TrialKind.MAIN,
    )


def _trial_frame(study: Study, include_simulated: bool) -> Any:
    """trials.csv as a data frame."""
    import pandas as pd

    from analysis.columns import names_of

    rows = list(trial_rows(study, include_simulated, study_versions(study)))
    return pd.DataFrame(rows, columns=names_of("trials"), dtype=object)
