"""More than two conditions at once: Cochran's Q and Friedman over claims (statistics.md 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from analysis.comparison.cells import (
    CLAIM_IN_REPLICATION,
    TIE_DECIMALS,
    claim_means,
    compact,
    count_replications,
)
from analysis.comparison.compared import LOG_ACTIVE, READ, Compared
from analysis.comparison.mcnemar import MEASURES as BINARY
from analysis.comparison.reasons import ZERO_TIME
from analysis.inclusion import run_kinds


def omnibus(design_set: pd.DataFrame, conditions: Sequence[str]) -> dict[str, Any]:
    """Whether any of three or more conditions differs, over the claims that have them all.

    ``cochran_q`` (success, undecided, over_read_msr; one replication only) and ``friedman``
    (reading, log time; means of a claim). ``n_left_out`` counts the claims that a test cannot
    use, ``n_repeated`` those of them with several trials of a condition, which are no single yes
    or no. What is not defined is None with ``reason`` beside it.
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
    """Cochran's Q over the claims with exactly one trial of every condition."""
    from statsmodels.stats.contingency_tables import cochrans_q

    if replications > 1:
        why = f"not defined, because there are {replications} replications of a claim"
        keys = ("n_claims", "n_left_out", "n_repeated", "q", "df", "p")
        return dict.fromkeys(keys) | {"reason": why}
    trials, n_repeated = _without_repeated(design_set, conditions)
    answers, n_left_out = claim_means(trials, conditions, measure)
    block: dict[str, Any] = {
        "n_claims": len(answers),
        "n_left_out": n_left_out + n_repeated,
        "n_repeated": n_repeated,
        **dict.fromkeys(("q", "df", "p")),
    }
    why = _why_not(answers, "exactly one trial")
    if why:
        return block | {"reason": why}
    result = cochrans_q(answers.to_numpy())
    return block | {
        "q": float(result.statistic),
        "df": len(conditions) - 1,
        "p": float(result.pvalue),
    }


def _without_repeated(
    design_set: pd.DataFrame, conditions: Sequence[str]
) -> tuple[pd.DataFrame, int]:
    """The trials of claims that no condition has twice, and the number of the other claims."""
    trials = compact(design_set)
    trials = trials[trials["condition"].isin(conditions).to_numpy()]
    cell = [*CLAIM_IN_REPLICATION, "condition"]
    twice = trials.assign(run_kind=run_kinds(trials)).duplicated(cell, keep=False)
    repeated = trials.loc[twice.to_numpy(), "claim_id"].unique()
    return trials[~trials["claim_id"].isin(repeated).to_numpy()], len(repeated)


def _friedman(
    design_set: pd.DataFrame, conditions: Sequence[str], measure: Compared
) -> dict[str, Any]:
    """Friedman's chi-square of the claims' means, ties corrected."""
    try:
        means, n_left_out = claim_means(design_set, conditions, measure)
    except ValueError:
        keys = ("n_claims", "n_left_out", "chi2", "df", "p")
        return dict.fromkeys(keys) | {"reason": ZERO_TIME}
    block: dict[str, Any] = {"n_claims": len(means), "n_left_out": n_left_out}
    block |= dict.fromkeys(("chi2", "df", "p"))
    means = means.round(TIE_DECIMALS)
    why = _why_not(means, "trials")
    if why:
        return block | {"reason": why}
    result = stats.friedmanchisquare(*means.to_numpy().T)
    return block | {
        "chi2": float(result.statistic),
        "df": len(conditions) - 1,
        "p": float(result.pvalue),
    }


def _why_not(means: pd.DataFrame, what: str) -> str:
    """Why the claims allow no test, an empty text when they do."""
    if len(means) < 2:
        return f"not defined, because fewer than two claims have {what} in every condition"
    if (np.ptp(means.to_numpy(), axis=1) == 0).all():
        return "not defined, because no claim differs between the conditions"
    return ""
