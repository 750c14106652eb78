"""The contrast of a comparison: which condition minus which, and the trials that bear on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True, slots=True)
class Contrast:
    """``first`` minus ``second``, two conditions of the study (statistics.md 4)."""

    first: str
    second: str

    @property
    def name(self) -> str:
        """As study.json writes it: ``ranking - selection``."""
        return f"{self.first} - {self.second}"

    def trials_of(self, design_set: pd.DataFrame) -> pd.DataFrame:
        """The trials of the two conditions; all columns are kept, order and index too."""
        return design_set[design_set["condition"].isin([self.first, self.second]).to_numpy()]

    def is_first(self, trials: pd.DataFrame) -> np.ndarray:
        """1.0 for every trial of the first condition, else 0.0; shape (trials,)."""
        return (trials["condition"] == self.first).to_numpy(dtype=float)
