"""Comparison over claims: these people, other claims (statistics.md 4.2 and 4.4)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from analysis.comparison import paired
from analysis.comparison.cells import claim_means
from analysis.comparison.compared import Compared
from analysis.comparison.contrast import Contrast
from analysis.comparison.reasons import ZERO_TIME

BOOTSTRAP_DRAWS = 9_999
#: So many numbers are drawn at a time: bounds the memory, not the result.
_BATCH_VALUES = 5_000_000


def by_claim(
    design_set: pd.DataFrame, contrast: Contrast, seed: int = 0
) -> dict[str, dict[str, Any]]:
    """``<measure>_by_claim`` for reading, log time and success: means of a claim are compared.

    A claim counts when a replication has it in both conditions; the means of its complete
    replications are averaged first. What is not defined is None with ``reason`` or ``reasons``
    beside it.
    """
    return {
        f"{measure.key}_by_claim": _block(design_set, contrast, measure, seed)
        for measure in paired.MEASURES
    }


def _block(
    design_set: pd.DataFrame, contrast: Contrast, measure: Compared, seed: int
) -> dict[str, Any]:
    conditions = (contrast.first, contrast.second)
    keys = ("mean_difference", "sd", "t", "df", "p", "ci95", "d_z", "claim_bootstrap_se_limit")
    others = (
        "claim_bootstrap",
        "wilcoxon_signed_rank_p_drop_zeros",
        "wilcoxon_pratt_p",
        "rank_biserial_drop_zeros",
    )
    try:
        means, left_out = claim_means(design_set, conditions, measure)
    except ValueError:
        return dict.fromkeys(("n_claims", "n_left_out", *keys, *others)) | {"reason": ZERO_TIME}
    counts = {"n_claims": len(means), "n_left_out": left_out}
    if not len(means):
        why = "not defined, because no claim has trials of this measure in both conditions"
        return counts | dict.fromkeys((*keys, *others)) | {"reason": why}
    d = paired.differences(means)
    block = counts | paired.t_block(d, "claims")
    reasons = block.pop("reasons", {})
    for part in (_spread(d, seed), _signed_ranks(d)):
        reasons |= part.pop("reasons", {})
        block |= part
    return block | ({"reasons": reasons} if reasons else {})


def _spread(d: np.ndarray, seed: int) -> dict[str, Any]:
    """Standard deviation, and the bootstrap over claims with the limit of its error."""
    if len(d) < 2:
        keys = ("sd", "claim_bootstrap_se_limit", "claim_bootstrap")
        why = "not defined, because there is one of the claims only"
        return dict.fromkeys(keys) | {"reasons": dict.fromkeys(keys, why)}
    return {
        "sd": float(d.std(ddof=1)),
        "claim_bootstrap_se_limit": float(d.std() / np.sqrt(len(d))),
        "claim_bootstrap": _bootstrap(d, seed),
    }


def _bootstrap(d: np.ndarray, seed: int) -> dict[str, Any]:
    """Percentile interval of the mean when claims are drawn with replacement."""
    result = stats.bootstrap(
        (d,),
        np.mean,
        n_resamples=BOOTSTRAP_DRAWS,
        batch=max(1, _BATCH_VALUES // len(d)),
        method="percentile",
        vectorized=True,
        random_state=np.random.default_rng(seed),
    )
    low, high = result.confidence_interval
    return {
        "se": float(result.standard_error),
        "percentile95": [float(low), float(high)],
        "B": BOOTSTRAP_DRAWS,
    }


def _signed_ranks(d: np.ndarray) -> dict[str, Any]:
    """Wilcoxon's signed-rank test with both treatments of zeros, and the rank-biserial."""
    if not d.any():
        keys = (
            "wilcoxon_signed_rank_p_drop_zeros",
            "wilcoxon_pratt_p",
            "rank_biserial_drop_zeros",
        )
        why = "not defined, because every difference is 0"
        return dict.fromkeys(keys) | {"reasons": dict.fromkeys(keys, why)}
    return {
        "wilcoxon_signed_rank_p_drop_zeros": _wilcoxon_p(d, "wilcox"),
        "wilcoxon_pratt_p": _wilcoxon_p(d, "pratt"),
        "rank_biserial_drop_zeros": rank_biserial(d),
    }


def _wilcoxon_p(d: np.ndarray, zeros: str) -> float:
    result = stats.wilcoxon(d, zero_method=zeros, correction=False, method="asymptotic")
    return float(result.pvalue)


def rank_biserial(d: np.ndarray) -> float:
    """(W+ - W-) / (W+ + W-) of paired differences, zeros dropped; at least one is not 0."""
    moved = d[d != 0]
    ranks = stats.rankdata(np.abs(moved))
    return float((ranks * np.sign(moved)).sum() / ranks.sum())
