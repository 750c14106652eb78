from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from rankers import compare as comparing
from rankers.compare import (
    Difference,
    bca_interval,
    compare,
    paired_differences,
    shifted_p,
)
from rankers.errors import BadInput
from rankers.evaluate import Evaluation
from rankers.metrics import score


def _drawn(values, draws=9_999, seed=5):
    """Means of bootstrap draws, made apart from the code under test."""
    generator = np.random.default_rng(seed)
    return generator.choice(values, (draws, len(values))).mean(axis=1)


def _only(values, **options):
    """The difference found in a single row."""
    (found,) = paired_differences(np.array([values], dtype=float), **options)
    return found


def _skewed(n=60, seed=3):
    """Differences of reciprocal ranks: skewed, within [-1, 1], a few zeros."""
    generator = np.random.default_rng(seed)
    ranks = generator.geometric([[0.5], [0.3]], (2, n))
    return 1 / ranks[0] - 1 / ranks[1]


def _mean_difference(first, second, axis):
    return np.mean(first - second, axis=axis)


def test_the_interval_is_that_of_scipy_for_the_same_draws():
    second = np.random.default_rng(1).uniform(0.1, 0.4, 60)
    first = second + _skewed() + np.random.default_rng(2).normal(0, 0.01, 60)
    drawn = _drawn(first - second)
    expected = stats.bootstrap(
        (first, second),
        _mean_difference,
        paired=True,
        method="BCa",
        n_resamples=0,
        bootstrap_result=SimpleNamespace(bootstrap_distribution=drawn),
    ).confidence_interval
    assert bca_interval(first - second, drawn) == pytest.approx(tuple(expected), abs=1e-12)


def test_the_interval_of_shares_counts_ties_as_scipy_does():
    values = np.array([1.0] * 9 + [-1.0] * 3 + [0.0] * 28)
    drawn = _drawn(values)
    expected = stats.bootstrap(
        (values,),
        np.mean,
        method="BCa",
        n_resamples=0,
        bootstrap_result=SimpleNamespace(bootstrap_distribution=drawn),
    ).confidence_interval
    assert bca_interval(values, drawn) == pytest.approx(tuple(expected), abs=1e-12)


def test_intervals_are_near_those_of_scipy_with_draws_of_its_own():
    first = np.abs(_skewed(200))
    second = np.abs(_skewed(200, seed=9)) * 0.8
    expected = stats.bootstrap(
        (first, second), _mean_difference, paired=True, method="BCa", rng=4
    ).confidence_interval
    found = _only(first - second)
    assert found.difference == pytest.approx(np.mean(first) - np.mean(second), abs=1e-12)
    # Two sets of 9,999 draws: ends agree to a twentieth of the length.
    length = expected.high - expected.low
    assert (found.low, found.high) == pytest.approx(tuple(expected), abs=length / 20)


def test_the_interval_leans_to_the_long_tail():
    values = np.array([0.0] * 30 + [0.9] * 3)
    found = _only(values)
    assert found.high - found.difference > 1.2 * (found.difference - found.low)


def test_p_is_near_that_of_a_paired_t_test_for_many_claims():
    values = _skewed(400)
    for shift in (0.0, 0.03, 0.05):
        expected = stats.ttest_1samp(values - values.mean() + shift, 0).pvalue
        assert _only(values - values.mean() + shift).p == pytest.approx(expected, abs=0.02)


def test_p_counts_draws_exactly_as_far_as_the_observed_mean():
    # One of four differs: k of 4 draws hit it, binomial with p = 1/4, and only k = 1 is nearer.
    exactly_one = stats.binom.pmf(1, 4, 0.25)
    assert _only([0, 0, 0, 0.1]).p == pytest.approx(1 - exactly_one, abs=0.02)


def test_p_is_counted_with_the_data_as_one_more_outcome():
    values = np.array([0.2, 0.4] * 10)  # mean 0.3
    drawn = np.array([0.3, 0.59, 0.61, 0.31, 0.0, 0.3, 0.3, 0.3, 0.3])
    assert shifted_p(values, drawn) == (2 + 1) / (9 + 1)


def test_p_is_never_0():
    assert _only([0.4, 0.5] * 25).p == 1 / 10_000
    assert _only([0.4, 0.5] * 25, draws=199).p == 1 / 200


def test_a_handful_of_claims_that_agree_is_not_made_certain():
    assert _only([0.4, 0.5, 0.6]).p == 0.25
    assert _only([0.5, 0.5, 0.5, 0.5]) == Difference(0.5, 0.5, 0.5, 0.125)


def test_rankers_that_never_differ_have_a_point_and_a_p_of_1():
    assert _only([0.0] * 40) == Difference(0.0, 0.0, 0.0, 1.0)


def test_equal_differences_that_only_rounding_sets_apart_are_equal():
    found = _only([0.1 + 0.2, 0.3, 0.7 - 0.4] * 10)
    assert found.low == found.high == found.difference == pytest.approx(0.3)


def test_a_single_claim_has_a_difference_and_no_more():
    assert _only([0.25]) == Difference(0.25, None, None, None)


@pytest.mark.parametrize("values", [[0.0, 1.0], [0.0] * 99 + [1.0], [-1.0] + [1.0] * 500])
def test_extreme_differences_still_have_an_interval_inside_their_range(values):
    for draws in (100, 9_999):
        found = _only(values, draws=draws)
        assert min(values) <= found.low <= found.difference <= found.high <= max(values)


def test_draws_on_one_side_of_the_mean_still_have_an_interval():
    values = np.array([0.0, 1.0])
    for drawn in (np.linspace(0, 0.4, 500), np.linspace(0.6, 1, 500)):
        low, high = bca_interval(values, drawn)
        assert drawn.min() <= low <= high <= drawn.max()


def test_the_strongest_skew_cannot_turn_the_interval_round():
    values = np.array([0.0] * 999 + [1.0])
    drawn = np.linspace(0, values.mean() / 2, 1_000_000)
    assert bca_interval(values, drawn) == (drawn.max(), drawn.max())


def test_draws_and_seed_decide_the_result_and_the_memory_at_hand_does_not(monkeypatch):
    values = np.array([_skewed(), _skewed(seed=4), _skewed(seed=5)])
    found = paired_differences(values, draws=999, seed=7)
    assert paired_differences(values, draws=999, seed=7) == found
    assert paired_differences(values, draws=999, seed=8) != found
    monkeypatch.setattr(comparing, "_CELLS", 7)
    assert paired_differences(values, draws=999, seed=7) == found


def test_each_measure_is_drawn_with_the_same_claims():
    values = _skewed()
    alone = _only(values, draws=999)
    assert paired_differences(np.array([-values, values]), draws=999)[1] == alone


def test_the_other_way_round_is_the_mirror_image():
    there, back = _only(_skewed()), _only(-_skewed())
    assert (back.difference, back.low, back.high) == pytest.approx(
        (-there.difference, -there.high, -there.low), abs=1e-12
    )
    assert back.p == there.p


def _evaluation(**orders):
    """Rankers by name, each with orders of three candidates by claim; gold sets by claim."""
    gold_sets = {"a": [[2]], "b": [[1]], "c": [[0, 2]], "d": [[0, 1, 2]]}
    scores = {
        name: {claim_id: score(order, gold_sets[claim_id]) for claim_id, order in by_claim.items()}
        for name, by_claim in orders.items()
    }
    return Evaluation(scores=scores, labels=dict.fromkeys(gold_sets, "supported"))


IN_ORDER = dict.fromkeys("abcd", (0, 1, 2))
REVERSED = dict.fromkeys("abcd", (2, 1, 0))


def test_a_comparison_holds_all_claims_and_those_of_each_size():
    result = _evaluation(forward=IN_ORDER, backward=REVERSED)
    found = compare(result, "backward", "forward", draws=500, seed=3)
    assert list(found) == [
        "draws",
        "seed",
        "scored_for_one_only",
        "all",
        "gold_min_size=1",
        "gold_min_size=2",
        "gold_min_size=3+",
    ]
    assert (found["draws"], found["seed"], found["scored_for_one_only"]) == (500, 3, 0)
    # RR backward 1, 1/2, 1/2, 1 and forward 1/3, 1/2, 1/2, 1; SR differs for claim a only.
    assert found["all"]["n"] == 4
    assert found["all"]["mrr"]["difference"] == pytest.approx((2 / 3) / 4)
    assert found["all"]["sr"]["difference"] == 0.25
    assert found["gold_min_size=1"]["n"] == 2
    alone = {"difference": 0.0, "low": None, "high": None, "p": None}
    assert found["gold_min_size=2"] == {"n": 1, "mrr": alone, "sr": alone, "ndcg": alone}


def test_only_claims_that_both_have_are_compared_and_the_others_counted():
    one, other = dict.fromkeys("abc", (0, 1, 2)), dict.fromkeys("bcd", (2, 1, 0))
    found = compare(_evaluation(one=one, other=other), "one", "other")
    assert (found["all"]["n"], found["scored_for_one_only"]) == (2, 2)


def test_a_wrong_name_lists_the_names_there_are():
    result = _evaluation(forward=IN_ORDER, backward=REVERSED)
    for pair in (("sideways", "forward"), ("forward", "sideways")):
        with pytest.raises(BadInput) as caught:
            compare(result, *pair)
        assert str(caught.value) == (
            "no ranker named 'sideways' to compare: there are 'forward', 'backward'"
        )


def test_what_cannot_be_compared_is_refused():
    result = _evaluation(forward=IN_ORDER, backward=REVERSED, b={"b": (0, 1, 2)}, none={})
    with pytest.raises(BadInput, match="'forward' cannot be compared with itself"):
        compare(result, "forward", "forward")
    with pytest.raises(BadInput, match="b and none have no claim in common"):
        compare(result, "b", "none")
    with pytest.raises(BadInput, match="99 draws are too few: use at least 100"):
        compare(result, "forward", "backward", draws=99)
