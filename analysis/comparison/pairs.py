"""Claim pairs: the two trials of one claim in one replication (statistics.md 4.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.comparison.cells import CLAIM_IN_REPLICATION, compact, count_replications
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
        both = np.ones(len(self.first), dtype=bool)
        if measure.scorable_only:
            both = self._scorable()
        return measure.values_of(self.first[both]), measure.values_of(self.second[both])

    def counts(self) -> dict[str, int]:
        """``pairs_complete``, ``pairs_scorable`` and ``pairs_repeated``."""
        return {
            "pairs_complete": len(self.first),
            "pairs_scorable": int(self._scorable().sum()),
            "pairs_repeated": self.n_repeated,
        }

    def _scorable(self) -> np.ndarray:
        return self.first["scorable"].to_numpy(bool) & self.second["scorable"].to_numpy(bool)


def claim_pairs(design_set: pd.DataFrame, contrast: Contrast) -> Pairs:
    """The pairs of scored trials, sorted by study, kind of run, replication and claim."""
    trials = contrast.trials_of(compact(design_set))
    keyed = trials.assign(run_kind=run_kinds(trials))
    number = keyed.groupby(CLAIM_IN_REPLICATION, observed=True).ngroup().to_numpy()
    is_first = contrast.is_first(trials) == 1
    size = int(number.max(initial=-1)) + 1
    counts = [np.bincount(number[side], minlength=size) for side in (is_first, ~is_first)]
    paired = (counts[0] == 1) & (counts[1] == 1)

    def side_of(side: np.ndarray) -> pd.DataFrame:
        kept = side & paired[number]
        return trials[kept].iloc[np.argsort(number[kept])]

    return Pairs(
        first=side_of(is_first),
        second=side_of(~is_first),
        n_replications=count_replications(trials),
        n_repeated=int(((counts[0] > 1) | (counts[1] > 1)).sum()),
    )
