"""What the door refuses, each time naming file, column and trial."""

from __future__ import annotations

import pandas as pd
import pytest

from analysis import BadTable, check_tables
from tests.analysis.builders import events, selection_trial, study, trial, trials


def refusal(table: pd.DataFrame, settings: dict | None = None, **kwargs: object) -> str:
    with pytest.raises(BadTable) as caught:
        check_tables(table, kwargs.get("events"), settings or study())  # type: ignore[arg-type]
    assert str(caught.value) == "\n".join(caught.value.problems)
    return str(caught.value)


def test_the_sound_tables_pass() -> None:
    checked = check_tables(trials(trial()), events(), study())
    assert checked.trials["claim_id"].tolist() == ["001"]


@pytest.mark.parametrize(
    ("change", "column", "words"),
    [
        ({"n_read": 5}, "n_read", "outside 1..n_available"),
        ({"n_read": 0}, "n_read", "at least 1"),
        ({"n_read": "two"}, "n_read", "'two' is not a whole number"),
        ({"n_read": ""}, "n_read", "'' is not a whole number"),
        ({"decision": ""}, "decision", "missing for a completed trial"),
        ({"decision": "partially_supported"}, "decision", "not among response_options"),
        ({"decision": "yes"}, "decision", "'yes' is not one of supported, refuted"),
        ({"trial_status": "void"}, "decision", "given for a trial not completed"),
        ({"trial_status": "done"}, "trial_status", "'done' is not one of"),
        ({"participant_status": "gone"}, "participant_status", "'gone' is not one of"),
        ({"interface": "both"}, "interface", "'both' is not one of"),
        ({"trial_kind": "warm_up"}, "trial_kind", "'warm_up' is not one of"),
        ({"gold_label": "NOT ENOUGH INFO"}, "gold_label", "is not one of"),
        ({"condition": "random"}, "condition", "none of the study's (ranking, selection)"),
        ({"gold_min_size": 1}, "gold_min_size", "disagrees with gold_sets"),
        ({"msr": 2}, "msr", "disagrees with shown_order and gold_sets"),
        ({"msr": ""}, "msr", "disagrees with shown_order and gold_sets"),
        ({"gold_sets": "s1|s3;"}, "gold_sets", "holds an empty gold set"),
        ({"gold_sets": "", "gold_min_size": "", "msr": ""}, "gold_sets", "missing for a main"),
        ({"n_available": 5}, "n_available", "not the length of shown_order"),
        ({"shown_order": "s1|s2|s3|s1"}, "shown_order", "occurs twice"),
        ({"subset": ""}, "subset", "missing for a main trial"),
        ({"subset": 3}, "subset", "outside 1..2"),
        ({"position": 0}, "position", "0 for a main trial"),
        ({"active_ms": 14000}, "active_ms", "not decided_at - started_at - hidden_ms"),
        ({"active_ms": ""}, "active_ms", "missing for a completed trial"),
        ({"hidden_ms": -1}, "hidden_ms", "at least 0"),
        ({"decided_at": "2026-03-02T08:00:00.000Z"}, "decided_at", "before started_at"),
        ({"started_at": "2026-03-02T09:00:00.000"}, "started_at", "is not a UTC time"),
        ({"participant_id": "7"}, "participant_id", "begins with no letter"),
        ({"simulated": "maybe"}, "simulated", "'maybe' is not true or false"),
        ({"claim_id": ""}, "claim_id", "may not be empty"),
    ],
)
def test_a_bad_cell_is_refused(change: dict[str, object], column: str, words: str) -> None:
    message = refusal(trials(trial(**change), selection_trial(trial_id="t9", claim_id="9")))
    assert f"trials.csv: column {column}: " in message
    assert words in message
    assert "t1" in message
    assert "t9" not in message


def test_a_repeated_trial_id_is_refused() -> None:
    message = refusal(trials(trial(), selection_trial(trial_id="t1")))
    assert "column trial_id: occurs twice, in trial t1" in message


def test_a_claim_twice_for_one_participant_is_refused_in_main_trials_only() -> None:
    twice = trials(trial(), selection_trial(claim_id="001"))
    assert "this claim twice among the main trials, in trial t1, t2" in refusal(twice)
    practice = selection_trial(claim_id="001", trial_kind="practice", subset="", position=0)
    check_tables(trials(trial(), practice), None, study())


def test_all_at_once_reads_everything_it_shows() -> None:
    message = refusal(trials(selection_trial(n_read=1)))
    assert "column n_read: all_at_once, yet not n_available, in trial t2" in message


def test_one_condition_has_one_interface() -> None:
    other = selection_trial(condition="ranking")
    assert "column interface: condition ranking" in refusal(trials(trial(), other))


def test_a_missing_column_is_named() -> None:
    message = refusal(trials().drop(columns=["msr", "block"]))
    assert "trials.csv: column msr: missing" in message
    assert "trials.csv: column block: missing" in message


def test_many_trial_ids_are_counted_and_not_all_named() -> None:
    rows = [trial(trial_id=f"t{i}", claim_id=f"c{i}", msr=2) for i in range(8)]
    assert "t0, t1, t2, t3, t4 and 3 more" in refusal(trials(*rows))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n_read": 2}, "column n_read: disagrees with the events"),
        ({"hidden_ms": 4000, "active_ms": 16000}, "column hidden_ms: disagrees with the events"),
        (
            {"decided_at": "2026-03-02T09:00:21.000Z", "active_ms": 16000},
            "column active_ms: disagrees with the events",
        ),
        (
            {"trial_status": "incomplete", "decision": "", "decided_at": ""},
            "incomplete, yet the events show a decision",
        ),
    ],
)
def test_a_table_that_disagrees_with_its_events_is_refused(
    change: dict[str, object], words: str
) -> None:
    message = refusal(trials(trial(**change)), events=events())
    assert f"{words}, in trial t1" in message


def test_events_must_fit_their_trials() -> None:
    stray = pd.concat([events("t1"), events("t7")])
    assert "events.csv: column trial_id: not in trials.csv, in trial t7" in refusal(
        trials(trial()), events=stray
    )
    assert "the events show no start or no reveal, in trial t2" in refusal(
        trials(), events=events("t1")
    )
    wrong = events().replace({"sentence_id": {"s2": "s0"}})
    assert "column sentence_id: not the sentence at this rank" in refusal(
        trials(trial()), events=wrong
    )
    twice = events().assign(seq="1")
    assert "column seq: occurs twice" in refusal(trials(trial()), events=twice)
    nameless = events().replace({"rank": {"2": ""}})
    assert "column rank: missing for a reveal" in refusal(trials(trial()), events=nameless)
    assert "completed, yet the events show no decision" in refusal(
        trials(trial()), events=events().iloc[:-1]
    )


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"study_id": ""}, "study_id"),
        ({"subsets": 0}, "subsets"),
        ({"replications": "1"}, "replications"),
        ({"trials_per_participant": None}, "trials_per_participant"),
        ({"conditions": []}, "conditions"),
        ({"conditions": ["ranking", "ranking"]}, "conditions"),
        ({"conditions": [{"name": "ranking", "interface": "odd"}]}, "conditions"),
        ({"response_options": ["supported", "refuted"]}, "response_options"),
        ({"response_options": ["supported", "maybe", "cant_decide"]}, "response_options"),
        ({"preregistered": {"time_cap_s": "long"}}, "preregistered.time_cap_s"),
    ],
)
def test_bad_settings_are_refused(change: dict[str, object], field: str) -> None:
    assert f"study.json: {field}: " in refusal(trials(), study(**change))


def test_a_condition_may_be_an_object_whose_interface_must_hold() -> None:
    listed = [
        {"name": "ranking", "interface": "incremental"},
        {"name": "selection", "interface": "incremental"},
    ]
    message = refusal(trials(), study(conditions=listed))
    assert "condition selection is incremental and has other trials, in trial t2" in message
