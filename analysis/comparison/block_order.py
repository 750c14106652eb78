"""Which condition a participant met first, and what hangs on it (statistics.md 4.6).

Between participants: the order's effect on a person's mean over both conditions, and on the
difference of the conditions. The second mixes what is carried over from the first condition with
what any second block gains by practice, and no design of two blocks can tell these apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from analysis.comparison.compared import Compared
from analysis.comparison.contrast import Contrast
from analysis.comparison.model_rows import CannotFit, ModelRows, block, effect

#: Fewer people are described, not tested.
MIN_PEOPLE = 10

_METHOD = (
    "Means over participants by the condition A or B that they met first; order = A first minus B "
    "first, of a person's mean over both conditions; order_by_condition = the same of the "
    "difference A - B; two-sample t with common variance"
)
_NOTE = (
    "order_by_condition is what the first condition carries over together with what any second "
    "block gains by practice: two blocks cannot tell these apart."
)


def block_order(design_set: pd.DataFrame, contrast: Contrast, measure: Compared) -> dict[str, Any]:
    """Order and order x condition for one measure.

    ``groups`` holds ``n_participants``, ``mean`` and ``mean_difference`` by the condition met
    first; ``order`` and ``order_by_condition`` an estimate, and from ten participants on se, p
    and ci95. Participants without trials of the measure in both conditions are left out, counted
    in ``n_participants_left_out``.
    """

    def fit(rows: ModelRows) -> dict[str, Any]:
        means, differences, has_both = _by_person(rows)
        first_is_first = _met_first(rows)[has_both]
        if not has_both.any():
            raise CannotFit("no participant has trials in both conditions")
        means, differences = means[has_both], differences[has_both]
        counts = {
            "n_participants": int(has_both.sum()),
            "n_participants_left_out": int((~has_both).sum()),
        }
        groups = {
            contrast.first: _group(means, differences, first_is_first),
            contrast.second: _group(means, differences, ~first_is_first),
        }
        return (
            counts | {"groups": groups, "note": _NOTE} | _orders(means, differences, first_is_first)
        )

    return block({"method": _METHOD, "library": "scipy"}, design_set, contrast, measure, fit)


def _by_person(rows: ModelRows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean of the two conditions' means, their difference, and who has both; shape (people,)."""
    first, second = rows.person_means()
    difference = first - second
    return (first + second) / 2, difference, ~np.isnan(difference)


def _met_first(rows: ModelRows) -> np.ndarray:
    """Whether each participant's first trial of the measure is of the first condition."""
    order = np.lexsort((rows.tens, rows.people))
    starts = np.unique(rows.people[order], return_index=True)[1]
    return rows.condition[order][starts] == 1.0


def _group(means: np.ndarray, differences: np.ndarray, chosen: np.ndarray) -> dict[str, Any]:
    """The description of the people who met one condition first; None without any."""
    if not chosen.any():
        reason = "not defined, because no participant met this condition first"
        missing: dict[str, Any] = dict.fromkeys(("mean", "mean_difference"))
        return {"n_participants": 0, **missing, "not_defined": dict.fromkeys(missing, reason)}
    return {
        "n_participants": int(chosen.sum()),
        "mean": float(means[chosen].mean()),
        "mean_difference": float(differences[chosen].mean()),
    }


def _orders(means: np.ndarray, differences: np.ndarray, chosen: np.ndarray) -> dict[str, Any]:
    """``order`` and ``order_by_condition``, tested where there are people enough."""
    if chosen.all() or not chosen.any():
        reason = "not defined, because all participants met the same condition first"
        missing = dict.fromkeys(("order", "order_by_condition"))
        return missing | {"not_defined": dict.fromkeys(missing, reason)}
    is_tested = len(chosen) >= MIN_PEOPLE
    values: dict[str, Any] = {
        "order": _difference(means, chosen, is_tested),
        "order_by_condition": _difference(differences, chosen, is_tested),
    }
    if not is_tested:
        values["described_only"] = (
            f"described only, because {len(chosen)} participants are fewer than {MIN_PEOPLE}"
        )
    return values


def _difference(values: np.ndarray, chosen: np.ndarray, is_tested: bool) -> dict[str, Any]:
    """Mean of the chosen minus mean of the others; with ``is_tested`` its t test."""
    groups = (values[chosen], values[~chosen])
    estimate = float(groups[0].mean() - groups[1].mean())
    if not is_tested:
        return {"estimate": estimate}
    df = len(values) - 2
    squares = sum(float(((group - group.mean()) ** 2).sum()) for group in groups)
    error = np.sqrt(squares / df * sum(1 / len(group) for group in groups))
    # Equal values leave rounding, not an error.
    scale = np.abs(values).max()
    return effect(estimate, error if error > 1e-12 * scale else 0.0, df) | {"df": df}
