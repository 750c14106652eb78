"""Coverage on small claims: what covers what, in which order, and what is selected."""

from __future__ import annotations

import numpy as np
import pytest

import rankers
from rankers.cover import Cover
from rankers.cover_settings import CoverSettings
from rankers.coverage import Coverage, CoverageSelection
from rankers.embedders import Embedder, WordLlamaEmbedder
from rankers.errors import BadInput
from rankers.greedy import greedy_order
from rankers.reading_order import is_document
from rankers.similar_words import similarities
from rankers.word_order import ignores_word_order

PLAIN = CoverSettings(weight=0, repeat=0, numbers=1, nearby=0, sentence=0)


class Reader(Embedder):
    """Planted vectors in three dimensions; every other text has a direction of its own."""

    name = "reader"

    def __init__(self, vectors):
        self.vectors = {text: [*vector, *[0.0] * 47] for text, vector in vectors.items()}
        self.asked = []

    def embed(self, texts):
        self.asked += texts
        for text in texts:
            self.vectors.setdefault(text, np.eye(50)[3 + len(self.vectors)])
        return np.array([self.vectors[text] for text in texts])


def flat_cover(parts, weights, *, is_document=False, claim=(), sentences=None):
    parts = np.array(parts, dtype=float)
    rows = np.zeros((len(parts), 0)) if sentences is None else np.array(sentences, dtype=float)
    return Cover(
        parts, np.array(weights, dtype=float), is_document, np.array(claim, dtype=float), rows
    )


def test_what_adds_comes_before_what_repeats():
    claim = "The bridge was built by Anna Kern in Lisbon in 1921."
    candidates = [
        "The bridge was built by Anna Kern.",
        "Anna Kern built the bridge.",
        "Work in Lisbon ended in 1921.",
        "Weather is fine.",
    ]
    order = Coverage().rank(claim, candidates).order
    assert set(order[:2]) == {0, 2}
    assert order[3] == 3


def test_stems_cover_wholly_and_similar_words_in_part():
    candidates = ["She operates.", "A doctor came.", "A red car.", "It rained in spring."]
    cover = Coverage().cover("Physicians operated.", candidates)
    assert cover.parts[0, 1] == 1.0
    assert 0.1 < cover.parts[1, 0] < 0.7
    assert cover.parts[1, 0] > cover.parts[[0, 2, 3], 0].max() + 0.1


def test_without_weight_only_words_cover():
    cover = Coverage(weight=0).cover("Physicians operated.", ["A doctor.", "He operated."])
    assert cover.parts.tolist() == [[0.0, 0.0], [0.0, 1.0]]


def test_a_sentence_that_holds_the_claim_makes_similar_words_count_less():
    others = ["The doctor came.", "A red car.", "It rained in spring."]
    without = Coverage().cover("Physicians operated.", [*others, "Nothing."])
    with_all = Coverage().cover("Physicians operated.", [*others, "Physicians operated."])
    assert 0 <= with_all.parts[0, 0] < without.parts[0, 0]


def test_a_number_weighs_more_than_a_word_as_rare():
    cover = Coverage(numbers=3).cover("Opened 1921.", ["Opened.", "In 1921.", "No."])
    assert cover.weights[1] == pytest.approx(3 * cover.weights[0])
    assert Coverage().rank("Opened 1921.", ["Opened.", "In 1921.", "No."]).order[0] == 1


def test_similarity_has_one_scale_whatever_the_embedder_makes_of_unrelated_words():
    base, terms = np.eye(8), ["king"]
    words = dict(zip(["king", "queen", "car", "sun", "tree"], base, strict=False))
    words["queen"] = base[0] + base[1]

    class Shifted(Embedder):
        name = "shifted"

        def __init__(self, common):
            self.common = common

        def embed(self, texts):
            rows = np.array([words[text] for text in texts])
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
            return np.hstack([rows, np.full((len(rows), 1), self.common)])

    tokens = [["queen", "car"], ["sun", "tree"], ["king"], []]
    plain, shifted = (similarities(terms, tokens, Shifted(common)) for common in (0.0, 1.0))
    assert plain[:, 0].tolist() == pytest.approx([np.sqrt(0.5), 0, 1, 0])
    assert shifted == pytest.approx(plain)


def test_another_round_starts_when_nothing_adds():
    cover = flat_cover([[1, 0], [1, 1], [0, 1], [0, 0]], [1, 1])
    assert greedy_order(cover, PLAIN) == ([1, 0, 2, 3], [2.0, 1.0, 1.0, 0.0])


def test_covered_words_count_again_with_the_share_repeat():
    cover = flat_cover([[1, 1, 0], [1, 1, 0], [0, 0, 1]], [2, 2, 1])
    assert greedy_order(cover, PLAIN)[0] == [0, 2, 1]
    settings = CoverSettings(repeat=0.5, nearby=0, sentence=0)
    assert greedy_order(cover, settings) == ([0, 1, 2], [6.0, 2.0, 1.5])


def test_a_neighbour_of_a_chosen_sentence_has_a_bonus_in_a_document_only():
    parts = [[0, 0, 1.1], [0, 0, 0], [0, 1, 0], [1, 0, 0]]
    settings = CoverSettings(repeat=0, nearby=0.4, sentence=0)
    assert greedy_order(flat_cover(parts, [2, 1, 1]), settings)[0] == [3, 0, 2, 1]
    order, gains = greedy_order(flat_cover(parts, [2, 1, 1], is_document=True), settings)
    assert (order, gains) == ([3, 2, 0, 1], [2.0, 1.4, 1.1, 0.0])


def test_a_sentence_counts_by_what_the_chosen_ones_leave_of_the_claim():
    cover = flat_cover(
        np.zeros((4, 1)),
        [1],
        claim=[0.8, 0.6, 0],
        sentences=[[0, 1, 0], [1, 0, 0], [1, 0, 0], [-1, 0, 0]],
    )
    settings = CoverSettings(repeat=0, nearby=0, sentence=10)
    assert greedy_order(cover, settings) == ([1, 0, 2, 3], [8.0, 6.0, 0.0, 0.0])


def test_the_order_of_words_tells_sentence_models_from_means_of_word_vectors():
    assert ignores_word_order(WordLlamaEmbedder())
    assert not ignores_word_order(Reader({}))


def test_an_embedder_of_words_is_not_asked_for_sentences():
    class Counting(WordLlamaEmbedder):
        asked: list[str] = []

        def embed(self, texts):
            self.asked.extend(texts)
            return super().embed(texts)

    embedder = Counting()
    Coverage(embedder).rank("The red tower fell.", ["A tower stood here.", "It fell."])
    assert "The red tower fell." not in embedder.asked


def test_a_sentence_model_orders_what_no_word_can():
    claim, near, far = "Dogs bark.", "Hounds howl.", "Ships sail."
    embedder = Reader({claim: [1, 0, 0], near: [0.9, 0.1, 0], far: [0, 1, 0]})
    assert Coverage(embedder, weight=0).rank(claim, [far, near]).order == (1, 0)
    assert Coverage(embedder, weight=0, sentence=0).rank(claim, [far, near]).order == (0, 1)


def test_copies_share_one_vector_and_keep_their_order():
    claim, copy = "Dogs bark.", "Hounds howl."
    embedder = Reader({claim: [1, 0, 0], copy: [0.9, 0.1, 0]})
    order = Coverage(embedder).rank(claim, ["Nothing.", *[copy] * 5]).order
    assert [position for position in order if position] == [1, 2, 3, 4, 5]
    assert embedder.asked.count(copy) == 1


def test_neighbours_that_share_words_make_a_document_and_a_shuffle_does_not():
    topics = [f"t{i} u{i} v{i}" for i in range(8)]
    document = [set(f"{topic} {i}".split()) for topic in topics for i in range(3)]
    shuffled = [
        document[i] for half in (range(0, 24, 3), range(1, 24, 3), range(2, 24, 3)) for i in half
    ]
    assert is_document(document)
    assert not is_document(shuffled)


@pytest.mark.parametrize(
    "stems",
    [[], [{"a"}], [set()] * 20, [{"a"}] * 20, [{"the"}, {"of"}] * 10, [{"a", "b"}, {"b"}, {"c"}]],
)
def test_too_little_to_tell_makes_no_document(stems):
    assert not is_document(stems)


def test_a_long_list_is_ranked_whole():
    rng = np.random.default_rng(3)
    vocabulary = [f"word{i} part" for i in range(400)]
    candidates = [" ".join(rng.choice(vocabulary, 12)) for _ in range(1200)]
    ranking = Coverage().rank(" ".join(vocabulary[:25]), candidates)
    assert sorted(ranking.order) == list(range(1200))
    assert ranking.scores is not None
    assert min(ranking.scores) >= 0


def test_all_settings_are_parameters_with_the_same_defaults():
    shown = rankers.build("coverage").params
    assert shown == Coverage().params
    assert rankers.build("coverage_selection").params == {"share": 0.8, **shown}
    assert list(shown) == ["strictness", "weight", "repeat", "numbers", "nearby", "sentence"]


@pytest.mark.parametrize(("name", "value"), [("strictness", 1), ("weight", 1.1), ("nearby", -1)])
def test_a_setting_out_of_bounds_is_refused(name, value):
    with pytest.raises(BadInput, match=f"parameter {name} must be a number"):
        rankers.build("coverage", params={name: value})


def test_the_selection_stops_when_the_share_is_reached():
    claim = "Anna Kern built the Lisbon bridge in 1921."
    candidates = ["Weather.", "Anna Kern built it.", "The Lisbon bridge.", "In 1921.", "Anna."]
    selected = [
        set(CoverageSelection(share=share, weight=0).select(claim, candidates).selected)
        for share in (0.0, 0.6, 1.0)
    ]
    assert len(selected[0]) == 1
    assert selected[0] < selected[1] <= selected[2]
    assert selected[2] == {1, 2, 3}


def test_the_selection_of_a_claim_with_nothing_to_cover_is_one_sentence():
    assert CoverageSelection().select("???", ["!", "…"]).selected == (0,)
