"""The NLI methods with a scorer of known numbers; every order is worked out by hand."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import rankers
from rankers.cross_encoder import DEFAULT_MODEL
from rankers.errors import BadInput, MissingDependency
from rankers.nli import NLI, IncrementalNLI, NLIScorer
from rankers.values import JUDGED, SEED, Ranking

CLAIM = "the claim"


class Planted(NLIScorer):
    """Known probabilities by premise; remembers each call."""

    name = "planted"

    def __init__(self, table):
        self.table = table
        self.calls = []

    def score(self, pairs):
        assert {claim for _, claim in pairs} == {CLAIM}
        self.calls.append([premise for premise, _ in pairs])
        return np.array([self.table[premise] for premise, _ in pairs])


def p(contradiction, entailment):
    return (contradiction, entailment, 1 - contradiction - entailment)


#: Entailment: b, a first; contradiction: d, c first.
ALONE = {"a": p(0.1, 0.5), "b": p(0.2, 0.6), "c": p(0.7, 0.1), "d": p(0.8, 0.05)}
CANDIDATES = ["a", "b", "c", "d"]
REFUTED = {"b a d c": p(0.5, 0.3), "d c b a": p(0.3, 0.4)}  # means .40 and .35
SUPPORTED = {"b a d c": p(0.5, 0.3), "d c b a": p(0.1, 0.4)}  # means .30 and .35


def test_one_shot_orders_by_the_label_that_the_strongest_sentences_speak_for():
    scorer = Planted(ALONE | REFUTED)
    assert NLI(scorer).rank(CLAIM, CANDIDATES) == Ranking.judged((3, 2, 1, 0), (0.8, 0.7, 0.2, 0.1))
    assert scorer.calls == [["a", "b", "c", "d"], ["b a d c", "d c b a"]]
    assert NLI(Planted(ALONE | SUPPORTED)).rank(CLAIM, CANDIDATES) == Ranking.judged(
        (1, 0, 2, 3), (0.6, 0.5, 0.1, 0.05)
    )


def test_a_tie_of_the_labels_is_entailment():
    table = ALONE | {"b a d c": p(0.25, 0.5), "d c b a": p(0.5, 0.25)}
    assert NLI(Planted(table)).rank(CLAIM, CANDIDATES).order == (1, 0, 2, 3)


def test_top_says_how_many_sentences_decide():
    scorer = Planted(ALONE | {"b d": p(0.1, 0.2), "d b": p(0.1, 0.2)})
    NLI(scorer, top=1).rank(CLAIM, CANDIDATES)
    assert scorer.calls[1] == ["b d", "d b"]


def test_a_sentence_among_the_strongest_for_both_labels_is_joined_once():
    # Entailment: a, b; contradiction: b, c. Both lists hold b.
    table = {"a": p(0.0, 0.9), "b": p(0.4, 0.5), "c": p(0.3, 0.1)}
    scorer = Planted(table | {"a b c": p(0.1, 0.8), "b c a": p(0.1, 0.8)})
    assert NLI(scorer).rank(CLAIM, ["a", "b", "c"]).order == (0, 1, 2)
    assert scorer.calls[1] == ["a b c", "b c a"]


def test_equal_probabilities_and_copies_keep_reading_order():
    # Entailment: z, then the first y; contradiction: the first y, then x.
    table = {"x": p(0.1, 0.5), "y": p(0.1, 0.5), "z": p(0.1, 0.7)}
    scorer = Planted(table | {"z y x": p(0, 1), "y x z": p(0, 1)})
    assert NLI(scorer).rank(CLAIM, ["y", "x", "z", "y"]).order == (2, 0, 1, 3)
    assert scorer.calls[0] == ["y", "x", "z"]


def test_incremental_looks_at_the_chosen_sentences_in_rank_order():
    # Refuted: d first (.8). With d, "a" tells most; with both, "b" and then "c".
    steps = {"d c": p(0.5, 0), "d b": p(0.6, 0), "d a": p(0.9, 0)}
    steps |= {"d a c": p(0.2, 0), "d a b": p(0.3, 0), "d a b c": p(0.4, 0)}
    scorer = Planted(ALONE | REFUTED | steps)
    ranking = IncrementalNLI(scorer, depth=0).rank(CLAIM, CANDIDATES)
    assert ranking == Ranking.judged((3, 0, 1, 2), (0.8, 0.9, 0.3, 0.4))
    assert scorer.calls[2:] == [["d c", "d b", "d a"], ["d a c", "d a b"], ["d a b c"]]


def test_the_label_is_fixed_once():
    # Every joined text entails the claim strongly; the order still follows contradiction.
    steps = {"d c": p(0.02, 0.9), "d b": p(0.04, 0.9), "d a": p(0.03, 0.95)}
    ranking = IncrementalNLI(Planted(ALONE | REFUTED | steps), depth=2).rank(CLAIM, CANDIDATES)
    assert ranking.order[:2] == (3, 1)


def test_beyond_depth_comes_the_one_shot_order_as_seed():
    steps = {"d c": p(0.1, 0), "d b": p(0.1, 0), "d a": p(0.2, 0)}
    ranking = IncrementalNLI(Planted(ALONE | REFUTED | steps), depth=2).rank(CLAIM, CANDIDATES)
    assert ranking == Ranking((3, 0, 2, 1), (JUDGED, JUDGED, SEED, SEED), (0.8, 0.2, 0.7, 0.2))
    alone = IncrementalNLI(Planted(ALONE | REFUTED), depth=1).rank(CLAIM, CANDIDATES)
    assert (alone.order, alone.origins) == ((3, 2, 1, 0), (JUDGED, SEED, SEED, SEED))


def test_ties_of_a_step_go_to_the_one_shot_order_and_then_to_reading_order():
    table = {"a": p(0.1, 0.2), "b": p(0.1, 0.3), "c": p(0.1, 0.9), "d": p(0.1, 0.3)}
    label = {"c b a": p(0, 1), "a b c": p(0, 1)}
    steps = {f"c {x}": p(0, 0.5) for x in "abd"} | {f"c b {x}": p(0, 0.5) for x in "ad"}
    scorer = Planted(table | label | steps | {"c b d a": p(0, 0.5)})
    assert IncrementalNLI(scorer).rank(CLAIM, CANDIDATES).order == (2, 1, 3, 0)


class Consistent(NLIScorer):
    """Numbers drawn at random, the same for the same premise."""

    name = "consistent"

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.table = {}

    def of(self, *sentences):
        return self.table.setdefault(" ".join(sentences), self.rng.dirichlet((1, 1, 1)))

    def score(self, pairs):
        return np.array([self.of(premise) for premise, _ in pairs])


def defined_order(scorer, sentences):
    """The definition in plain steps, for sentences that differ."""
    proving, refuting = (
        sorted(sentences, key=lambda s: -scorer.of(s)[label])[:2] for label in (1, 0)
    )
    joined = [list(dict.fromkeys(both)) for both in (proving + refuting, refuting + proving)]
    contradiction, entailment, _ = (scorer.of(*joined[0]) + scorer.of(*joined[1])) / 2
    label = 1 if entailment >= contradiction else 0
    chosen = []
    while len(chosen) < len(sentences):
        left = [s for s in sentences if s not in chosen]
        chosen.append(max(left, key=lambda s: scorer.of(*chosen, s)[label]))
    return tuple(sentences.index(s) for s in chosen)


@pytest.mark.parametrize("seed", range(6))
def test_incremental_equals_the_definition_on_random_numbers(seed):
    scorer = Consistent(seed)
    sentences = [f"s{i}" for i in range(9)]
    order = IncrementalNLI(scorer, depth=0).rank(CLAIM, sentences).order
    assert order == defined_order(scorer, sentences)


@pytest.mark.parametrize("name", ["nli", "incremental_nli"])
def test_nothing_or_one_sentence_needs_no_model(name):
    method = rankers.build(name, model="./no/such/folder")
    assert method.rank(CLAIM, []) == Ranking.judged(())
    assert method.rank(CLAIM, ["one"]) == Ranking.judged((0,))


def test_the_model_is_the_papers_unless_named_and_is_recorded():
    assert rankers.build("nli").model == DEFAULT_MODEL
    assert rankers.result_name(rankers.build("incremental_nli", model="some/model")) == (
        "incremental_nli/some/model"
    )
    assert rankers.unused_options("nli", "some/model", "wordllama") == [
        "--embedder wordllama is not used by nli and is ignored"
    ]


def test_parameters_below_their_bounds_are_refused():
    for params in ({"top": 0}, {"depth": -1}):
        with pytest.raises(BadInput, match=next(iter(params))):
            IncrementalNLI(Planted({}), **params)
        with pytest.raises(BadInput, match=next(iter(params))):
            rankers.build("incremental_nli", params=params)


def test_without_the_packages_it_says_what_to_install(monkeypatch):
    for package in ("torch", "transformers"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependency, match=r'pip install "\.\[local\]"'):
        rankers.build("nli", model="absent/packages").rank(CLAIM, ["a", "b"])


def test_a_folder_that_is_not_there_is_named():
    with pytest.raises(MissingDependency, match=r"'/no/such/model' .* there is no such folder"):
        rankers.build("nli", model="/no/such/model").rank(CLAIM, ["a", "b"])
