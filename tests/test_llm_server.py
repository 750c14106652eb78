"""The scripted server answers by its rule and misbehaves only as told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import openai
import pytest

from rankers.prompts import paper_question, selection_messages, stable_question
from tests import llm_server
from tests.llm_server import MODEL, LLMServer, Request, answer, say, status
from tests.shared_data import ROOT

CLAIM = "Anna Smith wrote the novel Winter in Paris"
CANDIDATES = [
    "Cats sleep.",  # no word of the claim
    "Anna Smith was a writer.",  # anna, smith
    "Anna Smith wrote Winter.",  # anna, smith, wrote, winter
    "The novel was written in Paris.",  # novel, paris
    "Winter is a novel.",  # winter, novel
]


def _client(server: LLMServer) -> openai.OpenAI:
    return openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0, timeout=5)


def _ask(client: openai.OpenAI, messages, **fields):
    return client.chat.completions.create(
        model="m", messages=[dict(m) for m in messages], temperature=0, **fields
    )


def test_it_picks_by_uncovered_words_in_both_layouts():
    # By hand: [3] covers 4 words; then [4] adds novel and paris; nothing is left, so the most
    # words in all: [2] and [5] have two each, the lower number wins.
    for chosen, stable, paper in [((), "[3]", "[3]"), ((2,), "[4]", "[3]"), ((2, 3), "[2]", "[2]")]:
        (question,) = stable_question(CLAIM, CANDIDATES, chosen).messages
        assert answer(question["content"]) == stable
        (question,) = paper_question(CLAIM, CANDIDATES, chosen).messages
        assert answer(question["content"]) == paper


def test_it_selects_while_something_is_added():
    (question,) = selection_messages(CLAIM, CANDIDATES)
    assert answer(question["content"]) == "[3, 4]"
    assert answer(question["content"], True) == '{"ids": [3, 4]}'


def test_it_does_not_pretend_to_understand_other_prompts():
    assert "[" not in answer("What is the capital of France?")


def test_the_real_client_gets_a_completion_and_the_models():
    with LLMServer() as server:
        client = _client(server)
        completion = _ask(client, stable_question(CLAIM, CANDIDATES, []).messages)
        assert completion.choices[0].message.content == "[3]"
        assert completion.choices[0].finish_reason == "stop"
        assert [model.id for model in client.models.list()] == [MODEL]
        assert server.bodies[0]["temperature"] == 0
        assert server.requests[0].prompt.startswith("A reader")


def test_cached_tokens_are_whole_blocks_of_the_prefix_seen_before():
    with LLMServer(cache_block=4) as server:
        client = _client(server)
        texts = ["a b c d e f g h i j", "a b c d e f g X i j", "a b c d e f g h i j"]
        usages = [_ask(client, [{"role": "user", "content": text}]).usage for text in texts]
    # Each prompt is 11 tokens with its role. user a b c | d e f g | h i j: two blocks are shared.
    assert [usage.prompt_tokens for usage in usages] == [11, 11, 11]
    assert [usage.prompt_tokens_details.cached_tokens for usage in usages] == [0, 8, 8]
    assert usages[0].completion_tokens == len(llm_server.tokens(answer("")))


def test_a_list_is_used_up_in_order_and_a_callable_is_asked_each_time():
    messages = stable_question(CLAIM, CANDIDATES, []).messages
    with LLMServer([say("one"), None]) as server:
        client = _client(server)
        said = [_ask(client, messages).choices[0].message.content for _ in range(3)]
    assert said == ["one", "[3]", "[3]"]

    def refuse_json(request: Request) -> llm_server.Act | None:
        return status(400, "no response_format") if "response_format" in request.body else None

    with LLMServer(refuse_json) as server:
        client = _client(server)
        with pytest.raises(openai.BadRequestError, match="no response_format"):
            _ask(client, messages, response_format={"type": "json_object"})
        assert _ask(client, messages).choices[0].message.content == "[3]"


def test_each_misbehaviour_reaches_the_client():
    messages = stable_question(CLAIM, CANDIDATES, []).messages
    script = [
        status(429, "slow down", retry_after="7"),
        status(500, "broken"),
        llm_server.drop(),
        llm_server.no_content(),
        llm_server.reasoning_only("hm"),
        llm_server.truncated("cut"),
        llm_server.fenced_json([2]),
        llm_server.pick(9),
        llm_server.empty(),
        say("x", usage=None),
        llm_server.hang(),
    ]
    with LLMServer(script) as server:
        client = _client(server)
        with pytest.raises(openai.RateLimitError, match="slow down") as limited:
            _ask(client, messages)
        assert limited.value.response.headers["retry-after"] == "7"
        with pytest.raises(openai.InternalServerError, match="broken"):
            _ask(client, messages)
        with pytest.raises(openai.APIConnectionError):
            _ask(client, messages)
        assert _ask(client, messages).choices[0].message.content is None
        thinking = _ask(client, messages).choices[0]
        assert (thinking.message.content, thinking.finish_reason) == (None, "length")
        assert thinking.message.reasoning_content == "hm"
        assert _ask(client, messages).choices[0].finish_reason == "length"
        assert "```json" in _ask(client, messages).choices[0].message.content
        assert _ask(client, messages).choices[0].message.content == "[9]"
        assert _ask(client, messages).choices[0].message.content == ""
        assert _ask(client, messages).usage is None
        with pytest.raises(openai.APITimeoutError):
            _ask(client.with_options(timeout=0.2), messages)
        assert len(server.requests) == len(script)


def test_a_request_without_a_user_turn_is_refused_and_not_counted():
    with LLMServer() as server:
        with pytest.raises(openai.BadRequestError, match="user turn"):
            _ask(_client(server), [{"role": "system", "content": "x"}])
        assert server.requests == []


def test_latency_delays_good_answers():
    with LLMServer(latency=0.15) as server:
        client = _client(server)
        started = time.monotonic()
        _ask(client, stable_question(CLAIM, CANDIDATES, []).messages)
        assert time.monotonic() - started >= 0.15


def test_by_hand_it_serves_until_it_is_interrupted():
    command = [sys.executable, "-m", "tests.llm_server", "--port", "0", "--latency", "0.01"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[0].removeprefix("OPENAI_BASE_URL=")
        client = openai.OpenAI(base_url=address, api_key="none", max_retries=0)
        completion = _ask(client, stable_question(CLAIM, CANDIDATES, []).messages)
        assert completion.choices[0].message.content == "[3]"
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(10) == 0
