"""Several exports as one table, the export named as a factor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

import pandas as pd

from analysis.comparison.planned import joint_plan
from analysis.document import scored_trials
from analysis.errors import BadTable
from analysis.load import Tables
from analysis.settings import StudySettings


def pool(
    names: Sequence[str], exports: Sequence[Tables]
) -> tuple[list[str], pd.DataFrame, StudySettings]:
    """Labels of the exports, scored trials of all in one table, and joint settings.

    The table has a column ``export`` with the label: the export's name, numbered if it repeats.

    With several exports the ids of trials and participants get the export's name in front, and so
    do study ids that occur twice; claims keep theirs. Quarters are those of each export's own
    plan. Raises BadTable when the exports differ in conditions, interfaces, response options,
    time cap, contrast, margin or family, or share trials.
    """
    labels = _labels(names)
    problems = [
        f"{label}: {what} differs from {labels[0]}; report these exports one by one"
        for label, tables in zip(labels[1:], exports[1:], strict=True)
        for what in _differences(exports[0].settings, tables.settings)
    ]
    if problems:
        raise BadTable(problems)
    parts = []
    for label, tables in zip(labels, exports, strict=True):
        scored = scored_trials(tables)
        scored["export"] = label
        parts.append(scored)
    if len(parts) == 1:
        return labels, parts[0], exports[0].settings
    pooled = pd.concat(parts, ignore_index=True)
    shared = pooled.duplicated(["study_id", "trial_id", "started_at"], keep=False)
    if shared.any():
        where = ", ".join(sorted(set(pooled.loc[shared, "export"])))
        raise BadTable(f"{where}: the same trials are in more than one export; give each once")
    ids = pd.Series([tables.settings.study_id for tables in exports])
    if ids.duplicated().any():
        pooled["study_id"] = pooled["export"] + ":" + pooled["study_id"]
    for key in ("trial_id", "participant_id"):
        pooled[key] = pooled["export"] + ":" + pooled[key]
    pooled = pooled.sort_values("trial_id", kind="stable").reset_index(drop=True)
    settings = replace(
        exports[0].settings,
        study_id=" + ".join(labels),
        preregistered={},
        n_claims=None,
        planned=joint_plan([tables.settings.planned for tables in exports]),
    )
    return labels, pooled, settings


def _labels(names: Sequence[str]) -> list[str]:
    """The names, a repeated one with the next free number behind."""
    labels: list[str] = []
    for name in names:
        numbered = (f"{name} ({number})" for number in count(2))
        taken = {*labels, *names} if name in labels else set()
        labels.append(name if not taken else next(one for one in numbered if one not in taken))
    return labels


def _differences(first: StudySettings, other: StudySettings) -> list[str]:
    """Names of the settings that keep two exports from being pooled."""
    pairs = {
        "conditions": (sorted(first.conditions), sorted(other.conditions)),
        "interfaces of conditions": (dict(first.interfaces), dict(other.interfaces)),
        "response_options": (sorted(first.response_options), sorted(other.response_options)),
        "preregistered.time_cap_s": (first.time_cap_s, other.time_cap_s),
        "contrast": (first.planned.contrast, other.planned.contrast),
        "non_inferiority_margin": (first.planned.margin, other.planned.margin),
        "preregistered.family": (first.planned.family, other.planned.family),
    }
    return [name for name, (left, right) in pairs.items() if left != right]
