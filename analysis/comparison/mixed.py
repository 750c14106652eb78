"""Linear mixed models with crossed random intercepts of claims and participants (4.3)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from analysis.comparison.compared import LOG_ACTIVE, READ, Compared
from analysis.comparison.contrast import Contrast
from analysis.comparison.model_rows import (
    CONDITION,
    INTERCEPT,
    POSITION,
    CannotFit,
    ModelRows,
    block,
    effect,
    exponential,
)
from analysis.comparison.reml import RemlFit, fit_reml

#: Above so many trials the specification leaves the model out.
MAX_TRIALS = 5_000
#: So few levels estimate no variance.
FEW_PEOPLE = 5

LIBRARY = "numpy, scipy"
_METHOD = (
    "Linear mixed model, crossed random intercepts of claim and participant, REML; "
    "t with participants - 1 degrees of freedom"
)
_FEW = (
    "So few participants estimate no variance between them: their variance is description, the "
    "range of their differences says more."
)


def models(design_set: pd.DataFrame, contrast: Contrast) -> dict[str, dict[str, Any]]:
    """``lmer_read`` (n_read by condition) and ``lmer_log_active`` (condition and position).

    Each has ``fixed`` (estimate, se, p, ci95 an effect), ``variance`` (claim_id, participant_id,
    Residual), ``df``, ``participant_differences_range``, or ``left_out``. Log active time is that
    of seconds; ``ratio`` and ``ratio_ci95`` are the condition's effect as a ratio of times.
    """
    return {
        "lmer_read": fitted(design_set, contrast, READ, (INTERCEPT, CONDITION)),
        "lmer_log_active": fitted(
            design_set, contrast, LOG_ACTIVE, (INTERCEPT, CONDITION, POSITION)
        ),
    }


def fitted(
    design_set: pd.DataFrame, contrast: Contrast, measure: Compared, effects: tuple[str, ...]
) -> dict[str, Any]:
    """One such model of any measure with the named fixed effects."""

    def fit(rows: ModelRows) -> dict[str, Any]:
        if len(rows) > MAX_TRIALS:
            raise CannotFit(
                f"the set has {len(rows)} trials; this model is fitted up to {MAX_TRIALS}"
            )
        found = fit_reml(rows, rows.columns(*effects))
        return _values(rows, found, effects) | (_ratio(rows, found) if measure.is_log else {})

    return block({"method": _METHOD, "library": LIBRARY}, design_set, contrast, measure, fit)


def _values(rows: ModelRows, found: RemlFit, effects: tuple[str, ...]) -> dict[str, Any]:
    """A fit under the names of the document."""
    df = rows.n_people - 1
    values: dict[str, Any] = {
        "n_claims": rows.n_claims,
        "n_participants": rows.n_people,
        "df": df,
        "fixed": {
            name: effect(found.estimates[place], found.errors[place], df)
            for place, name in enumerate(effects)
        },
        "variance": {
            "claim_id": found.claim_variance,
            "participant_id": found.participant_variance,
            "Residual": found.residual_variance,
        },
        "reml_log_likelihood": found.log_likelihood,
        **participant_range(rows),
    }
    return values | ({"note": _FEW} if rows.n_people <= FEW_PEOPLE else {})


def _ratio(rows: ModelRows, found: RemlFit) -> dict[str, Any]:
    """The condition's effect on a logarithm as a ratio, with its interval."""
    of_logs = effect(found.estimates[1], found.errors[1], rows.n_people - 1)
    return {
        "ratio": math.exp(of_logs["estimate"]),
        "ratio_ci95": exponential(of_logs["ci95"]),
    }


def participant_range(rows: ModelRows) -> dict[str, Any]:
    """Least and greatest difference of a participant's two means, or why there is none."""
    first, second = rows.person_means()
    differences = (first - second)[~np.isnan(first - second)]
    key = "participant_differences_range"
    if not len(differences):
        reason = "not defined, because no participant has trials in both conditions"
        return {key: None, "not_defined": {key: reason}}
    return {key: [float(differences.min()), float(differences.max())]}
