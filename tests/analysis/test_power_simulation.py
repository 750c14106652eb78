"""Simulated studies: their design, their margins, and the grids of the specification."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

from analysis.design import latin_square
from analysis.errors import BadTable
from analysis.power import outcomes, simulate
from analysis.power.assumptions import Assumptions, Reading
from analysis.power.clustered import Paired, TwoWay
from analysis.power.layout import lay_out
from analysis.power.outcomes import all_outcomes
from tests.analysis.builders import CASES
from tests.shared_data import needs_data


def cases(name: str) -> list[dict[str, Any]]:
    path = CASES / "power" / name
    return json.loads(path.read_text()) if path.is_file() else []


@pytest.mark.parametrize(("k", "claims", "copies"), [(5, 100, 2), (4, 30, 3), (2, 7, 1)])
def test_a_layout_is_the_latin_square(k: int, claims: int, copies: int) -> None:
    layout, square = lay_out(k * copies, claims, k), latin_square(k, 2, claims, copies)
    assert (layout.trials, layout.trials_each[1]) == (
        square["trials"],
        square["trials_per_participant"],
    )
    judged = np.zeros((claims, 2), dtype=int)
    np.add.at(judged, (layout.claim, layout.is_first.astype(int)), 1)
    assert judged.tolist() == [[copies, copies]] * claims
    met = layout.participant * claims + layout.claim
    assert len(np.unique(met)) == layout.trials


def test_an_incomplete_last_copy_leaves_cells_empty() -> None:
    layout = lay_out(7, 10, 5)
    judged = np.zeros((10, 2), dtype=int)
    np.add.at(judged, (layout.claim, layout.is_first.astype(int)), 1)
    # The sixth and seventh person fill slots 1 and 2 of the copy with shift 2.
    assert judged[:, 1].tolist() == [2, 2, 1, 1, 1] * 2
    assert judged[:, 0].tolist() == [1, 1, 2, 2, 1] * 2


def test_a_third_condition_takes_its_trials_and_skips_shifts_that_repeat_a_claim() -> None:
    layout = lay_out(12, 40, 4, 3)
    assert layout.trials_each == (30, 30)
    assert layout.trials == 12 * 20
    # The second copy has shift 3: shift 2 would show a subset twice.
    person = layout.participant == 4
    assert set(layout.claim[person & layout.is_first] % 4) == {0}
    assert set(layout.claim[person & ~layout.is_first] % 4) == {3}


def test_sizes_that_make_no_study_are_refused_together() -> None:
    with pytest.raises(BadTable) as error:
        lay_out(1, 3, 5, 1)
    assert error.value.problems == [
        "conditions: 1 is too few; two conditions are compared",
        "participants: 1 is too few; give at least 2",
        "claims: 3 is too few; 5 subsets need as many",
    ]


@pytest.mark.parametrize(("rate", "sd"), [(0.94, 1.04), (0.5, 3.0), (0.02, 5.0), (0.74, 0.0)])
def test_an_intercept_gives_the_marginal_rate(rate: float, sd: float) -> None:
    middle = simulate.intercept(rate, sd)

    def weighted(z: float) -> float:
        return float(norm.pdf(z) * expit(middle + sd * z))

    marginal = quad(weighted, -10, 10, points=[-middle / sd] if sd else None, limit=200)[0]
    assert marginal == pytest.approx(rate, abs=1e-9)


def test_runs_come_out_the_same_in_any_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    layout, assumptions = lay_out(7, 33), Assumptions()
    whole = all_outcomes(layout, assumptions, 60, 5)
    monkeypatch.setattr(outcomes, "_BATCH", 7 * layout.trials)
    pieces = all_outcomes(layout, assumptions, 60, 5)
    assert list(whole) == list(pieces)
    for name, values in whole.items():
        assert values is None or np.array_equal(values, pieces[name]), name


def test_the_first_runs_are_those_of_a_longer_simulation_and_another_seed_differs() -> None:
    layout, assumptions = lay_out(5, 20), Assumptions()
    few = simulate.successes(layout, assumptions, 1, range(3))
    many = simulate.successes(layout, assumptions, 1, range(8))
    assert np.array_equal(few, many[:3])
    assert not np.array_equal(many, simulate.successes(layout, assumptions, 2, range(8)))


def test_a_higher_rate_only_turns_failures_into_successes() -> None:
    layout = lay_out(5, 50)
    low = simulate.successes(layout, Assumptions(success=(0.6, 0.5)), 1, range(40))
    high = simulate.successes(layout, Assumptions(success=(0.7, 0.5)), 1, range(40))
    assert (high >= low).all()
    assert np.array_equal(high[:, ~layout.is_first], low[:, ~layout.is_first])
    assert (high > low).any()


def test_an_oracle_reads_to_the_first_sufficient_rank() -> None:
    layout = lay_out(5, 40)
    assumptions = Assumptions(reading=Reading(reader="oracle", optimal=1.0))
    read = simulate.reading(layout, assumptions, 1, range(20))
    first = layout.is_first
    assert np.array_equal(read.n_read[:, first], read.required[:, first])
    assert np.array_equal(read.rank[:, first], read.required[:, first])
    assert np.isinf(read.rank[:, ~first]).all()


def test_a_claim_has_the_same_sizes_for_everybody_in_a_run() -> None:
    layout = lay_out(10, 20)
    read = simulate.reading(layout, Assumptions(), 1, range(5))
    for values in (read.required, np.where(layout.is_first, read.rank, read.n_read)):
        for run in range(5):
            cells = {
                (int(claim), bool(first)): value
                for claim, first, value in zip(
                    layout.claim, layout.is_first, values[run], strict=True
                )
            }
            assert [
                cells[int(claim), bool(first)]
                for claim, first in zip(layout.claim, layout.is_first, strict=True)
            ] == values[run].tolist()


def test_readers_at_the_ends_of_their_rates_stop_as_said_without_a_warning() -> None:
    layout = lay_out(5, 40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sure = simulate.reading(
            layout,
            Assumptions(reading=Reading(early=0, gives_up=0, stops=1, excess=1, optimal=0)),
            1,
            range(10),
        )
        hasty = simulate.reading(
            layout, Assumptions(reading=Reading(early=1, gives_up=0)), 1, range(10)
        )
    first = layout.is_first
    assert np.array_equal(sure.n_read[:, first], sure.required[:, first] + 1)
    assert (hasty.n_read[:, first][hasty.rank[:, first] > 1] == 1).all()


GRID = cases("power_grid.json")
#: Of every scenario, small and large, both slopes.
CELLS = [GRID[place] for place in (0, 7, 15, 18, 25, 38, 43, 46, 52)] if GRID else []
SHARES = {
    "power_success_two_way": "power_success_two_way",
    "noninferior_two_way": "noninferior_two_way_margin_10",
    "power_success_claims": "power_success_claims",
    "power_success_participants": "power_success_participants",
    "noninferior_claims": "noninferior_claims_margin_10",
    "noninferior_participants": "noninferior_participants_margin_10",
    "power_fewer_read_claims": "power_fewer_read_claims",
}
MEANS = {
    "mean_rd": "mean_rd",
    "mean_read_difference": "mean_read_difference",
    "mean_read_first": "mean_read_ranking",
    "over_read_msr_rate_first": "over_read_msr_ranking",
    "mean_surplus_first": "surplus_ranking",
}


@needs_data
@pytest.mark.data
@pytest.mark.parametrize(
    "cell",
    CELLS,
    ids=lambda c: f"{c['scenario']}-{c['sd_participant_slope']}-{c['participants']}x{c['claims']}",
)
def test_the_grid_of_the_specification_is_met_within_three_errors(cell: dict[str, Any]) -> None:
    assumptions = Assumptions(
        success=(cell["p_ranking"], cell["p_selection"]),
        sd_participant=cell["sd_participant"],
        sd_participant_slope=cell["sd_participant_slope"],
        sd_claim=cell["sd_claim"],
    )
    sims = 600
    layout = lay_out(cell["participants"], cell["claims"])
    assert layout.trials == cell["trials"]
    found = all_outcomes(layout, assumptions, sims, 1)
    both = 1 / sims + 1 / cell["sims"]
    for name, wanted in SHARES.items():
        share = found[name].mean()
        pooled = (share * sims + cell[wanted] * cell["sims"]) / (sims + cell["sims"])
        error = np.sqrt(pooled * (1 - pooled) * both)
        assert abs(share - cell[wanted]) <= 3 * error + 1e-9, name
    for name, wanted in MEANS.items():
        error = found[name].std(ddof=1) * np.sqrt(both)
        assert abs(found[name].mean() - cell[wanted]) <= 3 * error, name


COVERAGE = cases("coverage.json")


@needs_data
@pytest.mark.data
@pytest.mark.parametrize(
    "cell",
    [cell for cell in COVERAGE if cell["participants"] <= 20],
    ids=lambda c: f"{c['participants']}-{c['sd_participant_slope']}-{c['sd_claim_slope']}",
)
def test_the_intervals_cover_as_often_as_the_specification_says(cell: dict[str, Any]) -> None:
    layout = lay_out(cell["participants"], cell["claims"])
    assumptions = Assumptions(
        success=(0.90, 0.80),
        sd_participant_slope=cell["sd_participant_slope"],
        sd_claim_slope=cell["sd_claim_slope"],
    )
    sims = 500
    values = simulate.successes(layout, assumptions, 1, range(sims))
    tests = {
        "two-way cluster x t(n-1)": TwoWay.of(layout.is_first, layout.participant, layout.claim),
        "claim t": Paired.of(layout.is_first, layout.claim),
        "participant t": Paired.of(layout.is_first, layout.participant),
    }
    for name, test in tests.items():
        estimate = test.estimate(values)
        covered = (np.abs(estimate.difference - 0.10) <= estimate.half_width).mean()
        wanted = cell["coverage"][cell["methods"].index(name)]
        pooled = (covered + wanted) / 2
        error = np.sqrt(pooled * (1 - pooled) * (1 / sims + 1 / cell["sims"]))
        assert abs(covered - wanted) <= 3 * error, name
        if name.startswith("two-way"):
            assert covered >= 0.93
