"""The primary comparison: differences with two-way clustered errors (statistics.md 4.1)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from analysis.comparison.compared import FAMILY, Compared
from analysis.comparison.contrast import Contrast
from analysis.comparison.reasons import ZERO_TIME, no_trial

_KEYS = ("difference", "se_two_way", "se_participant", "se_claim", "se_used", "df", "p", "ci95")
#: An error smaller than this share of the values' own size is rounding.
_ROUNDING = 1e-10


def two_way(trials: pd.DataFrame, contrast: Contrast) -> dict[str, dict[str, Any]]:
    """The difference of every measure of the family, by its key, from scored trials.

    Ordinary least squares on the condition alone; the standard error used is the largest of the
    two-way, the participant and the claim clustered one (Cameron, Gelbach and Miller 2011, each
    with its small-sample factor); t with min(participants, claims) - 1 degrees of freedom. What
    is not defined is None, with ``reason`` or ``reasons`` beside it.
    """
    own = contrast.trials_of(trials)
    return {measure.key: difference(own, contrast, measure) for measure in FAMILY}


def difference(trials: pd.DataFrame, contrast: Contrast, measure: Compared) -> dict[str, Any]:
    """One measure's difference, first minus second, in the measure's own unit."""
    rows = measure.rows_of(contrast.trials_of(trials))
    first = contrast.is_first(rows)
    people = pd.factorize(rows["participant_id"])[0]
    claims = pd.factorize(rows["claim_id"])[0]
    block: dict[str, Any] = dict.fromkeys(_KEYS)
    block |= {
        "n_trials": len(rows),
        "n_participants": len(np.unique(people)),
        "n_claims": len(np.unique(claims)),
    }
    absent = _absent(contrast, first)
    if absent:
        return block | {"reason": no_trial(absent)}
    try:
        values = measure.values_of(rows)
    except ValueError:
        return block | {"reason": ZERO_TIME}
    block["difference"] = float(values[first == 1].mean() - values[first == 0].mean())
    reason = _why_no_error(values, first, people, claims)
    if reason:
        return block | {"reason": reason}
    return block | _inference(block, _errors(values, first, people, claims), values)


def _absent(contrast: Contrast, first: np.ndarray) -> str:
    """The condition without a trial, an empty text when both have some."""
    if not (first == 1).any():
        return contrast.first
    return "" if (first == 0).any() else contrast.second


def _why_no_error(
    values: np.ndarray, first: np.ndarray, people: np.ndarray, claims: np.ndarray
) -> str:
    """Why these trials give no standard error, an empty text when they do."""
    for codes, one in ((people, "participant"), (claims, "claim")):
        if len(np.unique(codes)) < 2:
            return f"not defined, because all trials are of one {one}"
        if _is_confounded(codes, first):
            return (
                f"not defined, because a condition was met with one {one} only, who or which met "
                "no other: the two cannot be told apart"
            )
    if all(np.ptp(values[first == side]) == 0 for side in (0, 1)):
        return "not defined, because all trials of a condition have the same value"
    return ""


def _is_confounded(codes: np.ndarray, first: np.ndarray) -> bool:
    """Whether nobody (or no claim) is in both conditions and one condition has a single one."""
    sides = [set(codes[first == side].tolist()) for side in (0, 1)]
    return min(map(len, sides)) == 1 and not sides[0] & sides[1]


def _errors(
    values: np.ndarray, first: np.ndarray, people: np.ndarray, claims: np.ndarray
) -> dict[str, float]:
    """The three standard errors of the difference; NaN for a negative variance."""
    from statsmodels.regression.linear_model import OLS
    from statsmodels.stats.sandwich_covariance import cov_cluster_2groups

    with warnings.catch_warnings(), np.errstate(invalid="ignore"):
        warnings.simplefilter("ignore")
        fit = OLS(values, np.column_stack([np.ones(len(first)), first])).fit()
        covariances = cov_cluster_2groups(fit, people, claims)
        names = ("se_two_way", "se_participant", "se_claim")
        return {
            name: float(np.sqrt(covariance[1, 1]))
            for name, covariance in zip(names, covariances, strict=True)
        }


def _inference(
    block: dict[str, Any], errors: dict[str, float], values: np.ndarray
) -> dict[str, Any]:
    """Errors, the largest of them, and what follows from it."""
    found: dict[str, Any] = {
        name: None if np.isnan(error) else error for name, error in errors.items()
    }
    used = max(error for error in errors.values() if not np.isnan(error))
    if used <= _ROUNDING * np.abs(values).max():
        return {"reason": "not defined, because the trials give a standard error of 0"}
    df = min(block["n_participants"], block["n_claims"]) - 1
    half = stats.t.ppf(0.975, df) * used
    found |= {
        "se_used": used,
        "df": df,
        "p": float(2 * stats.t.sf(abs(block["difference"]) / used, df)),
        "ci95": [float(block["difference"] - half), float(block["difference"] + half)],
    }
    if found["se_two_way"] is None:
        why = "not defined, because the two-way variance is negative; the largest other one is used"
        found["reasons"] = {"se_two_way": why}
    return found
