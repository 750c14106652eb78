"""Scored trials made up for the models: a crossed study of any size, with seeded outcomes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from analysis.comparison.contrast import Contrast

RANKING_SELECTION = Contrast("ranking", "selection")


def crossed_trials(
    people: int = 6, claims: int = 12, seed: int = 1, **columns: Any
) -> pd.DataFrame:
    """Every participant judges every claim, half of them under each condition, one block each.

    Odd participants meet selection first. ``columns`` replaces columns of the table.
    """
    random = np.random.default_rng(seed)
    person = np.repeat(np.arange(people), claims)
    place = np.tile(np.arange(claims), people)
    second_block = place >= claims // 2
    ranking = (person % 2 == 1) == second_block
    claim = (place + 5 * person) % claims
    helped = random.normal(0, 0.5, people)[person] + random.normal(0, 1, claims)[claim]
    chance = 1 / (1 + np.exp(-(0.5 + 0.8 * ranking + helped)))
    table = pd.DataFrame(
        {
            "study_id": "made-up",
            "trial_id": [f"t{number:05d}" for number in range(len(person))],
            "participant_id": [f"P{number:03d}" for number in person],
            "claim_id": [f"c{number:03d}" for number in claim],
            "replication": 1 + person % 3,
            "simulated": False,
            "pilot": False,
            "condition": np.where(ranking, "ranking", "selection"),
            "position": place + 1,
            "scorable": True,
            "success": random.random(len(person)) < chance,
            "n_read": np.maximum(
                1, np.round(3 - ranking + helped + random.normal(size=len(person)))
            ),
            "active_s": np.exp(
                3 - 0.3 * ranking + 0.2 * helped + random.normal(0, 0.4, len(person))
            ),
        }
    )
    return table.assign(**columns)


def undefined_without_reason(value: Any, path: str = "") -> list[str]:
    """Where a None stands in a document without a reason beside it."""
    if not isinstance(value, dict):
        return []
    reasons = value.get("not_defined", {})
    bare = [
        f"{path}.{key}"
        for key, inner in value.items()
        if inner is None and not str(reasons.get(key, "")).startswith("not defined, because")
    ]
    for key, inner in value.items():
        bare += undefined_without_reason(inner, f"{path}.{key}")
    return bare
