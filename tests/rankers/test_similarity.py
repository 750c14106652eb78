"""The two embedding rankers on planted vectors: order, ties, rounding and long lists."""

from __future__ import annotations

import numpy as np
import pytest

from bench.similarity import paper_order
from rankers import similarity
from rankers.embedders import Embedder
from rankers.similarity import IncrementalSimilarity, Similarity

BOTH = pytest.mark.parametrize("kind", [Similarity, IncrementalSimilarity])


class Planted(Embedder):
    """Row k + 1 is the vector of the k-th distinct text, row 0 that of the claim."""

    name = "planted"

    def __init__(self, vectors):
        self.vectors = np.array(vectors, dtype=float)

    def embed(self, texts):
        assert len(texts) == len(self.vectors)
        return self.vectors


class Refusing(Embedder):
    """An embedder that is not to be asked."""

    name = "refusing"

    def embed(self, texts):
        raise AssertionError("asked for vectors")


def ranked(kind, vectors):
    """The ranking of candidates with different texts."""
    return kind(Planted(vectors)).rank("claim", [f"text {k}" for k in range(len(vectors) - 1)])


def random_vectors(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n + 1, d))


@pytest.mark.parametrize("seed", range(5))
def test_incremental_order_is_that_of_the_papers_algorithm(seed):
    vectors = random_vectors(40, 64, seed)
    assert list(ranked(IncrementalSimilarity, vectors).order) == paper_order(Planted(vectors))


def test_scores_do_not_drift_over_a_long_list():
    vectors = random_vectors(600, 32)
    ranking = ranked(IncrementalSimilarity, vectors)
    sums = np.cumsum(vectors[1:][list(ranking.order)], axis=0)
    expected = sums @ vectors[0] / np.linalg.norm(sums, axis=1) / np.linalg.norm(vectors[0])
    assert np.allclose(ranking.scores, expected, rtol=0, atol=1e-12)


def test_a_list_too_long_for_all_products_has_the_same_order(monkeypatch):
    vectors = random_vectors(50, 16)
    kept = ranked(IncrementalSimilarity, vectors)
    monkeypatch.setattr(similarity, "MOST_PRODUCTS_KEPT", 49)
    computed = ranked(IncrementalSimilarity, vectors)
    assert computed.order == kept.order
    assert computed.scores == pytest.approx(kept.scores, abs=1e-12)


@BOTH
def test_equal_vectors_of_different_texts_tie_to_the_lower_position(kind):
    # Many rows, so that the products of equal ones are computed in different places.
    vectors = random_vectors(203, 1001)
    copies = [3, 64, 129, 200, 202]
    vectors[[k + 1 for k in copies]] = vectors[0] + 0.1 * vectors[1]
    ranking = ranked(kind, vectors)
    assert [k for k in ranking.order if k in copies] == copies
    if kind is Similarity:
        assert ranking.order[: len(copies)] == tuple(copies)
        assert len(set(ranking.scores[: len(copies)])) == 1


def test_copies_of_a_text_follow_each_other_where_each_is_the_best():
    embedder = Planted([[1, 0], [1, 1], [1, 0]])
    ranking = IncrementalSimilarity(embedder).rank("claim", ["side", "same", "side", "same"])
    assert ranking.order == (1, 3, 0, 2)


def test_a_sum_that_all_but_vanishes_keeps_its_direction():
    # Products alone say |a + b|^2 = 0; the sum is (0, 2e-9), which points at the claim.
    a, b, opposite = [1, 1e-9], [-1, 1e-9], [-1, -1e-9]
    ranking = ranked(IncrementalSimilarity, [[0, 1], a, opposite, b])
    assert ranking.order == (0, 2, 1)
    assert ranking.scores == pytest.approx((1e-9, 1.0, 1e-9))


def test_a_sum_that_vanishes_scores_zero():
    ranking = ranked(IncrementalSimilarity, [[1, 0], [1, 0], [-1, 0]])
    assert ranking.order == (0, 1)
    assert ranking.scores == (1.0, 0.0)


@BOTH
def test_a_claim_without_a_vector_leaves_the_reading_order(kind):
    ranking = ranked(kind, [[0, 0], [1, 0], [0, 1], [0, 0]])
    assert ranking.order == (0, 1, 2)
    assert ranking.scores == (0.0, 0.0, 0.0)


def test_a_zero_vector_changes_nothing_for_the_others():
    ranking = ranked(IncrementalSimilarity, [[1, 0], [0, 0], [1, 1], [1, -1]])
    assert ranking.order == (1, 2, 0)
    assert ranking.scores == pytest.approx((0.5**0.5, 1.0, 1.0))


@BOTH
@pytest.mark.parametrize("n", [0, 1])
def test_fewer_than_two_candidates_need_no_vectors(kind, n):
    assert kind(Refusing()).rank("claim", ["a text"][:n]).order == tuple(range(n))


@BOTH
def test_candidates_that_all_point_away_are_ranked(kind):
    ranking = ranked(kind, [[1, 0], [-1, 0], [-2, 0]])
    assert ranking.order == (0, 1)
    assert ranking.scores == (-1.0, -1.0)
