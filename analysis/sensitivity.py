"""What other defensible rules would have given (statistics.md 2.4 to 2.6)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from analysis.inclusion import in_slot_of_holder, slot_holders
from analysis.settings import StudySettings


def sensitivity(
    scored: pd.DataFrame, reasons: pd.Series, settings: StudySettings, foldings: bool
) -> dict[str, dict[str, dict[str, Any]]]:
    """Per set and condition: incomplete trials as not success, time capped, and the foldings.

    ``reasons`` is the result of ``exclusion_reasons``; incomplete trials belong to the design set
    when their participant holds the slot. With ``foldings``, success is also given with partially
    supported claims read as supported and as refuted, all trials in the denominator. NaN means not
    defined.
    """
    available = reasons.isin(["", "superseded"]).to_numpy()
    designed = (reasons == "").to_numpy()
    incomplete = (reasons == "incomplete").to_numpy()
    held = in_slot_of_holder(scored, slot_holders(scored[available]))
    needed = ["condition", "scorable", "success", "active_s", "as_supported", "as_refuted"]
    scored = scored[needed]
    sets = {
        "design_set": (designed, incomplete & held),
        "available_set": (available, incomplete),
    }
    return {
        name: {
            condition: _one(
                scored[kept & (scored["condition"] == condition).to_numpy()],
                scored[left & (scored["condition"] == condition).to_numpy()],
                settings,
                foldings,
            )
            for condition in settings.conditions
        }
        for name, (kept, left) in sets.items()
    }


def _one(
    included: pd.DataFrame, incomplete: pd.DataFrame, settings: StudySettings, foldings: bool
) -> dict[str, Any]:
    """The values of one condition in one set."""
    n_incomplete = int(incomplete["scorable"].sum())
    n_scorable = int(included["scorable"].sum()) + n_incomplete
    n_success = int(included["success"].sum())
    active = included["active_s"].to_numpy()
    cap = settings.time_cap_s
    values: dict[str, Any] = {
        "n_incomplete": n_incomplete,
        "success_rate_incomplete_as_not_success": n_success / n_scorable if n_scorable else np.nan,
        "mean_active_s_capped": (
            float(np.minimum(active, cap).mean()) if cap is not None and len(active) else np.nan
        ),
    }
    if foldings:
        for label in ("supported", "refuted"):
            share = included[f"as_{label}"].mean() if len(included) else np.nan
            values[f"sensitivity_success_partial_as_{label}"] = float(share)
    return values
