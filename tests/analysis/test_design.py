"""Balance, quarters and the Latin square."""

from __future__ import annotations

import pytest

from analysis import check_tables, measure_document
from analysis.design import allowed_shifts, empty_cells, latin_square, quarters, subset_seen
from tests.analysis.builders import CASES, expected, study, trial, trials
from tests.shared_data import needs_data

SQUARES = expected("edge_cases")["latin_square"] if CASES.is_dir() else []


@needs_data
@pytest.mark.data
@pytest.mark.parametrize(
    "square", SQUARES, ids=lambda s: f"k{s['k']}-m{s['m']}-r{s['replications']}"
)
def test_a_square_has_the_independent_counts(square: dict) -> None:
    made = latin_square(square["k"], square["m"], square["claims"], square["replications"])
    assert made == square


def test_shifts_are_allowed_when_no_slot_meets_a_subset_twice() -> None:
    assert allowed_shifts(5, 5) == [1, 2, 3, 4]
    assert allowed_shifts(4, 3) == [1, 3]
    assert allowed_shifts(4, 2) == [1, 2, 3]
    assert allowed_shifts(6, 3) == [1, 2, 4, 5]
    assert allowed_shifts(1, 1) == [0]
    assert [subset_seen(3, j, 5, 2) for j in range(3)] == [3, 0, 2]
    with pytest.raises(ValueError, match="3 conditions"):
        allowed_shifts(2, 3)


def test_an_empty_cell_is_listed_with_its_claim_and_condition() -> None:
    tables = check_tables(trials(trial()), None, study())
    cells = empty_cells(tables.trials, tables.settings.conditions)
    assert cells == [
        {
            "study_id": "small",
            "run_kind": "real",
            "replication": 1,
            "claim_id": "001",
            "condition": "selection",
        }
    ]


def test_a_cell_with_two_trials_makes_the_design_unbalanced() -> None:
    rows = [trial(), trial(trial_id="t3", participant_id="P2", slot=2)]
    document = measure_document(trials(*rows), None, study())
    assert document["balance"]["cells_with_more"] == 1
    assert any("unbalanced" in line and "1 cell has more" in line for line in document["notices"])


@pytest.mark.parametrize(
    ("position", "planned", "quarter"), [(1, 24, 1), (6, 24, 1), (7, 24, 2), (24, 24, 4), (9, 8, 4)]
)
def test_a_quarter_is_the_ceiling_of_four_times_the_position(
    position: int, planned: int, quarter: int
) -> None:
    table = check_tables(trials(trial(position=position)), None, study()).trials
    assert quarters(table, planned).tolist() == [quarter]
