"""The document: nulls with reasons, sensitivity, notices, breakdowns, the printed table."""

from __future__ import annotations

import json

import numpy as np
import pytest

from analysis import (
    BREAKDOWNS,
    check_tables,
    measure_document,
    measures_by,
    scored_trials,
    table5,
    table5_headings,
    to_json,
)
from tests.analysis.builders import (
    case_tables,
    expected,
    selection_trial,
    study,
    trial,
    trials,
)
from tests.shared_data import needs_data


def test_a_condition_without_trials_is_not_defined_and_says_so() -> None:
    document = measure_document(trials(trial()), None, study())
    empty = document["design_set"]["selection"]
    assert (empty["n_trials"], empty["n_success"], empty["success_rate"]) == (0, 0, None)
    reasons = document["not_defined"]
    assert "no trial of this condition" in reasons["design_set.selection.success_rate"]
    assert "no trial of this condition" in reasons["balance.mean_position.selection"]
    assert "one trial has no spread" in reasons["design_set.ranking.sd_read"]
    assert "No trial of condition selection is in the design set." in document["notices"]
    row = next(row for row in table5(document) if row.key == "success_rate")
    assert row.cells == (
        "1/1, 100.0 % [20.7, 100.0]",
        "not defined, because the set has no trial of this condition",
    )


def test_a_study_without_any_counted_trial_still_gives_a_document() -> None:
    document = measure_document(trials(trial(simulated="true")), None, study())
    assert (document["rows"], document["n_available_set"]) == (1, 0)
    assert document["excluded"]["simulated"] == 1
    assert document["slot_holders"] == {}
    assert document["balance"]["claim_replications_seen"] == 0
    assert json.loads(to_json(document)) == document


def test_an_active_time_of_zero_has_no_geometric_mean() -> None:
    row = trial(hidden_ms=20000, active_ms=0)
    document = measure_document(trials(row), None, study())
    assert document["design_set"]["ranking"]["geomean_active_s"] is None
    assert document["design_set"]["ranking"]["mean_active_s"] == 0
    assert "active time of 0" in document["not_defined"]["design_set.ranking.geomean_active_s"]
    assert any("Active time is 0 in trial t1" in line for line in document["notices"])


def test_what_cannot_be_scored_counts_for_reading_only() -> None:
    row = trial(gold_label="partially_supported", decision="cant_decide")
    document = measure_document(trials(row), None, study())
    measured = document["design_set"]["ranking"]
    assert (measured["n_scorable"], measured["undecided_rate"]) == (0, None)
    assert (measured["mean_read"], measured["missed_rate"]) == (3, 1)
    assert measured["sensitivity_success_partial_as_supported"] == 0
    assert "can score none" in document["not_defined"]["design_set.ranking.undecided_rate"]
    assert any("no right button" in line for line in document["notices"])


def test_incomplete_trials_and_a_time_cap_change_the_sensitivity_only() -> None:
    open_trial = {"trial_status": "incomplete", "decision": "", "decided_at": ""}
    left = trial(trial_id="t3", claim_id="c3", **open_trial, hidden_ms="", active_ms="")
    settings = study(preregistered={"time_cap_s": 10})
    document = measure_document(trials(trial(), left), None, settings)
    other = document["sensitivity"]["design_set"]["ranking"]
    assert other["n_incomplete"] == 1
    assert other["success_rate_incomplete_as_not_success"] == 0.5
    assert other["mean_active_s_capped"] == 10
    assert document["design_set"]["ranking"]["success_rate"] == 1
    assert document["design_set"]["ranking"]["mean_active_s"] == 15


def test_an_incomplete_trial_of_a_superseded_participant_is_in_the_available_set_only() -> None:
    holder = [trial(), selection_trial()]
    other = {"participant_id": "P2", "claim_id": "c3"}
    left = {"trial_status": "incomplete", "decision": "", "decided_at": ""}
    times = {"hidden_ms": "", "active_ms": ""}
    replaced = [
        trial(trial_id="t3", **other),
        trial(trial_id="t4", **(other | left | times | {"claim_id": "c4"})),
    ]
    document = measure_document(trials(*holder, *replaced), None, study())
    assert document["excluded"]["superseded"] == 1
    assert document["sensitivity"]["design_set"]["ranking"]["n_incomplete"] == 0
    assert document["sensitivity"]["available_set"]["ranking"]["n_incomplete"] == 1


def test_unequal_required_means_are_announced() -> None:
    easy = selection_trial(gold_sets="s7", gold_min_size=1)
    document = measure_document(trials(trial(), easy), None, study())
    assert any("ranking 2.000, selection 1.000" in line for line in document["notices"])
    equal = measure_document(trials(), None, study())
    assert not any("required" in line for line in equal["notices"])


@needs_data
@pytest.mark.data
def test_the_same_input_gives_the_same_bytes() -> None:
    first, second = (to_json(measure_document(*case_tables("dropouts_a"))) for _ in range(2))
    assert first == second
    assert "NaN" not in first
    keys = list(json.loads(first))
    assert keys == sorted(keys)


@needs_data
@pytest.mark.data
@pytest.mark.parametrize("by", BREAKDOWNS)
def test_a_breakdown_adds_up_to_the_condition(by: str) -> None:
    """Counts of the groups sum to the condition's, means weighted by trials to its mean."""
    scored = scored_trials(check_tables(*case_tables("table5")))
    groups = measures_by(scored, [by, "condition"])
    for condition, wanted in expected("table5")["design_set"].items():
        own = groups.xs(condition, level="condition")
        for name in ("n_trials", "n_success", "n_over_read_msr", "n_sufficient_available"):
            assert own[name].sum() == wanted[name]
        weighted = np.average(own["mean_read"], weights=own["n_trials"])
        assert weighted == pytest.approx(wanted["mean_read"])
        one = own.iloc[0]
        assert one["success_rate"] == one["n_success"] / one["n_scorable"]


@needs_data
@pytest.mark.data
def test_one_participant_measured_alone_equals_the_breakdown() -> None:
    table, log, settings = case_tables("thirty_a")
    groups = measures_by(
        scored_trials(check_tables(table, log, settings)), ["participant_id", "condition"]
    )
    own = table[table["participant_id"] == "P07"]
    alone = measure_document(own, None, settings)["design_set"]
    for condition, measured in alone.items():
        row = groups.loc[("P07", condition)]
        for name, value in measured.items():
            if value is not None and not isinstance(value, list):
                assert row[name] == pytest.approx(value, rel=1e-9), name


def test_an_unknown_grouping_is_refused() -> None:
    scored = scored_trials(check_tables(trials(), None, study()))
    with pytest.raises(ValueError, match="no column colour"):
        measures_by(scored, ["colour"])


@needs_data
@pytest.mark.data
def test_the_printed_table_shows_the_published_figures() -> None:
    document = measure_document(*case_tables("table5"))
    cells = {row.key: row.cells for row in table5(document)}
    assert cells["success_rate"][0] == "94/100, 94.0 % [87.5, 97.2]"
    assert cells["success_rate"][1] == "74/100, 74.0 % [64.6, 81.6]"
    assert cells["over_read_msr_rate"][0].startswith("10/100, 10.0 %")
    assert cells["over_read_min_rate"][1].startswith("72/100, 72.0 %")
    assert cells["mean_read"][1] == "3.85 shown (SD 1.97, median 4, n = 100)"
    assert cells["under_read_rate"][1].startswith("not defined, because")
    assert table5_headings(document) == [
        "ranking (sentences read)",
        "selection (sentences shown)",
    ]
    with pytest.raises(ValueError, match="no set 'all'"):
        table5(document, "all")
