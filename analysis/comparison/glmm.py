"""The crossed logistic mixed model of success, where its variances are identified (4.3)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from analysis.comparison.compared import SUCCESS
from analysis.comparison.contrast import Contrast
from analysis.comparison.laplace import LaplaceFit, fit_laplace
from analysis.comparison.model_rows import (
    CONDITION,
    INTERCEPT,
    CannotFit,
    ModelRows,
    block,
    effect,
    exponential,
    n_replications,
)

#: One judgement a claim and condition does not identify the claims' variance; with two the fit is
#: shown and called exploratory.
MIN_REPLICATIONS = 2
REPORTED_REPLICATIONS = 3
#: Beyond these an estimate has run away.
MAX_VARIANCE = 25.0
MAX_EFFECT = 6.0
#: Above so many trials a fit takes more than a few seconds.
MAX_TRIALS = 20_000

LIBRARY = "numpy, scipy"
_METHOD = (
    "Logistic mixed model, crossed random intercepts of claim and participant, Laplace "
    "approximation; t with participants - 1 degrees of freedom"
)
_RAN_AWAY = (
    "A variance or a log odds ran away, or the likelihood is flat, so that no estimate may be "
    "reported; see the differences with claims as clusters instead."
)
_ONE_JUDGEMENT = (
    "With one judgement a claim and condition the claims' variance is not identified and estimates "
    "run away; see the differences with claims as clusters instead."
)
_EXPLORATORY = (
    "Exploratory, not for a paper: with fewer than three replications the claims' variance rests "
    "on few judgements."
)


def models(design_set: pd.DataFrame, contrast: Contrast) -> dict[str, dict[str, Any]]:
    """``glmer_success``: success by condition, the log odds given claim and participant.

    It has ``fixed`` (estimate, se, p, ci95 an effect), ``variance`` (claim_id, participant_id),
    ``singular`` (a variance is 0), ``odds_ratio``, ``odds_ratio_ci95``, and ``degenerate`` False;
    or ``degenerate`` True and a ``note``, no estimate; or ``left_out``.
    """
    return {"glmer_success": fitted(design_set, contrast, (INTERCEPT, CONDITION))}


def fitted(
    design_set: pd.DataFrame, contrast: Contrast, effects: tuple[str, ...]
) -> dict[str, Any]:
    """The model with the named fixed effects, of which the condition is the second."""
    replications = n_replications(design_set, contrast)
    head = {"method": _METHOD, "library": LIBRARY, "n_replications": replications}
    if replications == 1:
        head |= {"degenerate": True, "note": _ONE_JUDGEMENT}
    elif replications < REPORTED_REPLICATIONS:
        head["note"] = _EXPLORATORY

    def fit(rows: ModelRows) -> dict[str, Any]:
        _check_size(rows, replications)
        if _has_constant_condition(rows):
            return _degenerate("In one condition all trials had the same outcome: no finite odds.")
        return _guarded(rows, fit_laplace(rows, rows.columns(*effects)), effects)

    return block(head, design_set, contrast, SUCCESS, fit)


def _check_size(rows: ModelRows, replications: int) -> None:
    if replications < MIN_REPLICATIONS:
        raise CannotFit(
            f"it needs {MIN_REPLICATIONS} replications or more; the trials are of {replications}"
        )
    if len(rows) > MAX_TRIALS:
        raise CannotFit(f"the set has {len(rows)} trials; this model is fitted up to {MAX_TRIALS}")


def _has_constant_condition(rows: ModelRows) -> bool:
    """Whether one condition has only successes or none."""
    return any(np.ptp(rows.outcome[rows.condition == one]) == 0 for one in (0.0, 1.0))


def _degenerate(note: str) -> dict[str, Any]:
    return {"degenerate": True, "note": note}


def _guarded(rows: ModelRows, found: LaplaceFit, effects: tuple[str, ...]) -> dict[str, Any]:
    """The fit under the names of the document, unless it ran away."""
    variances = (found.claim_variance, found.participant_variance)
    ran_away = max(variances) > MAX_VARIANCE or np.abs(found.estimates).max() > MAX_EFFECT
    if ran_away or found.errors is None:
        return _degenerate(_RAN_AWAY)
    df = rows.n_people - 1
    fixed = {
        name: effect(found.estimates[place], found.errors[place], df)
        for place, name in enumerate(effects)
    }
    return {
        "degenerate": False,
        "n_claims": rows.n_claims,
        "n_participants": rows.n_people,
        "df": df,
        "fixed": fixed,
        "odds_ratio": math.exp(fixed[CONDITION]["estimate"]),
        "odds_ratio_ci95": exponential(fixed[CONDITION]["ci95"]),
        "variance": {"claim_id": variances[0], "participant_id": variances[1]},
        "singular": min(variances) == 0,
        "deviance": found.deviance,
    }
