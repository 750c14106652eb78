"""Two rankers on the same claims (statistics.md 7).

All differences are second minus first, so that above 0 means that the second is better.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

#: Draws of the bootstrap, and what n x draws may be before there are fewer of them.
DRAWS = 9_999
LEAST_DRAWS = 999
_MOST_DRAWN = 50_000_000
#: BCa leaves out every claim in turn; above so many claims the percentile interval is the same.
MOST_BCA = 20_000
#: Claims that are held at once while drawing.
_CELLS = 2_000_000

_NO_CLAIM = "not defined, because no claim is scored for both"
_ONE_CLAIM = "not defined, because one claim has no spread"
_ALL_EQUAL = "not defined, because the difference is the same on every claim"
_NO_BCA = "not defined, because the draws leave nothing to correct by (BCa)"
_NO_DIFFERENCE = "not defined, because the two never differ"


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How the intervals of one document are drawn."""

    draws: int
    seed: int
    method: str

    @classmethod
    def of_claims(cls, n_claims: int, seed: int) -> Bootstrap:
        """Fewer draws where the claims are very many, and no leaving out of each in turn."""
        draws = max(LEAST_DRAWS, min(DRAWS, _MOST_DRAWN // max(n_claims, 1)))
        return cls(draws, seed, "BCa" if n_claims <= MOST_BCA else "percentile")

    def interval(self, d: np.ndarray) -> list[float] | None:
        """The 95 % interval of the mean of ``d``, its values drawn with replacement.

        None where the correction of BCa is not defined.
        """
        from scipy.stats import DegenerateDataWarning, bootstrap

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DegenerateDataWarning)
            found = bootstrap(
                (d,),
                np.mean,
                n_resamples=self.draws,
                batch=max(1, _CELLS // len(d)),
                method=self.method,
                random_state=np.random.default_rng(self.seed),
            )
        limits = [float(limit) for limit in found.confidence_interval]
        return limits if all(map(math.isfinite, limits)) else None


def compare_pair(
    first: pd.DataFrame, second: pd.DataFrame, names: Sequence[str], boot: Bootstrap
) -> dict[str, Any]:
    """The second ranker minus the first over their common claims.

    ``first`` and ``second`` are indexed by claim with ``rr``, ``sr``, ``ndcg``. Keys: ``pair``,
    ``n``, ``n_left_out`` (claims scored for one of them), ``mean_difference_rr`` with ``rr_ci95``,
    ``claim_bootstrap_se_limit`` (standard deviation of the differences, denominator n, over the
    root of n), ``wilcoxon_pratt_p``, ``wilcoxon_drop_zeros_p`` (both asymptotic, without continuity
    correction), ``t_p``; ``sr_gain`` and ``sr_loss`` (claims on which only the second, only the
    first, has the best order), ``sr_difference``, ``sr_mcnemar_exact_p``; the same for ndcg;
    ``not_defined`` with the reason of every None.
    """
    common = first.index.intersection(second.index, sort=True)
    left, right = first.loc[common], second.loc[common]
    pair = {
        "pair": list(names),
        "n": len(common),
        "n_left_out": len(first) + len(second) - 2 * len(common),
    }
    not_defined: dict[str, str] = {}
    for name in ("rr", "ndcg"):
        values, reasons = _differences((right[name] - left[name]).to_numpy(float), name, boot)
        pair |= values
        not_defined |= reasons
    values, reasons = _success(left["sr"].to_numpy(float), right["sr"].to_numpy(float))
    return pair | values | {"not_defined": not_defined | reasons}


def _differences(
    d: np.ndarray, name: str, boot: Bootstrap
) -> tuple[dict[str, Any], dict[str, str]]:
    """Everything about the differences of one measure, and why something is None."""
    prefix = "" if name == "rr" else f"{name}_"
    keys = {
        "mean": f"mean_difference_{name}",
        "ci95": f"{name}_ci95",
        "se": "claim_bootstrap_se_limit" if name == "rr" else f"{name}_bootstrap_se_limit",
        "pratt": f"{prefix}wilcoxon_pratt_p",
        "drop": f"{prefix}wilcoxon_drop_zeros_p",
        "t": f"{prefix}t_p",
    }
    values: dict[str, Any] = dict.fromkeys(keys)
    reasons: dict[str, str] = {}
    n = len(d)
    if not n:
        reasons = dict.fromkeys(keys, _NO_CLAIM)
    else:
        values["mean"] = d.mean()
        if d.any():
            values["pratt"], values["drop"] = _wilcoxon(d)
        else:
            reasons |= {"pratt": _NO_DIFFERENCE, "drop": _NO_DIFFERENCE}
        if n > 1 and np.ptp(d) > 0:
            values |= {"se": d.std() / math.sqrt(n), "t": _t(d), "ci95": boot.interval(d)}
            if values["ci95"] is None:
                reasons["ci95"] = _NO_BCA
        else:
            reasons |= dict.fromkeys(("se", "t", "ci95"), _ALL_EQUAL if n > 1 else _ONE_CLAIM)
    named = {keys[key]: value for key, value in values.items()}
    named[f"{prefix}n_nonzero"] = int(np.count_nonzero(d))
    return named, {keys[key]: reason for key, reason in reasons.items()}


def _wilcoxon(d: np.ndarray) -> tuple[float, float]:
    """p with zeros ranked and then dropped (Pratt), and with zeros dropped before."""
    from scipy.stats import wilcoxon

    pratt, drop = (
        float(wilcoxon(d, zero_method=zeros, correction=False, method="asymptotic").pvalue)
        for zeros in ("pratt", "wilcox")
    )
    return pratt, drop


def _t(d: np.ndarray) -> float:
    from scipy.stats import ttest_1samp

    with warnings.catch_warnings():
        # Differences that are nearly all the same lose digits; the p-value is tiny either way.
        warnings.simplefilter("ignore", RuntimeWarning)
        return float(ttest_1samp(d, 0).pvalue)


def _success(left: np.ndarray, right: np.ndarray) -> tuple[dict[str, Any], dict[str, str]]:
    """Claims won and lost in SR, and the exact McNemar test; without any its p is 1."""
    from statsmodels.stats.contingency_tables import mcnemar

    names = ("sr_gain", "sr_loss", "sr_difference", "sr_mcnemar_exact_p")
    if not len(left):
        counts = dict.fromkeys(names[:2], 0)
        return counts | dict.fromkeys(names[2:]), dict.fromkeys(names[2:], _NO_CLAIM)
    gain, loss = int((right > left).sum()), int((right < left).sum())
    p = mcnemar([[0, loss], [gain, 0]], exact=True).pvalue if gain + loss else 1.0
    values = (gain, loss, float(right.mean() - left.mean()), float(p))
    return dict(zip(names, values, strict=True)), {}
