"""Spend limits: nothing is sent beyond them, and what is counted is what was paid."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest

from rankers.asking import ask
from rankers.errors import BadInput, PermanentError, SpendLimitReached, TransportError
from rankers.incremental import IncrementalLLM
from rankers.registry import build
from rankers.replies import parse_pick
from rankers.spending import Prices, Spending
from rankers.store import MemoryStore
from rankers.values import Usage
from tests import llm_server
from tests.llm_server import Act, LLMServer, Request, raw_body, say, status
from tests.rankers.test_llm import MESSAGES, QUICK, llm_at

USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 10,
    "prompt_tokens_details": {"cached_tokens": 60},
}
PRICES = Prices(2.0, 0.5, 8.0)


def ask_times(llm: Any, n: int) -> None:
    for k in range(n):
        llm.complete(MESSAGES, max_tokens=5, attempt=k)


def test_the_limit_of_calls_is_exact():
    spending = Spending(max_calls=3)
    with LLMServer([say("[1]")] * 9) as server:
        llm = llm_at(server, spending=spending)
        ask_times(llm, 3)
        with pytest.raises(SpendLimitReached, match="limit of 3 calls is reached"):
            ask_times(llm, 1)
        assert len(server.requests) == 3
    assert spending.calls == 3


def test_the_limit_of_calls_is_exact_with_many_threads():
    spending = Spending(max_calls=20)
    outcomes: list[str] = []

    with LLMServer(latency=0.01) as server:
        llm = llm_at(server, spending=spending, settings=replace(QUICK, concurrency=16))

        def work(thread: int) -> None:
            for k in range(5):
                try:
                    llm.complete(MESSAGES, max_tokens=5, attempt=100 * thread + k)
                    outcomes.append("answer")
                except SpendLimitReached:
                    outcomes.append("limit")

        threads = [threading.Thread(target=work, args=(k,)) for k in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(server.requests) == 20
    assert (outcomes.count("answer"), outcomes.count("limit")) == (20, 60)


def test_the_limit_of_tokens_stops_the_call_after_the_one_that_reached_it():
    spending = Spending(max_tokens=220)
    with LLMServer([say("[1]", usage=USAGE)] * 9) as server:
        with pytest.raises(SpendLimitReached, match="limit of 220 tokens"):
            ask_times(llm_at(server, spending=spending), 9)
        assert len(server.requests) == 2
    assert spending.tokens == 220


def test_the_limit_in_money_counts_cached_tokens_at_their_price():
    spending = Spending(max_cost=0.0004, prices=PRICES)
    with LLMServer([say("[1]", usage=USAGE)] * 9) as server:
        with pytest.raises(SpendLimitReached, match=r"limit of 0\.0004 in money"):
            ask_times(llm_at(server, spending=spending), 9)
        assert len(server.requests) == 3
    # 40 x 2 + 60 x 0.5 + 10 x 8 = 190 a million-th each
    assert spending.cost == pytest.approx(3 * 190e-6)


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        (Usage(1, 1_000_000, 0, 0), 2.0),
        (Usage(1, 1_000_000, 1_000_000, 0), 0.5),
        (Usage(1, 1_000_000, None, 0), 2.0),  # unknown counts as not cached
        (Usage(1, 1_000_000, 2_000_000, 0), 0.5),  # more cached than sent cannot be
        (Usage(1, 0, 0, 500_000), 4.0),
    ],
)
def test_prices_are_for_a_million_tokens(usage: Usage, cost: float):
    assert PRICES.cost(usage) == pytest.approx(cost)


def test_answers_from_the_store_cost_nothing_and_are_given_beyond_the_limit():
    store = MemoryStore()
    with LLMServer([say("[1]")] * 2) as server:
        ask_times(llm_at(server, store=store), 2)
        spending = Spending(max_calls=0)
        llm = llm_at(server, store=store, spending=spending)
        ask_times(llm, 2)
        with pytest.raises(SpendLimitReached):
            ask_times(llm, 3)
        assert len(server.requests) == 2
    assert (spending.calls, spending.tokens) == (0, 0)


def test_both_answers_count_when_the_first_was_cut():
    spending = Spending()
    with LLMServer([llm_server.truncated(), say("[1]")]) as server:
        usage = llm_at(server, spending=spending).complete(MESSAGES, max_tokens=5).usage
    assert spending.calls == usage.calls == 2
    assert spending.tokens == usage.prompt_tokens + usage.completion_tokens


def test_refused_requests_are_given_back():
    spending = Spending(max_calls=1)
    busy = raw_body({"error": {"message": "too many", "code": 429}})
    with LLMServer([status(408), status(429), busy, say("[1]")]) as server:
        llm_at(server, spending=spending).complete(MESSAGES, max_tokens=5)
    assert spending.calls == 1
    inside = raw_body({"error": {"message": "no such model", "code": 404}})
    with LLMServer([status(401), inside]) as server:
        llm = llm_at(server, spending=Spending(max_calls=1))
        for _ in range(2):
            with pytest.raises(PermanentError):
                llm.complete(MESSAGES, max_tokens=5)
    assert llm.spending.calls == 0


def test_requests_that_never_reached_a_server_are_given_back():
    with LLMServer() as server:
        pass  # and gone
    spending = Spending()
    llm = llm_at(server, spending=spending, settings=replace(QUICK, tries=3))
    with pytest.raises(TransportError):
        llm.complete(MESSAGES, max_tokens=5)
    assert (spending.calls, llm.n_requests_sent) == (0, 3)


def test_requests_without_an_end_may_be_billed_and_count():
    spending = Spending(max_calls=3)
    with LLMServer(lambda _: llm_server.drop()) as server:
        with pytest.raises(SpendLimitReached):
            llm_at(server, spending=spending).complete(MESSAGES, max_tokens=5)
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    "act",
    [
        llm_server.drop(),
        llm_server.delay(2),
        status(500),
        status(504),
        raw_body({"ok": 1}),
        raw_body("<html>busy</html>"),
        raw_body({"error": {"message": "upstream", "code": 502}}),
    ],
)
@pytest.mark.parametrize("limits", [{"max_tokens": 25}, {"max_calls": 3}])
def test_whatever_was_sent_without_an_answer_counts_with_what_was_sent(act, limits):
    spending = Spending(**limits)
    settings = replace(QUICK, try_timeout=0.3)
    with LLMServer(lambda _: act) as server:
        with pytest.raises(SpendLimitReached):
            llm_at(server, spending=spending, settings=settings).complete(MESSAGES, max_tokens=5)
        assert len(server.requests) == 3
    assert (spending.calls, spending.tokens) == (3, 3 * len("Which one?"))


def test_a_server_that_does_not_say_its_tokens_is_taken_to_use_one_a_character():
    spending = Spending(max_tokens=20, prices=PRICES)
    with LLMServer([say("[1]", usage=None)] * 9) as server:
        with pytest.raises(SpendLimitReached):
            ask_times(llm_at(server, spending=spending), 9)
        assert len(server.requests) == 2
    assert spending.tokens == 2 * (len("Which one?") + len("[1]"))
    assert spending.report() == (
        "spent: 2 calls, 26 of 20 tokens, cost 0.0001, 2 answers without token counts estimated"
    )


def test_neither_asking_nor_a_method_swallows_the_limit():
    with LLMServer([llm_server.prose()] * 9) as server:
        with pytest.raises(SpendLimitReached):
            ask(
                llm_at(server, spending=Spending(max_calls=2)),
                MESSAGES,
                lambda reply: parse_pick(reply.text, 3),
                max_tokens=9,
                attempts=5,
                temperature=0.0,
            )
        ranker = IncrementalLLM(
            llm_at(server, spending=Spending(max_calls=2)), seed_ranker=build("bm25")
        )
        with pytest.raises(SpendLimitReached):
            ranker.rank("a claim", ["one", "two", "three"])
        assert len(server.requests) == 4


def test_the_report_says_of_how_much():
    spending = Spending(max_calls=1000, max_tokens=2_000_000, max_cost=1.5, prices=PRICES)
    spending.reserve()
    spending.count(Usage(1, 12_000, None, 300), sent=0, said=0)
    assert spending.report() == (
        "spent: 1 of 1,000 calls, 12,300 of 2,000,000 tokens, cost 0.0264 of 1.5"
    )
    assert Spending().report() == "spent: 0 calls, 0 tokens"


def test_prices_are_read_from_one_text():
    assert Prices.from_text("0.15, 0.075,0.6") == Prices(0.15, 0.075, 0.6)


@pytest.mark.parametrize("text", ["", "1", "1,2", "1,2,3,4", "a,b,c", "1,2,-3", "1,2,nan"])
def test_prices_that_are_none_are_refused(text: str):
    with pytest.raises(BadInput, match=r"IN,CACHED,OUT|price of output"):
        Prices.from_text(text)


def test_limits_that_are_none_are_named_all_at_once():
    with pytest.raises(BadInput) as raised:
        Spending(max_calls=-1, max_tokens=-5, max_cost=float("inf"))
    assert [problem.split(":")[0] for problem in raised.value.problems] == [
        *("max_calls", "max_tokens", "max_cost", "max_cost"),
    ]


def test_after_a_stop_nothing_is_sent_and_a_pause_between_tries_ends():
    spending = Spending()
    busy = threading.Event()

    def script(request: Request) -> Act:
        busy.set()
        return status(429, retry_after="50")

    caught: list[SpendLimitReached] = []

    def work() -> None:
        with pytest.raises(SpendLimitReached) as raised:
            llm.complete(MESSAGES, max_tokens=5)
        caught.append(raised.value)

    with LLMServer(script) as server:
        llm = llm_at(server, spending=spending, settings=replace(QUICK, timeout=100))
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        assert busy.wait(10)
        spending.stop("interrupted")
        thread.join(20)
        assert not thread.is_alive()
        with pytest.raises(SpendLimitReached, match="interrupted: nothing more was sent"):
            llm.complete(MESSAGES, max_tokens=5)
        assert len(server.requests) == 1
    assert str(caught[0]) == (
        "interrupted: nothing more was sent (spent: 0 calls, 0 tokens); "
        "answers so far are kept: start again to go on"
    )
