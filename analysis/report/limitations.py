"""What limits the study's conclusions, as far as its own data show it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from analysis.design import empty_cells_texts, planned_cells
from analysis.inclusion import run_kinds
from analysis.readers import people_of, readers_text
from analysis.report.comparison import BLOCK, inference_of
from analysis.report.data import ReportData
from analysis.report.methods import few_people
from analysis.report.people import by_kind
from analysis.report.words import counted, listed, number, reason_of

#: Below so many participants only large differences are found (statistics.md 5).
FEW_PEOPLE = 20
#: Share of the planned run by which mean positions may differ without a word.
_POSITIONS = 0.05
_MODELS = {
    "glm_participant_fixed_claim_clusters": "logit GEE over claims",
    "lmer_read": "linear mixed model of sentences",
    "lmer_log_active": "linear mixed model of time",
    "glmer_success": "logistic mixed model",
}


def limitations(data: ReportData) -> list[str]:
    """One sentence or two a limitation, the gravest for inference first."""
    lines = [
        *_people(data),
        *_balance(data),
        *_losses(data),
        *_scoring(data),
        *_times(data),
        *_models(data.document),
        *_gold(data.document),
    ]
    return [line for line in lines if line]


def _people(data: ReportData) -> Iterator[str]:
    n = data.design_set["participant_id"].nunique()
    if n < FEW_PEOPLE:
        yield (
            f"The design set has {readers_text(data.design_set)}; fewer than {FEW_PEOPLE} find "
            "only large differences, and a difference that is not significant says little."
        )
    yield few_people(inference_of(data.document))


def _balance(data: ReportData) -> Iterator[str]:
    document = data.document
    balance = document["balance"]
    planned = planned_cells(balance, data.settings, run_kinds(data.design_set).nunique())
    empty = empty_cells_texts(balance, planned)
    if empty or balance["cells_with_more"]:
        more = f"{counted(balance['cells_with_more'], 'cell')} with more than one"
        yield (
            f"The design is unbalanced: {'; '.join([*empty, more])}. The conditions were not met "
            "by the same people on the same claims."
        )
    required = _values(document, "mean_required")
    if _gap(required) > 1e-9:
        yield (
            f"The claims of the conditions require different numbers of sentences "
            f"({_listed(required, 3)}); sentences and surplus are not compared like with like."
        )
    places = {c: p for c, p in balance["mean_position"].items() if p is not None}
    if _gap(places) > _POSITIONS * data.settings.trials_per_participant:
        yield (
            f"The conditions stood at different places of the run on average "
            f"({_listed(places, 1)}); learning and fatigue touch them unequally."
        )


def _values(document: Mapping[str, Any], name: str) -> dict[str, float]:
    """A measure by condition, where it is defined."""
    return {c: m[name] for c, m in document["design_set"].items() if m[name] is not None}


def _gap(values: Mapping[str, float]) -> float:
    return max(values.values()) - min(values.values()) if len(values) > 1 else 0.0


def _listed(values: Mapping[str, float], digits: int) -> str:
    return listed([f"{name} {number(value, digits)}" for name, value in values.items()])


def _losses(data: ReportData) -> Iterator[str]:
    """People and trials that are missing, by condition where they have one."""
    for status, words in (("dropped_out", "dropped out"), ("excluded", "excluded")):
        for kind, trials in by_kind(pd.concat([s.counted_kinds for s in data.sources])):
            n, everybody = _count(trials, status), trials["participant_id"].nunique()
            if n:
                yield f"{n} of {people_of(kind, everybody)} {words}; who stays may differ."
    withdrawn = data.document["excluded"]["withdrawn"]
    if withdrawn:
        were = "was" if withdrawn == 1 else "were"
        yield f"{counted(withdrawn, 'trial')} {were} withdrawn by those who made them."
    for reason in ("incomplete", "void"):
        if data.document["excluded"][reason]:
            yield _lost_trials(data, reason)


def _count(scored: pd.DataFrame, status: str) -> int:
    held = (scored["participant_status"] == status).to_numpy()
    return scored.loc[held, "participant_id"].nunique()


def _lost_trials(data: ReportData, reason: str) -> str:
    every = pd.concat([s.scored[(s.reasons == reason).to_numpy()] for s in data.sources])
    by = every["condition"].value_counts()
    where = ", ".join(f"{c} {int(by.get(c, 0))}" for c in data.settings.conditions)
    return f"{counted(len(every), 'main trial')} {reason} ({where}); the design set lacks them."


def _scoring(data: ReportData) -> Iterator[str]:
    measured = data.document["design_set"]
    unscorable = {c: m["n_trials"] - m["n_scorable"] for c, m in measured.items()}
    if any(unscorable.values()):
        where = ", ".join(f"{c} {n}" for c, n in unscorable.items())
        yield (
            f"{counted(sum(unscorable.values()), 'trial')} had no right button among the response "
            f"options ({where}); see both foldings beside the success rate."
        )
    if data.include_simulated and data.design_set["simulated"].any():
        n = int(data.design_set["simulated"].sum())
        were = "was" if n == 1 else "were"
        yield (
            f"{counted(n, 'trial')} of the design set {were} made by simulated readers, not people."
        )


def _times(data: ReportData) -> Iterator[str]:
    """Trials whose page was hidden for most of their time, and those without any time."""
    trials = data.design_set
    hidden = trials["hidden_ms"].to_numpy(dtype=float, na_value=0.0)
    active = trials["active_ms"].to_numpy(dtype=float, na_value=0.0)
    long = trials[hidden > active]
    if len(long):
        by = long["condition"].value_counts()
        where = ", ".join(f"{c} {int(by.get(c, 0))}" for c in data.settings.conditions)
        yield (
            f"In {counted(len(long), 'trial')} ({where}) the page was hidden for more than half of "
            "the time; what people did meanwhile is not known."
        )
    none = int((active <= 0).sum())
    if none:
        yield f"{counted(none, 'trial')} have an active time of 0, so that logarithms are missing."


def _models(document: Mapping[str, Any]) -> Iterator[str]:
    """Models that gave no estimate."""
    block = inference_of(document)
    for key, name in _MODELS.items():
        found = block.get(key)
        if key not in block or (isinstance(found, Mapping) and _has_estimate(found)):
            continue
        reason = reason_of(document, f"{BLOCK}.{key}", found).rstrip(".")
        yield f"The {name} gives no estimate: {reason}."


def _has_estimate(found: Mapping[str, Any]) -> bool:
    return bool(found.get("fixed")) or found.get("log_odds_ratio") is not None


def _gold(document: Mapping[str, Any]) -> Iterator[str]:
    """Right decisions without sufficient evidence, and evidence that could never suffice."""
    lucky = {
        c: round(m["lucky_rate"] * m["n_scorable"])
        for c, m in document["design_set"].items()
        if m["lucky_rate"]
    }
    if lucky:
        where = ", ".join(f"{c} {n}" for c, n in lucky.items())
        yield (
            f"{counted(sum(lucky.values()), 'decision')} were right on evidence that holds no gold "
            f"set ({where}): luck, knowledge from elsewhere, or gold sets that are missing."
        )
    shares = {c: v for c, v in _values(document, "system_insufficient_rate").items() if v}
    if shares:
        where = ", ".join(f"{c} {100 * v:.1f} %" for c, v in shares.items())
        yield f"In some trials no gold set was available at all ({where})."
