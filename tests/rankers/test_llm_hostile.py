"""Answers that hold what no database keeps and no request can send."""

from __future__ import annotations

import json

import pytest

from rankers.incremental import IncrementalLLM
from rankers.llm import MAX_TOKENS
from rankers.registry import build
from rankers.store import FileStore
from tests.llm_server import LLMServer, raw_body, say
from tests.rankers.test_llm import MESSAGES, llm_at

SENTENCES = ["The bridge opened in 1932.", "It rains.", "The bridge is in Sydney."]


@pytest.mark.parametrize("text", ["half \ud800 a character", "a zero \x00 byte", "\udfff"])
def test_half_characters_and_zero_bytes_become_replacement_signs(text, tmp_path):
    with LLMServer([say(text)]) as server:
        reply = llm_at(server, store=FileStore(tmp_path / "store")).complete(MESSAGES, max_tokens=9)
    assert "\ufffd" in reply.text
    reply.text.encode("utf-8")
    assert "\x00" not in reply.text


@pytest.mark.parametrize("text", ["\ud800", "a \x00 b"])
def test_a_ranking_goes_on_after_such_a_reply(text):
    with LLMServer([say(text)]) as server:
        ranker = IncrementalLLM(llm_at(server), seed_ranker=build("bm25"), depth=2)
        ranking = ranker.rank("The bridge in Sydney opened in 1932.", SENTENCES)
    assert sorted(ranking.order) == [0, 1, 2]
    assert ranking.status == "complete"
    json.dumps(server.bodies, ensure_ascii=False).encode("utf-8")


@pytest.mark.parametrize("count", [-1, 2**63, 10**30, True, "7", 1.5, MAX_TOKENS + 1])
def test_a_count_that_cannot_be_is_unknown(count):
    usage = {
        "prompt_tokens": count,
        "completion_tokens": count,
        "prompt_tokens_details": {"cached_tokens": count},
    }
    with LLMServer([say("[1]", usage=usage)]) as server:
        used = llm_at(server).complete(MESSAGES, max_tokens=9).usage
    assert (used.prompt_tokens, used.cached_prompt_tokens, used.completion_tokens) == (0, None, 0)


@pytest.mark.parametrize("usage", ["many", [1], {"prompt_tokens_details": [3]}])
def test_usage_of_another_shape_is_unknown(usage):
    with LLMServer([say("[1]", usage=usage)]) as server:
        reply = llm_at(server).complete(MESSAGES, max_tokens=9)
    assert reply.text == "[1]"
    assert reply.usage.cached_prompt_tokens is None


@pytest.mark.parametrize(
    "top",
    [
        "5",
        "true",
        '"abc"',
        '{"a": 1}',
        '[{"token": "1", "logprob": 1' + "0" * 400 + "}]",
        '[{"token": "1", "logprob": true}]',
        '[{"token": "1", "logprob": NaN}]',
        '[{"token": "1", "logprob": "-1"}]',
        "[5]",
    ],
)
def test_odd_log_probabilities_are_left_out(top):
    body = (
        '{"choices": [{"message": {"content": "1"}, "logprobs": {"content": [{"top_logprobs": '
        + top
        + "}]}}]}"
    )
    with LLMServer([raw_body(body)]) as server:
        reply = llm_at(server).first_tokens(MESSAGES)
    assert (reply.text, reply.top_logprobs) == ("1", ())
