"""Habits of readers that put their answers in doubt.

Nobody is left out here: people are listed with the reason, and the exclusion rule that was fixed
beforehand decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.inclusion import exclusion_reasons
from analysis.typed import floats


@dataclass(frozen=True, slots=True)
class QualityLimits:
    """When a person is listed.

    ``trials``: fewer trials say nothing about a habit. ``seconds_per_sentence``: a trial with less
    active time a sentence was too fast (a sentence of 25 words in one second is 1,500 words a
    minute, several times the pace of a fast reader); a person with more than ``fast_share`` of
    such trials is listed. ``hidden_share``: of the time between start and decision, all trials
    together. ``attention_share``: listed below that share of attention checks passed.
    """

    trials: int = 5
    seconds_per_sentence: float = 1.0
    fast_share: float = 0.2
    hidden_share: float = 0.5
    attention_share: float = 0.5


QUALITY_COLUMNS = (
    "participant_id",
    "n_trials",
    "n_fast",
    "fast_share",
    "top_decision",
    "n_top_decision",
    "hidden_share",
    "n_attention",
    "n_attention_passed",
    "attention_pass_rate",
    "n_could_read_on",
    "n_read_on",
    "n_confidence",
    "n_confidence_values",
    "reason",
)


def quality_flags(
    scored: pd.DataFrame, limits: QualityLimits | None = None, *, include_simulated: bool = False
) -> pd.DataFrame:
    """Habits of every participant that put the answers in doubt; listed, never excluded.

    ``scored`` holds all scored trials of a study; those that count in its available set are looked
    at, and attention checks for their own columns. Returns one row a participant with such a
    trial, sorted by ``participant_id``, with ``QUALITY_COLUMNS``: ``n_fast`` trials with less
    active time than ``limits.seconds_per_sentence`` for every sentence read (all-at-once trials,
    where nobody knows what was read: for every sentence of the smallest gold set) and their share;
    the most frequent decision and its count; ``hidden_share`` of all time (NaN if there was none);
    attention checks decided, passed, and the rate (NaN if there was none); incremental trials whose
    first sentence did not suffice and had others behind it, and in how many of them the person
    read on; answers on confidence and how many different ones. ``reason`` is empty for a person
    who raises no doubt.
    """
    limits = limits or QualityLimits()
    reasons = exclusion_reasons(scored, include_simulated=include_simulated)
    trials = scored[reasons.isin(["", "superseded"]).to_numpy()]
    people = trials["participant_id"].to_numpy()
    table = _quality_marks(trials, limits).groupby(people, sort=True).sum()
    table = table.rename_axis("participant_id").reset_index()
    table = table.join(_top_decisions(trials), on="participant_id")
    checks = scored[((reasons == "attention") & scored["decision"].notna()).to_numpy()]
    table = table.join(_attention(checks), on="participant_id")
    table = table.join(_confidence(trials), on="participant_id")
    counts = [name for name in table.columns if name.startswith("n_")]
    table[counts] = table[counts].fillna(0).astype(int)
    table["fast_share"] = share_of(table["n_fast"], table["n_trials"])
    table["hidden_share"] = share_of(table["hidden_ms"], table["wall_ms"])
    table["attention_pass_rate"] = share_of(table["n_attention_passed"], table["n_attention"])
    rows = table.to_dict("records")
    table["reason"] = pd.Series([_quality_reason(row, limits) for row in rows], dtype=object)
    return table[list(QUALITY_COLUMNS)]


def _quality_marks(trials: pd.DataFrame, limits: QualityLimits) -> pd.DataFrame:
    """Counts and sums of a person's trials, a row a trial."""
    incremental = (trials["interface"] == "incremental").to_numpy()
    n_read, n_required = floats(trials["n_read"]), floats(trials["gold_min_size"])
    active, hidden = floats(trials["active_ms"]), floats(trials["hidden_ms"])
    least = 1000 * limits.seconds_per_sentence * np.where(incremental, n_read, n_required)
    # A missing rank is no gold set anywhere: the first sentence did not suffice.
    could = incremental & (floats(trials["n_available"]) > 1) & ~(floats(trials["msr"]) == 1)
    marks = {
        "n_trials": np.ones(len(trials)),
        "n_fast": active < least,
        "hidden_ms": hidden,
        "wall_ms": active + hidden,
        "n_could_read_on": could,
        "n_read_on": could & (n_read > 1),
    }
    return pd.DataFrame(marks).astype(float)


def _top_decisions(trials: pd.DataFrame) -> pd.DataFrame:
    """By person: the most frequent decision (ties by name), its count, how many gold labels."""
    decisions = trials["decision"].astype(str)
    counts = decisions.groupby([trials["participant_id"], decisions.rename("top_decision")]).size()
    flat = counts.rename("n_top_decision").reset_index()
    flat = flat.sort_values(
        ["participant_id", "n_top_decision", "top_decision"], ascending=[True, False, True]
    )
    top = flat.drop_duplicates("participant_id").set_index("participant_id")
    top["n_gold_labels"] = (
        trials["gold_label"].astype(str).groupby(trials["participant_id"]).nunique()
    )
    return top


def _attention(checks: pd.DataFrame) -> pd.DataFrame:
    """By person: attention checks decided, and passed with the gold label."""
    passed = checks["decision"].astype(object) == checks["gold_label"].astype(object)
    by_person = passed.astype(int).groupby(checks["participant_id"])
    return pd.DataFrame({"n_attention": by_person.size(), "n_attention_passed": by_person.sum()})


def _confidence(trials: pd.DataFrame) -> pd.DataFrame:
    """By person: answers on confidence, and how many different ones."""
    values = (
        trials["confidence"] if "confidence" in trials.columns else pd.Series(np.nan, trials.index)
    )
    by_person = values.groupby(trials["participant_id"])
    return pd.DataFrame(
        {"n_confidence": by_person.count(), "n_confidence_values": by_person.nunique()}
    )


#: Each rule gets a person's row and the limits, and gives a reason or an empty text.
_Rule = Callable[[dict, QualityLimits], str]


def _too_fast(one: dict, limits: QualityLimits) -> str:
    if one["n_trials"] < limits.trials or one["fast_share"] <= limits.fast_share:
        return ""
    return (
        f"{one['n_fast']} of {one['n_trials']} trials took less than "
        f"{limits.seconds_per_sentence:g} s a sentence"
    )


def _one_answer(one: dict, limits: QualityLimits) -> str:
    is_one = one["n_top_decision"] == one["n_trials"] >= limits.trials
    if not is_one or one["n_gold_labels"] < 2:
        return ""
    return f"the same answer, {one['top_decision']}, in all {one['n_trials']} trials"


def _hidden(one: dict, limits: QualityLimits) -> str:
    if not one["hidden_share"] > limits.hidden_share:
        return ""
    return f"the page was hidden for {100 * one['hidden_share']:.0f} % of the time"


def _inattentive(one: dict, limits: QualityLimits) -> str:
    if not one["attention_pass_rate"] < limits.attention_share:
        return ""
    return f"{one['n_attention_passed']} of {one['n_attention']} attention checks passed"


def _never_on(one: dict, limits: QualityLimits) -> str:
    if one["n_could_read_on"] < limits.trials or one["n_read_on"]:
        return ""
    return (
        f"never read past the first sentence, though it did not suffice in "
        f"{one['n_could_read_on']} trials"
    )


def _constant_confidence(one: dict, limits: QualityLimits) -> str:
    if one["n_confidence"] < limits.trials or one["n_confidence_values"] != 1:
        return ""
    return f"the same confidence in all {one['n_confidence']} answers"


_RULES: tuple[_Rule, ...] = (
    _too_fast,
    _one_answer,
    _hidden,
    _inattentive,
    _never_on,
    _constant_confidence,
)


def _quality_reason(one: dict, limits: QualityLimits) -> str:
    """Why a person is listed, or an empty text."""
    return "; ".join(filter(None, (rule(one, limits) for rule in _RULES)))


def share_of(count: pd.Series, n: pd.Series) -> np.ndarray:
    """``count / n``, NaN where n is 0."""
    top, bottom = count.to_numpy(dtype=float), n.to_numpy(dtype=float)
    return np.divide(top, bottom, out=np.full(len(top), np.nan), where=bottom > 0)
