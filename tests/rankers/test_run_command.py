"""``rank`` and ``select`` with an LLM from the command line: limits, stores, dry runs."""

from __future__ import annotations

import json
import re

import pytest

from rankers.cli import main
from tests.llm_server import MODEL, LLMServer
from tests.rankers.claim_files import write

DRY_RUN = ("--method", "incremental_llm", "--dry-run")


@pytest.fixture
def claims(tmp_path):
    rows = ({"id": f"c{i}", "claim": f"Claim number {i}"} for i in range(4))
    return str(write(tmp_path / "c.jsonl", *rows))


@pytest.fixture
def server(monkeypatch):
    with LLMServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_MODEL", MODEL)
        yield server


def rank(claims, out, *more):
    return main(["rank", claims, "--method", "incremental_llm", "-o", str(out), *more])


def ids(path):
    return [json.loads(line)["id"] for line in path.read_text().splitlines()]


def test_a_limit_on_calls_is_exact_and_a_higher_one_goes_on(claims, server, tmp_path, capsys):
    out = tmp_path / "out.jsonl"
    assert rank(claims, out, "--max-calls", "5") == 1
    said = capsys.readouterr()
    assert "spent: 5 of 5 calls" in said.out
    assert "stopped: the limit of 5 calls is reached" in said.err
    assert "2 claims are left" in said.err
    assert (len(server.requests), ids(out)) == (5, ["c0", "c1"])

    assert rank(claims, out) == 0
    assert ids(out) == ["c0", "c1", "c2", "c3"]
    assert len(server.requests) == 8


def test_a_limit_in_money_needs_prices(claims, server, tmp_path, capsys):
    assert rank(claims, tmp_path / "out.jsonl", "--max-cost", "1") == 1
    assert "--price" in capsys.readouterr().err
    assert server.requests == []


def test_a_limit_in_money_stops_the_run(claims, server, tmp_path, capsys):
    out = tmp_path / "out.jsonl"
    assert rank(claims, out, "--max-cost", "0.1", "--price", "1000,500,1000") == 1
    assert "in money is reached" in capsys.readouterr().err
    assert 0 < len(server.requests) < 8


def test_two_outputs_can_share_a_store(claims, server, tmp_path):
    store = str(tmp_path / "answers")
    assert rank(claims, tmp_path / "a.jsonl", "--store", store) == 0
    n_paid = len(server.requests)
    assert rank(claims, tmp_path / "b.jsonl", "--store", store) == 0
    assert len(server.requests) == n_paid
    assert sorted(path.name for path in tmp_path.iterdir() if "responses" in path.name) == []


def test_a_dry_run_says_what_a_run_then_costs(claims, server, tmp_path, capsys):
    out = tmp_path / "out.jsonl"
    assert main(["rank", claims, *DRY_RUN, "-o", str(out), "--price", "1,0.5,2"]) == 0
    said = capsys.readouterr().out
    assert server.requests == []
    assert rank(claims, out) == 0
    assert f"LLM calls: {len(server.requests)} without retries" in said
    assert "cost: about" in said


@pytest.mark.parametrize("method", ["llm", "incremental_llm", "one_pass_repair", "reranker"])
def test_a_dry_run_foresees_the_calls_of_every_ranker(claims, server, tmp_path, capsys, method):
    out = str(tmp_path / "out.jsonl")
    assert main(["rank", claims, "--method", method, "--dry-run", "-o", out]) == 0
    said = capsys.readouterr().out
    assert main(["rank", claims, "--method", method, "-o", out]) == 0
    if method == "one_pass_repair":  # what disagreements waste is not foreseen
        assert f"LLM calls: {4 * 3} without" in said
    else:
        assert f"LLM calls: {len(server.requests)} without" in said


def test_a_dry_run_of_an_offline_method_costs_nothing(claims, tmp_path, capsys):
    out = str(tmp_path / "out.jsonl")
    assert main(["select", claims, "--method", "coverage_selection", "--dry-run", "-o", out]) == 0
    assert "4 to ask, no LLM calls" in capsys.readouterr().out


def test_files_that_would_be_one_are_refused(claims, tmp_path, capsys):
    before = sorted(path.name for path in tmp_path.iterdir())
    out = str(tmp_path / "out.jsonl")
    for more in (
        ["-o", claims],
        ["-o", out, "--store", out],
        ["-o", out, "--store", claims],
        ["-o", out, "--store", out + ".run.json"],
        ["-o", str(tmp_path)],
    ):
        assert main(["rank", claims, "--method", "incremental_llm", *more]) == 1
        assert re.search("another name|its own name|a file name", capsys.readouterr().err)
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_limits_that_mean_nothing_for_a_method_are_noted(claims, tmp_path, capsys):
    out = str(tmp_path / "out.jsonl")
    assert main(["rank", claims, "--method", "bm25", "--max-calls", "3", "-o", out]) == 0
    assert "--max-calls 3 is not used by bm25 and is ignored" in capsys.readouterr().err


def test_a_name_with_half_a_character_is_refused(claims, tmp_path, capsys):
    assert rank(claims, tmp_path / "out.jsonl", "--model", "mod\udcff") == 1
    assert "--model" in capsys.readouterr().err


def test_another_embedder_behind_an_llm_is_another_run(claims, server, tmp_path, capsys):
    out = tmp_path / "out.jsonl"
    assert rank(claims, out) == 0
    assert rank(claims, out, "--embedder", "openai:bag") == 1
    assert "seed_order" in capsys.readouterr().err


def test_a_limit_on_calls_counts_what_an_embedder_asks(claims, server, tmp_path, capsys):
    out = tmp_path / "out.jsonl"
    command = ["rank", claims, "--method", "similarity", "--embedder", "openai:bag"]
    assert main([*command, "--max-calls", "2", "-o", str(out)]) == 1
    said = capsys.readouterr()
    assert len(server.embedding_bodies) == 2
    assert "spent: 2 of 2 calls" in said.out
    assert "stopped: the limit of 2 calls is reached" in said.err
    assert main([*command, "-o", str(out)]) == 0
    assert ids(out) == ["c0", "c1", "c2", "c3"]


def test_a_limit_reached_while_the_seed_order_is_made_stops_the_run(
    claims, server, tmp_path, capsys
):
    # Reading order in its place, unsaid, would be another ranking.
    out = tmp_path / "out.jsonl"
    assert rank(claims, out, "--embedder", "openai:bag", "--max-calls", "1") == 1
    assert "stopped: the limit of 1 calls is reached" in capsys.readouterr().err
    assert (ids(out), server.requests) == ([], [])
