"""Golden values: section D of the rankers specification, computed there by hand or by script."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankers.metrics import (
    aggregate,
    mean_sem,
    minimal_sufficient_rank,
    score,
    size_bucket,
    verified_at,
    verified_within,
)

# name, ranking, gold sets (ids from 1), MSR, IMSR, RR, SR, NDCG
GOLDEN = [
    ("1", "3 1 2", [{3}], 1, 1, 1.0, 1, 1.0),
    ("2", "1 2 3 4 5", [{1, 3}, {3, 5}], 3, 2, 0.5, 0, 0.919721),
    ("3", "2 5 1 4 3", [{1, 2}, {2, 5, 4}], 3, 2, 0.5, 0, 0.919721),
    ("4", "1 2 3 4 5", [{1, 2, 3}, {4, 5}], 3, 2, 0.5, 0, 1.0),
    ("5 tie in G", "1 2 3 4", [{1, 4}, {2, 4}], 4, 2, 0.333333, 0, 0.877215),
    ("5 tie, other order", "1 2 3 4", [{2, 4}, {1, 4}], 4, 2, 0.333333, 0, 0.877215),
    ("6 duplicates", "4 2 1 3", [[2, 1], [1, 2], [2, 1]], 3, 2, 0.5, 0, 0.693426),
    ("7 one unreachable", "1 2 3", [{9, 1}, {3}], 3, 1, 0.333333, 0, 0.5),
    ("8 all unreachable", "1 2 3", [{9}, {8, 1}], None, None, None, None, None),
    ("9 no gold", "1 2 3", [], None, None, None, None, None),
    ("10 all needed", "2 3 1 4", [{1, 2, 3, 4}], 4, 4, 1.0, 1, 1.0),
    ("11 nested", "5 4 3 2 1", [{5, 3}, {5, 3, 2}], 3, 2, 0.5, 0, 0.919721),
    ("12 worst", "1 2 3 4 5 6", [{6}], 6, 1, 0.166667, 0, 0.356207),
    ("extra", "1 2 3 4 5 6", [{1, 2, 4}, {6}], 4, 1, 0.25, 0, 0.967468),
]


def _from_zero(ids):
    return [int(one) - 1 for one in ids]


@pytest.mark.parametrize(
    ("ranking", "gold", "msr", "imsr", "rr", "sr", "ndcg"),
    [case[1:] for case in GOLDEN],
    ids=[case[0] for case in GOLDEN],
)
def test_golden_case(ranking, gold, msr, imsr, rr, sr, ndcg):
    order = _from_zero(ranking.split())
    sets = [_from_zero(one) for one in gold]
    result = score(order, sets, len(order))
    assert (result.msr, result.imsr, result.sr) == (msr, imsr, sr)
    assert result.rr == (None if rr is None else pytest.approx(rr, abs=1e-6))
    assert result.ndcg == (None if ndcg is None else pytest.approx(ndcg, abs=1e-6))
    assert minimal_sufficient_rank(order, sets) == msr


def test_unreachable_sets_are_counted():
    assert score([0, 1, 2], [[8, 0], [2]]).unreachable == 1
    assert score([0, 1, 2], [[8], [7, 0]]).unreachable == 2


def test_strict_raises_where_nothing_is_reachable():
    with pytest.raises(ValueError, match="no gold set can be reached"):
        score([0, 1, 2], [[8]], strict=True)


def test_an_empty_gold_set_is_an_error():
    with pytest.raises(ValueError, match="empty gold set"):
        score([0, 1], [[0], []])
    with pytest.raises(ValueError, match="empty gold set"):
        minimal_sufficient_rank([0, 1], [[]])


def test_a_missing_candidate_is_an_error():
    with pytest.raises(ValueError, match=r"missing \[1\]"):
        score([0, 2], [[0]], 3)
    with pytest.raises(ValueError, match=r"unknown \[2\]"):
        score([0, 2], [[0]])


def test_a_repeated_candidate_is_an_error():
    with pytest.raises(ValueError, match="ranked twice"):
        score([0, 1, 1], [[0]], 3)
    with pytest.raises(ValueError, match="ranked twice"):
        minimal_sufficient_rank([1, 1], [[1]])


def test_minimal_sufficient_rank_of_what_was_shown():
    assert minimal_sufficient_rank([4, 2], [[2, 4], [1]]) == 2
    assert minimal_sufficient_rank([4], [[2, 4], [1]]) is None
    assert minimal_sufficient_rank([], [[1]]) is None


def test_aggregate_matches_the_hand_computed_case():
    # RR 1, 1/2, 1/2, 1/6: mean 0.541667, SEM 0.171796 with denominator n - 1.
    scores = [
        score([2, 0, 1], [[2]]),
        score([0, 1, 2, 3, 4], [[0, 2], [2, 4]]),
        score([3, 1, 0, 2], [[1, 0]]),
        score([0, 1, 2, 3, 4, 5], [[5]]),
        score([0, 1], [[7]]),
    ]
    result = aggregate(scores)
    assert result["n"] == 4
    assert result["mrr"]["mean"] == pytest.approx(0.541667, abs=1e-6)
    assert result["mrr"]["sem"] == pytest.approx(0.171796, abs=1e-6)
    assert result["mean_msr"] == 3.25
    assert verified_within(scores)["3"] == 0.75


def _found_at(*ranks):
    """Scores of rankings whose only gold sentence stands at these ranks."""
    return [score(range(max(ranks)), [[rank - 1]]) for rank in ranks]


def test_the_shares_verified_at_each_rank_add_up_with_all_later_ones_in_one():
    shares = verified_at(_found_at(1, 3, 3, 10, 11, 12, 30, 1))
    assert shares == {
        **{str(k): 0.0 for k in range(1, 11)},
        "1": 0.25,
        "3": 0.25,
        "10": 0.125,
        "11+": 0.375,
    }
    assert sum(shares.values()) == 1


def test_the_shares_verified_within_ranks_grow_and_leave_out_what_is_undefined():
    scores = [*_found_at(1, 3, 16, 21), score([0, 1], [[7]])]
    shares = verified_within(scores)
    assert list(shares) == [*map(str, range(1, 11)), "15", "20"]
    assert [shares[k] for k in ("1", "2", "3", "15", "20")] == [0.25, 0.25, 0.5, 0.5, 0.75]
    assert verified_within(scores, [16, 21]) == {"16": 0.75, "21": 1.0}


def test_with_one_gold_sentence_the_measures_are_those_of_classic_retrieval():
    # RR is 1 / rank, SR precision at 1, NDCG the discount of the rank (ideal gain 1).
    for rank, one in enumerate(_found_at(*range(1, 41)), start=1):
        assert (one.rr, one.sr, one.msr) == (1 / rank, int(rank == 1), rank)
        assert one.ndcg == 1 / math.log2(rank + 1)


def test_mean_and_sem_of_one_and_of_nothing():
    assert mean_sem([0.5]) == {"mean": 0.5, "sem": None}
    assert mean_sem([]) == {"mean": None, "sem": None}
    assert aggregate([])["n"] == 0
    assert verified_within([]) == {}
    assert verified_at([]) == {}


def test_buckets_join_three_and_more():
    assert [size_bucket(n) for n in (1, 2, 3, 9)] == ["1", "2", "3+", "3+"]


def _by_definition(order, gold_sets):
    """MSR and NDCG as the paper's section A words them, prefix by prefix."""
    for msr in range(1, len(order) + 1):
        inside = [set(gold) for gold in gold_sets if set(gold) <= set(order[:msr])]
        if inside:
            break
    smallest = [gold for gold in inside if len(gold) == min(map(len, inside))]
    gains = [
        sum(1 / math.log2(i + 1) for i, one in enumerate(order[:msr], start=1) if one in gold)
        for gold in smallest
    ]
    ideal = sum(1 / math.log2(i + 1) for i in range(1, len(smallest[0]) + 1))
    return msr, max(gains) / ideal


@given(
    order=st.permutations(range(7)),
    gold_sets=st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=5), min_size=1, max_size=6),
)
def test_measures_agree_with_their_definition_worked_out_slowly(order, gold_sets):
    result = score(order, gold_sets)
    msr, ndcg = _by_definition(order, gold_sets)
    imsr = min(len(set(gold)) for gold in gold_sets)
    assert (result.msr, result.imsr, result.sr) == (msr, imsr, int(msr == imsr))
    assert result.rr == 1 / (msr - imsr + 1)
    assert result.ndcg == pytest.approx(ndcg, abs=1e-12)
