"""One reason a row, and one holder a slot."""

from __future__ import annotations

import pandas as pd
import pytest

from analysis import check_tables, measure_document
from analysis.inclusion import attention_pass_rates, exclusion_reasons
from tests.analysis.builders import selection_trial, study, trial, trials


def reasons(*rows: dict[str, str], **options: bool) -> dict[str, str]:
    table = check_tables(trials(*rows), None, study()).trials
    return dict(zip(table["trial_id"], exclusion_reasons(table, **options), strict=True))


NOT_MAIN = {"position": 0, "subset": ""}
OPEN = {"decision": "", "decided_at": "", "hidden_ms": "", "active_ms": ""}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, ""),
        ({"simulated": "true", "pilot": "true", "participant_status": "withdrawn"}, "simulated"),
        ({"pilot": "true", "participant_status": "withdrawn"}, "pilot"),
        ({"participant_status": "withdrawn", "trial_kind": "practice"} | NOT_MAIN, "withdrawn"),
        ({"participant_status": "excluded", "trial_kind": "attention"}, "excluded_participant"),
        ({"trial_kind": "practice", "trial_status": "void"} | OPEN, "practice"),
        ({"trial_kind": "attention", "trial_status": "incomplete"} | OPEN, "attention"),
        ({"trial_status": "void"} | OPEN, "void"),
        ({"trial_status": "incomplete"} | OPEN, "incomplete"),
    ],
)
def test_a_row_gets_the_first_reason_that_applies(change: dict[str, str], reason: str) -> None:
    assert reasons(trial(**change)) == {"t1": reason}


def test_simulated_and_pilot_rows_count_when_asked_for() -> None:
    rows = trial(simulated="true"), selection_trial(participant_id="P2", slot=2, pilot="true")
    assert reasons(*rows) == {"t1": "simulated", "t2": "pilot"}
    assert reasons(*rows, include_simulated=True) == {"t1": "", "t2": "pilot"}
    assert reasons(*rows, include_simulated=True, include_pilot=True) == {"t1": "", "t2": ""}


def test_the_holder_has_most_trials_then_the_earliest_start_then_the_first_id() -> None:
    first = trial(participant_id="P9")
    second = trial(trial_id="t3", participant_id="P5", claim_id="c")
    more = selection_trial(trial_id="t4", participant_id="P5")
    assert reasons(first, second, more) == {"t1": "superseded", "t3": "", "t4": ""}
    assert reasons(first, second) == {"t1": "superseded", "t3": ""}
    later = {"started_at": "2026-03-02T09:00:01.000Z", "active_ms": "14000"}
    assert reasons(first, second | later) == {"t1": "", "t3": "superseded"}


def test_where_times_are_moved_the_slot_order_says_who_came_first() -> None:
    first = trial(participant_id="P9", slot_order="1")
    second = trial(trial_id="t3", participant_id="P5", claim_id="c", slot_order="2")
    earlier = {"started_at": "2026-03-02T08:59:59.000Z", "active_ms": "16000"}
    assert reasons(first, second | earlier) == {"t1": "", "t3": "superseded"}
    more = selection_trial(trial_id="t4", participant_id="P5", slot_order="2")
    assert reasons(first, second, more) == {"t1": "superseded", "t3": "", "t4": ""}


def test_simulated_runs_hold_their_own_copy_of_a_slot() -> None:
    rows = [trial(), trial(trial_id="t3", participant_id="S1", simulated="true")]
    document = measure_document(trials(*rows), None, study(), include_simulated=True)
    assert document["slot_holders"] == {"1 1": "P1", "1 1 simulated": "S1"}
    assert document["n_design_set"] == 2
    assert document["balance"]["cells_with_more"] == 0


def test_attention_checks_give_a_pass_rate_and_a_notice() -> None:
    checks = [
        trial(trial_id=f"a{i}", trial_kind="attention", decision=decision, **NOT_MAIN)
        for i, decision in enumerate(["supported", "refuted", "cant_decide"])
    ]
    tables = check_tables(trials(trial(), *checks), None, study())
    rates = attention_pass_rates(tables.trials, exclusion_reasons(tables.trials))
    assert rates == {"P1": pytest.approx(1 / 3)}
    document = measure_document(pd.DataFrame([trial(), *checks]), None, study())
    assert any("attention checks were passed by P1" in line for line in document["notices"])
