"""The one JSON document of a study's measures: what ``measures --json`` prints.

Keys follow statistics.md 1 to 4; None stands for what is not defined, and ``not_defined`` says why.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis import design, inclusion
from analysis.comparison.compare import BLOCKS, compare
from analysis.comparison.reasons import collect
from analysis.definitions import definitions
from analysis.intervals import bootstrap_intervals
from analysis.load import Tables, check_tables
from analysis.measures import INTERVAL_NAMES, measures_by, score_trials
from analysis.notices import notices
from analysis.plain import plain
from analysis.readers import kind_counts
from analysis.sensitivity import sensitivity
from analysis.settings import StudySettings

_NO_TRIAL = "not defined, because the set has no trial of this condition"
_NONE_SCORABLE = "not defined, because the response options can score none of these trials"
_NONE_SUFFICIENT = "not defined, because no trial had a gold set among the sentences available"
_REASONS = {
    "sd_read": "not defined, because one trial has no spread",
    "under_read_rate": "not defined, because all sentences were shown at once",
    "lucky_share_of_successes": "not defined, because no trial was a success",
    "geomean_active_s": "not defined, because a trial has an active time of 0",
    "over_read_msr_rate_if_sufficient_available": _NONE_SUFFICIENT,
    "mean_ranker_excess": _NONE_SUFFICIENT,
    "mean_reader_excess": _NONE_SUFFICIENT,
    "mean_active_s_capped": "not defined, because no time cap was pre-registered",
}


def measure_document(
    trials: pd.DataFrame,
    events: pd.DataFrame | None,
    study: Mapping[str, Any],
    include_simulated: bool = False,
    with_comparison: bool = True,
) -> dict[str, Any]:
    """Check the tables of a study and measure it.

    ``trials`` and ``events`` have the columns of the codebook, as text or typed; ``study`` is the
    content of study.json. ``include_simulated`` counts simulated runs too. The comparison of the
    conditions takes seconds; without it only what happened is measured. Raises BadTable.
    """
    tables = check_tables(trials, events, study)
    return build_document(tables, include_simulated, with_comparison)


def build_document(
    tables: Tables, include_simulated: bool = False, with_comparison: bool = True
) -> dict[str, Any]:
    """The document of checked tables (see ``measure_document``)."""
    scored = scored_trials(tables)
    return document_of(scored, tables.settings, include_simulated, with_comparison)


def scored_trials(tables: Tables) -> pd.DataFrame:
    """The trial table with every trial's flags and its quarter of the run."""
    scored = score_trials(tables.trials, tables.settings)
    scored["quarter"] = design.quarters(scored, tables.settings.trials_per_participant)
    return scored


def document_of(
    scored: pd.DataFrame,
    settings: StudySettings,
    include_simulated: bool = False,
    with_comparison: bool = True,
) -> dict[str, Any]:
    """The document of scored trials, of one study or of several pooled ones.

    Without the comparison the blocks of ``comparison.compare`` are absent.
    """
    reasons = inclusion.exclusion_reasons(scored, include_simulated=include_simulated)
    available = scored[reasons.isin(["", "superseded"])]
    design_set = scored[reasons == ""]
    foldings = not settings.scores_partial and bool(
        (available["gold_label"] == "partially_supported").any()
    )
    document: dict[str, Any] = {
        "study_id": settings.study_id,
        "rows": len(scored),
        "excluded": inclusion.count_reasons(reasons),
        "run_kinds": kind_counts(scored, reasons.isin(["", "superseded"])),
        "n_available_set": len(available),
        "n_design_set": len(design_set),
        "slot_holders": _holders_by_slot(inclusion.slot_holders(available)),
        "response_options": list(settings.labels),
        "conditions": list(settings.conditions),
        "interfaces": _interfaces(scored, settings),
        "design_set": _by_condition(design_set, settings, foldings),
        "available_set": _by_condition(available, settings, foldings),
        "balance": design.balance(design_set, settings.conditions),
        "empty_cells": design.empty_cells(design_set, settings.conditions),
        "by_quarter": _by_quarter(design_set, settings),
        "attention_pass_rates": inclusion.attention_pass_rates(scored, reasons),
        "sensitivity": sensitivity(scored, reasons, settings, foldings),
        "definitions": definitions(),
    }
    if with_comparison:
        document |= compare(design_set, settings, available)
        document["crossed_intervals"] = bootstrap_intervals(
            design_set, settings.conditions, settings.planned.seed, foldings=foldings
        )
    document = plain(document)
    document["not_defined"] = _not_defined(document)
    if with_comparison:
        document["not_defined"] |= _not_compared(document)
    document["notices"] = notices(document, scored[reasons.isin(["", "superseded"])], settings)
    return document


def to_json(document: Mapping[str, Any]) -> str:
    """The document as text, the same bytes for the same content; ends with a newline."""
    return (
        json.dumps(document, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    )


def measures_of(row: pd.Series) -> dict[str, Any]:
    """One row of ``measures_by`` under the names of the document: intervals are pairs."""
    values: dict[str, Any] = {
        str(name): int(value) if str(name).startswith("n_") else float(value)
        for name, value in row.items()
    }
    for name in INTERVAL_NAMES:
        values[name] = [values.pop(f"{name}_low"), values.pop(f"{name}_high")]
    return values


def _by_condition(
    included: pd.DataFrame, settings: StudySettings, foldings: bool
) -> dict[str, dict[str, Any]]:
    """The measures of every condition of the study, also of one without trials."""
    table = measures_by(included, ["condition"], foldings=foldings)
    table = table.reindex(pd.Index(settings.conditions, name="condition"))
    counts = [name for name in table.columns if name.startswith("n_")]
    table[counts] = table[counts].fillna(0)
    return {str(condition): measures_of(row) for condition, row in table.iterrows()}


def _by_quarter(design_set: pd.DataFrame, settings: StudySettings) -> dict[str, Any]:
    """Trials, success, reading and time by condition and quarter of the run (4.6)."""
    table = measures_by(design_set, ["condition", "quarter"])
    table = table.reindex(pd.MultiIndex.from_product([settings.conditions, range(1, 5)]))
    table["trials"] = table["n_trials"].fillna(0).astype(int)
    return {
        name: {
            condition: {str(q): table.loc[(condition, q), name] for q in range(1, 5)}
            for condition in settings.conditions
        }
        for name in ("trials", "success_rate", "mean_read", "geomean_active_s")
    }


def _holders_by_slot(holders: pd.DataFrame) -> dict[str, str]:
    """Holder by "replication slot".

    Where several studies or kinds of run are counted together, the study's id goes in front and
    the kind, unless real, behind.
    """
    many_studies = holders["study_id"].nunique() > 1
    many_kinds = holders["run_kind"].nunique() > 1
    result = {}
    for row in holders.itertuples():
        key = f"{row.replication} {row.slot}"
        if many_studies:
            key = f"{row.study_id} {key}"
        if many_kinds and row.run_kind != "real":
            key = f"{key} {row.run_kind}"
        result[key] = str(row.participant_id)
    return result


def _interfaces(scored: pd.DataFrame, settings: StudySettings) -> dict[str, str | None]:
    """Interface of every condition: as seen in main trials, else as the settings say."""
    main = scored[scored["trial_kind"] == "main"].drop_duplicates("condition")
    seen = dict(zip(main["condition"], main["interface"].astype(str), strict=True))
    return {c: seen.get(c, settings.interfaces.get(c)) for c in settings.conditions}


def _not_defined(document: Mapping[str, Any]) -> dict[str, str]:
    """Why each None of the document is None, by its path."""
    reasons: dict[str, str] = {}
    for block in ("design_set", "available_set"):
        for condition, values in document[block].items():
            for name, value in values.items():
                if value is None or (isinstance(value, list) and None in value):
                    reasons[f"{block}.{condition}.{name}"] = _why(name, values)
        for condition, values in document["sensitivity"][block].items():
            for name, value in values.items():
                if value is None:
                    measured = document[block][condition]
                    reasons[f"sensitivity.{block}.{condition}.{name}"] = _why(name, measured)
    for condition, value in document["balance"]["mean_position"].items():
        if value is None:
            reasons[f"balance.mean_position.{condition}"] = _NO_TRIAL
    for name in ("success_rate", "mean_read", "geomean_active_s"):
        for condition, cells in document["by_quarter"][name].items():
            for quarter, value in cells.items():
                if value is None:
                    n = document["by_quarter"]["trials"][condition][quarter]
                    reasons[f"by_quarter.{name}.{condition}.{quarter}"] = (
                        _why(name, {"n_trials": n, "n_scorable": 0})
                        if n
                        else "not defined, because no trial of this condition is in this quarter"
                    )
    return reasons


def _not_compared(document: Mapping[str, Any]) -> dict[str, str]:
    """Why each None of the comparison and its intervals is None, by its path."""
    reasons: dict[str, str] = {}
    for name in ("comparison_plan", *BLOCKS):
        reasons |= collect(document[name], name)
    intervals = document["crossed_intervals"]["not_defined"]
    return reasons | {f"crossed_intervals.intervals.{path}": why for path, why in intervals.items()}


def _why(name: str, measured: Mapping[str, Any]) -> str:
    """The reason for a None among the measures of one condition."""
    if name == "mean_active_s_capped" and measured["n_trials"]:
        return _REASONS[name]
    if not measured["n_trials"]:
        return _NO_TRIAL
    if name in _REASONS and not (name == "lucky_share_of_successes" and not measured["n_scorable"]):
        return _REASONS[name]
    return _NONE_SCORABLE
