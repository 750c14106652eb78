"""Embedders by name: what each answers, what it asks of a server, and what is wrong with it."""

from __future__ import annotations

import json
import random
import subprocess
import sys

import numpy as np
import pytest

import rankers
from rankers.cli import main
from rankers.embedders import OpenAIEmbedder, make_embedder, remote
from rankers.embedders.batches import batches
from rankers.embedders.remote import EmbeddingEndpoint
from rankers.endpoint import LLMSettings
from rankers.errors import (
    BadInput,
    MalformedReply,
    MissingDependency,
    PermanentError,
    SpendLimitReached,
    TransportError,
)
from rankers.llm import LLM
from rankers.spending import Spending
from rankers.store import FileStore, MemoryStore
from tests.llm_server import LLMServer, embedding, raw_body, status
from tests.rankers.claim_files import write

TEXTS = [f"sentence number {i}" for i in range(80)]

DEEP = [1]
for _ in range(300):
    DEEP = [DEEP]


@pytest.fixture
def server():
    with LLMServer() as running:
        yield running


def asking(server, store=None, **settings):
    """An embedder at ``server`` that notes its pauses instead of waiting."""
    pauses = []
    endpoint = EmbeddingEndpoint(
        server.base_url,
        "none",
        LLMSettings(**settings),
        sleep=pauses.append,
        rng=random.Random(1),
    )
    return OpenAIEmbedder("bag", endpoint, store), pauses


def expected(texts):
    return np.array([embedding(text) for text in texts])


def asked(server):
    return [len(body["input"]) for body in server.embedding_bodies]


# ---- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["glove", "openai", "openai:", "openai: ", "sentence-transformers:", "wordllama:256", ":"],
)
def test_an_unknown_name_lists_the_forms(name):
    with pytest.raises(BadInput) as caught:
        make_embedder(name)
    assert str(caught.value) == (
        f"unknown embedder {name!r}: there is wordllama, sentence-transformers:NAME (a model's "
        "name or folder) and openai:MODEL"
    )


def test_records_carry_the_whole_name(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:1/v1")
    for name in ("wordllama", "sentence-transformers:owner/model", "openai:text-embedding-3-small"):
        assert make_embedder(name).name == name
        method = rankers.build("similarity", embedder=name)
        assert rankers.result_name(method) == f"similarity/{name}"


def test_openai_without_a_key_is_refused_before_anything_is_asked(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(MissingDependency, match="set OPENAI_API_KEY"):
        make_embedder("openai:text-embedding-3-small")


def test_a_local_model_without_its_packages_says_what_to_install(monkeypatch):
    for package in ("torch", "sentence_transformers"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependency, match=r'pip install "\.\[local\]"'):
        make_embedder("sentence-transformers:absent/packages").embed(["a"])


@pytest.mark.parametrize("folder", ["/no/such", "./no/such", "~/no/such", "no/such/folder"])
def test_a_folder_that_is_not_there_is_named(folder):
    with pytest.raises(MissingDependency, match=f"{folder}'.*: there is no such folder"):
        make_embedder(f"sentence-transformers:{folder}").embed(["a"])


def test_building_every_method_loads_nothing_heavy():
    code = (
        "import json, sys, rankers\n"
        "for info in rankers.METHODS.values():\n"
        "    if 'model' not in info.needs: rankers.build(info.name)\n"
        "for name in ('sentence-transformers:a/b', 'openai:x'):\n"
        "    rankers.build('similarity', embedder=name)\n"
        "print(json.dumps(list(sys.modules)))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={"OPENAI_BASE_URL": "http://localhost:1/v1"},
        capture_output=True,
        text=True,
        check=True,
    )
    heavy = {"torch", "transformers", "sentence_transformers", "openai", "wordllama", "pandas"}
    assert set(json.loads(run.stdout)) & heavy == set()


# ---- batches -------------------------------------------------------------------------------------


def test_batches_are_bounded_by_number_and_by_padded_size():
    assert list(batches([], most=2, characters=9)) == []
    assert list(batches(["a"] * 5, most=2, characters=9)) == [[0, 1], [2, 3], [4]]
    texts = ["aaa", "b", "c", "d", "long one that is too long", "e"]
    assert list(batches(texts, most=9, characters=9)) == [[0, 1, 2], [3], [4], [5]]


# ---- a server's vectors --------------------------------------------------------------------------


def test_rows_come_in_the_order_asked_in_bounded_batches(server):
    embedder, _ = asking(server)
    vectors = embedder.embed([*TEXTS, TEXTS[3]])
    assert vectors.dtype == np.float64
    assert np.array_equal(vectors, expected([*TEXTS, TEXTS[3]]))
    assert asked(server) == [32, 32, 16]
    assert server.embedding_bodies[0] == {
        "model": "bag",
        "input": TEXTS[:32],
        "encoding_format": "float",
    }


def test_a_batch_is_bounded_by_its_size_too(server):
    embedder, _ = asking(server)
    embedder.embed([f"{i} " + "word " * 15_000 for i in range(5)])
    assert asked(server) == [2, 2, 1]


def test_the_index_of_an_answer_decides_where_its_vector_goes(server):
    items = [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [0.1, 0]}]
    server.embedding_script = [raw_body({"data": items})]
    embedder, _ = asking(server)
    assert embedder.embed(["a", "b"]).tolist() == [[0.1, 0], [0, 1]]


def test_blank_texts_are_not_sent_and_have_no_direction(server):
    embedder, _ = asking(server)
    vectors = embedder.embed(["", "tower", " \n"])
    assert np.array_equal(vectors, [np.zeros(64), embedding("tower"), np.zeros(64)])
    assert server.embedding_bodies[0]["input"] == ["tower"]
    assert embedder.embed(["", " "]).shape == (2, 0)
    assert embedder.embed([]).shape == (0, 0)
    assert asked(server) == [1]


def test_a_busy_server_is_asked_again_as_it_says(server):
    server.embedding_script = [status(429, retry_after="3"), status(500)]
    embedder, pauses = asking(server, backoff=0.5)
    assert np.array_equal(embedder.embed(["a b"]), expected(["a b"]))
    assert len(pauses) == 2
    assert 3 <= pauses[0] <= 3.5


def test_a_server_that_stays_busy_ends_in_a_transport_error(server):
    server.embedding_script = [status(503, "overloaded")] * 9
    embedder, _ = asking(server, tries=3)
    with pytest.raises(TransportError, match=r"after 3 tries .* 503 overloaded"):
        embedder.embed(["a"])
    assert asked(server) == [1, 1, 1]


def test_a_refusal_fails_at_once_with_the_servers_words(server):
    server.embedding_script = [status(404, "model bag does not exist")]
    embedder, pauses = asking(server)
    with pytest.raises(PermanentError, match="404: model bag does not exist"):
        embedder.embed(["a"])
    assert (asked(server), pauses) == ([1], [])


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"data": [{"index": 0, "embedding": [1]}]}, "asked for 2 embeddings and answered with 1"),
        ({"data": [{"index": 0, "embedding": [1]}] * 2}, "2 embeddings and answered with 1"),
        ({"choices": []}, "2 embeddings and answered with 0"),
        ({"data": [{"embedding": [1]}, {"embedding": "1"}]}, "no list of numbers"),
        ({"data": [{"embedding": [1]}, {"embedding": []}]}, "no list of numbers"),
        ({"data": [{"embedding": [1]}, {"embedding": None}]}, "no list of numbers"),
        ({"data": [{"embedding": [1]}, {"embedding": [[1]]}]}, "no list of numbers"),
        ({"data": [{"embedding": [1]}, {"embedding": [1, None]}]}, "no list of numbers"),
        ({"data": [{"embedding": [1], "index": []}] * 2}, "2 embeddings and answered with 0"),
        ({"data": [{"embedding": [1], "index": None}] * 2}, "2 embeddings and answered with 0"),
        ({"data": [{"embedding": [1]}, {"embedding": [10**400]}]}, "no list of numbers"),
        ({"data": [{"embedding": [1]}, {"embedding": [1e101]}]}, "no list of numbers"),
        ({"data": [{"embedding": [1]}, {"embedding": [-1e308]}]}, "no list of numbers"),
        ({"data": [{"embedding": [1]}, {"embedding": [float("nan")]}]}, "no list of numbers"),
        ({"data": [{"embedding": [1]}, {"embedding": [float("inf")]}]}, "no list of numbers"),
        ({"data": [{"embedding": [1]}, {"embedding": DEEP}]}, "no list of numbers"),
        ({"data": [{"embedding": [1]}, {"embedding": [1, 2]}]}, "vectors of 1 and 2 numbers"),
    ],
)
def test_an_answer_that_is_no_set_of_vectors_is_refused(server, answer, message):
    server.embedding_script = [raw_body(answer)]
    embedder, _ = asking(server)
    with pytest.raises(MalformedReply, match=message):
        embedder.embed(["a", "b"])


def test_no_text_is_asked_twice(server):
    embedder, _ = asking(server)
    embedder.embed(["a", "b", "a"])
    embedder.embed(["b", "c"])
    assert [body["input"] for body in server.embedding_bodies] == [["a", "b"], ["c"]]


def test_memory_is_bounded_and_forgets_the_oldest(server, monkeypatch):
    monkeypatch.setattr(remote, "_MOST_IN_MEMORY", 2)
    embedder, _ = asking(server)
    embedder.embed(["a", "b", "c"])
    embedder.embed(["b", "c"])
    embedder.embed(["a"])
    assert [body["input"] for body in server.embedding_bodies] == [["a", "b", "c"], ["a"]]


def test_what_was_paid_for_outlives_the_process_and_a_failure(server, tmp_path):
    server.embedding_script = [None, status(400, "quota")]
    embedder, _ = asking(server, FileStore(tmp_path / "answers"))
    with pytest.raises(PermanentError, match="quota"):
        embedder.embed(TEXTS)
    later, _ = asking(server, FileStore(tmp_path / "answers"))
    assert np.array_equal(later.embed(TEXTS), expected(TEXTS))
    assert asked(server) == [32, 32, 32, 16]
    again, _ = asking(server, FileStore(tmp_path / "answers"))
    assert np.array_equal(again.embed(TEXTS), expected(TEXTS))
    assert len(server.embedding_bodies) == 4


def test_what_an_embedder_asks_counts_and_is_limited(server, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    spending = Spending(max_calls=2)
    with pytest.raises(SpendLimitReached, match="limit of 2 calls"):
        make_embedder("openai:bag", spending=spending).embed(TEXTS)
    assert asked(server) == [32, 32]
    assert (spending.calls, spending.tokens, spending.estimated) == (2, 3 * 64, 0)


def test_a_refused_request_for_vectors_costs_nothing_and_unknown_tokens_are_estimated(server):
    item = {"index": 0, "embedding": [1]}
    server.embedding_script = [status(400, "no"), raw_body({"data": [item], "usage": [1]})]
    embedder, _ = asking(server)
    spending = embedder._endpoint.spending
    with pytest.raises(PermanentError, match="no"):
        embedder.embed(["abc"])
    assert (spending.calls, spending.tokens) == (0, 0)
    embedder.embed(["abc"])
    assert (spending.calls, spending.tokens, spending.estimated) == (1, 3, 1)


def test_a_methods_embedder_spends_from_what_it_is_given_or_else_as_its_llm(server, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    llm = LLM("m", base_url=server.base_url, spending=Spending())
    own = Spending()
    for spending in (None, own):
        ranker = rankers.build("similarity", embedder="openai:bag", llm=llm, spending=spending)
        ranker.rank(CLAIM, SENTENCES)
    assert (llm.spending.calls, own.calls) == (1, 1)
    assert own.tokens == llm.spending.tokens > 0


def test_answers_are_kept_by_model(server):
    store = MemoryStore()
    first, _ = asking(server, store)
    first.embed(["a"])
    OpenAIEmbedder("other", EmbeddingEndpoint(server.base_url, "none"), store).embed(["a"])
    assert [body["model"] for body in server.embedding_bodies] == ["bag", "other"]


CLAIM = "anna kern built the lisbon bridge"
SENTENCES = ["weather is fine today here", "anna kern built bridge", "lisbon", "kern anna"]


def test_rankers_work_on_a_servers_vectors(server, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    vectors = expected([CLAIM, *SENTENCES])
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = units[1:] @ units[0]
    ranking = rankers.build("similarity", embedder="openai:bag").rank(CLAIM, SENTENCES)
    assert ranking.order == tuple(np.argsort(-cosines, kind="stable"))
    assert ranking.scores == pytest.approx(sorted(cosines, reverse=True))
    cover = rankers.build("coverage", embedder="openai:bag").rank(CLAIM, SENTENCES)
    assert cover.order[:2] == (1, 2)


def test_coverage_sends_its_words_in_batches(server, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    candidates = [f"word{i} thing{i} place{i}" for i in range(30)]
    rankers.build("coverage", embedder="openai:bag").rank("word3 and thing4", candidates)
    assert max(asked(server)) == 32
    # The claim's two words are among them; two sentences tell whether it reads word order.
    assert sum(asked(server)) == 92


def test_the_command_line_keeps_a_servers_vectors_beside_its_output(
    server, monkeypatch, tmp_path, capsys
):
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    claims = write(tmp_path / "claims.jsonl", {"claim": CLAIM, "candidates": SENTENCES})
    out = tmp_path / "out.jsonl"
    command = ["rank", str(claims), "--method", "similarity", "--embedder", "openai:bag"]
    assert main([*command, "-o", str(out)]) == 0
    assert asked(server) == [5]
    first = json.loads(out.read_text())
    out.unlink()
    assert main([*command, "-o", str(out)]) == 0
    assert asked(server) == [5]
    assert json.loads(out.read_text())["order"] == first["order"]
    assert first["model"] == "openai:bag"
    capsys.readouterr()


def test_a_refused_embedder_leaves_no_file(monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    claims = write(tmp_path / "claims.jsonl", {"claim": CLAIM, "candidates": SENTENCES})
    for name in ("openai:bag", "glove"):
        command = ["rank", str(claims), "--method", "similarity", "--embedder", name]
        assert main([*command, "-o", str(tmp_path / "out.jsonl")]) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["claims.jsonl"]
    assert "OPENAI_API_KEY" in capsys.readouterr().err
