"""Which trials count, and why the others do not (statistics.md 2.6).

All functions take a checked trial table (``load.check_tables``).
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.trial_columns import SLOT_ORDER

#: The first reason that applies is the one a row gets; ``superseded`` concerns the design set only.
REASONS = (
    "simulated",
    "pilot",
    "withdrawn",
    "excluded_participant",
    "practice",
    "attention",
    "void",
    "incomplete",
    "superseded",
)

REASON_TEXTS = {
    "simulated": "written by a simulated reader",
    "pilot": "run by the study's own team",
    "withdrawn": "consent was taken back",
    "excluded_participant": "participant excluded: rejected, screened out or failed checks",
    "practice": "practice trial",
    "attention": "attention check",
    "void": "void: a technical fault, flagged before outcomes were seen",
    "incomplete": "no decision was made",
    "superseded": "another participant holds the slot (design set only)",
}

#: A slot is one place of one kind of run in one study.
SLOT_KEYS = ["study_id", "run_kind", "replication", "slot"]

#: What says who holds a slot; a large table is not copied for more.
_HOLDER_COLUMNS = (
    "study_id",
    "simulated",
    "pilot",
    "replication",
    "slot",
    "participant_id",
    "started_at",
)


def run_kinds(trials: pd.DataFrame) -> pd.Series:
    """``real``, ``simulated`` or ``pilot`` for every row; runs of each kind fill slots apart."""
    kinds = np.where(trials["simulated"], "simulated", np.where(trials["pilot"], "pilot", "real"))
    return pd.Series(kinds, index=trials.index, name="run_kind")


def exclusion_reasons(
    trials: pd.DataFrame, *, include_simulated: bool = False, include_pilot: bool = False
) -> pd.Series:
    """The reason why each row does not count, an empty text where it does.

    ``superseded`` rows are in the available set and not in the design set; every other reason
    keeps a row out of both.
    """
    never = pd.Series(False, index=trials.index)
    status, kind = trials["participant_status"], trials["trial_kind"]
    rules = {
        "simulated": never if include_simulated else trials["simulated"],
        "pilot": never if include_pilot else trials["pilot"] & ~trials["simulated"],
        "withdrawn": status == "withdrawn",
        "excluded_participant": status == "excluded",
        "practice": kind == "practice",
        "attention": kind == "attention",
        "void": trials["trial_status"] == "void",
        "incomplete": trials["trial_status"] == "incomplete",
    }
    reasons = pd.Series(
        np.select([rule.to_numpy(dtype=bool) for rule in rules.values()], list(rules), ""),
        index=trials.index,
        name="reason",
        dtype=object,
    )
    available = trials.loc[reasons == "", _holder_columns(trials)]
    holds = in_slot_of_holder(available, slot_holders(available))
    reasons.loc[available.index[~holds]] = "superseded"
    return reasons


def slot_holders(available: pd.DataFrame) -> pd.DataFrame:
    """The participant whose trials stand for each slot in the design set.

    That is the one with most remaining trials there; ties go to the earliest first start, then to
    the id. Where times are moved, ``slot_order`` tells the ties apart as the times did. Returns
    ``study_id``, ``run_kind``, ``replication``, ``slot``, ``participant_id``, sorted.
    """
    firsts = [name for name in (SLOT_ORDER.name, "started_at") if name in available.columns]
    people = (
        available[_holder_columns(available)]
        .assign(run_kind=run_kinds(available), size=1)
        .groupby([*SLOT_KEYS, "participant_id"], sort=False)
        .agg({"size": "sum"} | dict.fromkeys(firsts, "min"))
        .reset_index()
        .sort_values(
            ["size", *firsts, "participant_id"], ascending=[False, *[True] * len(firsts), True]
        )
        .drop_duplicates(SLOT_KEYS)
    )
    return people[[*SLOT_KEYS, "participant_id"]].sort_values(SLOT_KEYS).reset_index(drop=True)


def _holder_columns(trials: pd.DataFrame) -> list[str]:
    has_order = SLOT_ORDER.name in trials.columns
    return [*_HOLDER_COLUMNS, SLOT_ORDER.name] if has_order else [*_HOLDER_COLUMNS]


def in_slot_of_holder(trials: pd.DataFrame, holders: pd.DataFrame) -> np.ndarray:
    """Whether each trial belongs to the holder of its slot."""
    keys = [*SLOT_KEYS, "participant_id"]
    held = pd.MultiIndex.from_frame(holders[keys])
    own = trials[[*_HOLDER_COLUMNS]].assign(run_kind=run_kinds(trials))
    return pd.MultiIndex.from_frame(own[keys]).isin(held)


def count_reasons(reasons: pd.Series) -> dict[str, int]:
    """Rows a reason, in the order of the specification, with 0 for a reason that never applied."""
    counts = reasons.value_counts()
    return {reason: int(counts.get(reason, 0)) for reason in REASONS}


def attention_pass_rates(trials: pd.DataFrame, reasons: pd.Series) -> dict[str, float]:
    """Share of attention checks passed by each participant who counts and met any.

    Passed means completed with the gold label; the pre-registered exclusion rule reads this.
    """
    checks = trials[(reasons == "attention").to_numpy()]
    passed = checks["decision"].astype(object) == checks["gold_label"].astype(object)
    rates = passed.groupby(checks["participant_id"]).mean()
    return {str(person): float(rate) for person, rate in rates.items()}
