"""What every comparison of paired means shares: two means a unit, their differences, t."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from analysis.comparison.cells import TIE_DECIMALS, compact
from analysis.comparison.compared import LOG_ACTIVE, READ, SUCCESS, Compared
from analysis.comparison.contrast import Contrast

#: The measures that means are compared of, over claims and over participants.
MEASURES = (READ, LOG_ACTIVE, SUCCESS)

#: Below so many units the effect size is given with its small-sample correction too.
SMALL = 20


def participant_means(
    trials: pd.DataFrame, contrast: Contrast, measure: Compared
) -> tuple[pd.DataFrame, int]:
    """Means of a measure by participant and condition of the contrast.

    Returns the people with trials in both, sorted, a column a condition, first and second; and
    the number of people with trials in one only. Raises ValueError for the logarithm of a time
    of 0.
    """
    rows = measure.rows_of(contrast.trials_of(compact(trials)))
    frame = rows.assign(value=measure.values_of(rows))
    keys = ["participant_id", "condition"]
    means = frame.groupby(keys, observed=True)["value"].mean().unstack()
    complete = means.reindex(columns=[contrast.first, contrast.second]).dropna().sort_index()
    return complete, len(means) - len(complete)


def differences(means: pd.DataFrame) -> np.ndarray:
    """First column minus second, rounded so that ties are ties; shape (units,)."""
    return np.round((means.iloc[:, 0] - means.iloc[:, 1]).to_numpy(dtype=float), TIE_DECIMALS)


def t_block(d: np.ndarray, units: str) -> dict[str, Any]:
    """Mean difference, paired t, interval and d_z of at least one difference.

    d_z is the mean over the standard deviation of the differences (statistics.md 4.4);
    ``hedges_factor`` and ``d_z_corrected`` are added below ``SMALL`` units. What is not defined
    is None, with ``reasons`` beside it.
    """
    block: dict[str, Any] = {"mean_difference": float(d.mean())}
    keys = ("t", "df", "p", "ci95", "d_z")
    if len(d) < 2 or np.ptp(d) == 0:
        what = "the differences do not vary" if len(d) > 1 else f"there is one of the {units} only"
        why = f"not defined, because {what}"
        return block | dict.fromkeys(keys) | {"reasons": dict.fromkeys(keys, why)}
    result = stats.ttest_1samp(d, 0.0)
    interval = result.confidence_interval(0.95)
    df = len(d) - 1
    d_z = float(d.mean() / d.std(ddof=1))
    block |= {
        "t": float(result.statistic),
        "df": df,
        "p": float(result.pvalue),
        "ci95": [float(interval.low), float(interval.high)],
        "d_z": d_z,
    }
    if len(d) < SMALL:
        factor = 1 - 3 / (4 * df - 1)
        block |= {"hedges_factor": factor, "d_z_corrected": factor * d_z}
    return block
