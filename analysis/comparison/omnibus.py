"""More than two conditions at once: Cochran's Q and Friedman over claims (statistics.md 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from analysis.comparison.cells import TIE_DECIMALS, claim_means, count_replications
from analysis.comparison.compared import LOG_ACTIVE, READ, Compared
from analysis.comparison.mcnemar import MEASURES as BINARY
from analysis.comparison.reasons import ZERO_TIME


def omnibus(design_set: pd.DataFrame, conditions: Sequence[str]) -> dict[str, Any]:
    """Whether any of three or more conditions differs, over the claims that have them all.

    ``cochran_q`` (success, undecided, over_read_msr; one replication only) and ``friedman``
    (reading, log time; means of a claim). What is not defined is None with ``reason`` beside it.
    """
    replications = count_replications(design_set)
    return {
        "conditions": list(conditions),
        "cochran_q": {m.key: _cochran(design_set, conditions, m, replications) for m in BINARY},
        "friedman": {m.key: _friedman(design_set, conditions, m) for m in (READ, LOG_ACTIVE)},
    }


def _cochran(
    design_set: pd.DataFrame, conditions: Sequence[str], measure: Compared, replications: int
) -> dict[str, Any]:
    """Cochran's Q; a claim with several trials of a condition is no single yes or no."""
    from statsmodels.stats.contingency_tables import cochrans_q

    if replications > 1:
        why = f"not defined, because there are {replications} replications of a claim"
        return dict.fromkeys(("n_claims", "q", "df", "p")) | {"reason": why}
    means, _ = claim_means(design_set, conditions, measure)
    means = means[means.isin([0.0, 1.0]).all(axis=1)]
    block: dict[str, Any] = {"n_claims": len(means), "q": None, "df": None, "p": None}
    why = _why_not(means)
    if why:
        return block | {"reason": why}
    result = cochrans_q(means.to_numpy())
    return block | {
        "q": float(result.statistic),
        "df": len(conditions) - 1,
        "p": float(result.pvalue),
    }


def _friedman(
    design_set: pd.DataFrame, conditions: Sequence[str], measure: Compared
) -> dict[str, Any]:
    """Friedman's chi-square of the claims' means, ties corrected."""
    try:
        means, _ = claim_means(design_set, conditions, measure)
    except ValueError:
        return dict.fromkeys(("n_claims", "chi2", "df", "p")) | {"reason": ZERO_TIME}
    block: dict[str, Any] = {"n_claims": len(means), "chi2": None, "df": None, "p": None}
    means = means.round(TIE_DECIMALS)
    why = _why_not(means)
    if why:
        return block | {"reason": why}
    result = stats.friedmanchisquare(*means.to_numpy().T)
    return block | {
        "chi2": float(result.statistic),
        "df": len(conditions) - 1,
        "p": float(result.pvalue),
    }


def _why_not(means: pd.DataFrame) -> str:
    """Why the claims allow no test, an empty text when they do."""
    if len(means) < 2:
        return "not defined, because fewer than two claims have trials in every condition"
    if (np.ptp(means.to_numpy(), axis=1) == 0).all():
        return "not defined, because no claim differs between the conditions"
    return ""
