"""Balance of what happened, and the Latin square that was planned (statistics.md 3 and 4.6).

The square here serves checking only; the platform lays out its slots with its own code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.inclusion import run_kinds
from analysis.settings import StudySettings

#: So many empty cells are listed; a study in its first days has thousands.
LISTED_CELLS = 1000

#: A claim is planned once a condition in every replication of every study and kind of run.
_CLAIM_KEYS = ["study_id", "run_kind", "replication", "claim_id"]


def balance(design_set: pd.DataFrame, conditions: Sequence[str]) -> dict[str, Any]:
    """Counts that a balanced design fixes: one trial a (replication, claim, condition) cell.

    Only claims that were met at least once in a replication are counted. ``mean_position`` is
    None for a condition without trials.
    """
    cells = cell_counts(design_set, conditions).to_numpy()
    # Only the columns in use are sorted: a large table is not copied for it.
    first = (
        design_set[["participant_id", "position", "condition"]]
        .sort_values(["participant_id", "position"], kind="stable")
        .drop_duplicates("participant_id")
    )
    starts = first["condition"].value_counts()
    positions = design_set.groupby("condition", observed=True)["position"].mean()
    per_person = design_set["participant_id"].value_counts()
    seen = design_set.groupby(["participant_id", "claim_id"]).size()
    return {
        "claim_replications_seen": len(cells),
        "cells_with_one_trial": int((cells == 1).sum()),
        "cells_empty": int((cells == 0).sum()),
        "cells_with_more": int((cells > 1).sum()),
        "participants_by_first_condition": {c: int(starts.get(c, 0)) for c in conditions},
        "mean_position": {
            c: float(positions[c]) if c in positions.index else None for c in conditions
        },
        "trials_per_participant": {str(p): int(n) for p, n in sorted(per_person.items())},
        "claims_seen_twice_by_a_participant": int((seen > 1).sum()),
    }


def cell_counts(design_set: pd.DataFrame, conditions: Sequence[str]) -> pd.DataFrame:
    """Trials of every claim met in a replication (rows) under every condition (columns)."""
    keys = ["study_id", "replication", "claim_id", "condition"]
    frame = design_set[keys].assign(run_kind=run_kinds(design_set))
    counts = frame.groupby([*_CLAIM_KEYS, "condition"], observed=True).size()
    return counts.unstack(fill_value=0).reindex(columns=list(conditions), fill_value=0)


def planned_cells(
    counts: Mapping[str, Any], settings: StudySettings, n_kinds: int
) -> tuple[int, int] | None:
    """Cells that the settings plan, and those of them without a trial, claims never met included.

    ``counts`` is what ``balance`` gave, ``n_kinds`` how many kinds of run it counts; each has the
    whole plan. None where the settings do not say how many claims there are, or say too few.
    """
    per_kind = (settings.n_claims or 0) * len(settings.conditions) * settings.replications
    filled = counts["cells_with_one_trial"] + counts["cells_with_more"]
    planned = per_kind * n_kinds
    return (planned, planned - filled) if 0 < filled <= planned else None


def empty_cells_texts(counts: Mapping[str, Any], planned: tuple[int, int] | None) -> list[str]:
    """Which cells have no trial: of the claims met, then of the plan; nothing where all have."""
    texts = []
    n = counts["cells_empty"]
    if n:
        cells, have = ("cell", "has") if n == 1 else ("cells", "have")
        texts.append(f"{n} {cells} of the claims met so far {have} no trial")
    if planned is not None and planned[1]:
        n_all, n = planned
        has = "has" if n == 1 else "have"
        texts.append(f"of all {n_all} planned cells {n} {has} none")
    return texts


def empty_cells(design_set: pd.DataFrame, conditions: Sequence[str]) -> list[dict[str, Any]]:
    """The cells without a trial: ``study_id``, ``run_kind``, ``replication``, ``claim_id``,
    ``condition``, in sorted order, conditions in the study's; at most LISTED_CELLS of them, while
    ``balance`` counts all.
    """
    counts = cell_counts(design_set, conditions).stack()
    empty = counts.index[counts.to_numpy() == 0][:LISTED_CELLS].to_frame(index=False)
    empty["replication"] = empty["replication"].astype(object)
    return [{str(key): cell for key, cell in row.items()} for row in empty.to_dict("records")]


def quarters(trials: pd.DataFrame, planned: int) -> pd.Series:
    """Quarter of the run, 1 to 4: the ceiling of 4 x position / planned trials.

    A position above the plan (subsets of unequal size) belongs to the last quarter.
    """
    quarter = np.ceil(4 * trials["position"].to_numpy(dtype=float) / planned)
    return pd.Series(np.clip(quarter, 1, 4).astype(int), index=trials.index, name="quarter")


def allowed_shifts(subsets: int, conditions: int) -> list[int]:
    """Shifts g of the cyclic square for which no slot sees one subset under two conditions.

    Raises ValueError when there are more conditions than subsets.
    """
    _check_size(subsets, conditions)
    if subsets == 1:
        return [0]
    return [
        g
        for g in range(1, subsets)
        if len({j * g % subsets for j in range(conditions)}) == conditions
    ]


def shift_of(replication: int, subsets: int) -> int:
    """The shift that a replication (from 1) uses: 1 + (r - 1) mod (k - 1), and 0 for k = 1."""
    return 0 if subsets == 1 else 1 + (replication - 1) % (subsets - 1)


def subset_seen(slot: int, condition: int, subsets: int, shift: int) -> int:
    """Subset (0..k-1) that slot 0..k-1 sees under condition 0..m-1: (s + j g) mod k."""
    return (slot + condition * shift) % subsets


def latin_square(subsets: int, conditions: int, claims: int, replications: int) -> dict[str, Any]:
    """What the square gives: sizes, judgements a (claim, condition), people who repeat a claim.

    Counted from the laid-out square, not from a formula. The shifts are taken as ``shift_of``
    gives them, allowed or not, so that a square that fails shows it. Subsets are as equal as
    ``claims`` permits. ``trials_per_participant`` is the largest number.
    """
    _check_size(subsets, conditions)
    size_of = np.bincount(np.arange(claims) % subsets, minlength=subsets)
    judged = np.zeros((subsets, conditions), dtype=int)
    trials, repeats = [], 0
    for replication in range(1, replications + 1):
        shift = shift_of(replication, subsets)
        for slot in range(subsets):
            seen = [subset_seen(slot, j, subsets, shift) for j in range(conditions)]
            judged[seen, range(conditions)] += 1
            trials.append(int(size_of[seen].sum()))
            repeats += len(set(seen)) < conditions
    return {
        "k": subsets,
        "m": conditions,
        "claims": claims,
        "replications": replications,
        "participants": len(trials),
        "trials_per_participant": max(trials, default=0),
        "trials": sum(trials),
        "judgements_per_claim_and_condition": [int(judged.min()), int(judged.max())],
        "participants_seeing_a_claim_twice": repeats,
    }


def _check_size(subsets: int, conditions: int) -> None:
    if not 1 <= conditions <= subsets:
        raise ValueError(f"{conditions} conditions need at least as many subsets, not {subsets}")
