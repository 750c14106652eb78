"""Claims and people to look at, and how far readers agree: listed, never left out."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from analysis.agreement.of_trials import agreement_of_trials
from analysis.report.data import ReportData
from analysis.report.table import Table, make_table
from analysis.report.tables import frame_table
from analysis.report.words import interval, number
from analysis.review import item_review, quality_flags

_ITEMS_NOTE = (
    "Claims whose readers make one doubt the label or the gold sets; every claim stays in the "
    "measures. Counts are of the design set."
)
_POOLED = (
    " Over all exports: a claim that several of them hold, with the same id, label and gold sets, "
    "is one claim."
)
_HABITS = {
    "n_trials": "trials",
    "fast_share": "too fast",
    "top_decision": "most frequent answer",
    "n_top_decision": "times",
    "hidden_share": "time hidden",
    "attention_pass_rate": "attention passed",
}
_PEOPLE_NOTE = (
    "Participants whose habits put their answers in doubt; listed, never left out. Whom to exclude "
    "is for the rule that was fixed beforehand."
)


def review_tables(data: ReportData) -> Iterator[Table]:
    """The tables of the section on items and response quality; empty where nothing is listed."""
    items = item_review(data.design_set)
    yield _listed("review_items", "Claims to look at", items, _ITEMS_NOTE, "claim_id")
    people = _in_words(_people(data))
    yield _listed("quality_people", "Participants to look at", people, _PEOPLE_NOTE, "participant")
    yield _agreement(data)


def _people(data: ReportData) -> pd.DataFrame:
    """The habits of everybody, export by export."""
    return pd.concat(
        [
            quality_flags(source.scored, include_simulated=data.include_simulated)
            for source in data.sources
        ],
        ignore_index=True,
    )


def _in_words(people: pd.DataFrame) -> pd.DataFrame:
    """What a reader needs of the habits, shares in per cent, under names in words."""
    shown = people[["participant_id", "reason", *_HABITS]].rename(
        columns={"participant_id": "participant", **_HABITS}
    )
    for name, column in _HABITS.items():
        if name.endswith(("_share", "_rate")):
            shown[column] = ["" if x != x else f"{100 * x:.0f} %" for x in people[name]]
    return shown


def _listed(name: str, title: str, frame: pd.DataFrame, note: str, key: str) -> Table:
    """The rows that have a reason, which stands behind their name."""
    doubtful = frame[(frame["reason"] != "").to_numpy()]
    others = [column for column in frame.columns if column not in (key, "reason")]
    words = ("reason", "gold_label", "top_decision", "most frequent answer")
    return frame_table(name, title, doubtful[[key, "reason", *others]], note, words)


def _agreement(data: ReportData) -> Table:
    """Agreement of those who judged the same claim under the same condition."""
    found = agreement_of_trials(
        data.design_set, seed=data.settings.planned.seed, across_studies=data.is_pooled
    )
    rows = []
    for condition, block in found["conditions"].items():
        alpha = block["alpha_nominal"]
        rows.append(
            [
                condition,
                block["not_defined"].get("alpha_nominal", "not defined")
                if alpha is None
                else number(alpha, 3),
                interval(block["ci95"], digits=3),
                _share(block["observed_agreement"]),
                block["n_claims_with_two"],
                block["n_decisions"],
                block["n_participants"],
            ]
        )
    headings = [
        "Condition",
        "Krippendorff's alpha",
        "95 % interval",
        "Observed agreement",
        "Claims judged twice or more",
        "Decisions",
        "Participants",
    ]
    note = (
        "Nominal alpha of decisions over claims, can't decide a decision like any other; "
        f"interval by a bootstrap over claims, {found['draws']:,} draws.{_POOLED * data.is_pooled}"
    )
    return make_table("agreement", "Agreement on replicated claims", headings, rows, note)


def _share(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f} %"
