"""A plan holds the very calls that a method then makes of a model that behaves well."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import rankers
from rankers.base import Method, Ranker
from rankers.registry import METHODS, calls_for
from tests.llm_server import LLMServer
from tests.rankers.llm_cast import in_reading_order, llm_at, sentences

CLAIM = "Sentence number nine is about a letter."
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("reranker", {}),
    ("reranker", {"instructions": "user", "group": 5, "keep": 2}),
    ("reranker", {"tournament": "paper"}),
    ("llm", {}),
    ("llm", {"layout": "paper"}),
    ("llm", {"answer": "first_token"}),
    ("incremental_llm", {}),
    ("incremental_llm", {"depth": 0}),
    ("incremental_llm", {"layout": "paper", "depth": 3}),
    ("one_pass_repair", {}),
    ("one_pass_repair", {"depth": 2, "ahead": 1}),
    ("llm_selection", {}),
    ("top_k", {"base": "incremental_llm"}),
]


def _use(method: Method, candidates: list[str]) -> Any:
    if isinstance(method, Ranker):
        return method.rank(CLAIM, candidates)
    return method.select(CLAIM, candidates)


def test_every_llm_method_has_a_variant_here():
    with_models = {name for name, info in METHODS.items() if "model" in info.needs}
    assert with_models <= {name for name, _ in VARIANTS}


@pytest.mark.parametrize("n", [2, 7, 24])
@pytest.mark.parametrize(("name", "params"), VARIANTS)
def test_a_plan_has_the_messages_that_are_sent(name: str, params: dict[str, Any], n: int):
    candidates = sentences(n)
    with LLMServer(in_reading_order) as server:
        method = rankers.build(name, llm=llm_at(server), params=params)
        plan = method.plan(CLAIM, candidates)
        assert server.requests == []
        result = _use(method, candidates)
        sent = [body["messages"] for body in server.bodies]
    assert result.usage.calls == len(plan) == len(sent)
    planned = [[dict(turn) for turn in call.messages] for call in plan]
    # Calls under way at the same time may arrive in any order.
    assert Counter(map(str, planned)) == Counter(map(str, sent))
    assert len(plan) <= calls_for(name, n, params)


@pytest.mark.parametrize(("name", "params"), VARIANTS)
def test_a_plan_has_as_many_calls_as_the_servers_own_rule_takes(name: str, params: dict[str, Any]):
    candidates = sentences(24)
    with LLMServer() as server:
        method = rankers.build(name, llm=llm_at(server), params=params)
        _use(method, candidates)
        assert len(method.plan(CLAIM, candidates)) == len(server.requests)


@pytest.mark.parametrize(("name", "params"), VARIANTS)
def test_the_expected_tokens_are_near_those_of_the_answers(name: str, params: dict[str, Any]):
    candidates = sentences(12)
    with LLMServer() as server:
        method = rankers.build(name, llm=llm_at(server), params=params)
        said = _use(method, candidates).usage.completion_tokens
        expected = sum(call.completion_tokens for call in method.plan(CLAIM, candidates))
    # The answers of the server do without the thinking that a reranker has room for.
    expected -= len(server.requests) * getattr(method, "reasoning_tokens", 0)
    assert said / 4 <= expected <= said * 4


@pytest.mark.parametrize(("name", "params"), VARIANTS)
def test_a_single_candidate_has_an_empty_plan(name: str, params: dict[str, Any]):
    with LLMServer() as server:
        method = rankers.build(name, llm=llm_at(server), params=params)
    assert list(method.plan(CLAIM, ["Only."])) == []
    assert list(method.plan(CLAIM, [])) == []
