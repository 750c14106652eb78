"""Claims and people to look at: what is listed, why, and what is not."""

from __future__ import annotations

import warnings
from typing import Any

import pandas as pd
import pytest

from analysis.document import scored_trials
from analysis.inclusion import exclusion_reasons
from analysis.load import check_tables
from analysis.review import (
    ITEM_COLUMNS,
    QUALITY_COLUMNS,
    ItemLimits,
    QualityLimits,
    item_review,
    quality_flags,
)
from tests.analysis import builders
from tests.shared_data import needs_data


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def scored(*rows: dict[str, str], **study: Any) -> pd.DataFrame:
    settings = builders.study(trials_per_participant=20, **study)
    return scored_trials(check_tables(builders.trials(*rows), None, settings))


def readers(*decisions: str, **changes: Any) -> list[dict[str, str]]:
    """One sufficient trial of claim 001 by a person each."""
    return [
        builders.trial(
            trial_id=f"t{n}", participant_id=f"P{n}", slot=n, decision=decision, **changes
        )
        for n, decision in enumerate(decisions, start=1)
    ]


def reason_of(*rows: dict[str, str], limits: ItemLimits | None = None, **study: Any) -> str:
    [reason] = item_review(scored(*rows, **study), limits)["reason"]
    return reason


def test_a_claim_is_counted_by_decision_and_by_what_was_shown():
    rows = [
        *readers("supported", "refuted", "cant_decide", "supported"),
        builders.trial(trial_id="t5", participant_id="P5", slot=5, n_read=2),
    ]
    assert item_review(scored(*rows)).to_dict("records") == [
        {
            "claim_id": "001",
            "gold_label": "supported",
            "n_trials": 5,
            "n_supported": 3,
            "n_refuted": 1,
            "n_partially_supported": 0,
            "n_cant_decide": 1,
            "n_sufficient": 4,
            "n_agree_sufficient": 2,
            "agreement_if_sufficient": 0.5,
            "n_undecided_sufficient": 1,
            "n_insufficient": 1,
            "n_agree_insufficient": 1,
            "reason": "",
        }
    ]


@pytest.mark.parametrize(
    ("decisions", "begin"),
    [
        (["refuted", "refuted"], "2 of 2 readers who had sufficient evidence chose another label"),
        (["refuted", "refuted", "supported"], "2 of 3 readers who had sufficient evidence chose"),
        (["cant_decide"] * 2, "2 of 2 readers could not decide on sufficient evidence"),
        (
            ["refuted", "cant_decide", "supported"],
            "2 of 3 readers who had sufficient evidence did not choose supported (1 could not",
        ),
    ],
)
def test_a_claim_is_listed_when_most_disagree_with_its_gold(decisions, begin):
    assert reason_of(*readers(*decisions)).startswith(begin)


@pytest.mark.parametrize(
    "decisions", [["refuted"], ["refuted", "supported"], ["supported"] * 3, ["cant_decide"]]
)
def test_one_reader_or_a_tie_lists_no_claim(decisions):
    assert reason_of(*readers(*decisions)) == ""


def test_right_answers_without_a_gold_set_ask_for_a_missing_one():
    rows = readers("supported", "supported", n_read=1)
    assert reason_of(*rows) == (
        "2 of 2 readers chose supported without a gold set shown: is a gold set missing, or is "
        "the claim common knowledge?"
    )


def test_the_thresholds_of_a_claim_can_be_set():
    assert reason_of(*readers("refuted"), limits=ItemLimits(readers=1))
    three = readers("refuted", "refuted", "supported")
    assert reason_of(*three, limits=ItemLimits(most=0.7)) == ""


def test_a_claim_that_no_option_can_score_is_not_held_against_its_gold():
    rows = readers("refuted", "refuted", gold_label="partially_supported")
    [row] = item_review(scored(*rows)).to_dict("records")
    assert (row["n_refuted"], row["n_sufficient"], row["reason"]) == (2, 0, "")
    assert pd.isna(row["agreement_if_sufficient"])


# ---- people --------------------------------------------------------------------------------------


def run(n: int = 6, person: str = "P1", **changes: Any) -> list[dict[str, str]]:
    """A sound run: both labels in turn and answered, half read on, 5 s a sentence."""
    rows = []
    for place in range(1, n + 1):
        label = "supported" if place % 2 else "refuted"
        own = {
            "trial_id": f"{person}-{place}",
            "participant_id": person,
            "slot": int(person[1:]),
            "claim_id": f"{place:03d}",
            "position": place,
            "gold_label": label,
            "decision": label,
            "confidence": 3 + place % 2,
        }
        rows.append(builders.trial(**(own | changes)))
    return rows


def flagged(*rows: dict[str, str], limits: QualityLimits | None = None) -> dict[str, str]:
    table = quality_flags(scored(*rows), limits)
    return dict(zip(table["participant_id"], table["reason"], strict=True))


def quick(ms: int) -> dict[str, Any]:
    """A trial of ``ms`` from start to decision, never hidden."""
    end = pd.Timestamp("2026-03-02T09:00:00Z") + pd.Timedelta(ms, "ms")
    return {
        "decided_at": end.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z",
        "hidden_ms": 0,
        "active_ms": ms,
    }


def test_a_sound_run_raises_no_doubt():
    [row] = quality_flags(scored(*run())).to_dict("records")
    assert pd.isna(row.pop("attention_pass_rate"))
    assert row == {
        "participant_id": "P1",
        "n_trials": 6,
        "n_fast": 0,
        "fast_share": 0.0,
        "top_decision": "refuted",
        "n_top_decision": 3,
        "hidden_share": 0.25,
        "n_attention": 0,
        "n_attention_passed": 0,
        "n_could_read_on": 6,
        "n_read_on": 6,
        "n_confidence": 6,
        "n_confidence_values": 2,
        "reason": "",
    }


def attention(*decisions: str, person: str = "P1") -> list[dict[str, str]]:
    return [
        builders.trial(
            trial_id=f"{person}-a{n}",
            participant_id=person,
            slot=int(person[1:]),
            claim_id=f"a{n}",
            trial_kind="attention",
            position=0,
            block=0,
            subset="",
            decision=decision,
        )
        for n, decision in enumerate(decisions, start=1)
    ]


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (run(**quick(2900)), "6 of 6 trials took less than 1 s a sentence"),
        (run(decision="refuted"), "the same answer, refuted, in all 6 trials"),
        (
            run(hidden_ms=15000, active_ms=5000),
            "the page was hidden for 75 % of the time",
        ),
        (run() + attention("supported", "refuted", "refuted"), "1 of 3 attention checks passed"),
        (
            run(n_read=1),
            "never read past the first sentence, though it did not suffice in 6 trials",
        ),
        (run(confidence=5), "the same confidence in all 6 answers"),
    ],
)
def test_a_habit_is_listed_with_its_numbers(rows, reason):
    assert flagged(*rows) == {"P1": reason}


def test_several_habits_are_listed_together():
    assert flagged(*run(decision="refuted", confidence=1)) == {
        "P1": "the same answer, refuted, in all 6 trials; the same confidence in all 6 answers"
    }


@pytest.mark.parametrize(
    "rows",
    [
        run(4, decision="refuted", confidence=1, n_read=1, **quick(500)),
        run(gold_label="refuted", decision="refuted"),
        run(n_read=1, shown_order="s1|s2|s3|s0", gold_sets="s1", gold_min_size=1, msr=1),
        run(**quick(3000)),
        run() + attention("supported", "refuted"),
        run(confidence=""),
    ],
    ids=["too few trials", "one gold label", "first sentence suffices", "at the limit", "half", ""],
)
def test_what_may_be_an_honest_run_is_not_listed(rows):
    assert flagged(*rows) == {"P1": ""}


def test_all_at_once_trials_are_timed_by_what_they_require():
    own = {
        "condition": "selection",
        "interface": "all_at_once",
        "n_available": 20,
        "n_read": 20,
        "shown_order": "|".join(f"s{n}" for n in range(20)),
        "msr": 4,
    }
    assert flagged(*run(**own, **quick(2500))) == {"P1": ""}
    assert flagged(*run(**own, **quick(1500))) == {
        "P1": "6 of 6 trials took less than 1 s a sentence"
    }


def test_people_of_other_kinds_of_run_are_left_to_those_who_ask():
    rows = run(simulated="true", decision="refuted")
    assert flagged(*rows) == {}
    table = quality_flags(scored(*rows), include_simulated=True)
    assert list(table["participant_id"]) == ["P1"]


def test_an_attention_check_under_way_is_not_failed_yet():
    [check] = attention("supported")
    check |= {"decision": "", "trial_status": "incomplete", "decided_at": ""}
    check |= {"hidden_ms": "", "active_ms": ""}
    assert flagged(*run(), check) == {"P1": ""}


def test_the_thresholds_of_a_person_can_be_set():
    assert flagged(*run(**quick(2900)), limits=QualityLimits(seconds_per_sentence=0.5)) == {
        "P1": ""
    }
    assert flagged(*run(4, decision="refuted"), limits=QualityLimits(trials=4))["P1"]


# ---- any table -----------------------------------------------------------------------------------


def test_no_trial_gives_empty_tables_with_all_columns():
    none = scored(*run())[:0]
    assert list(item_review(none)) == list(ITEM_COLUMNS)
    assert list(quality_flags(none)) == list(QUALITY_COLUMNS)
    assert len(item_review(none)) == len(quality_flags(none)) == 0


def test_one_trial_is_enough_for_a_row():
    one = scored(builders.selection_trial())
    assert list(item_review(one)["n_cant_decide"]) == [1]
    assert list(quality_flags(one)["reason"]) == [""]


def test_a_table_without_confidence_has_none_given():
    rows = [{k: v for k, v in row.items() if k != "confidence"} for row in run()]
    assert list(quality_flags(scored(*rows))["n_confidence"]) == [0]


@needs_data
@pytest.mark.data
@pytest.mark.parametrize(
    ("case", "n_claims", "n_people"), [("table5", 100, 5), ("thirty_a", 100, 30)]
)
def test_the_same_table_in_any_order_gives_the_same_rows(case, n_claims, n_people):
    frame = scored_trials(check_tables(*builders.case_tables(case)))
    shuffled = frame.sample(frac=1, random_state=3)
    for function, n in ((item_review, n_claims), (quality_flags, n_people)):
        rows = frame[(exclusion_reasons(frame) == "").to_numpy()]
        assert len(function(rows)) == n
        pd.testing.assert_frame_equal(function(frame), function(shuffled))
