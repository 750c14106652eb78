"""The door to the model, through real HTTP: retries, deadline, truncation, store, usage."""

from __future__ import annotations

import base64
import multiprocessing
import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from email.utils import formatdate
from typing import Any

import pytest

from rankers.endpoint import LLMSettings, retry_after
from rankers.errors import (
    BadInput,
    MissingDependency,
    PermanentError,
    TransportError,
    TruncatedReply,
)
from rankers.llm import LLM, request_key
from rankers.store import MemoryStore
from rankers.values import Usage
from tests import llm_server
from tests.llm_server import LLMServer, Request, drop, hang, raw_body, say, status

MESSAGES = [{"role": "user", "content": "Which one?"}]
QUICK = LLMSettings(timeout=5, backoff=0.01, backoff_cap=0.05)
SCHEMA = {"type": "object", "properties": {"ids": {"type": "array"}}}


def llm_at(server: LLMServer, **fields: Any) -> LLM:
    fields.setdefault("settings", QUICK)
    return LLM("m", base_url=server.base_url, **fields)


class Pauses(list[float]):
    """A sleep that only notes how long it would have been."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def test_the_request_says_model_temperature_and_limit():  # B3
    with LLMServer([say("[1]")] * 2) as server:
        llm = llm_at(server)
        llm.complete(MESSAGES, max_tokens=50)
        llm.complete(MESSAGES, max_tokens=50, temperature=0.7)
        expected = {"model": "m", "messages": MESSAGES, "max_tokens": 50, "temperature": 0.0}
        assert server.bodies == [expected, {**expected, "temperature": 0.7}]


def test_reply_and_usage_come_from_the_answer():
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 4,
        "prompt_tokens_details": {"cached_tokens": 64},
    }
    with LLMServer([say("[1]", usage=usage)]) as server:
        reply = llm_at(server).complete(MESSAGES, max_tokens=50)
    assert (reply.text, reply.finish_reason, reply.from_store) == ("[1]", "stop", False)
    assert reply.usage == Usage(1, 100, 64, 4)


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": None},  # B21
        {"prompt_tokens": 9, "completion_tokens": 2},
        {
            "prompt_tokens": 9,
            "completion_tokens": 2,
            "prompt_tokens_details": {"cached_tokens": None},
        },
    ],
)
def test_cached_tokens_are_unknown_where_the_server_does_not_say(usage: dict[str, Any]):
    with LLMServer([say("[1]", usage=usage)]) as server:
        assert llm_at(server).complete(MESSAGES, max_tokens=5).usage == Usage(1, 9, None, 2)


@pytest.mark.parametrize(
    "body",
    [
        {"choices": [{"message": {}}]},
        {"choices": [{"message": {"content": None}, "finish_reason": "stop"}]},
        {"choices": [{"message": {"content": None}}], "usage": None},
    ],
)
def test_missing_fields_make_an_empty_reply_of_unknown_cost(body: dict[str, Any]):  # B5, W8
    with LLMServer([raw_body(body)]) as server:
        reply = llm_at(server).complete(MESSAGES, max_tokens=5)
    assert reply.text == ""
    assert reply.usage == Usage(1, 0, None, 0)


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
def test_reasoning_is_read_under_both_of_its_names(name: str):  # B5, B15
    message = {"content": None, name: '{"ids": [2]}'}
    with LLMServer([raw_body({"choices": [{"message": message, "finish_reason": "stop"}]})]) as s:
        reply = llm_at(s).complete(MESSAGES, max_tokens=5)
        assert len(s.requests) == 1
    assert (reply.text, reply.reasoning) == ("", '{"ids": [2]}')


def test_content_in_parts_is_joined():
    parts = [{"type": "text", "text": "[1"}, {"type": "text", "text": "]"}]
    with LLMServer([say(parts)]) as server:
        assert llm_at(server).complete(MESSAGES, max_tokens=5).text == "[1]"


# Transport.


@pytest.mark.parametrize(
    "trouble",
    [
        status(500),
        status(503),
        status(429, "Limit 10, Used 7, Requested 3"),  # B4
        status(408),
        status(409),
        drop(),
        raw_body("<html>busy</html>"),
        raw_body({"error": {"message": "upstream", "code": 502}}),
    ],
)
def test_passing_trouble_is_tried_again(trouble: llm_server.Act):
    with LLMServer([trouble, trouble, say("[1]")]) as server:
        llm = llm_at(server)
        reply = llm.complete(MESSAGES, max_tokens=5)
        assert (reply.text, reply.usage.calls) == ("[1]", 1)
        assert len(server.requests) == llm.n_requests_sent == 3


def test_a_silent_server_is_tried_again_after_the_time_of_one_try():
    with LLMServer([hang(), say("[1]")]) as server:
        llm = llm_at(server, settings=replace(QUICK, try_timeout=0.2))
        assert llm.complete(MESSAGES, max_tokens=5).text == "[1]"
        assert llm.n_requests_sent == 2


def test_one_deadline_bounds_all_tries_together():  # B18
    with LLMServer(lambda _: hang()) as server:
        llm = llm_at(server, settings=replace(QUICK, timeout=0.7, try_timeout=0.2))
        started = time.monotonic()
        with pytest.raises(TransportError, match=r"after \d tries in .* nothing came within"):
            llm.complete(MESSAGES, max_tokens=5)
        assert 0.5 < time.monotonic() - started < 1.2
        assert 3 <= llm.n_requests_sent <= 5


def test_an_answer_that_trickles_in_does_not_outlive_the_deadline():
    with LLMServer(lambda _: llm_server.drip(0.05)) as server:
        llm = llm_at(server, settings=replace(QUICK, timeout=0.5, tries=1))
        started = time.monotonic()
        with pytest.raises(TransportError, match="had begun but did not end in time"):
            llm.complete(MESSAGES, max_tokens=5)
        assert time.monotonic() - started < 1.0


def test_the_last_error_and_the_number_of_tries_are_told():
    with LLMServer(lambda _: status(503, "model is loading")) as server:
        llm = llm_at(server, settings=replace(QUICK, tries=3))
        with pytest.raises(TransportError, match=r"after 3 tries in .*: 503 model is loading") as e:
            llm.complete(MESSAGES, max_tokens=5)
        assert e.value.retryable
        assert len(server.requests) == 3


def test_a_server_that_is_not_there_is_a_transport_error():
    with LLMServer() as server:
        url = server.base_url
    llm = LLM("m", base_url=url, settings=replace(QUICK, tries=2))
    with pytest.raises(TransportError, match=r"after 2 tries .*cannot connect"):
        llm.complete(MESSAGES, max_tokens=5)


def test_pauses_grow_with_full_jitter_up_to_their_cap():
    class Longest(random.Random):
        def uniform(self, a: float, b: float) -> float:
            assert a == 0
            return b

    pauses = Pauses()
    with LLMServer(lambda _: status(500)) as server:
        settings = LLMSettings(timeout=60, backoff=0.5, backoff_cap=3, tries=6)
        with pytest.raises(TransportError):
            llm_at(server, settings=settings, sleep=pauses, rng=Longest()).complete(
                MESSAGES, max_tokens=5
            )
    assert pauses == [0.5, 1, 2, 3, 3]


def test_any_number_of_tries_has_a_pause():
    pauses = Pauses()
    with LLMServer() as server:
        pass  # and gone
    settings = LLMSettings(timeout=600, backoff_cap=0.001, tries=1000)
    llm = LLM("m", base_url=server.base_url, settings=settings, sleep=pauses)
    with pytest.raises(TransportError, match="after 1000 tries"):
        llm.complete(MESSAGES, max_tokens=5)
    assert len(pauses) == 999


def test_the_pause_the_server_asks_for_is_kept():
    pauses = Pauses()
    later = formatdate(time.time() + 10, usegmt=True)
    script = [status(429, retry_after="2"), status(503, retry_after=later), say("[1]")]
    with LLMServer(script) as server:
        settings = replace(QUICK, timeout=60)
        llm_at(server, settings=settings, sleep=pauses).complete(MESSAGES, max_tokens=5)
    assert 2 <= pauses[0] <= 2.1
    assert 8.5 <= pauses[1] <= 10.1


def test_a_pause_beyond_the_deadline_ends_the_call_at_once():
    with LLMServer([status(429, "quota", retry_after="3600")]) as server:
        started = time.monotonic()
        with pytest.raises(TransportError, match=r"after 1 try .* it asks to wait 3600 s"):
            llm_at(server).complete(MESSAGES, max_tokens=5)
        assert time.monotonic() - started < 2


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
        # The server's clock is a day ahead: its own Date counts.
        (
            {
                "retry-after": "Fri, 02 Jan 1970 00:00:30 GMT",
                "date": "Fri, 02 Jan 1970 00:00:10 GMT",
            },
            20.0,
        ),
        ({"retry-after": "Thu, 01 Jan 1970 00:01:40 GMT"}, 60.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:01 GMT"}, 0.0),
    ],
)
def test_retry_after_is_read_in_both_forms(headers: dict[str, str], seconds: float | None):
    assert retry_after(headers, now=lambda: 40.0) == seconds


# Refusals.


@pytest.mark.parametrize("code", [400, 401, 403, 404, 422])
def test_a_refusal_fails_at_once_with_the_servers_words(code: int):
    with LLMServer([status(code, "Incorrect key")]) as server:
        with pytest.raises(PermanentError, match=f"{code}: Incorrect key") as raised:
            llm_at(server).complete(MESSAGES, max_tokens=5)
        assert raised.value.status == code
        assert not raised.value.retryable
        assert len(server.requests) == 1


def test_an_account_without_money_is_a_refusal():
    with LLMServer([status(429, "You exceeded your quota", code="insufficient_quota")]) as server:
        with pytest.raises(PermanentError, match="exceeded your quota"):
            llm_at(server).complete(MESSAGES, max_tokens=5)


def test_a_refusal_inside_an_answer_of_status_200_is_a_refusal():
    with LLMServer([raw_body({"error": {"message": "no such model", "code": 404}})]) as server:
        with pytest.raises(PermanentError, match="404: no such model"):
            llm_at(server).complete(MESSAGES, max_tokens=5)


def _refuse_format(request: Request) -> llm_server.Act | None:
    if "response_format" in request.body:
        return status(400, "uniqueItems is not permitted")
    return say("[1]")


def test_a_refused_schema_is_left_out_and_not_tried_again():  # B16
    with LLMServer(_refuse_format) as server:
        settings = replace(QUICK, structured=True, tries=1)
        for _ in range(2):
            reply = llm_at(server, settings=settings).complete(
                MESSAGES, max_tokens=5, schema=SCHEMA
            )
            assert (reply.text, reply.usage.calls) == ("[1]", 1)
        sent = ["response_format" in body for body in server.bodies]
    assert sent == [True, False, False]


def test_a_refusal_that_plain_mode_does_not_cure_is_told_and_nothing_is_remembered():
    with LLMServer(lambda _: status(400, "prompt too long")) as server:
        llm = llm_at(server, settings=replace(QUICK, structured=True))
        for _ in range(2):
            with pytest.raises(PermanentError, match="prompt too long"):
                llm.complete(MESSAGES, max_tokens=5, schema=SCHEMA)
        sent = ["response_format" in body for body in server.bodies]
    assert sent == [True, False, True, False]


def test_a_schema_is_sent_only_where_the_settings_say_so():
    with LLMServer([say("[1]")] * 2) as server:
        llm_at(server).complete(MESSAGES, max_tokens=5, schema=SCHEMA)
        structured = llm_at(server, settings=replace(QUICK, structured=True))
        structured.complete(MESSAGES, max_tokens=5, schema=SCHEMA)
        plain, asked = server.bodies
    assert "response_format" not in plain
    assert asked["response_format"]["type"] == "json_schema"
    assert asked["response_format"]["json_schema"]["schema"] == SCHEMA


def test_a_server_that_wants_max_completion_tokens_gets_them_from_then_on():
    def newer(request: Request) -> llm_server.Act:
        if "max_tokens" in request.body:
            return status(400, "Unsupported: 'max_tokens'. Use 'max_completion_tokens' instead.")
        if "response_format" in request.body:
            return status(400, "no schemas here")
        return say("[1]")

    with LLMServer(newer) as server:
        llm = llm_at(server, settings=replace(QUICK, structured=True))
        for _ in range(2):
            assert llm.complete(MESSAGES, max_tokens=5, schema=SCHEMA).text == "[1]"
        assert len(server.requests) == 4
        assert server.bodies[-1]["max_completion_tokens"] == 5


# Truncation.


@pytest.mark.parametrize(
    "cut",
    [
        llm_server.truncated("Sentence [1]"),
        llm_server.reasoning_only(),  # B12
        say(None, reasoning="hm, [1] or [2]", finish_reason="stop"),  # B15
        say("<think>maybe [7]", finish_reason="stop"),  # B24
    ],
)
def test_a_cut_reply_is_asked_for_once_more_with_a_larger_limit(cut: llm_server.Act):
    with LLMServer([cut, say("[1]")]) as server:
        reply = llm_at(server).complete(MESSAGES, max_tokens=50)
        assert [body["max_tokens"] for body in server.bodies] == [50, 4096]
    assert (reply.text, reply.usage.calls) == ("[1]", 2)
    assert reply.usage.completion_tokens > 3  # what was cut is paid for too


def test_a_reply_cut_twice_is_an_error_that_keeps_text_and_cost():
    with LLMServer(lambda _: llm_server.truncated("one two three")) as server:
        with pytest.raises(TruncatedReply, match="within 2000 tokens, nor within 8000") as raised:
            llm_at(server).complete(MESSAGES, max_tokens=2000)
        assert len(server.requests) == 2
    assert raised.value.raw == "one two three"
    assert raised.value.usage.calls == 2
    assert raised.value.usage.completion_tokens == 6


def test_the_second_try_of_a_cut_reply_is_plain():  # B13
    blanks = say('{"ids": [3,' + "\n" * 100, finish_reason="length")
    with LLMServer([blanks, say("[1]")]) as server:
        llm = llm_at(server, settings=replace(QUICK, structured=True))
        llm.complete(MESSAGES, max_tokens=5, schema=SCHEMA)
        assert ["response_format" in body for body in server.bodies] == [True, False]


def test_tokens_for_reasoning_are_added_to_every_limit():
    with LLMServer([say("[1]")]) as server:
        llm_at(server, settings=replace(QUICK, reasoning_tokens=3000)).complete(
            MESSAGES, max_tokens=50
        )
        assert server.bodies[0]["max_tokens"] == 3050


# The store.


def test_a_stored_answer_is_returned_without_a_request_and_with_its_cost():
    store = MemoryStore()
    with LLMServer() as server:
        first = llm_at(server, store=store).complete(MESSAGES, max_tokens=5)
        llm = llm_at(server, store=store)
        again = llm.complete(MESSAGES, max_tokens=5)
        assert llm.n_requests_sent == 0
        assert len(server.requests) == 1
    assert again == replace(first, from_store=True)
    assert again.usage.calls == 1


def test_an_answer_is_in_the_store_before_it_is_used():
    class Crash(Exception):
        pass

    class CrashingStore(MemoryStore):
        def put(self, key: str, response: dict[str, Any]) -> None:
            super().put(key, response)
            raise Crash

    store = CrashingStore()
    with LLMServer() as server:
        with pytest.raises(Crash):
            llm_at(server, store=store).complete(MESSAGES, max_tokens=5)
        assert llm_at(server, store=store).complete(MESSAGES, max_tokens=5).from_store
        assert len(server.requests) == 1


def test_a_cut_answer_is_stored_too_so_that_a_resumed_run_goes_on_behind_it():
    store = MemoryStore()
    with LLMServer([llm_server.truncated(), status(401)]) as server:
        with pytest.raises(PermanentError):
            llm_at(server, store=store).complete(MESSAGES, max_tokens=5)
        reply = llm_at(server, store=store).complete(MESSAGES, max_tokens=5)
        assert [body["max_tokens"] for body in server.bodies] == [5, 4096, 4096]
    assert reply.usage.calls == 2
    assert not reply.from_store


def test_failures_are_not_stored():
    store = MemoryStore()
    with LLMServer([status(500), say("[2]")]) as server:
        settings = replace(QUICK, tries=1)
        with pytest.raises(TransportError):
            llm_at(server, store=store, settings=settings).complete(MESSAGES, max_tokens=5)
        assert llm_at(server, store=store).complete(MESSAGES, max_tokens=5).text == "[2]"


def test_without_a_store_every_call_is_a_request():
    with LLMServer([say("[1]"), say("[2]")]) as server:
        llm = llm_at(server)
        assert [llm.complete(MESSAGES, max_tokens=5).text for _ in range(2)] == ["[1]", "[2]"]


def test_the_key_depends_on_everything_that_shapes_the_answer_and_on_nothing_else():
    body = {"model": "m", "messages": MESSAGES, "max_tokens": 5, "temperature": 0.0}
    same = dict(reversed(body.items()))
    others = [
        request_key({**body, "model": "n"}, 0),
        request_key({**body, "messages": [{"role": "user", "content": "Which?"}]}, 0),
        request_key({**body, "max_tokens": 6}, 0),
        request_key({**body, "temperature": 0.5}, 0),
        request_key({**body, "response_format": {"type": "json_object"}}, 0),
        request_key(body, 1),
    ]
    assert request_key(same, 0) == request_key(body, 0)
    assert len({request_key(body, 0), *others}) == 7


def test_another_address_finds_the_same_answers():
    store = MemoryStore()
    with LLMServer([say("[1]")]) as one, LLMServer() as other:
        llm_at(one, store=store).complete(MESSAGES, max_tokens=5)
        assert llm_at(other, store=store).complete(MESSAGES, max_tokens=5).text == "[1]"
        assert other.requests == []


# Many at once.


def _in_threads(n: int, work: Callable[[int], object]) -> None:
    threads = [threading.Thread(target=work, args=(k,)) for k in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_only_so_many_calls_are_under_way_for_one_address():
    with LLMServer(latency=0.05) as server:
        settings = replace(QUICK, concurrency=2)
        llms = [llm_at(server, settings=settings) for _ in range(2)]  # they share the limit
        _in_threads(8, lambda k: llms[k % 2].complete(MESSAGES, max_tokens=5, attempt=k))
        assert len(server.requests) == 8
        assert server.most_at_once == 2


def test_waiting_for_a_place_does_not_use_up_the_deadline():
    with LLMServer(latency=0.2) as server:
        llm = llm_at(server, settings=replace(QUICK, concurrency=1, timeout=0.5))
        texts: list[str] = []
        _in_threads(4, lambda k: texts.append(llm.complete(MESSAGES, max_tokens=5).text))
        assert len(texts) == 4


def _complete_in_child(llm: LLM, queue: Any) -> None:
    queue.put(llm.complete(MESSAGES, max_tokens=5).text)


def test_a_forked_worker_uses_a_connection_of_its_own():  # B25
    with LLMServer() as server:
        llm = llm_at(server)
        llm.complete(MESSAGES, max_tokens=5)
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        child = context.Process(target=_complete_in_child, args=(llm, queue))
        child.start()
        text = queue.get(timeout=10)
        child.join(10)
        assert text == llm.complete(MESSAGES, max_tokens=5).text
        before, forked, after = (request.client_port for request in server.requests)
    assert before == after != forked


# Settings.


def test_model_address_key_and_settings_come_from_the_environment():
    with LLMServer([say("[1]")]) as server:
        env = {
            "OPENAI_MODEL": "from-env",
            "OPENAI_BASE_URL": server.base_url + "/",
            "OPENAI_API_KEY": "secret",
            "SUFFICE_LLM_TIMEOUT": "7.5",
            "SUFFICE_LLM_CONCURRENCY": "2",
            "SUFFICE_LLM_STRUCTURED": "yes",
        }
        llm = LLM.from_environment(None, environ=env, tries=3)
        llm.complete(MESSAGES, max_tokens=5)
        assert server.requests[0].headers["authorization"] == "Bearer secret"
        assert llm.base_url == server.base_url
    assert llm.model == "from-env"
    assert llm.settings == LLMSettings(timeout=7.5, concurrency=2, structured=True, tries=3)
    assert "secret" not in repr(llm)
    assert "secret" not in repr(llm._endpoint)


def test_a_password_in_the_address_is_sent_and_never_shown(caplog: pytest.LogCaptureFixture):
    script = [status(400, "unknown temperature"), say("[1]"), status(503), status(400)]
    with LLMServer(script) as server, caplog.at_level("DEBUG"):
        address = server.base_url.replace("//", "//user:s3cret%21@")
        env = {"OPENAI_BASE_URL": address, "SUFFICE_LLM_TRIES": "1"}
        llm = LLM.from_environment("m", environ=env)
        llm.complete(MESSAGES, max_tokens=5)
        sent = base64.b64encode(b"user:s3cret!").decode()
        assert server.requests[0].headers["authorization"] == f"Basic {sent}"
        texts = [repr(llm), repr(llm.endpoint), llm.base_url]
        for expected in (TransportError, PermanentError):
            with pytest.raises(expected) as raised:
                llm.complete(MESSAGES, max_tokens=5)
            texts.append(str(raised.value))
        assert llm.base_url == server.base_url
        assert server.base_url in texts[-2]
    assert not [text for text in [*texts, caplog.text] if "s3cret" in text]


def test_the_model_named_wins_over_the_environment():
    env = {"OPENAI_MODEL": "from-env", "OPENAI_API_KEY": "secret"}
    assert LLM.from_environment("named", environ=env).model == "named"


def test_without_a_model_the_error_says_what_to_set():
    with pytest.raises(MissingDependency, match=r"--model NAME.*OPENAI_MODEL"):
        LLM.from_environment(None, environ={"OPENAI_API_KEY": "secret"})


@pytest.mark.parametrize("env", [{}, {"OPENAI_BASE_URL": "https://api.openai.com/v1/"}])
def test_openai_itself_needs_a_key(env: dict[str, str]):
    with pytest.raises(MissingDependency, match="OPENAI_API_KEY"):
        LLM.from_environment("m", environ=env)


@pytest.mark.parametrize("key", ["schlüssel", "two\nlines"])
def test_a_key_that_cannot_be_sent_is_refused_before_it_is_tried(key: str):
    with pytest.raises(MissingDependency, match="OPENAI_API_KEY holds characters"):
        LLM.from_environment("m", environ={"OPENAI_API_KEY": key})


def test_blanks_around_a_key_are_no_part_of_it():
    with LLMServer([say("[1]")]) as server:
        env = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": " secret\n"}
        LLM.from_environment("m", environ=env).complete(MESSAGES, max_tokens=5)
        assert server.requests[0].headers["authorization"] == "Bearer secret"


def test_a_server_of_ones_own_needs_no_key():
    with LLMServer([say("[1]")]) as server:
        llm = LLM.from_environment("m", environ={"OPENAI_BASE_URL": server.base_url})
        assert llm.complete(MESSAGES, max_tokens=5).text == "[1]"


def test_bad_settings_are_named_all_at_once():
    env = {
        "SUFFICE_LLM_TIMEOUT": "soon",
        "SUFFICE_LLM_CONCURRENCY": "0",
        "SUFFICE_LLM_STRUCTURED": "maybe",
        "SUFFICE_LLM_TRIES": "3",
    }
    with pytest.raises(BadInput) as raised:
        LLM.from_environment("m", environ={**env, "OPENAI_API_KEY": "secret"})
    assert [problem.split(":")[0] for problem in raised.value.problems] == [
        "SUFFICE_LLM_TIMEOUT",
        "SUFFICE_LLM_CONCURRENCY",
        "SUFFICE_LLM_STRUCTURED",
    ]
    assert "'soon'" in raised.value.problems[0]


@pytest.mark.parametrize("field", ["timeout", "try_timeout", "concurrency", "tries", "backoff"])
def test_settings_out_of_range_are_refused(field: str):
    for value in (-1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match=field):
            LLMSettings(**{field: value})


@pytest.mark.parametrize(
    ("field", "most"),
    [
        ("timeout", 86_400),
        ("try_timeout", 86_400),
        ("concurrency", 10_000),
        ("tries", 1_000),
        ("backoff", 3_600),
        ("backoff_cap", 3_600),
    ],
)
def test_settings_have_an_upper_bound(field: str, most: int):
    name = f"SUFFICE_LLM_{field.upper()}"
    env = {"OPENAI_API_KEY": "secret", name: str(most)}
    assert getattr(LLM.from_environment("m", environ=env).settings, field) == most
    for value in (str(most + 1), "1" + "0" * 30):
        with pytest.raises(BadInput, match=rf"{name}: '{value}' cannot be used.* {most}"):
            LLM.from_environment("m", environ={**env, name: value})
