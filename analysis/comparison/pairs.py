"""Claim pairs: the two trials of one claim in one replication (statistics.md 4.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.comparison.cells import CLAIM_IN_REPLICATION, count_replications
from analysis.comparison.compared import Compared
from analysis.comparison.contrast import Contrast
from analysis.inclusion import run_kinds


@dataclass(frozen=True)
class Pairs:
    """Row i of ``first`` and row i of ``second`` are the trials of one claim and replication.

    ``n_replications`` counts those of the contrast's trials, each study's and kind of run's own;
    ``n_repeated`` the claims of a replication that form no pair, since a condition has several
    trials of them.
    """

    first: pd.DataFrame
    second: pd.DataFrame
    n_replications: int
    n_repeated: int

    def values_of(self, measure: Compared) -> tuple[np.ndarray, np.ndarray]:
        """Values of the pairs whose two trials both have one; shape (pairs,) each."""
        both = self.first.index.isin(measure.rows_of(self.first).index)
        both &= self.second.index.isin(measure.rows_of(self.second).index)
        return measure.values_of(self.first[both]), measure.values_of(self.second[both])

    def counts(self) -> dict[str, int]:
        """``pairs_complete``, ``pairs_scorable`` and ``pairs_repeated``."""
        scorable = self.first["scorable"].to_numpy(bool) & self.second["scorable"].to_numpy(bool)
        return {
            "pairs_complete": len(self.first),
            "pairs_scorable": int(scorable.sum()),
            "pairs_repeated": self.n_repeated,
        }


def claim_pairs(design_set: pd.DataFrame, contrast: Contrast) -> Pairs:
    """The pairs of scored trials, sorted by study, kind of run, replication and claim."""
    trials = contrast.trials_of(design_set)
    trials = trials.assign(run_kind=run_kinds(trials)).set_index(CLAIM_IN_REPLICATION)
    is_first = contrast.is_first(trials) == 1
    first, second = trials[is_first], trials[~is_first]
    repeated = first.index[first.index.duplicated()].union(second.index[second.index.duplicated()])
    repeated = repeated.unique()
    common = first.index.intersection(second.index).difference(repeated).sort_values()
    return Pairs(
        first=first.loc[common],
        second=second.loc[common],
        n_replications=count_replications(contrast.trials_of(design_set)),
        n_repeated=len(repeated),
    )
