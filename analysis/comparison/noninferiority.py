"""Efficiency without harming accuracy, and two-sided equivalence (statistics.md 4.5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from analysis.comparison import paired
from analysis.comparison.cells import claim_means
from analysis.comparison.compared import SUCCESS
from analysis.comparison.contrast import Contrast


def non_inferiority(two_way: Mapping[str, Mapping[str, Any]], margin: float) -> dict[str, Any]:
    """Whether the first condition is no worse by ``margin`` in success and needs less reading.

    Reads the 95 % intervals of the primary comparison. The joint claim is false as soon as one
    part is, and None while a part that decides it is not defined.
    """
    success, read = two_way["success"], two_way["read"]
    lower = None if success["ci95"] is None else success["ci95"][0]
    upper = None if read["ci95"] is None else read["ci95"][1]
    non_inferior = None if lower is None else lower > -margin
    fewer = None if upper is None else upper < 0
    block: dict[str, Any] = {
        "margin": margin,
        "success_lower95": lower,
        "non_inferior": non_inferior,
        "read_upper95": upper,
        "fewer_read": fewer,
        "efficient_without_harm": _both(non_inferior, fewer),
    }
    reasons: dict[str, str] = {}
    if lower is None:
        reasons |= dict.fromkeys(("success_lower95", "non_inferior"), success["reason"])
    if upper is None:
        reasons |= dict.fromkeys(("read_upper95", "fewer_read"), read["reason"])
    if block["efficient_without_harm"] is None:
        reasons["efficient_without_harm"] = next(iter(reasons.values()))
    return block | ({"reasons": reasons} if reasons else {})


def _both(one: bool | None, other: bool | None) -> bool | None:
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def equivalence(design_set: pd.DataFrame, contrast: Contrast, margin: float) -> dict[str, Any]:
    """Two one-sided t tests of the success difference within the margin.

    ``claim_p`` over claims, ``participant_p`` over participants, and the larger of them as ``p``;
    None, with a reason, unless both are defined.
    """
    block: dict[str, Any] = {"margin": margin}
    reasons = {}
    by_unit = {
        "claim": claim_means(design_set, (contrast.first, contrast.second), SUCCESS)[0],
        "participant": paired.participant_means(design_set, contrast, SUCCESS)[0],
    }
    for unit, means in by_unit.items():
        block[f"n_{unit}s"] = len(means)
        block[f"{unit}_p"], reason = _tost(means, unit, margin)
        if reason:
            reasons[f"{unit}_p"] = reason
    both = (block["claim_p"], block["participant_p"])
    if None in both:
        block["p"] = None
        reasons["p"] = next(iter(reasons.values()))
    else:
        block["p"] = max(both)
    return block | ({"reasons": reasons} if reasons else {})


def _tost(means: pd.DataFrame, unit: str, margin: float) -> tuple[float | None, str]:
    """The larger p of the two one-sided tests, or None and why."""
    from statsmodels.stats.weightstats import ttost_paired

    d = paired.differences(means)
    if len(d) < 2:
        return None, f"not defined, because fewer than two {unit}s have both conditions"
    if np.ptp(d) == 0:
        return None, f"not defined, because the differences of the {unit}s do not vary"
    return float(ttost_paired(d, np.zeros(len(d)), -margin, margin)[0]), ""
