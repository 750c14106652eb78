"""Comparison over participants: other people, these claims (statistics.md 4.2)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from analysis.comparison import paired
from analysis.comparison.cells import TIE_DECIMALS
from analysis.comparison.compared import Compared
from analysis.comparison.contrast import Contrast
from analysis.comparison.reasons import ZERO_TIME

#: Up to so many people all sign flips are counted; above, so many are drawn.
EXACT_PEOPLE = 14
DRAWS = 99_999
#: Above so many people fewer flips are drawn: the p then serves description only.
MANY_PEOPLE = 1_000
DRAWS_OF_MANY = 9_999
_BATCH_VALUES = 1_000_000


def by_participant(
    design_set: pd.DataFrame, contrast: Contrast, seed: int = 0
) -> dict[str, dict[str, Any]]:
    """``<measure>_by_participant`` for success, reading and log time.

    People with trials in one condition only are left out and counted. Up to ``EXACT_PEOPLE``
    people the sign-flip test is exact (``sign_flip_exact_p``), above it is drawn
    (``sign_flip_p``, ``sign_flip_draws``). What is not defined is None with ``reason`` or
    ``reasons`` beside it.
    """
    return {
        f"{measure.key}_by_participant": _block(design_set, contrast, measure, seed)
        for measure in paired.MEASURES
    }


def _block(
    design_set: pd.DataFrame, contrast: Contrast, measure: Compared, seed: int
) -> dict[str, Any]:
    keys = ("mean_difference", "t", "df", "p", "ci95", "d_z", "sign_flip_exact_p")
    try:
        means, left_out = paired.participant_means(design_set, contrast, measure)
    except ValueError:
        absent = ("n_participants", "n_left_out", "differences", *keys)
        return dict.fromkeys(absent) | {"reason": ZERO_TIME}
    d = paired.differences(means)
    block: dict[str, Any] = {
        "n_participants": len(d),
        "n_left_out": left_out,
        "differences": {str(p): float(x) for p, x in zip(means.index, d, strict=True)},
    }
    if not len(d):
        why = "not defined, because nobody has trials of this measure in both conditions"
        return block | dict.fromkeys(keys) | {"reason": why}
    return block | paired.t_block(d, "participants") | sign_flip(d, seed)


def sign_flip(d: np.ndarray, seed: int) -> dict[str, Any]:
    """Two-sided p of the mean of ``d`` when every sign is as likely as its opposite.

    The least p that so many people can give is added while it is above .05, with a sentence.
    """
    n = len(d)
    if n == 1:
        return {"sign_flip_exact_p": 1.0} | _least(n)
    if n > EXACT_PEOPLE:
        draws = DRAWS if n <= MANY_PEOPLE else DRAWS_OF_MANY
        return {"sign_flip_p": _drawn_p(d, draws, seed), "sign_flip_draws": draws}
    result = stats.permutation_test(
        (d,),
        _size_of_mean,
        permutation_type="samples",
        n_resamples=np.inf,
        alternative="greater",
        vectorized=True,
    )
    return {"sign_flip_exact_p": float(result.pvalue)} | _least(n)


def _drawn_p(d: np.ndarray, draws: int, seed: int) -> float:
    """Share of random sign patterns at least as far from 0, the data's own among them.

    The library's test does the same; with hundreds of people it takes many times as long.
    """
    rng = np.random.default_rng(seed)
    least = np.abs(d.mean()).round(TIE_DECIMALS)
    n_bytes = -(-len(d) // 8)
    batch = max(1, _BATCH_VALUES // len(d))
    count = 0
    for start in range(0, draws, batch):
        rows = min(batch, draws - start)
        bits = np.frombuffer(rng.bytes(rows * n_bytes), np.uint8).reshape(rows, n_bytes)
        signs = 2.0 * np.unpackbits(bits, axis=1, count=len(d)) - 1
        count += int((np.abs(signs @ d / len(d)).round(TIE_DECIMALS) >= least).sum())
    return (count + 1) / (draws + 1)


def _size_of_mean(d: np.ndarray, axis: int) -> np.ndarray:
    """Rounded, so that sums which differ by rounding alone count as equal."""
    return np.abs(d.mean(axis=axis)).round(TIE_DECIMALS)


def _least(n: int) -> dict[str, Any]:
    """The smallest p that n people can reach, while that is not below .05."""
    least = 2 / 2**n
    if least <= 0.05:
        return {}
    people = "1 participant" if n == 1 else f"{n} participants"
    sentence = (
        f"With {people} the smallest two-sided p of the sign-flip test (and of Wilcoxon's) is "
        f"{least:g}: it can never reach 0.05. Six participants are the least (0.03125)."
    )
    return {"sign_flip_least_p": least, "sign_flip_note": sentence}
