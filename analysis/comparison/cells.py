"""Cells of a design: the trials of one claim, replication and condition (statistics.md 3)."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from analysis.comparison.compared import FAMILY, Compared
from analysis.inclusion import run_kinds

#: A replication is one of one study and one kind of run.
REPLICATION = ["study_id", "run_kind", "replication"]
#: A claim is planned once a condition in each of them.
CLAIM_IN_REPLICATION = [*REPLICATION, "claim_id"]

#: Values equal to so many decimals are ties: sums of thirds are not exact in binary.
TIE_DECIMALS = 12

_IDS = ("study_id", "participant_id", "claim_id", "condition")
_COLUMNS = (
    *_IDS,
    *("replication", "simulated", "pilot", "scorable"),
    *dict.fromkeys(measure.column for measure in FAMILY),
)


def compact(trials: pd.DataFrame) -> pd.DataFrame:
    """The columns of scored trials that a comparison reads, ids as categories: much faster.

    Index and order stay; a compact table is returned as it is.
    """
    if tuple(trials.columns) == _COLUMNS:
        return trials
    return trials[list(_COLUMNS)].astype(dict.fromkeys(_IDS, "category"))


def claim_means(
    trials: pd.DataFrame, conditions: Sequence[str], measure: Compared
) -> tuple[pd.DataFrame, int]:
    """Means of a measure by claim and condition, over the replications that have every condition.

    Returns rows of claims, sorted, a column a condition in the order given; and the number of
    claims that no replication has under every condition. Raises ValueError for the logarithm of a
    time of 0.
    """
    trials = compact(trials)
    rows = measure.rows_of(trials[trials["condition"].isin(conditions).to_numpy()])
    frame = rows.assign(run_kind=run_kinds(rows), value=measure.values_of(rows))
    keys = [*CLAIM_IN_REPLICATION, "condition"]
    cells = frame.groupby(keys, observed=True)["value"].mean().unstack()
    complete = cells.reindex(columns=list(conditions)).dropna()
    means = complete.groupby(level="claim_id", observed=True).mean().sort_index()
    return means, frame["claim_id"].nunique() - len(means)


def count_replications(trials: pd.DataFrame) -> int:
    """Replications of the trials, each study's and kind of run's own."""
    return len(trials.assign(run_kind=run_kinds(trials))[REPLICATION].drop_duplicates())
