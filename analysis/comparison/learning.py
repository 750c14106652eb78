"""Order and learning: what changed in the course of a run (statistics.md 4.6)."""

from __future__ import annotations

from typing import Any

import pandas as pd

from analysis.comparison import gee, glmm, mixed
from analysis.comparison.block_order import block_order
from analysis.comparison.compared import LOG_ACTIVE, READ, SUCCESS
from analysis.comparison.contrast import Contrast
from analysis.comparison.model_rows import CONDITION, INTERACTION, INTERCEPT, POSITION
from analysis.settings import StudySettings

#: Position, and condition x position, beside the condition.
EFFECTS = (CONDITION, POSITION, INTERACTION)

COUNTERBALANCED = (
    "Learning does not bias the contrast of a counterbalanced design; it adds to its error. These "
    "values describe it; nothing is corrected for it afterwards."
)
CONFOUNDED = (
    "All participants met the same condition first: what learning did and what the condition did "
    "cannot be told apart here, and no correction afterwards can help."
)
NO_ORDER = "Nothing can be said of learning, because no participant has trials of both conditions."


def learning(
    design_set: pd.DataFrame, contrast: Contrast, settings: StudySettings
) -> dict[str, Any]:
    """The models of 4.3 with position and condition x position, and the order of the blocks.

    ``models``: ``glm_success`` (log odds, claims as clusters; left out where the logit is
    separated), ``lpm_success``, ``lmer_read``, ``lmer_log_active``, ``glmer_success``, each with
    ``fixed`` by effect; ``pos10`` is (position - mean) / 10, so that ``cond`` is the contrast at
    the mean position. ``block_order`` holds success, read and log_active;
    ``participants_by_first_condition`` counts who has trials of both. ``statement`` says what may
    be concluded; ``planned_trials`` is the length of a run.
    """
    starts = first_conditions(design_set, contrast)
    orders = {
        measure.key: block_order(design_set, contrast, measure)
        for measure in (SUCCESS, READ, LOG_ACTIVE)
    }
    return {
        "contrast": contrast.name,
        "planned_trials": settings.trials_per_participant,
        "participants_by_first_condition": starts,
        "statement": _statement(starts),
        "models": _models(design_set, contrast),
        "block_order": orders,
    }


def first_conditions(design_set: pd.DataFrame, contrast: Contrast) -> dict[str, int]:
    """Participants with trials of both conditions, by the one they met first."""
    trials = contrast.trials_of(design_set).sort_values("position", kind="stable")
    by_person = trials.groupby("participant_id", sort=True)["condition"]
    starts = by_person.first()[by_person.nunique() == 2]
    return {name: int((starts == name).sum()) for name in (contrast.first, contrast.second)}


def _statement(starts: dict[str, int]) -> str:
    """What the orders that occurred allow to say."""
    if not any(starts.values()):
        return NO_ORDER
    return COUNTERBALANCED if all(starts.values()) else CONFOUNDED


def _models(design_set: pd.DataFrame, contrast: Contrast) -> dict[str, dict[str, Any]]:
    """The models by name, each with the effects of position."""

    def clustered(*, logit: bool) -> dict[str, Any]:
        return gee.claim_clustered(
            design_set,
            contrast,
            SUCCESS,
            EFFECTS,
            lambda effects: {"fixed": effects},
            logit=logit,
        )

    with_intercept = (INTERCEPT, *EFFECTS)
    return {
        "glm_success": clustered(logit=True),
        "lpm_success": clustered(logit=False),
        "lmer_read": mixed.fitted(design_set, contrast, READ, with_intercept),
        "lmer_log_active": mixed.fitted(design_set, contrast, LOG_ACTIVE, with_intercept),
        "glmer_success": glmm.fitted(design_set, contrast, with_intercept),
    }
