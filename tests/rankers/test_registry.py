from __future__ import annotations

import json

import pytest

import rankers
from rankers.base import Ranker, Selector
from rankers.errors import BadInput, UnknownMethod
from rankers.llm import LLM
from rankers.params import split_pairs
from rankers.registry import METHODS, calls_for, method_needs
from rankers.store import MemoryStore

LLM_METHODS = {name for name, info in METHODS.items() if "model" in info.needs}


@pytest.mark.parametrize("name", sorted(set(METHODS) - LLM_METHODS))
def test_every_offline_method_is_what_its_entry_says(name):
    info, method = METHODS[name], rankers.build(name)
    assert method.name == name
    assert isinstance(method, Ranker if info.kind == "ranker" else Selector)
    assert dict(method.params) == {param.name: param.default for param in info.params}
    assert (method.model is not None) == bool({"embedder", "local_model"} & set(info.needs))
    assert all(f"{param.name}=" in repr(method) for param in info.params)


@pytest.mark.parametrize("name", sorted(LLM_METHODS))
def test_every_llm_method_is_what_its_entry_says(name):
    info, method = METHODS[name], rankers.build(name, llm=LLM("m"))
    assert (method.name, method.model) == (name, "m")
    assert isinstance(method, Ranker if info.kind == "ranker" else Selector)
    defaults = {param.name: param.default for param in info.params}
    assert {key: method.params[key] for key in defaults} == defaults
    assert method.prompt_version
    assert len(method.prompt_version) <= 60


def test_parameters_may_be_text_from_a_command_line():
    method = rankers.build("bm25", params={"k1": "0.9", "b": 0.4})
    assert dict(method.params) == {"k1": 0.9, "b": 0.4}


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("bm25", {"k1": "many"}, "method bm25: parameter k1 must be a number from 0 to 1000"),
        ("bm25", {"b": "1.5"}, "b must be a number from 0 to 1, not '1.5'"),
        ("bm25", {"b": "nan"}, "b must be a number from 0 to 1, not 'nan'"),
        ("bm25", {"k3": "1"}, r"has no parameter 'k3' \(its parameters: k1, b\)"),
        ("similarity", {"k": "1"}, r"no parameter 'k' \(its parameters: none\)"),
        ("random", {"seed": "1.5"}, "seed must be a whole number"),
        ("random", {"seed": True}, "seed must be a whole number"),
        ("top_k", {"k": "0"}, "k must be a whole number, at least 1"),
        ("top_k", {"base": "top_k"}, "base must be one of document_order, .*, not 'top_k'"),
        ("top_k", {"base": "none"}, "base must be one of"),
        ("incremental_llm", {"layout": "wide"}, "layout must be one of stable, paper"),
        ("llm", {"answer": "letter"}, "answer must be one of list, first_token"),
        ("one_pass_repair", {"ahead": "4"}, "ahead must be a whole number from 0 to 3"),
        ("reranker", {"group": "1"}, "group must be a whole number, at least 2"),
        ("reranker", {"keep": "0"}, "keep must be a whole number, at least 1"),
        ("reranker", {"tournament": "cup"}, "tournament must be one of groups, paper"),
    ],
)
def test_a_wrong_parameter_says_what_is_allowed(name, params, message):
    with pytest.raises(BadInput, match=message):
        rankers.build(name, params=params)


def test_all_wrong_parameters_are_listed():
    with pytest.raises(BadInput) as caught:
        rankers.build("bm25", params={"k1": "x", "b": "y", "z": "1"})
    assert len(caught.value.problems) == 3


def test_an_unknown_method_lists_the_known_ones():
    with pytest.raises(UnknownMethod, match="unknown method 'bm26': choose one of document_order"):
        rankers.build("bm26")


def test_unused_options_are_named():
    assert rankers.unused_options("bm25", "gpt", "wordllama") == [
        "--model gpt is not used by bm25 and is ignored",
        "--embedder wordllama is not used by bm25 and is ignored",
    ]
    assert rankers.unused_options("similarity", None, "wordllama") == []
    assert len(rankers.unused_options("top_k", None, "wordllama", {"base": "bm25"})) == 1


def test_top_k_needs_what_its_base_needs():
    assert method_needs("top_k") == ("embedder",)
    assert method_needs("top_k", {"base": "bm25"}) == ()
    assert "model" in method_needs("top_k", {"base": "incremental_llm"})


def test_a_paid_embedder_keeps_its_vectors_where_told_or_with_the_llm(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:1/v1")
    ours, the_llms = MemoryStore(), MemoryStore()
    llm = LLM("m", base_url="http://localhost:1/v1", store=the_llms)
    seeded = rankers.build("incremental_llm", llm=llm, embedder="openai:e")
    assert seeded.seed_ranker.embedder.store is the_llms
    assert (
        rankers.build("coverage", llm=llm, store=ours, embedder="openai:e").embedder.store is ours
    )
    top_k = rankers.build("top_k", store=ours, embedder="openai:e")
    assert top_k.base.embedder.store is ours


def test_top_k_of_a_local_model_takes_its_name_and_gold_is_a_need():
    base = {"base": "incremental_nli"}
    assert rankers.build("top_k", model="some/model", params=base).model == "some/model"
    assert method_needs("top_k", base) == ("local_model",)
    assert method_needs("top_k", {"base": "gold_first"}) == ("gold",)


def test_call_counts():
    assert [calls_for("incremental_llm", n) for n in (0, 1, 2, 7, 40)] == [0, 0, 1, 6, 6]
    assert calls_for("incremental_llm", 40, {"depth": "0"}) == 39
    assert [calls_for("llm_selection", n) for n in (1, 2, 40)] == [0, 1, 1]
    assert [calls_for("llm", n) for n in (0, 1, 2, 40)] == [0, 0, 1, 1]
    assert [calls_for("one_pass_repair", n) for n in (1, 2, 40)] == [0, 2, 19]
    assert calls_for("one_pass_repair", 40, {"ahead": "0"}) == 7
    assert [calls_for("reranker", n) for n in (1, 20, 34, 60)] == [0, 1, 2, 4]
    assert calls_for("reranker", 42, {"tournament": "paper"}) == 23
    assert calls_for("top_k", 42, {"base": "reranker"}) == 3
    assert calls_for("coverage", 40) == 0


def test_descriptions_are_json_and_complete():
    described = json.loads(json.dumps(rankers.describe_methods()))
    assert [one["name"] for one in described] == list(METHODS)
    assert all(set(one) == {"name", "kind", "needs", "params"} for one in described)


def test_result_names_carry_the_embedder():
    assert rankers.result_name(rankers.build("similarity")) == "similarity/wordllama"
    assert rankers.result_name(rankers.build("bm25")) == "bm25"


def test_pairs_are_split_at_the_first_sign():
    assert split_pairs(["a=1", "b=x=y", "c="]) == {"a": "1", "b": "x=y", "c": ""}
    with pytest.raises(BadInput) as caught:
        split_pairs(["a=1", "a=2", "b", "=3"])
    assert len(caught.value.problems) == 3
