"""The primary comparison: differences with two-way clustered errors (statistics.md 4.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from analysis.comparison.cells import compact
from analysis.comparison.compared import FAMILY, Compared
from analysis.comparison.contrast import Contrast
from analysis.comparison.reasons import ZERO_TIME, no_trial

_KEYS = ("difference", "se_two_way", "se_participant", "se_claim", "se_used", "df", "p", "ci95")
#: An error smaller than this share of the values' own size is rounding, and so is a variance
#: smaller than this share of the largest that it is put together from.
_ROUNDING = 1e-10
_NOT_POSITIVE = (
    "not defined, because the two-way variance is not positive; the largest other one is used"
)


def two_way(trials: pd.DataFrame, contrast: Contrast) -> dict[str, dict[str, Any]]:
    """The difference of every measure of the family, by its key, from scored trials.

    Ordinary least squares on the condition alone; the standard error used is the largest of the
    two-way, the participant and the claim clustered one (Cameron, Gelbach and Miller 2011, each
    with its small-sample factor); t with min(participants, claims) - 1 degrees of freedom. What
    is not defined is None, with ``reason`` or ``reasons`` beside it.
    """
    own = contrast.trials_of(compact(trials))
    return {measure.key: difference(own, contrast, measure) for measure in FAMILY}


def difference(trials: pd.DataFrame, contrast: Contrast, measure: Compared) -> dict[str, Any]:
    """One measure's difference, first minus second, in the measure's own unit."""
    rows = measure.rows_of(contrast.trials_of(compact(trials)))
    first = contrast.is_first(rows)
    people, claims = (
        pd.factorize(rows[name].cat.codes.to_numpy(dtype=np.int64))[0]
        for name in ("participant_id", "claim_id")
    )
    block: dict[str, Any] = dict.fromkeys(_KEYS)
    block |= {
        "n_trials": len(rows),
        "n_participants": int(people.max(initial=-1)) + 1,
        "n_claims": int(claims.max(initial=-1)) + 1,
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
        if not codes.any():
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
    size = int(codes.max()) + 1
    one, other = (np.bincount(codes[first == side], minlength=size) > 0 for side in (0, 1))
    return min(one.sum(), other.sum()) == 1 and not (one & other).any()


def _errors(
    values: np.ndarray, first: np.ndarray, people: np.ndarray, claims: np.ndarray
) -> dict[str, float]:
    """The three standard errors of the difference; NaN where the two-way variance is not positive.

    The two-way variance is participant plus claim minus their intersection; clusters of one trial
    each are what HC1 is. Where the parts cancel, rounding is left, whose sign hangs on the order
    of the trials: it counts as 0.
    """
    from statsmodels.regression.linear_model import OLS
    from statsmodels.stats.sandwich_covariance import cov_cluster

    fit = OLS(values, np.column_stack([np.ones(len(first)), first])).fit()
    both = pd.factorize(people * (claims.max() + 1) + claims)[0]
    of_people, of_claims = (cov_cluster(fit, codes)[1, 1] for codes in (people, claims))
    is_single = both.max() + 1 == len(both)
    of_both = (fit.cov_HC1 if is_single else cov_cluster(fit, both))[1, 1]
    variances = np.array([of_people + of_claims - of_both, of_people, of_claims])
    least = _ROUNDING * np.abs([of_people, of_claims, of_both]).max()
    two_way, *others = np.where(np.abs(variances) > least, variances, 0.0)
    errors = np.sqrt([two_way if two_way > 0 else np.nan, *others])
    return dict(zip(("se_two_way", "se_participant", "se_claim"), errors.tolist(), strict=True))


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
        found["reasons"] = {"se_two_way": _NOT_POSITIVE}
    return found
