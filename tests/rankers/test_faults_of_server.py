"""Servers that refuse parameters, count in their own way, or answer in the wrong place."""

from __future__ import annotations

import gzip
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from rankers.asking import ask
from rankers.endpoint import _clients
from rankers.errors import MalformedReply, PermanentError, TransportError
from rankers.llm import LLM, Reply
from rankers.replies import parse_pick
from rankers.store import MemoryStore
from rankers.values import Usage
from tests import llm_server
from tests.llm_server import Act, LLMServer, Request, raw_body, say, status
from tests.rankers.raw_server import RawServer, Send, dripping, response
from tests.rankers.test_llm import MESSAGES, QUICK, SCHEMA, _in_threads, llm_at

ONLY_DEFAULT = (
    "Unsupported value: 'temperature' does not support 0 with this model. "
    "Only the default (1) value is supported."
)
GOOD = {"choices": [{"message": {"content": "[1]"}}]}
STRUCTURED = replace(QUICK, structured=True)


def refuse(
    name: str, message: str, http_status: int = 400, **error: Any
) -> Callable[[Request], Act]:
    """A server that refuses requests with that field and answers all others."""

    def script(request: Request) -> Act:
        return status(http_status, message, **error) if name in request.body else say("[1]")

    return script


def complete_twice(server: LLMServer, **fields: Any) -> list[Reply]:
    llm = llm_at(server, **fields)
    return [llm.complete(MESSAGES, max_tokens=5, attempt=k, schema=SCHEMA) for k in range(2)]


# Temperature.


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (ONLY_DEFAULT, {"param": "temperature", "code": "unsupported_value"}),
        ("Unsupported parameter: 'temperature' is not supported with this model.", {}),
        ("Unsupported parameter", {"param": "temperature"}),
        ("invalid temperature: only 1 is allowed for this model", {}),
    ],
)
def test_a_refused_temperature_is_left_out_remembered_and_told_once(
    message: str, error: dict[str, Any], caplog: pytest.LogCaptureFixture
):
    with LLMServer(refuse("temperature", message, **error)) as server:
        with caplog.at_level(logging.WARNING):
            replies = complete_twice(server) + complete_twice(server)
        assert [reply.text for reply in replies] == ["[1]"] * 4
        assert ["temperature" in body for body in server.bodies] == [True] + [False] * 4
        expected = f"{server.base_url} refuses temperature for m: leaves the temperature"
    (record,) = caplog.records
    assert record.getMessage().startswith(expected)


def test_a_temperature_out_of_range_is_the_users_to_put_right():
    message = "temperature must be between 0 and 2"
    with LLMServer(refuse("temperature", message)) as server:
        with pytest.raises(PermanentError, match="between 0 and 2"):
            llm_at(server).complete(MESSAGES, max_tokens=5, temperature=5.0)
        assert len(server.requests) == 1


def test_another_model_at_the_same_address_is_asked_with_its_temperature():
    with LLMServer(refuse("temperature", ONLY_DEFAULT)) as server:
        complete_twice(server)
        other = llm_at(server)
        other.model = "n"
        other.complete(MESSAGES, max_tokens=5)
        sent = [(body["model"], "temperature" in body) for body in server.bodies]
    assert sent == [("m", True), ("m", False), ("m", False), ("n", True), ("n", False)]


def test_a_refusal_that_leaving_out_the_temperature_does_not_cure_is_not_remembered():
    with LLMServer(lambda _: status(400, "no temperature, and no prompt of yours")) as server:
        llm = llm_at(server)
        for _ in range(2):
            with pytest.raises(PermanentError, match="no prompt of yours"):
                llm.complete(MESSAGES, max_tokens=5)
        sent = ["temperature" in body for body in server.bodies]
    assert sent == [True, False, True, False]


# Log probabilities.


@pytest.mark.parametrize(
    "message",
    [
        "Logprobs is not supported for the current model.",
        "Requested sample logprobs of 20, which is greater than max allowed: 5",
    ],
)
def test_refused_log_probabilities_are_left_out_and_the_reply_holds_none(message: str):
    with LLMServer(refuse("logprobs", message)) as server:
        llm = llm_at(server)
        replies = [llm.first_tokens(MESSAGES) for _ in range(2)]
        sent = [("logprobs" in body, "top_logprobs" in body) for body in server.bodies]
    assert [(reply.text, reply.top_logprobs) for reply in replies] == [("[1]", ())] * 2
    assert sent == [(True, True), (False, False), (False, False)]


# Response format.


@pytest.mark.parametrize("code", [400, 422])
def test_a_refused_format_counts_as_no_try_and_as_no_attempt(code: int):
    with LLMServer(refuse("response_format", "uniqueItems is not permitted", code)) as server:
        value, usage = ask(
            llm_at(server, settings=replace(STRUCTURED, tries=1)),
            MESSAGES,
            lambda reply: parse_pick(reply.text, 3),
            max_tokens=5,
            attempts=1,
            temperature=0.0,
            schema=SCHEMA,
        )
        assert len(server.requests) == 2
    assert (value, usage.calls) == (1, 1)


def test_a_server_that_refuses_everything_in_turn_is_still_asked_with_what_it_takes():
    def fussy(request: Request) -> Act:
        for name in ("max_tokens", "temperature", "response_format"):
            if name in request.body:
                instead = ": use max_completion_tokens" if name == "max_tokens" else ""
                return status(400, f"unknown field {name}{instead}")
        return say("[1]")

    with LLMServer(fussy) as server:
        assert [r.text for r in complete_twice(server, settings=STRUCTURED)] == ["[1]"] * 2
        assert len(server.requests) == 5
        assert server.bodies[-1] == {
            "model": "m",
            "messages": MESSAGES,
            "max_completion_tokens": 5,
        }


def test_what_one_thread_learns_another_does_not_forget():
    """A request without a schema that ends later must not undo what was learned meanwhile."""

    def script(request: Request) -> Act:
        if "response_format" in request.body:
            return status(400, "no schemas")
        return say("[1]", delay=0.3 if request.body["max_tokens"] == 7 else 0.0)

    with LLMServer(script) as server:
        llm = llm_at(server, settings=STRUCTURED)
        slow = threading.Thread(target=llm.complete, args=(MESSAGES,), kwargs={"max_tokens": 7})
        slow.start()
        llm.complete(MESSAGES, max_tokens=5, schema=SCHEMA)
        slow.join()
        llm.complete(MESSAGES, max_tokens=5, schema=SCHEMA)
        sent = ["response_format" in body for body in server.bodies]
    assert sent.count(True) == 1


# Answers in the wrong place.


@pytest.mark.parametrize(
    ("reasoning", "text"), [("Let me see: [2]", "[1]"), ('So {"ids": [2]}', "[1]")]
)
def test_reasoning_that_is_not_json_alone_is_asked_again_without_a_format(
    reasoning: str, text: str
):  # B15
    with LLMServer([say(None, reasoning=reasoning), say("[1]")]) as server:
        reply = llm_at(server, settings=STRUCTURED).complete(MESSAGES, max_tokens=5, schema=SCHEMA)
        assert ["response_format" in body for body in server.bodies] == [True, False]
    assert (reply.text, reply.usage.calls) == (text, 2)


def test_json_as_the_whole_reasoning_is_an_answer_unless_it_was_cut():  # B12, B15
    whole = say(None, reasoning='{"ids": [2]}')
    with LLMServer([whole]) as server:
        reply = llm_at(server, settings=STRUCTURED).complete(MESSAGES, max_tokens=5, schema=SCHEMA)
        assert len(server.requests) == 1
    assert parse_pick(reply.text, 3, reasoning=reply.reasoning) == 2
    with LLMServer([replace(whole, finish_reason="length"), say("[1]")]) as server:
        assert llm_at(server).complete(MESSAGES, max_tokens=5).text == "[1]"
        assert [body["max_tokens"] for body in server.bodies] == [5, 4096]


# Counts.


@pytest.mark.parametrize(
    ("extra", "cached"),
    [
        ({"prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 36}, 64),
        ({"prompt_cache_hit_tokens": 0, "prompt_cache_miss_tokens": 100}, 0),
        ({"prompt_cache_hit_tokens": None}, None),
        ({"prompt_cache_hit_tokens": 9, "prompt_tokens_details": {"cached_tokens": 64}}, 64),
        ({"prompt_cache_hit_tokens": 9, "prompt_tokens_details": {"cached_tokens": None}}, 9),
        ({"prompt_tokens_details": {"cached_tokens": 0}}, 0),
    ],
)
def test_cached_tokens_are_read_under_both_of_their_names(
    extra: dict[str, Any], cached: int | None
):  # B21
    usage = {"prompt_tokens": 100, "completion_tokens": 2, **extra}
    with LLMServer([say("[1]", usage=usage)]) as server:
        assert llm_at(server).complete(MESSAGES, max_tokens=5).usage == Usage(1, 100, cached, 2)


# Each class of error has its own budget.


def test_tries_corrections_and_the_larger_limit_do_not_use_each_other_up():
    script = [
        *([status(503)] * 2),
        llm_server.truncated(),
        *([status(503)] * 2),
        llm_server.prose(),
        *([status(503)] * 2),
        llm_server.prose(),
        *([llm_server.drop()] * 2),
        say("[2]"),
    ]
    with LLMServer(script) as server:
        value, usage = ask(
            llm_at(server, settings=replace(QUICK, tries=3)),
            MESSAGES,
            lambda reply: parse_pick(reply.text, 3),
            max_tokens=5,
            attempts=3,
            temperature=0.0,
        )
        assert len(server.requests) == len(script)
        turns = [len(body["messages"]) for body in server.bodies]
        # A correction replaces the one before: never more than two turns behind the first.
        assert turns == [1] * 6 + [3] * 6
        assert all(body["messages"][0] == MESSAGES[0] for body in server.bodies)
    assert (value, usage.calls) == (2, 4)


def test_a_model_that_never_answers_is_asked_five_times_and_no_more():
    def malformed(reply: Reply) -> int:
        raise MalformedReply("no", raw=reply.text)

    with LLMServer(lambda _: llm_server.prose()) as server:
        value, usage = ask(
            llm_at(server), MESSAGES, malformed, max_tokens=5, attempts=5, temperature=0.0
        )
        assert len(server.requests) == usage.calls == 5
    assert value is None


# Clients and deadlines.


def test_threads_that_start_together_share_one_client(monkeypatch: pytest.MonkeyPatch):
    import openai

    made: list[object] = []

    class Counted(openai.OpenAI):
        def __init__(self, **fields: Any):
            time.sleep(0.05)  # time for the others to come
            made.append(self)
            super().__init__(**fields)

    monkeypatch.setattr(openai, "OpenAI", Counted)
    with LLMServer() as server:
        llm = llm_at(server, settings=replace(QUICK, concurrency=8))
        _in_threads(8, lambda k: llm.complete(MESSAGES, max_tokens=5))
        assert len(server.requests) == 8
        assert made == [_clients().get(server.base_url, "none")]


def test_late_answers_of_many_threads_end_each_in_its_own_time():
    def script(request: Request) -> Act:
        return llm_server.drip(0.02) if request.body["max_tokens"] % 2 else say("[1]", delay=0.6)

    outcomes: dict[int, str] = {}
    with LLMServer(script) as server:
        llms = [
            llm_at(server, settings=replace(QUICK, timeout=0.3 if k % 2 else 5, tries=1))
            for k in range(4)
        ]

        def work(k: int) -> None:
            try:
                outcomes[k] = llms[k].complete(MESSAGES, max_tokens=k + 10).text
            except TransportError as error:
                outcomes[k] = "late" if "did not end in time" in str(error) else str(error)

        _in_threads(4, work)
    assert outcomes == {0: "[1]", 1: "late", 2: "[1]", 3: "late"}


@pytest.mark.parametrize(
    "body",
    [
        {"detail": "model is loading"},
        {"object": "error", "message": "model overloaded", "code": 40303},
        {"choices": None},
        {"choices": []},
        {"choices": {"message": {"content": "[2]"}}},
        {"choices": ["[2]"]},
        {"choices": [{"text": "[2]"}]},
        {"choices": [{"message": "[2]"}]},
        {"choices": [{"message": None}]},
        "[" * 200_000,
    ],
)
def test_json_that_is_no_completion_is_asked_again_and_never_kept(body: Any):
    store = MemoryStore()
    with LLMServer([raw_body(body), say("[1]")]) as server:
        assert llm_at(server, store=store).complete(MESSAGES, max_tokens=5).text == "[1]"
        assert len(server.requests) == 2
    with LLMServer(lambda _: raw_body(body)) as server:
        llm = llm_at(server, store=store, settings=replace(QUICK, tries=2))
        with pytest.raises(TransportError, match="the answer is no"):
            llm.complete(MESSAGES, max_tokens=5, attempt=1)
    assert len(store._responses) == 1


@pytest.mark.parametrize("code", [400, 500])
def test_an_error_nested_too_deeply_to_be_shown_is_still_an_error(code: int):
    body = '{"error": ' + "[" * 990 + "]" * 990 + "}"
    with LLMServer([Act(status=code, body=body)]) as server:
        with pytest.raises((PermanentError, TransportError), match=str(code)):
            llm_at(server, settings=replace(QUICK, tries=1)).complete(MESSAGES, max_tokens=5)


def test_an_error_page_of_a_gateway_is_no_answer():
    with LLMServer([raw_body("<html>bad gateway</html>"), say("[1]")]) as server:
        assert llm_at(server).complete(MESSAGES, max_tokens=5).text == "[1]"
        assert len(server.requests) == 2


# The deadline holds for every part of an answer.


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        (b"HTTP/1.1 200 OK\r\nX-Slow: ", b"a"),
        (b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\n\r\n", b" "),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", b" "),
        (b"HTTP/1.1 500 Oops\r\n\r\n", b" "),
        (b"HTTP/1.1 500 Oops\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    ],
)
def test_a_server_that_never_ends_is_left_at_the_deadline(start: bytes, piece: bytes):
    with RawServer(dripping(start, piece)) as server:
        llm = LLM("m", base_url=server.base_url, settings=replace(QUICK, timeout=0.5, tries=1))
        ended = threading.Event()
        caught: list[BaseException] = []

        def work() -> None:
            try:
                llm.complete(MESSAGES, max_tokens=5)
            except TransportError as error:
                caught.append(error)
            ended.set()

        threading.Thread(target=work, daemon=True).start()
        assert ended.wait(20)
    assert "in time" in str(caught[0]) or "nothing came within 0.5 s" in str(caught[0])


def test_after_a_late_answer_the_next_call_has_its_own_time():
    answers = iter([dripping(b"HTTP/1.1 200 OK\r\nX: ", b"a"), response(GOOD)])
    with RawServer(lambda send, stop: next(answers)(send, stop)) as server:
        settings = replace(QUICK, timeout=5, try_timeout=0.5)
        llm = LLM("m", base_url=server.base_url, settings=settings)
        assert llm.complete(MESSAGES, max_tokens=5).text == "[1]"


# Words of the server in errors.


@pytest.mark.parametrize("code", [400, 200, 503])
@pytest.mark.parametrize("odd", ["\ud800", "\x00"])
def test_a_servers_words_are_cleaned_before_they_go_into_an_error(code: int, odd: str):
    error = {"message": f"bad {odd} half", "code": 400, "param": odd}
    with LLMServer([Act(status=code, body={"error": error})]) as server:
        with pytest.raises((PermanentError, TransportError)) as raised:
            llm_at(server, settings=replace(QUICK, tries=1)).complete(MESSAGES, max_tokens=5)
    assert "bad \ufffd half" in str(raised.value)
    assert odd not in str(raised.value)


# Size.


def _endless(start: bytes, piece: bytes) -> Callable[[Send, threading.Event], None]:
    return dripping(start, piece * (2**20 // len(piece)), seconds=0)


@pytest.mark.parametrize(
    "answer",
    [
        _endless(b"HTTP/1.1 200 OK\r\n\r\n", b" "),
        _endless(b"HTTP/1.1 400 Bad Request\r\n\r\n", b" "),
        _endless(b"HTTP/1.1 503 Busy\r\n\r\n", b" "),
        response(gzip.compress(b" " * 17 * 2**20), headers="Content-Encoding: gzip\r\n"),
    ],
    ids=["answer", "refusal", "error", "compressed"],
)
def test_an_answer_above_all_measure_is_not_read_to_its_end(
    answer: Callable[[Send, threading.Event], None],
):
    store = MemoryStore()
    with RawServer(answer) as server:
        settings = replace(QUICK, timeout=60)
        llm = LLM("m", base_url=server.base_url, settings=settings, store=store)
        with pytest.raises(PermanentError, match="larger than 16 MB"):
            llm.complete(MESSAGES, max_tokens=5)
        assert (len(server.heads), llm.spending.calls) == (1, 1)
    assert store._responses == {}


# Wrong addresses.


def test_a_redirect_is_not_followed():
    with LLMServer() as other:
        to = f"Location: {other.base_url}/chat/completions\r\n"
        with RawServer(response({}, "307 Temporary Redirect", to)) as server:
            llm = LLM("m", base_url=server.base_url, settings=QUICK)
            with pytest.raises(PermanentError) as raised:
                llm.complete(MESSAGES, max_tokens=5)
        assert other.requests == []
        assert f"to {other.base_url.removesuffix('/v1')}, which was not asked" in str(raised.value)


def test_an_address_that_is_not_there_is_told_with_what_it_usually_looks_like():
    with LLMServer() as server:
        llm = LLM("m", base_url=server.base_url.removesuffix("/v1"), settings=QUICK)
        with pytest.raises(PermanentError, match="it usually ends in /v1"):
            llm.complete(MESSAGES, max_tokens=5)
