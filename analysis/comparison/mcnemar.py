"""Exact McNemar over claim pairs, with the paired difference and odds (statistics.md 4.2, 4.4)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from analysis.comparison.compared import OVER_READ_MSR, SUCCESS, UNDECIDED, Compared
from analysis.comparison.contrast import Contrast
from analysis.comparison.pairs import Pairs

MEASURES = (SUCCESS, UNDECIDED, OVER_READ_MSR)


def mcnemar_blocks(pairs: Pairs, contrast: Contrast) -> dict[str, dict[str, Any]]:
    """The test of every yes-or-no measure of the family, by its key.

    With more than one replication every block is ``{"left_out": reason}``: pairs of one claim
    depend on one another.
    """
    if pairs.n_replications > 1:
        reason = (
            f"not defined, because there are {pairs.n_replications} replications and the pairs of "
            "one claim depend on one another; the means by claim are compared instead"
        )
        return {measure.key: {"left_out": reason} for measure in MEASURES}
    return {measure.key: _block(pairs, contrast, measure) for measure in MEASURES}


def _block(pairs: Pairs, contrast: Contrast, measure: Compared) -> dict[str, Any]:
    """Counts of the fourfold table, and what follows from the discordant pairs."""
    first, second = (values == 1 for values in pairs.values_of(measure))
    only_first = int((first & ~second).sum())
    only_second = int((~first & second).sum())
    n = len(first)
    block: dict[str, Any] = {
        "both": int((first & second).sum()),
        f"{contrast.first}_only": only_first,
        f"{contrast.second}_only": only_second,
        "neither": int((~first & ~second).sum()),
        "n_pairs": n,
    }
    if n == 0:
        empty = ("mcnemar_exact_p", "risk_difference", "bonett_price95")
        odds = ("odds_ratio_conditional", "odds_ratio_exact95")
        why = "not defined, because no claim has a trial of this measure in both conditions"
        return block | dict.fromkeys((*empty, *odds)) | {"reason": why}
    return block | {
        "mcnemar_exact_p": _exact_p(block, contrast),
        "risk_difference": (only_first - only_second) / n,
        "bonett_price95": bonett_price(only_first, only_second, n),
        **_odds(only_first, only_second),
    }


def _exact_p(block: dict[str, Any], contrast: Contrast) -> float:
    """Two-sided exact binomial over the discordant pairs; 1 without any."""
    from statsmodels.stats.contingency_tables import mcnemar

    one, other = block[f"{contrast.first}_only"], block[f"{contrast.second}_only"]
    if one + other == 0:
        return 1.0
    return float(mcnemar([[block["both"], one], [other, block["neither"]]], exact=True).pvalue)


def bonett_price(only_first: int, only_second: int, n: int) -> list[float]:
    """95 % limits of a paired difference of rates; n pairs, at least 1.

    Adjusted Wald: one discordant pair of each kind is added (Bonett and Price 2012).
    """
    one, other = (only_first + 1) / (n + 2), (only_second + 1) / (n + 2)
    error = np.sqrt((one + other - (one - other) ** 2) / (n + 2))
    half = stats.norm.ppf(0.975) * error
    return [float(max(one - other - half, -1.0)), float(min(one - other + half, 1.0))]


def _odds(only_first: int, only_second: int) -> dict[str, Any]:
    """The conditional odds ratio with its exact limits (Clopper and Pearson's, as odds)."""
    discordant = only_first + only_second
    if discordant == 0:
        why = "not defined, because no pair is discordant"
        return {
            "odds_ratio_conditional": None,
            "odds_ratio_exact95": None,
            "reasons": {"odds_ratio_conditional": why, "odds_ratio_exact95": why},
        }
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(only_first, discordant, method="beta")
    low = float(low) if only_first else 0.0
    if only_second == 0:
        why = "not defined, because no pair favours the second condition: there is no upper bound"
        return {
            "odds_ratio_conditional": None,
            "odds_ratio_exact95": [low / (1 - low), None],
            "reasons": {"odds_ratio_conditional": why, "odds_ratio_exact95": why},
        }
    return {
        "odds_ratio_conditional": only_first / only_second,
        "odds_ratio_exact95": [low / (1 - low), float(high / (1 - high))],
    }
