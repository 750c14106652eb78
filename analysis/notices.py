"""Sentences that must stand beside the numbers: what to keep in mind when reading them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.design import empty_cells_texts, planned_cells
from analysis.errors import name_ids
from analysis.inclusion import run_kinds
from analysis.settings import StudySettings


def notices(
    document: Mapping[str, Any], available: pd.DataFrame, settings: StudySettings
) -> list[str]:
    """Warnings about a document and the scored trials of its available set, in fixed order."""
    lines = [*_required(document), *_balance(document, available, settings), *_plan(settings)]
    empty = [c for c, m in document["design_set"].items() if not m["n_trials"]]
    if empty:
        lines.append(f"No trial of condition {', '.join(empty)} is in the design set.")
    unscorable = sum(m["n_trials"] - m["n_scorable"] for m in document["design_set"].values())
    if unscorable:
        lines.append(
            f"{unscorable} trials of the design set have no right button among the response "
            "options: they are out of the rates of success, wrong and undecided, and in for "
            "reading, sufficiency and time."
        )
    no_time = available.loc[available["active_s"] <= 0, "trial_id"]
    if len(no_time):
        lines.append(f"Active time is 0 in trial {name_ids(no_time)}: it has no logarithm.")
    late = available["position"] > settings.trials_per_participant
    if late.any() and available["study_id"].nunique() == 1:
        lines.append(
            f"{int(late.sum())} trials stand behind position {settings.trials_per_participant}, "
            "the planned number; they count to the last quarter of the run."
        )
    failed = [p for p, rate in document["attention_pass_rates"].items() if rate < 0.5]
    if failed:
        lines.append(
            f"Fewer than half of the attention checks were passed by {name_ids(sorted(failed))}; "
            "they count, since their status is not excluded."
        )
    return lines


def _required(document: Mapping[str, Any]) -> list[str]:
    """Required sentences must not differ between conditions, or reading cannot be compared."""
    means = {
        c: m["mean_required"]
        for c, m in document["design_set"].items()
        if m["mean_required"] is not None
    }
    if len(means) < 2 or max(means.values()) - min(means.values()) < 1e-9:
        return []
    listed = ", ".join(f"{c} {value:.3f}" for c, value in means.items())
    return [
        f"The mean number of required sentences differs between conditions ({listed}): they did "
        "not meet the same claims equally often, so reading is not compared like with like."
    ]


def _balance(
    document: Mapping[str, Any], available: pd.DataFrame, settings: StudySettings
) -> list[str]:
    """Names a design with missing or repeated cells as what it is."""
    balance = document["balance"]
    planned = planned_cells(balance, settings, run_kinds(available).nunique())
    parts = empty_cells_texts(balance, planned)
    if balance["cells_with_more"]:
        n = balance["cells_with_more"]
        parts.append(f"{n} {'cell has' if n == 1 else 'cells have'} more than one")
    if balance["claims_seen_twice_by_a_participant"]:
        n = balance["claims_seen_twice_by_a_participant"]
        parts.append(f"{n} times a participant met a claim twice")
    return [f"The design is unbalanced: {'; '.join(parts)}."] if parts else []


def _plan(settings: StudySettings) -> list[str]:
    """What the comparison took for want of a statement, and a contrast beside the reference."""
    planned = settings.planned
    if planned.contrast is None:
        return []
    defaults = {
        "contrast": f"the contrast is {planned.contrast.name}, the first two conditions",
        "seed": f"random draws start from {planned.seed}",
        "non_inferiority_margin": f"the margin of non-inferiority is {planned.margin:g}",
    }
    silent = [text for name, text in defaults.items() if name not in planned.stated]
    lines = [f"The study's settings do not say otherwise: {'; '.join(silent)}."] if silent else []
    reference = planned.reference
    if reference is not None and planned.contrast.second != reference:
        lines.append(
            f"The main contrast, {planned.contrast.name}, is not one against the pre-registered "
            f"reference, {reference}."
        )
    return lines
