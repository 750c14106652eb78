"""All comparisons of a study's conditions, joined into blocks of the document (statistics.md 4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from analysis.comparison import gee, glmm, mixed
from analysis.comparison.by_claim import by_claim
from analysis.comparison.by_participant import by_participant
from analysis.comparison.clustered import two_way
from analysis.comparison.contrast import Contrast
from analysis.comparison.crossed_bootstrap import crossed_bootstrap
from analysis.comparison.family import contrasts_beside, holm, holm_over_contrasts
from analysis.comparison.learning import learning
from analysis.comparison.mcnemar import mcnemar_blocks
from analysis.comparison.methods import methods
from analysis.comparison.noninferiority import equivalence, non_inferiority
from analysis.comparison.omnibus import omnibus
from analysis.comparison.pairs import claim_pairs
from analysis.comparison.reasons import ONE_CONDITION, TWO_CONDITIONS
from analysis.settings import StudySettings

Part = Callable[[pd.DataFrame, Contrast, StudySettings], dict[str, Any]]


def _pairs(design_set: pd.DataFrame, contrast: Contrast, settings: StudySettings) -> dict[str, Any]:
    pairs = claim_pairs(design_set, contrast)
    return pairs.counts() | mcnemar_blocks(pairs, contrast)


def _by_claim(
    design_set: pd.DataFrame, contrast: Contrast, settings: StudySettings
) -> dict[str, Any]:
    return by_claim(design_set, contrast, settings.planned.seed)


def _by_participant(
    design_set: pd.DataFrame, contrast: Contrast, settings: StudySettings
) -> dict[str, Any]:
    return by_participant(design_set, contrast, settings.planned.seed)


def _models(
    design_set: pd.DataFrame, contrast: Contrast, settings: StudySettings
) -> dict[str, Any]:
    fitted = gee.models(design_set, contrast) | mixed.models(design_set, contrast)
    return fitted | glmm.models(design_set, contrast)


def _bootstrap(
    design_set: pd.DataFrame, contrast: Contrast, settings: StudySettings
) -> dict[str, Any]:
    drawn = crossed_bootstrap(design_set, contrast, settings.planned.seed)
    return {"crossed_bootstrap": drawn}


#: What stands beside the primary comparison of the main contrast: each gives blocks by key.
PARTS: tuple[Part, ...] = (_pairs, _by_claim, _by_participant, _models, _bootstrap)

#: The blocks that ``compare`` gives, in reading order.
BLOCKS = (
    "inference_design_set",
    "inference_available_set",
    "non_inferiority",
    "equivalence",
    "other_contrasts",
    "holm_all_contrasts",
    "omnibus",
    "learning",
)


def compare(
    design_set: pd.DataFrame, settings: StudySettings, available_set: pd.DataFrame | None = None
) -> dict[str, Any]:
    """The comparison of scored trials: ``BLOCKS``, ``comparison_plan`` and ``methods``.

    ``available_set`` is the wider set of trials, for the primary comparison alone; without it
    the design set serves for both. A block that the study cannot have is
    ``{"left_out": reason}``; what is not defined inside a block is None, with ``reason`` or
    ``reasons`` beside it.
    """
    plan: dict[str, Any] = {"comparison_plan": settings.planned.to_document()}
    contrast = settings.planned.contrast
    if contrast is None:
        return plan | {name: {"left_out": ONE_CONDITION} for name in BLOCKS} | {"methods": {}}
    primary = two_way(design_set, contrast)
    available = design_set if available_set is None else available_set
    inference: dict[str, Any] = {
        "two_way": primary,
        "holm": holm(primary, settings.planned.family),
    }
    for part in PARTS:
        inference |= part(design_set, contrast, settings)
    blocks = {
        "inference_design_set": inference,
        "inference_available_set": {"two_way": two_way(available, contrast)},
        "non_inferiority": non_inferiority(primary, settings.planned.margin),
        "equivalence": equivalence(design_set, contrast, settings.planned.margin),
        "learning": learning(design_set, contrast, settings),
        **_several(design_set, settings, contrast, primary),
    }
    return plan | blocks | {"methods": methods(blocks, settings)}


def _several(
    design_set: pd.DataFrame, settings: StudySettings, main: Contrast, primary: dict[str, Any]
) -> dict[str, Any]:
    """What three and more conditions need: the other contrasts and the omnibus tests."""
    if len(settings.conditions) < 3:
        names = ("other_contrasts", "holm_all_contrasts", "omnibus")
        return {name: {"left_out": TWO_CONDITIONS} for name in names}
    planned = settings.planned
    others = {
        contrast.name: two_way(design_set, contrast)
        for contrast in contrasts_beside(main, settings.conditions, planned.reference)
    }
    return {
        "other_contrasts": {
            name: {"two_way": blocks, "holm": holm(blocks, planned.family)}
            for name, blocks in others.items()
        },
        "holm_all_contrasts": holm_over_contrasts({main.name: primary} | others, planned.family),
        "omnibus": omnibus(design_set, settings.conditions),
    }
