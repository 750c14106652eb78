"""The offline methods on small claims whose right order is plain to see."""

from __future__ import annotations

import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankers
from rankers.base import Ranker
from rankers.bm25 import BM25
from rankers.coverage import Coverage
from rankers.embedders import Embedder, WordLlamaEmbedder, make_embedder
from rankers.errors import BadInput
from rankers.fixed import Random
from rankers.similarity import IncrementalSimilarity, Similarity
from rankers.top_k import TopK
from rankers.values import FALLBACK, JUDGED, Ranking, Usage

OFFLINE = ["document_order", "random", "bm25", "similarity", "incremental_similarity", "coverage"]


class Planted(Embedder):
    """Vectors by text, so that cosines can be worked out by hand."""

    name = "planted"

    def __init__(self, vectors):
        self.vectors = vectors

    def embed(self, texts):
        return np.array([self.vectors[text] for text in texts], dtype=float)


@pytest.mark.parametrize("name", OFFLINE)
@pytest.mark.parametrize(
    ("claim", "candidates"),
    [
        ("A claim.", []),
        ("A claim.", ["one sentence"]),
        ("The of and.", ["the", "of", "the"]),
        ("!!! ???", ["…", "---", "!"]),
        ("東京タワーは1958年に開業した。", ["京都の寺。", "東京タワーは赤い。", "1958年に開業。"]),
        ("برج إيفل في باريس", ["باريس مدينة", "برج", ""]),
    ],
)
def test_every_ranker_gives_a_permutation(name, claim, candidates):
    ranking = rankers.build(name).rank(claim, candidates)
    assert sorted(ranking.order) == list(range(len(candidates)))
    assert ranking.status == "complete"


@pytest.mark.parametrize("name", OFFLINE)
@settings(max_examples=25, deadline=None)
@given(claim=st.text(max_size=60), candidates=st.lists(st.text(max_size=40), max_size=8))
def test_any_text_is_ranked_and_twice_alike(name, claim, candidates):
    method = rankers.build(name)
    first = method.rank(claim, candidates)
    assert sorted(first.order) == list(range(len(candidates)))
    assert method.rank(claim, candidates) == first


@pytest.mark.parametrize("name", ["bm25", "similarity", "coverage"])
def test_copies_of_a_sentence_keep_their_order(name):
    candidates = ["The tower opened in 1889.", "Nothing.", *["The tower opened in 1889."] * 40]
    order = rankers.build(name).rank("The tower opened in 1889.", candidates).order
    copies = [position for position in order if position != 1]
    assert copies == sorted(copies)


def test_random_differs_by_claim_and_seed_and_is_equal_in_every_process():
    candidates = [str(i) for i in range(12)]
    order = Random(seed=0).rank("a", candidates).order
    assert order != Random(seed=0).rank("b", candidates).order
    assert order != Random(seed=1).rank("a", candidates).order
    code = (
        "from rankers.fixed import Random;"
        "print(Random(seed=0).rank('a', [str(i) for i in range(12)]).order)"
    )
    for hash_seed in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert run.stdout.strip() == str(order)


def test_bm25_by_hand():
    # n = 2, "tower" in one candidate of two: idf ln(1 + 1.5/1.5); lengths 2 and 4, mean 3.
    scores = BM25().scores("Tower, tower!", ["a tower", "no such thing here"])
    tf_part = 1 * 2.5 / (1 + 1.5 * (0.25 + 0.75 * 2 / 3))
    assert scores == [pytest.approx(2 * math.log(2) * tf_part, abs=1e-12), 0.0]


def test_similarity_is_the_cosine_and_an_empty_vector_scores_zero():
    embedder = Planted({"c": [1, 0], "far": [-3, 0], "near": [5, 5], "none": [0, 0]})
    ranking = Similarity(embedder).rank("c", ["far", "none", "near"])
    assert ranking.order == (2, 1, 0)
    assert ranking.scores == pytest.approx((math.sqrt(0.5), 0.0, -1.0))


def test_incremental_similarity_looks_at_the_sum():
    # "up" is nearest alone; with it, "down" brings the sum back to the claim, "up2" does not.
    embedder = Planted({"c": [1, 0], "up": [1, 0.9], "up2": [1, 1], "down": [1, -1.2]})
    assert Similarity(embedder).rank("c", ["up2", "down", "up"]).order == (2, 0, 1)
    ranking = IncrementalSimilarity(embedder).rank("c", ["up2", "down", "up"])
    assert ranking.order == (2, 1, 0)
    expected = [
        1 / math.hypot(1, 0.9),
        2 / math.hypot(2, -0.3),
        3 / math.hypot(3, 0.7),
    ]
    assert ranking.scores == pytest.approx(expected)


def test_incremental_similarity_equals_the_definition_on_random_vectors():
    rng = np.random.default_rng(5)
    vectors = {str(i): rng.normal(size=7) for i in range(30)} | {"c": rng.normal(size=7)}
    texts = [str(i) for i in range(30)]
    chosen: list[int] = []
    while len(chosen) < 30:
        best, best_score = -1, -2.0
        for i in range(30):
            if i not in chosen:
                mean = np.mean([vectors[str(j)] for j in [*chosen, i]], axis=0)
                c = vectors["c"]
                cosine = float(mean @ c / np.linalg.norm(mean) / np.linalg.norm(c))
                if cosine > best_score:
                    best, best_score = i, cosine
        chosen.append(best)
    assert IncrementalSimilarity(Planted(vectors)).rank("c", texts).order == tuple(chosen)


@pytest.mark.parametrize("name", ["coverage_selection", "top_k"])
def test_selecting_from_nothing_is_an_error(name):
    with pytest.raises(ValueError, match="no candidates"):
        rankers.build(name).select("A claim.", [])


class Failing(Ranker):
    """A ranking whose tail is a fallback, as an LLM method leaves it."""

    name = "failing"

    def rank(self, claim, candidates):
        return Ranking((2, 0, 1), (JUDGED, FALLBACK, FALLBACK), usage=Usage(calls=4))


def test_top_k_is_ascending_and_says_when_it_holds_a_fallback():
    first, second = (TopK(Failing(), k=k).select("c", ["a", "b", "c"]) for k in (1, 2))
    assert (first.selected, first.status) == ((2,), "complete")
    assert (second.selected, second.status) == ((0, 2), "fallback")
    assert second.usage.calls == 4


def test_top_k_of_fewer_candidates_takes_them_all():
    assert rankers.build("top_k", params={"k": "9"}).select("c", ["a", "b"]).selected == (0, 1)


def test_wordllama_averages_its_word_vectors_and_leaves_empty_text_zero():
    embedder = WordLlamaEmbedder()
    both, one, two, none = embedder.embed(["cat dog", "cat", " dog", ""])
    assert both.dtype == np.float64
    assert not none.any()
    assert both.shape == (256,)
    assert np.linalg.norm(both - (one + two) / 2) < np.linalg.norm(one - two)


def test_a_very_long_sentence_does_not_change_the_vectors_of_others():
    embedder = WordLlamaEmbedder()
    texts = [f"sentence number {i}" for i in range(70)]
    alone = embedder.embed(texts)
    mixed = embedder.embed([*texts[:35], "long " * 40_000, *texts[35:]])
    assert np.allclose(np.delete(mixed, 35, axis=0), alone, atol=1e-6)


def test_an_unknown_embedder_names_those_there_are():
    with pytest.raises(
        BadInput, match=r"there is wordllama, sentence-transformers:NAME .* openai:"
    ):
        make_embedder("glove:x")


def test_threads_get_the_same_rankings():
    candidates = ["The tower is tall.", "It opened in 1889.", "Paris is large.", "A tower."]
    method = Coverage()
    claims = [f"The tower {i} opened in {1880 + i}." for i in range(20)]
    alone = [method.rank(claim, candidates) for claim in claims]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda claim: method.rank(claim, candidates), claims)) == alone
