"""The closed forms of many simulated studies at once, against statsmodels and scipy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
import statsmodels.api as sm

from analysis import check_tables, score_trials
from analysis.inclusion import exclusion_reasons
from analysis.power.clustered import Paired, TwoWay, critical
from tests.analysis.builders import case_tables
from tests.shared_data import needs_data


def reference(
    values: np.ndarray, is_first: np.ndarray, participant: np.ndarray, claim: np.ndarray
) -> tuple[float, float]:
    """Difference and standard error of one study by OLS of statsmodels, with the floor."""
    model = sm.OLS(values, sm.add_constant(is_first.astype(float)))
    errors = [
        model.fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True).cov_params()
        for groups in (np.column_stack([participant, claim]), participant, claim)
    ]
    variance = max(float(np.asarray(error)[1, 1]) for error in errors)
    return float(model.fit().params[1]), float(np.sqrt(variance))


@pytest.mark.parametrize("binary", [True, False], ids=["binary", "counts"])
@pytest.mark.parametrize("seed", range(6))
def test_the_two_way_error_is_that_of_statsmodels_on_random_designs(
    seed: int, binary: bool
) -> None:
    random = np.random.default_rng(seed)
    trials = int(random.integers(20, 90))
    # Unbalanced, with people who meet a claim more than once, and gaps in the numbering.
    participant = 3 * random.integers(0, 5, trials)
    claim = random.integers(0, 12, trials)
    is_first = random.random(trials) < 0.4
    values = random.random((3, trials)) < 0.7 if binary else random.poisson(3, (3, trials))
    values = values.astype(float)
    difference, error = TwoWay.of(is_first, participant, claim).errors(values)
    for run in range(3):
        wanted = reference(values[run], is_first, participant, claim)
        assert (difference[run], error[run]) == pytest.approx(wanted, abs=1e-8)


@needs_data
@pytest.mark.data
@pytest.mark.parametrize("case", ["table5", "dropouts_a", "thirty_a"])
def test_the_two_way_error_is_that_of_statsmodels_on_the_cases(case: str) -> None:
    trials, events, study = case_tables(case)
    tables = check_tables(trials, events, study)
    scored = score_trials(tables.trials, tables.settings)
    rows = scored[(exclusion_reasons(scored) == "").to_numpy()]
    is_first = (rows["condition"] == "ranking").to_numpy()
    participant = rows["participant_id"].astype("category").cat.codes.to_numpy()
    claim = rows["claim_id"].astype("category").cat.codes.to_numpy()
    values = rows[["success", "n_read"]].to_numpy(dtype=float).T
    difference, error = TwoWay.of(is_first, participant, claim).errors(values)
    for run in range(2):
        wanted = reference(values[run], is_first, participant, claim)
        assert (difference[run], error[run]) == pytest.approx(wanted, abs=1e-8)


def test_a_negative_two_way_variance_gives_way_to_the_larger_one_way() -> None:
    is_first = np.array([1, 1, 1, 0, 1, 0, 0, 1, 0, 1, 0, 0], dtype=bool)
    participant, claim = np.repeat([0, 1, 2], 4), np.tile([0, 1, 2, 3], 3)
    values = np.array([[1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 1, 0]], dtype=float)
    both = sm.OLS(values[0], sm.add_constant(is_first.astype(float))).fit(
        cov_type="cluster", cov_kwds={"groups": np.column_stack([participant, claim])}
    )
    assert np.asarray(both.cov_params())[1, 1] < 0
    difference, error = TwoWay.of(is_first, participant, claim).errors(values)
    wanted = reference(values[0], is_first, participant, claim)
    assert (difference[0], error[0]) == pytest.approx(wanted, abs=1e-8)


def test_the_degrees_of_freedom_are_those_of_the_smaller_number_of_clusters() -> None:
    is_first = np.tile([True, False], 10)
    test = TwoWay.of(is_first, np.repeat(np.arange(5), 4), np.arange(20))
    values = np.random.default_rng(1).random((2, 20))
    _, error = test.errors(values)
    estimate = test.estimate(values)
    assert estimate.half_width == pytest.approx(scipy.stats.t.ppf(0.975, 4) * error, rel=1e-12)
    assert critical(4) == pytest.approx(2.7764451051977987, rel=1e-12)


def test_without_a_standard_error_nothing_is_found() -> None:
    is_first = np.tile([True, False], 4)
    unit = np.repeat([0, 1], 4)
    values = np.array(
        [np.ones(8), is_first.astype(float), 0.1 * is_first, [1, 0, 1, 1, 0, 0, 1, 0]]
    )
    for test in (TwoWay.of(is_first, unit, np.arange(8) // 2), Paired.of(is_first, unit)):
        estimate = test.estimate(values[:3])
        assert estimate is not None
        assert estimate.difference == pytest.approx([0, 1, 0.1])
        assert estimate.half_width.tolist() == [np.inf] * 3
        assert not estimate.differs.any()
        assert not estimate.is_above(-0.1).any()
        assert not estimate.is_below_zero.any()
    clear = TwoWay.of(is_first, unit, np.arange(8) // 2).estimate(values[3:])
    assert np.isfinite(clear.half_width).all()


def test_the_paired_test_is_that_of_scipy_and_leaves_out_units_of_one_condition() -> None:
    random = np.random.default_rng(3)
    unit = np.repeat(np.arange(8), 6)
    is_first = np.tile([True, True, False, False, False, True], 8)
    is_first[unit == 7] = True
    values = random.random((4, 48))
    estimate = Paired.of(is_first, unit).estimate(values)
    assert estimate is not None
    for run in range(4):
        first, second = (
            [values[run, (unit == u) & (is_first == side)].mean() for u in range(7)]
            for side in (True, False)
        )
        wanted = scipy.stats.ttest_rel(first, second).confidence_interval(0.95)
        low = estimate.difference[run] - estimate.half_width[run]
        high = estimate.difference[run] + estimate.half_width[run]
        assert (low, high) == pytest.approx((wanted.low, wanted.high), abs=1e-12)


def test_one_pair_is_no_paired_test() -> None:
    paired = Paired.of(np.array([True, False, True]), np.array([0, 0, 1]))
    assert paired.units == 1
    assert paired.estimate(np.ones((2, 3))) is None
