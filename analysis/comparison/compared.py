"""The measures that conditions are compared on, the same for every method (statistics.md 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.typed import floats


@dataclass(frozen=True, slots=True)
class Compared:
    """One measure of a trial: its key in the document, its column, who has a value.

    ``scorable_only`` leaves out trials that the response options cannot score; ``is_log`` takes
    the natural logarithm of a time in seconds.
    """

    key: str
    column: str
    label: str
    scorable_only: bool = False
    is_log: bool = False

    @property
    def is_binary(self) -> bool:
        """Whether a trial's value is 0 or 1."""
        return self.column not in ("n_read", "active_s")

    def rows_of(self, scored: pd.DataFrame) -> pd.DataFrame:
        """The scored trials that have a value of this measure."""
        return scored[scored["scorable"].to_numpy(dtype=bool)] if self.scorable_only else scored

    def values_of(self, rows: pd.DataFrame) -> np.ndarray:
        """The trials' values as floats; shape (trials,).

        Raises ValueError where the logarithm of a time of 0 would be needed.
        """
        values = floats(rows[self.column])
        if not self.is_log:
            return values
        if (values <= 0).any():
            raise ValueError("a trial has an active time of 0")
        return np.log(values)


SUCCESS = Compared("success", "success", "Success", scorable_only=True)
UNDECIDED = Compared("undecided", "undecided", "Undecided", scorable_only=True)
OVER_READ_MSR = Compared("over_read_msr", "over_read_msr", "Over-read (over_read_msr)")
READ = Compared("read", "n_read", "Sentences read or shown")
LOG_ACTIVE = Compared("log_active", "active_s", "Active time, logarithm", is_log=True)

#: The pre-registered family in the order of statistics.md 4.4.
FAMILY = (SUCCESS, UNDECIDED, OVER_READ_MSR, READ, LOG_ACTIVE)
BY_KEY = {measure.key: measure for measure in FAMILY}
