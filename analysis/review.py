"""Claims whose annotation should be looked at, by how their readers decided.

Nothing is left out here: claims are listed with the reason. Measures are those of ``score_trials``
(statistics.md 2); what people's habits say is in ``quality``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.quality import QUALITY_COLUMNS, QualityLimits, quality_flags, share_of
from analysis.trial_columns import DECISIONS

__all__ = [
    "ITEM_COLUMNS",
    "QUALITY_COLUMNS",
    "ItemLimits",
    "QualityLimits",
    "item_review",
    "quality_flags",
]


@dataclass(frozen=True, slots=True)
class ItemLimits:
    """When a claim is listed: shares above ``most``, among at least ``readers`` readers."""

    readers: int = 2
    most: float = 0.5


ITEM_COLUMNS = (
    "claim_id",
    "gold_label",
    "n_trials",
    *(f"n_{decision}" for decision in DECISIONS),
    "n_sufficient",
    "n_agree_sufficient",
    "agreement_if_sufficient",
    "n_undecided_sufficient",
    "n_insufficient",
    "n_agree_insufficient",
    "reason",
)


def item_review(design_set: pd.DataFrame, limits: ItemLimits | None = None) -> pd.DataFrame:
    """How the readers of every claim decided, and why its annotation should be looked at.

    ``design_set`` holds scored trials (``score_trials``). Returns one row a claim, sorted by
    ``claim_id``, with ``ITEM_COLUMNS``: ``n_trials``; ``n_<decision>`` of each kind; then, of the
    scorable trials only, ``n_sufficient`` (a gold set was among the sentences shown),
    ``n_agree_sufficient`` of them with the gold label chosen, ``agreement_if_sufficient`` (the
    share, NaN without such a trial), ``n_undecided_sufficient`` ended by can't decide;
    ``n_insufficient`` and ``n_agree_insufficient`` the same where none was. ``reason`` is empty
    for a claim that raises no doubt.
    """
    limits = limits or ItemLimits()
    by_claim = _item_marks(design_set).groupby(design_set["claim_id"].to_numpy(), sort=True).sum()
    table = by_claim.astype(int).rename_axis("claim_id").reset_index()
    labels = design_set.drop_duplicates("claim_id").set_index("claim_id")["gold_label"].astype(str)
    table["gold_label"] = table["claim_id"].map(labels).astype(object)
    table["agreement_if_sufficient"] = share_of(table["n_agree_sufficient"], table["n_sufficient"])
    rows = table.to_dict("records")
    table["reason"] = pd.Series([_item_reason(row, limits) for row in rows], dtype=object)
    return table[list(ITEM_COLUMNS)]


def _item_marks(design_set: pd.DataFrame) -> pd.DataFrame:
    """One column of 0 and 1 a count of ``ITEM_COLUMNS``, a row a trial."""
    decision = design_set["decision"].astype(object).to_numpy()
    scorable = design_set["scorable"].to_numpy(dtype=bool)
    sufficient = ~design_set["shown_insufficient"].to_numpy(dtype=bool)
    right = design_set["success"].to_numpy(dtype=bool)
    marks = {"n_trials": np.ones(len(design_set), dtype=bool)}
    marks |= {f"n_{name}": decision == name for name in DECISIONS}
    marks |= {
        "n_sufficient": scorable & sufficient,
        "n_agree_sufficient": right & sufficient,
        "n_undecided_sufficient": scorable & sufficient & (decision == "cant_decide"),
        "n_insufficient": scorable & ~sufficient,
        "n_agree_insufficient": right & ~sufficient,
    }
    return pd.DataFrame(marks).astype(int)


def _item_reason(claim: dict, limits: ItemLimits) -> str:
    """Why a claim is listed, or an empty text."""
    n, n_undecided = claim["n_sufficient"], claim["n_undecided_sufficient"]
    n_other = n - n_undecided - claim["n_agree_sufficient"]
    reasons = []
    if n >= limits.readers and n_other > limits.most * n:
        reasons.append(
            f"{n_other} of {n} readers who had sufficient evidence chose another label than "
            f"{claim['gold_label']}: is the label right"
        )
    elif n >= limits.readers and n_undecided > limits.most * n:
        reasons.append(
            f"{n_undecided} of {n} readers could not decide on sufficient evidence: does the gold "
            "set suffice"
        )
    elif n >= limits.readers and n_other + n_undecided > limits.most * n:
        reasons.append(
            f"{n_other + n_undecided} of {n} readers who had sufficient evidence did not choose "
            f"{claim['gold_label']} ({n_undecided} could not decide): are label and gold set right"
        )
    n_without, n_right = claim["n_insufficient"], claim["n_agree_insufficient"]
    if n_without >= limits.readers and n_right > limits.most * n_without:
        reasons.append(
            f"{n_right} of {n_without} readers chose {claim['gold_label']} without a gold set "
            "shown: is a gold set missing, or is the claim common knowledge"
        )
    return "; ".join(f"{reason}?" for reason in reasons)
