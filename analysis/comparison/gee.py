"""Differences and odds ratios with clustered errors (statistics.md 4.3).

The participant dummies make the result one about these participants, sound with five; clustered by
participant it is about other people, and needs ten.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from analysis.comparison.compared import READ, SUCCESS, Compared
from analysis.comparison.contrast import Contrast
from analysis.comparison.gee_fit import ClusteredFit, fit_clustered
from analysis.comparison.model_rows import (
    CONDITION,
    INTERCEPT,
    CannotFit,
    ModelRows,
    block,
    effect,
    exponential,
)

#: Fewer people are too few for clusters.
MIN_PEOPLE = 10
#: A coefficient beyond it means that somebody separates the logit.
MAX_COEFFICIENT = 10.0

LIBRARY = "statsmodels GEE"
_NO_CR3 = "not defined, because one cluster determines an effect alone"


def models(design_set: pd.DataFrame, contrast: Contrast) -> dict[str, dict[str, Any]]:
    """The models by the names of the document, each with ``se_model``, ``se_CR0``, ``se_CR3``.

    ``glm_participant_fixed_claim_clusters`` (``log_odds_ratio``, ``odds_ratio``),
    ``lpm_participant_fixed_claim_clusters`` (``risk_difference``),
    ``lm_read_participant_fixed_claim_clusters`` (``difference`` in sentences), and
    ``glm_participant_clusters`` (``log_odds_ratio``). p and ci95 come from CR3 by t with ``df``.
    A model that cannot be fitted has ``left_out`` in place of values.
    """

    def by_claims(measure: Compared, key: str, *, logit: bool) -> dict[str, Any]:
        return claim_clustered(
            design_set,
            contrast,
            measure,
            (CONDITION,),
            lambda effects: _renamed(effects, key),
            logit=logit,
        )

    return {
        "glm_participant_fixed_claim_clusters": by_claims(SUCCESS, "log_odds_ratio", logit=True),
        "lpm_participant_fixed_claim_clusters": by_claims(SUCCESS, "risk_difference", logit=False),
        "lm_read_participant_fixed_claim_clusters": by_claims(READ, "difference", logit=False),
        "glm_participant_clusters": _participant_clustered(design_set, contrast),
    }


def claim_clustered(
    design_set: pd.DataFrame,
    contrast: Contrast,
    measure: Compared,
    effects: tuple[str, ...],
    values_of: Callable[[dict[str, dict[str, Any]]], dict[str, Any]],
    *,
    logit: bool,
) -> dict[str, Any]:
    """One model with participant dummies and claims as clusters.

    ``values_of`` makes the block's values of the effects by name (see ``effect``, with se_model,
    se_CR0 and se_CR3). Participants with one trial are left out and counted: their dummy fits it
    exactly, and it bears on nothing else.
    """

    def fit(every: ModelRows) -> dict[str, Any]:
        rows = _of_repeated_people(every)
        _check_both_conditions(rows)
        if logit:
            _check_conditions_vary(rows)
            _check_separation(rows)
        df = rows.n_claims - 1
        fitted = fit_clustered(
            rows.outcome, rows.columns(*effects), rows.claims, logit=logit, people=rows.people
        )
        found = _effects(fitted, effects, df, logit=logit)
        counts = {
            "n_participants": rows.n_people,
            "n_claims": rows.n_claims,
            "n_trials_left_out": len(every) - len(rows),
            "df": df,
        }
        return counts | values_of(found)

    kind = "Logit" if logit else "Linear"
    head = {
        "method": f"{kind} GEE with participant dummies, clusters = claims, independence; "
        "Mancl-DeRouen errors (CR3), t with claims - 1 degrees of freedom",
        "library": LIBRARY,
    }
    return block(head, design_set, contrast, measure, fit)


def _participant_clustered(design_set: pd.DataFrame, contrast: Contrast) -> dict[str, Any]:
    """Success by condition, participants as clusters, t(P - 2)."""

    def fit(rows: ModelRows) -> dict[str, Any]:
        if rows.n_people < MIN_PEOPLE:
            raise CannotFit(
                f"{rows.n_people} participants are too few for clusters; it needs {MIN_PEOPLE}"
            )
        names = (CONDITION, INTERCEPT)
        df = rows.n_people - 2
        _check_conditions_vary(rows)
        fitted = fit_clustered(rows.outcome, rows.columns(*names), rows.people, logit=True)
        found = _effects(fitted, names, df, logit=True)
        counts = {"n_participants": rows.n_people, "n_claims": rows.n_claims, "df": df}
        return counts | _renamed(found, "log_odds_ratio")

    head = {
        "method": "Logit GEE, clusters = participants, independence; Mancl-DeRouen errors (CR3), "
        "t with participants - 2 degrees of freedom",
        "library": LIBRARY,
    }
    return block(head, design_set, contrast, SUCCESS, fit)


def _of_repeated_people(rows: ModelRows) -> ModelRows:
    """The rows of participants with two trials or more."""
    kept = np.bincount(rows.people)[rows.people] > 1
    if not kept.any():
        raise CannotFit("no participant has two trials")
    return rows.only(kept)


def _check_both_conditions(rows: ModelRows) -> None:
    """Raise CannotFit where nobody met both conditions: the dummies then hold all there is."""
    share = np.bincount(rows.people, rows.condition) / np.bincount(rows.people)
    if not ((share > 0) & (share < 1)).any():
        raise CannotFit("no participant has trials in both conditions")


def _check_conditions_vary(rows: ModelRows) -> None:
    """Raise CannotFit where a condition had only successes, or none."""
    for condition in (0.0, 1.0):
        if np.ptp(rows.outcome[rows.condition == condition]) == 0:
            raise CannotFit(
                "in one condition all trials had the same outcome, which makes the log odds "
                "infinite; the linear version stands for it"
            )


def _check_separation(rows: ModelRows) -> None:
    """Raise CannotFit where somebody had only successes, or none: the log odds are infinite."""
    share = np.bincount(rows.people, rows.outcome) / np.bincount(rows.people)
    separated = int(((share == 0) | (share == 1)).sum())
    if separated:
        raise CannotFit(
            f"{separated} of {rows.n_people} participants had only successes or none, which makes "
            "their log odds infinite; the linear version stands for it"
        )


def _effects(
    found: ClusteredFit, names: tuple[str, ...], df: int, *, logit: bool
) -> dict[str, dict[str, Any]]:
    """The first columns' effects by name, p and interval from CR3."""
    if logit and np.abs(found.estimates).max() > MAX_COEFFICIENT:
        raise CannotFit(
            "a coefficient exceeds 10, as when somebody's outcomes are separated; the linear "
            "version stands for it"
        )
    effects = {}
    for place, name in enumerate(names):
        errors = {"se_model": float(found.model[place]), "se_CR0": float(found.sandwich[place])}
        estimate = float(found.estimates[place])
        if found.corrected is None:
            missing = dict.fromkeys(("se_CR3", "p", "ci95"))
            reasons = dict.fromkeys(missing, _NO_CR3)
            effects[name] = {"estimate": estimate, **errors, **missing, "not_defined": reasons}
        else:
            tested = effect(estimate, float(found.corrected[place]), df)
            effects[name] = errors | {"se_CR3": tested.pop("se")} | tested
    return effects


def _renamed(effects: dict[str, dict[str, Any]], key: str) -> dict[str, Any]:
    """The condition's effect alone, its estimate under ``key``; log odds as a ratio too."""
    values = dict(effects[CONDITION])
    estimate, limits = values.pop("estimate"), values["ci95"]
    named = {key: estimate} | values
    if key != "log_odds_ratio":
        return named
    named |= {"odds_ratio": math.exp(estimate), "odds_ratio_ci95": exponential(limits)}
    if limits is None:
        reasons = values["not_defined"]
        named["not_defined"] = reasons | {"odds_ratio_ci95": reasons["ci95"]}
    return named
