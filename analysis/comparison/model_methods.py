"""The models and the crossed bootstrap in words, beside the methods of ``methods``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_CLAIMS = "these people, other claims"
_BOTH = "other people and other claims like these"
_CLUSTERS = "trials of different {} are independent, apart from the effects of the model"
_CROSSED = (
    "effects of claims and of participants are normal and add up; claims and people do not differ "
    "in how the condition works on them"
)

#: Population and assumptions of a model by the key of its block.
_WORDS: dict[str, tuple[str, str]] = {
    "glm_participant_fixed_claim_clusters": (_CLAIMS, _CLUSTERS.format("claims")),
    "lpm_participant_fixed_claim_clusters": (_CLAIMS, _CLUSTERS.format("claims")),
    "lm_read_participant_fixed_claim_clusters": (_CLAIMS, _CLUSTERS.format("claims")),
    "glm_participant_clusters": (
        "other people, these claims",
        _CLUSTERS.format("participants") + "; ten people or more",
    ),
    "lmer_read": (_BOTH, _CROSSED),
    "lmer_log_active": (_BOTH, _CROSSED),
    "glmer_success": (
        _BOTH,
        _CROSSED + "; three replications or more before a paper may rest on it",
    ),
}


def model_methods(inference: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """An entry a model, as in ``methods``, and one for the crossed bootstrap."""
    entries = {key: _model(key, inference[key]) for key in _WORDS if key in inference}
    return entries | {"crossed_bootstrap": _bootstrap(inference["crossed_bootstrap"])}


def _model(key: str, block: Mapping[str, Any]) -> dict[str, Any]:
    population, assumptions = _WORDS[key]
    return {
        "blocks": [key],
        "method": block["method"],
        "population": population,
        "n": {key: str(block.get("left_out") or f"{block['n_trials']} trials")},
        "assumptions": assumptions,
        "library": block["library"],
    }


def _bootstrap(block: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "blocks": ["crossed_bootstrap"],
        "method": (
            "Crossed bootstrap of the difference of means: participants and claims drawn "
            "independently with replacement, a trial weighs the product of its two "
            "multiplicities; percentile 95 % interval; conservative"
        ),
        "population": _BOTH,
        "n": {
            key: str(one.get("reason") or f"{one['B']} draws, {one['redrawn']} drawn again")
            for key, one in block.items()
        },
        "assumptions": "participants and claims are each a sample of independent ones",
        "library": "numpy, scipy: sparse",
    }
