"""The best possible order, and the upper bounds it gives."""

from __future__ import annotations

import pytest

import rankers
from rankers.errors import RankerError
from rankers.formats import read_claims
from rankers.metrics import aggregate, score
from rankers.run import run
from rankers.values import Claim
from tests.shared_data import DATA, needs_data


def a_claim(*gold_sets, n=5):
    return Claim("c1", "A claim.", "supported", tuple(f"s{i}" for i in range(n)), gold_sets)


@pytest.mark.parametrize(
    ("gold_sets", "order"),
    [
        ([(3,)], (3, 0, 1, 2, 4)),
        ([(0, 1, 2), (4, 3)], (3, 4, 0, 1, 2)),  # the smaller one, in reading order
        ([(1, 4), (2, 3), (1, 3)], (1, 3, 0, 2, 4)),  # equally small: by their positions
        ([(4, 1), (3,), (0, 1)], (3, 0, 1, 2, 4)),  # the others are not moved forward
        ([(9,), (2, 4)], (2, 4, 0, 1, 3)),  # an unreachable set does not count
        ([(), (-1,), (4, 4)], (4, 0, 1, 2, 3)),
        ([(0, 1, 2, 3, 4)], (0, 1, 2, 3, 4)),
    ],
)
def test_only_the_smallest_reachable_set_comes_first(gold_sets, order):
    ranking = rankers.build("gold_first").rank_claim(a_claim(*gold_sets))
    assert ranking == rankers.Ranking.judged(order)


@pytest.mark.parametrize("gold_sets", [[], [()], [(9,), (0, 5)]])
def test_a_claim_without_a_reachable_set_is_refused(gold_sets):
    with pytest.raises(RankerError, match="claim 'c1' has no gold set among its candidates"):
        rankers.build("gold_first").rank_claim(a_claim(*gold_sets))


def test_texts_alone_are_refused():
    with pytest.raises(RankerError, match="gold_first needs the gold sets of the claim"):
        rankers.build("gold_first").rank("A claim.", ["one", "two"])


def test_top_k_of_it_selects_from_a_whole_claim():
    method = rankers.build("top_k", params={"base": "gold_first", "k": 2})
    assert method.select_claim(a_claim((3,), (1, 4))).selected == (0, 3)
    with pytest.raises(RankerError, match="needs the gold sets"):
        method.select("A claim.", ["one", "two"])


@needs_data
@pytest.mark.data
@pytest.mark.parametrize("name", ["wice", "wice_long", "fm2"])
def test_on_real_claims_every_reader_is_served_as_early_as_can_be(name):
    method = rankers.build("gold_first")
    scores = []
    for claim in read_claims(DATA / f"{name}_open.jsonl"):
        order = method.rank_claim(claim).order
        scores.append(score(order, claim.gold_sets, len(claim.candidates)))
    result = aggregate(scores)
    assert (result["mrr"]["mean"], result["sr"]["mean"], result["ndcg"]["mean"]) == (1, 1, 1)
    assert all(one.msr == one.imsr for one in scores)


@needs_data
@pytest.mark.data
def test_a_run_hands_it_whole_claims(tmp_path):
    report = run(
        rankers.build("gold_first"), DATA / "fm2_open.jsonl", tmp_path / "out.jsonl", limit=20
    )
    assert (report.written, report.failed) == (20, 0)
