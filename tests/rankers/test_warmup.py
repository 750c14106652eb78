"""The first call of a prefix goes alone, so that the others find the server's cache warm."""

from __future__ import annotations

import itertools
import multiprocessing
import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from rankers.errors import PermanentError
from rankers.llm import LLM
from rankers.store import MemoryStore
from rankers.warmup import Warmup
from tests.llm_server import LLMServer, delay, status
from tests.rankers.test_llm import QUICK, _in_threads, llm_at

PREFIX = "Claim and candidates, " * 40
WIDE = {"timeout": 20, "backoff": 0.01, "concurrency": 32}


def wide_llm(server: LLMServer, **fields: Any) -> LLM:
    return llm_at(server, settings=type(QUICK)(**WIDE), **fields)


def ask(llm: LLM, tail: object, prefix: str = PREFIX) -> Any:
    messages = [{"role": "user", "content": f"{prefix}{tail}"}]
    return llm.complete(messages, max_tokens=5, prefix=prefix)


def waits(server: LLMServer) -> list[float]:
    """Seconds from each request to the next; the server itself waits before it answers."""
    times = [request.at for request in server.requests]
    return [later - earlier for earlier, later in itertools.pairwise(times)]


def test_the_first_of_many_threads_ends_before_any_other_starts():
    with LLMServer(latency=0.2) as server:
        llm = wide_llm(server)
        _in_threads(8, lambda k: ask(llm, k))
        assert len(server.requests) == 8
        assert waits(server)[0] >= 0.2
        assert server.most_at_once > 1


def test_the_others_find_the_cache_warm():
    replies: list[Any] = []
    with LLMServer(latency=0.05) as server:
        llm = wide_llm(server)
        _in_threads(8, lambda k: replies.append(ask(llm, k)))
    cached = sorted(reply.usage.cached_prompt_tokens for reply in replies)
    assert cached[0] == 0
    assert min(cached[1:]) > 100


def test_when_the_first_call_fails_the_next_one_goes_alone():
    outcomes: list[str] = []
    with LLMServer([replace(status(401), delay=0.2)], latency=0.2) as server:
        llm = wide_llm(server)

        def work(k: int) -> None:
            try:
                ask(llm, k)
                outcomes.append("answer")
            except PermanentError:
                outcomes.append("refused")

        _in_threads(8, work)
        assert min(waits(server)[:2]) >= 0.2
    assert (outcomes.count("answer"), outcomes.count("refused")) == (7, 1)


@pytest.mark.parametrize("prefixes", [["one", "two", "three", "four"], [None] * 4])
def test_different_prefixes_and_calls_without_one_do_not_wait(prefixes: list[str | None]):
    meeting = threading.Barrier(4, timeout=10)
    warmup = Warmup()
    waited: list[bool] = []

    def first_call(k: int) -> None:
        with warmup.turn(prefixes[k]) as has_waited:
            meeting.wait()  # all four are inside at once
            waited.append(has_waited)

    _in_threads(4, first_call)
    assert waited == [False] * 4


def test_stored_answers_do_not_wait_for_the_server():
    store = MemoryStore()
    with LLMServer() as server:
        ask(wide_llm(server, store=store), "known")
        llm = wide_llm(server, store=store)  # knows no prefix yet
        server.script = lambda _: delay(1.5)
        slow = threading.Thread(target=ask, args=(llm, "unknown"))
        slow.start()
        while len(server.requests) < 2:
            time.sleep(0.005)
        assert ask(llm, "known").from_store
        assert slow.is_alive()
        slow.join()


def test_the_very_same_question_of_two_threads_is_paid_for_once():
    replies: list[Any] = []
    with LLMServer(latency=0.1) as server:
        llm = wide_llm(server, store=MemoryStore())
        _in_threads(6, lambda k: replies.append(ask(llm, "same")))
        assert len(server.requests) == 1
    assert sorted(reply.from_store for reply in replies) == [False] + [True] * 5


def test_old_prefixes_are_forgotten():
    warmup = Warmup()
    for k in range(5000):
        with warmup.turn(str(k)):
            pass
    assert len(warmup._warm) == 4096
    assert warmup._under_way == {}


def _ask_in_child(llm: LLM, queue: Any) -> None:
    queue.put(ask(llm, "child").text)


def test_a_child_forked_during_a_first_call_does_not_wait_for_its_parents_thread():
    with LLMServer() as server:
        llm = wide_llm(server)
        server.script = lambda request: delay(0.0 if "child" in request.prompt else 3.0)
        first = threading.Thread(target=ask, args=(llm, "parent"))
        first.start()
        while not server.requests:
            time.sleep(0.005)
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        child = context.Process(target=_ask_in_child, args=(llm, queue))
        child.start()
        assert queue.get(timeout=20)
        assert first.is_alive()
        child.join(10)
        first.join()


def test_a_warm_prefix_is_not_waited_for_again():
    meeting = threading.Barrier(4, timeout=10)
    warmup = Warmup()
    with warmup.turn("prefix"):
        pass

    def later_call(_: int) -> None:
        with warmup.turn("prefix"):
            meeting.wait()

    _in_threads(4, later_call)
    assert not meeting.broken
