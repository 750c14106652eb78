"""The scripted server answers by its rule and misbehaves only as told."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import openai
import pytest

from rankers.prompts import (
    first_token_messages,
    list_messages,
    paper_list_messages,
    paper_question,
    rerank_messages,
    selection_messages,
    stable_question,
)
from tests import llm_server
from tests.llm_server import MODEL, LLMServer, PrefixCache, Request, say, status
from tests.overlap_rule import answer, tokens
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


def test_it_orders_as_it_would_pick_one_after_another():
    (asked,) = list_messages(CLAIM, CANDIDATES)
    assert answer(asked["content"]) == "[3, 4, 2, 5, 1]"
    assert answer(asked["content"], True) == '{"ids": [3, 4, 2, 5, 1]}'
    (asked,) = paper_list_messages(CLAIM, CANDIDATES)
    texts = json.loads(answer(asked["content"]))
    assert list(texts) == ["3", "4", "2", "5", "1"]
    assert texts["5"] == "Winter is a novel."


def test_a_reranker_thinks_before_its_answer():
    for turn in ("system", "user"):
        asked = rerank_messages(CLAIM, CANDIDATES, turn)[-1]["content"]
        thought, _, order = answer(asked).partition("</think>")
        assert thought.startswith("<think>")
        assert "<answer>" in thought
        assert order.strip() == "<answer>[3] > [4] > [2] > [5] > [1]</answer>"


def test_a_first_token_comes_with_as_many_alternatives_as_were_asked_for():
    messages = first_token_messages(CLAIM, CANDIDATES)
    script = [None, None, None, say("3"), llm_server.top_tokens(("3", -0.5), ("4", -1.5))]
    with LLMServer(script) as server:
        client = _client(server)
        token = {"max_tokens": 1, "logprobs": True}
        three = _ask(client, messages, **token, top_logprobs=3).choices[0]
        other = _ask(
            client, stable_question(CLAIM, CANDIDATES, []).messages, **token, top_logprobs=3
        ).choices[0]
        unasked, unknown = (
            _ask(client, messages, **fields).choices[0]
            for fields in ({"max_tokens": 1}, {**token, "top_logprobs": 3})
        )
        scripted = _ask(client, messages, **token, top_logprobs=1).choices[0]
    assert (three.message.content, three.finish_reason) == ("3", "length")
    (first,) = three.logprobs.content
    assert [(top.token, top.logprob) for top in first.top_logprobs] == [
        ("3", -1.0),
        ("4", -2.0),
        ("2", -3.0),
    ]
    assert [top.token for top in other.logprobs.content[0].top_logprobs] == ["["]
    assert unasked.logprobs is None
    assert unknown.logprobs is None  # a scripted answer has none unless it says so
    assert [top.token for top in scripted.logprobs.content[0].top_logprobs] == ["3"]


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
    assert usages[0].completion_tokens == len(tokens(answer("")))


def _common_prefix(a: list[str], b: list[str]) -> int:
    return next(
        (k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )


@pytest.mark.parametrize("block", [1, 4, 16])
def test_known_tokens_are_the_whole_blocks_of_the_longest_common_prefix(block: int):
    chance = random.Random(1)
    cache = PrefixCache(block)
    before: list[list[str]] = []
    n_partly_known = 0
    for _ in range(200):
        start = chance.choice(before)[: chance.randint(0, 60)] if before else []
        sent = [*start, *chance.choices("ab", k=chance.randint(0, 40))]
        longest = max((_common_prefix(sent, other) for other in before), default=0)
        known = cache.use(sent)
        assert known == longest // block * block
        n_partly_known += 0 < known < len(sent)
        before.append(sent)
    assert n_partly_known > 50


def test_a_block_of_one_token_counts_cached_tokens_exactly():
    with LLMServer(cache_block=1) as server:
        client = _client(server)
        texts = ["a b c d e", "a b X d e", "a b c d e f"]
        usages = [_ask(client, [{"role": "user", "content": text}]).usage for text in texts]
    assert [usage.prompt_tokens_details.cached_tokens for usage in usages] == [0, 3, 6]


def test_prefixes_not_used_for_long_are_forgotten():
    cache = PrefixCache(1, most=100)
    hot = ["hot"] * 20
    cache.use(hot)
    for k in range(200):
        cache.use([f"cold {k}", *["x"] * 9])
        assert cache.use(hot) == 20  # in use all the time
        assert len(cache) <= 2 * 100 + 30
    assert cache.use(["cold 0", *["x"] * 9]) == 0


def test_rounds_count_how_many_answers_were_waited_for():
    messages = [{"role": "user", "content": "x"}]
    with LLMServer(latency=0.3) as server:
        client = _client(server)
        _ask(client, messages)
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(lambda _: _ask(client, messages), range(3)))
        _ask(client, messages)
        assert [request.round for request in server.requests] == [1, 2, 2, 2, 3]
        assert (server.n_rounds, server.most_at_once) == (3, 3)


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


@pytest.mark.parametrize(
    ("act", "content", "finish_reason"),
    [
        (llm_server.run(11, 3), "[11] > [3]", "stop"),
        (llm_server.decimals(), "3.1 > 2", "stop"),
        (llm_server.words_as_ids("S2", "x"), "S2 > x", "stop"),
        (llm_server.prose_before(3, 1), "I rank the 5 passages: [3] > [1]", "stop"),
        (
            llm_server.prose_behind(5, 1),
            "[5] > [1]\nSee also Doc: 5, page 3 of 1990.",
            "stop",
        ),
        (llm_server.keyed({3: "a", 1: "b"}), '{"3": "a", "1": "b"}', "stop"),
        (llm_server.open_think("hm"), "<think>hm", "stop"),
        (llm_server.cut_list(3, 1, rest="1"), '{"order":[3,1,1', "length"),
        (llm_server.blank_loop(3), '{"order": [3,' + "\n" * 500, "length"),
        (llm_server.json_as_reasoning(3, 1), None, "stop"),
        (llm_server.unknown_cache("[1]"), "[1]", "stop"),
    ],
)
def test_each_kind_of_answer_has_the_form_of_its_name(act, content, finish_reason):
    with LLMServer([act]) as server:
        choice = _ask(_client(server), [{"role": "user", "content": "x"}]).choices[0]
    assert (choice.message.content, choice.finish_reason) == (content, finish_reason)


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


def test_by_hand_it_serves_until_it_is_interrupted_and_logs_a_line_an_answer(tmp_path):
    log = tmp_path / "log.jsonl"
    command = [sys.executable, "-m", "tests.llm_server", "--port", "0", "--latency", "0.01"]
    command += ["--cache-block", "1", "--log", str(log)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[0].removeprefix("OPENAI_BASE_URL=")
        client = openai.OpenAI(base_url=address, api_key="none", max_retries=0)
        asked = [stable_question(CLAIM, CANDIDATES, chosen).messages for chosen in ([], [], [2])]
        answers = [_ask(client, messages) for messages in asked]
        assert [one.choices[0].message.content for one in answers] == ["[3]", "[3]", "[4]"]
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(10) == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(lines) == 3
    for line, one in zip(lines, answers, strict=True):
        assert line["prompt_tokens"] == one.usage.prompt_tokens
        assert line["cached_tokens"] == one.usage.prompt_tokens_details.cached_tokens
        assert line["completion_tokens"] == one.usage.completion_tokens
    assert lines[0]["cached_tokens"] == 0
    assert lines[1]["cached_tokens"] == lines[1]["prompt_tokens"]
    # The third has "[3]" where the others have "none".
    assert lines[2]["cached_tokens"] == lines[0]["prompt_tokens"] - 1
    assert lines[0]["key"] == lines[1]["key"] != lines[2]["key"]
    assert lines[0]["time"] <= lines[1]["time"] <= lines[2]["time"] <= time.time()


def test_by_hand_a_block_without_a_token_is_refused():
    command = [sys.executable, "-m", "tests.llm_server", "--cache-block", "0"]
    refused = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30)
    assert refused.returncode == 2
    assert "--cache-block must be at least 1" in refused.stderr
