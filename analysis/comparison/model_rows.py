"""What every model of statistics.md 4.3 is fitted to: numbers in place of a trial table."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from analysis.comparison.compared import Compared
from analysis.comparison.contrast import Contrast
from analysis.inclusion import run_kinds
from analysis.typed import floats

INTERCEPT = "(Intercept)"
CONDITION = "cond"
POSITION = "pos10"
INTERACTION = "cond:pos10"


class CannotFit(Exception):
    """The data cannot answer this model. The text is the reason, and begins "left out, because"."""

    def __init__(self, why: str):
        super().__init__(f"left out, because {why}")


@dataclass(frozen=True, slots=True)
class ModelRows:
    """The trials of a contrast that have a value; all arrays have the shape (trials,).

    ``condition`` is 1.0 for the first condition, else 0.0; ``tens`` is (position - mean) / 10;
    ``claims`` and ``people`` number the levels that occur from 0.
    """

    outcome: np.ndarray
    condition: np.ndarray
    tens: np.ndarray
    claims: np.ndarray
    people: np.ndarray

    def __len__(self) -> int:
        return len(self.outcome)

    @property
    def n_claims(self) -> int:
        """Claims that occur."""
        return int(self.claims.max()) + 1

    @property
    def n_people(self) -> int:
        """Participants who occur."""
        return int(self.people.max()) + 1

    def only(self, kept: np.ndarray) -> ModelRows:
        """The rows where ``kept``, levels numbered anew; positions stay centred as they were."""
        return ModelRows(
            self.outcome[kept],
            self.condition[kept],
            self.tens[kept],
            _codes(self.claims[kept]),
            _codes(self.people[kept]),
        )

    def person_means(self) -> tuple[np.ndarray, np.ndarray]:
        """Each participant's mean in the first and in the second condition; NaN without trials."""
        means = []
        for condition in (1.0, 0.0):
            weights = (self.condition == condition).astype(float)
            n_trials = np.bincount(self.people, weights, self.n_people)
            total = np.bincount(self.people, weights * self.outcome, self.n_people)
            undefined = np.full(self.n_people, np.nan)
            means.append(np.divide(total, n_trials, out=undefined, where=n_trials > 0))
        return means[0], means[1]

    def columns(self, *names: str) -> np.ndarray:
        """The named fixed effects; shape (trials, names)."""
        every = {
            INTERCEPT: np.ones(len(self)),
            CONDITION: self.condition,
            POSITION: self.tens,
            INTERACTION: self.condition * self.tens,
        }
        return np.column_stack([every[name] for name in names])


def model_rows(design_set: pd.DataFrame, contrast: Contrast, measure: Compared) -> ModelRows:
    """The rows of ``measure``, in the order of the trials' ids whatever that of the table.

    Raises CannotFit when a condition has no such trial, or a logarithm of 0 would be needed.
    """
    rows = measure.rows_of(contrast.trials_of(design_set)).sort_values("trial_id", kind="stable")
    condition = contrast.is_first(rows)
    for name, is_absent in (
        (contrast.first, not condition.any()),
        (contrast.second, condition.all()),
    ):
        if is_absent:
            raise CannotFit(f"no {_kind(measure)} of condition {name} is in the set")
    try:
        outcome = measure.values_of(rows)
    except ValueError as error:
        raise CannotFit(str(error)) from error
    position = floats(rows["position"])
    return ModelRows(
        outcome,
        condition,
        (position - position.mean()) / 10,
        _codes(rows["claim_id"].to_numpy(dtype=object)),
        _codes(rows["participant_id"].to_numpy(dtype=object)),
    )


def n_replications(design_set: pd.DataFrame, contrast: Contrast) -> int:
    """Replications of the Latin square with trials of the contrast, all pooled studies together."""
    rows = contrast.trials_of(design_set)
    keys = rows.assign(run_kind=run_kinds(rows))[["study_id", "run_kind", "replication"]]
    return len(keys.drop_duplicates())


def check_factors(rows: ModelRows) -> None:
    """Raise CannotFit where a random intercept has one level, or a level for every trial."""
    for name, n_levels in (("participant", rows.n_people), ("claim", rows.n_claims)):
        if n_levels < 2:
            raise CannotFit(f"there is one {name} only")
        if n_levels == len(rows):
            raise CannotFit(
                f"every {name} has one trial, which cannot tell its variance from the residual's"
            )


def check_rank(columns: np.ndarray) -> None:
    """Raise CannotFit where the columns of the fixed effects are not independent."""
    scale = np.sqrt((columns**2).sum(axis=0))
    if not scale.all():
        raise CannotFit("an effect of the model is 0 in all trials, as where the position is one")
    scaled = columns / scale
    if np.linalg.eigvalsh(scaled.T @ scaled)[0] < 1e-10:
        raise CannotFit("the effects of the model cannot be told apart in these trials")


def block(
    head: dict[str, Any],
    design_set: pd.DataFrame,
    contrast: Contrast,
    measure: Compared,
    fit: Callable[[ModelRows], dict[str, Any]],
) -> dict[str, Any]:
    """``head``, the contrast, ``n_trials``, and what ``fit`` makes of the rows of ``measure``.

    Where it raises CannotFit the reason stands instead, under ``left_out``.
    """
    n_trials = len(measure.rows_of(contrast.trials_of(design_set)))
    values = head | {"contrast": contrast.name, "n_trials": n_trials}
    try:
        return values | fit(model_rows(design_set, contrast, measure))
    except CannotFit as reason:
        return values | {"left_out": str(reason)}
    except np.linalg.LinAlgError:
        return values | {"left_out": str(CannotFit("its equations are singular for these trials"))}


def effect(estimate: float, se: float, df: int) -> dict[str, Any]:
    """``estimate``, ``se``, and by t with ``df`` degrees of freedom ``p`` and ``ci95``.

    Where the error is 0 or there is no degree of freedom, p and interval are None, with
    ``not_defined`` beside them.
    """
    from scipy.stats import t

    values: dict[str, Any] = {"estimate": float(estimate), "se": float(se)}
    if df < 1 or not se > 0:
        why = "the standard error is 0" if df >= 1 else "there is no degree of freedom"
        reason = f"not defined, because {why}"
        return values | {"p": None, "ci95": None, "not_defined": {"p": reason, "ci95": reason}}
    half = float(t.ppf(0.975, df)) * se
    p = float(2 * t.sf(abs(estimate / se), df))
    return values | {"p": p, "ci95": [float(estimate - half), float(estimate + half)]}


def exponential(limits: list[float] | None) -> list[float] | None:
    """Limits of a logarithm as limits of a ratio; None stays None."""
    return limits and [math.exp(limit) for limit in limits]


def _kind(measure: Compared) -> str:
    """What a trial of the measure is called."""
    return "scorable trial" if measure.scorable_only else "trial"


def _codes(values: np.ndarray) -> np.ndarray:
    """Levels numbered from 0 in sorted order."""
    return np.unique(values, return_inverse=True)[1]
