"""Failures reported of other rerankers and their servers, each with the outcome we want."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

import rankers
from rankers.base import Ranker
from rankers.endpoint import LLMSettings
from rankers.errors import BadInput, TransportError, TruncatedReply
from rankers.incremental import IncrementalLLM
from rankers.one_shot import OneShotLLM
from rankers.prompts import ids_schema
from rankers.registry import METHODS, calls_for
from rankers.replies import parse_ids
from rankers.store import MemoryStore
from rankers.values import Claim, Ranking
from tests import llm_server
from tests.llm_server import Act, LLMServer, Request, pick, raw_body, run, say
from tests.rankers.llm_cast import (
    CANDIDATES,
    CLAIM,
    ORDER,
    QUICK,
    Backwards,
    llm_at,
    numbers_of,
    sentences,
    shown_in,
)

LLM_METHODS = sorted(name for name, info in METHODS.items() if "model" in info.needs)
STRUCTURED = replace(QUICK, structured=True)


def one_shot(server: LLMServer, settings: LLMSettings = QUICK, **fields: Any) -> OneShotLLM:
    store = fields.pop("store", None)
    fields.setdefault("seed_ranker", Backwards())
    return OneShotLLM(llm_at(server, settings, store=store), **fields)


def incremental(server: LLMServer, settings: LLMSettings = QUICK, **fields: Any) -> IncrementalLLM:
    fields.setdefault("seed_ranker", Backwards())
    return IncrementalLLM(llm_at(server, settings), **fields)


def results_of_all(server: LLMServer, settings: LLMSettings, claim: str, candidates: list[str]):
    """What every LLM method says about a claim."""
    for name in LLM_METHODS:
        method = rankers.build(name, llm=llm_at(server, settings))
        use = method.rank if isinstance(method, Ranker) else method.select
        yield use(claim, candidates)


def test_b01_two_digit_ids_were_read_digit_by_digit():
    """``[11]`` became 1."""
    with LLMServer(lambda _: run(11, 3, 2)) as server:
        ranking = one_shot(server).rank(CLAIM, sentences(11))
    assert ranking.order == (10, 2, 1, 9, 8, 7, 6, 5, 4, 3, 0)
    assert ranking.origins == ("judged",) * 3 + ("fallback",) * 8
    assert parse_ids("[11] > [3] > [2]", 11).status == "partial"


def test_b02_a_token_that_is_no_single_digit_crashed_the_reading_of_log_probabilities():
    """``unicodedata`` was asked for the name of "10"."""
    top = llm_server.top_tokens(("10", -0.2), ("1", -1.0), ("²", -2.0))
    with LLMServer([top]) as server:
        ranking = one_shot(server, answer="first_token").rank(CLAIM, sentences(12))
    assert ranking.order == (9, 0, 11, 10, 8, 7, 6, 5, 4, 3, 2, 1)
    assert ranking.origins == ("judged",) * 2 + ("seed",) * 10


@pytest.mark.parametrize("temperature", [None, 0.7])
@pytest.mark.parametrize("name", LLM_METHODS)
def test_b03_the_temperature_was_lost_on_the_way_to_the_request(
    name: str, temperature: float | None
):
    """Rankings got worse for two months."""
    params = {} if temperature is None else {"temperature": temperature}
    bad_first = [llm_server.prose()]  # corrections carry it as well
    with LLMServer(bad_first) as server:
        method = rankers.build(name, llm=llm_at(server), params=params)
        (method.rank if isinstance(method, Ranker) else method.select)(CLAIM, CANDIDATES)
        sent = {body["temperature"] for body in server.bodies}
        assert len(server.requests) > 1
    assert sent == {temperature or 0.0}


def test_b04_the_words_of_a_transport_error_were_taken_for_the_answer():
    """ "Limit 10, Used 7, Requested 3" became the order 10, 7, 3."""
    with LLMServer([llm_server.limit_reached()] * 2) as server:
        ranking = one_shot(server).rank(CLAIM, CANDIDATES)
        assert len(server.requests) == 3
    assert (ranking.order, ranking.status) == (ORDER, "complete")
    assert ranking.usage.calls == 1
    with LLMServer(lambda _: llm_server.limit_reached()) as server:
        with pytest.raises(TransportError, match="Limit 10, Used 7, Requested 3"):
            one_shot(server).rank(CLAIM, sentences(12))


def test_b05_a_reply_without_the_field_for_reasoning_was_an_error():
    """Its absence raised an AttributeError."""
    message = {"role": "assistant", "content": "[5] > [2] > [1] > [3] > [4]"}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    with LLMServer([raw_body(body)]) as server:
        assert one_shot(server).rank(CLAIM, CANDIDATES).order == ORDER


@pytest.mark.parametrize(
    ("params", "named"),
    [({"group": 0}, "group"), ({"keep": 0}, "keep"), ({"group": 6, "keep": 6}, "keep: 6 is not")],
)
def test_b06_a_step_of_zero_looped_for_ever(params: dict[str, int], named: str):
    """Windows that do not move are refused before anything is sent."""
    with LLMServer() as server:
        with pytest.raises(BadInput, match=named):
            rankers.build("reranker", llm=llm_at(server), params=params)
        with pytest.raises(BadInput, match=named):
            calls_for("reranker", 100, params)
        assert server.requests == []


@pytest.mark.parametrize(("n", "n_calls"), [(25, 2), (5, 1)])
def test_b07_irregular_last_windows_were_skipped(n: int, n_calls: int):
    """Some candidates were never shown."""
    with LLMServer() as server:
        ranking = rankers.build("reranker", llm=llm_at(server)).rank(CLAIM, sentences(n))
        prompts = "".join(request.prompt for request in server.requests)
        assert len(server.requests) == ranking.usage.calls == n_calls
    assert all(text in prompts for text in sentences(n))


@pytest.mark.parametrize(("tournament", "n_judged"), [("groups", 6), ("paper", 19)])
def test_b08_only_the_top_is_certain_when_windows_move_over_a_list(tournament: str, n_judged: int):
    """The order of the rest was sold as judged."""
    with LLMServer() as server:
        params = {"tournament": tournament}
        ranker = rankers.build("reranker", llm=llm_at(server), params=params)
        ranking = ranker.rank(CLAIM, sentences(25))
    assert ranking.origins == ("judged",) * n_judged + ("seed",) * (25 - n_judged)


def test_b09_a_chatty_answer_was_an_index_error():
    """A line "Doc: 5, page 3" was read as an answer."""
    with LLMServer(lambda _: llm_server.prose_behind(5, 1)) as server:
        ranking = one_shot(server, attempts=1).rank(CLAIM, sentences(6))
    assert ranking.order == (4, 0, 5, 3, 2, 1)
    assert ranking.origins == ("judged",) * 2 + ("fallback",) * 4


def test_b10_an_empty_list_was_an_index_error():
    """No candidate or a single one: nothing to ask."""
    with LLMServer() as server:
        for name in LLM_METHODS:
            method = rankers.build(name, llm=llm_at(server))
            if isinstance(method, Ranker):
                assert method.rank(CLAIM, []) == Ranking((), ())
                assert method.rank(CLAIM, ["Only."]) == Ranking((0,), ("judged",))
            else:
                assert method.select(CLAIM, ["Only."]).selected == (0,)
        assert server.requests == []


def test_b11_two_point_zero_was_read_as_zero():
    """``3.1 > 2`` is no order."""
    with LLMServer([llm_server.decimals()]) as server:
        ranking = one_shot(server).rank(CLAIM, CANDIDATES)
        assert len(server.requests) == 2
    assert (ranking.order, ranking.status) == (ORDER, "complete")


def test_b12_thinking_took_the_only_token_of_the_answer():
    """All candidates were tied, and nobody was told."""
    cut = llm_server.reasoning_only()
    with LLMServer([cut]) as server:
        ranking = one_shot(server).rank(CLAIM, CANDIDATES)
        small, large = (body["max_tokens"] for body in server.bodies)
    assert (ranking.order, ranking.usage.calls) == (ORDER, 2)
    assert large >= 4 * small
    with LLMServer(lambda _: cut) as server:
        assert one_shot(server).rank(CLAIM, CANDIDATES).status == "fallback"
        with pytest.raises(TruncatedReply):
            llm_at(server).complete([{"role": "user", "content": CLAIM}], max_tokens=9)


def test_b13_a_grammar_let_a_model_write_blanks_until_its_limit():
    """The start of the list counts, and the limit is small to begin with."""
    with LLMServer(lambda _: llm_server.blank_loop(3)) as server:
        ranking = one_shot(server, STRUCTURED).rank(CLAIM, CANDIDATES)
        first, second = server.bodies
    assert first["max_tokens"] == 6 * 5 + 32
    assert "response_format" in first
    assert "response_format" not in second
    assert ranking.order == (2, 4, 3, 1, 0)
    assert ranking.origins == ("judged",) + ("fallback",) * 4


def test_b14_the_last_number_of_a_cut_list_may_have_lost_its_end():
    """``[3,1,1`` of 12 may go on to 10, 11 or 12."""
    with LLMServer(lambda _: llm_server.cut_list(3, 1, rest="1")) as server:
        ranking = one_shot(server).rank(CLAIM, sentences(12))
    assert ranking.order == (2, 0, 11, 10, 9, 8, 7, 6, 5, 4, 3, 1)
    assert ranking.origins == ("judged",) * 2 + ("fallback",) * 10


def test_b15_the_answer_stood_in_the_field_for_reasoning():
    """It counts if it is JSON as a whole; otherwise it is asked for again without a schema."""
    with LLMServer([llm_server.json_as_reasoning(5, 2, 1, 3, 4)]) as server:
        assert one_shot(server, STRUCTURED).rank(CLAIM, CANDIDATES).order == ORDER
        assert len(server.requests) == 1
    with LLMServer([say(None, reasoning="so [1] > [2] > [3] > [4] > [5]")]) as server:
        assert one_shot(server, STRUCTURED).rank(CLAIM, CANDIDATES).order == ORDER
        assert ["response_format" in body for body in server.bodies] == [True, False]


def test_b16_a_schema_was_refused():
    """The endpoint gets none from then on, and no attempt is used up."""

    def refuse(request: Request) -> Act | None:
        return llm_server.schema_refused() if "response_format" in request.body else None

    with LLMServer(refuse) as server:
        for _ in range(2):
            ranking = one_shot(server, STRUCTURED, attempts=1).rank(CLAIM, CANDIDATES)
            assert (ranking.order, ranking.usage.calls) == (ORDER, 1)
        assert ["response_format" in body for body in server.bodies] == [True, False, False]


def test_b17_servers_dropped_their_own_names_for_guided_decoding():
    """Nothing but ``response_format`` with a schema is sent, and repeats are our own business."""
    with LLMServer() as server:
        results = list(results_of_all(server, STRUCTURED, CLAIM, CANDIDATES))
        bodies = server.bodies
    assert len(results) == len(LLM_METHODS)
    known = {"model", "messages", "max_tokens", "temperature", "response_format"}
    assert all(set(body) <= known for body in bodies)
    formats = [body["response_format"] for body in bodies if "response_format" in body]
    assert {one["type"] for one in formats} == {"json_schema"}
    assert all(one["json_schema"]["schema"] == ids_schema(5) for one in formats)
    assert "uniqueItems" not in json.dumps(formats)
    with LLMServer([say('{"ids": [5, 5, 2, 1, 2, 3, 4]}')]) as server:
        assert one_shot(server, STRUCTURED).rank(CLAIM, CANDIDATES).order == ORDER


def test_b18_the_clients_own_retries_multiplied_the_time_allowed():
    """A silent server took three times the timeout."""
    with LLMServer(lambda _: llm_server.hang()) as server:
        settings = replace(QUICK, timeout=30, try_timeout=0.2, tries=2)
        with pytest.raises(TransportError, match="after 2 tries"):
            one_shot(server, settings).rank(CLAIM, CANDIDATES)
        assert len(server.requests) == 2
        counts = {request.headers["x-stainless-retry-count"] for request in server.requests}
    assert counts == {"0"}


def test_b19_a_client_could_not_be_used_in_a_second_event_loop():
    """Ours runs in threads and belongs to no loop."""
    with LLMServer() as server:
        ranker = one_shot(server)

        def in_a_loop_of_its_own() -> tuple[int, ...]:
            return asyncio.run(asyncio.to_thread(ranker.rank, CLAIM, CANDIDATES)).order

        # In a thread, because a browser under test keeps a loop running in the main one.
        with ThreadPoolExecutor(max_workers=1) as pool:
            orders = [pool.submit(in_a_loop_of_its_own).result() for _ in range(2)]
        assert len(server.requests) == 2
    assert orders == [ORDER, ORDER]


def test_b20_the_same_request_got_another_answer_once_its_prefix_was_cached():
    """The answer that was stored is the one that counts."""
    store = MemoryStore()
    with LLMServer([run(5, 2, 1, 3, 4), run(1, 2, 3, 4, 5)]) as server:
        first = one_shot(server, store=store).rank(CLAIM, CANDIDATES)
        assert one_shot(server, store=store).rank(CLAIM, CANDIDATES) == first
        assert len(server.requests) == 1
        assert one_shot(server).rank(CLAIM, CANDIDATES).order == (0, 1, 2, 3, 4)


def test_b21_cached_tokens_were_null():
    """That means unknown, not none."""
    with LLMServer([llm_server.unknown_cache("[5] > [2] > [1] > [3] > [4]")]) as server:
        usage = one_shot(server).rank(CLAIM, CANDIDATES).usage
    assert (usage.prompt_tokens, usage.cached_prompt_tokens) == (9, None)
    with LLMServer([None, llm_server.unknown_cache("[2]")]) as server:
        assert incremental(server).rank(CLAIM, CANDIDATES).usage.cached_prompt_tokens is None


def test_b23_digits_of_the_prose_before_the_answer_were_harvested():
    """ "the 5 passages" became the first place."""
    with LLMServer(lambda _: llm_server.prose_before(3, 1)) as server:
        ranking = one_shot(server, attempts=1).rank(CLAIM, CANDIDATES)
    assert ranking.order == (2, 0, 4, 3, 1)
    assert ranking.origins == ("judged",) * 2 + ("fallback",) * 3


def test_b24_thinking_without_an_end_was_searched_for_ids():
    """It is a reply that was cut."""
    with LLMServer(lambda _: llm_server.open_think("maybe [7] or 1990")) as server:
        ranking = one_shot(server).rank(CLAIM, sentences(8))
        small, large = (body["max_tokens"] for body in server.bodies)
    assert large > small
    assert ranking.order == (7, 6, 5, 4, 3, 2, 1, 0)
    assert ranking.origins == ("fallback",) * 8


def _rank_in_child(ranker: Ranker, queue: Any) -> None:
    queue.put(ranker.rank(CLAIM, CANDIDATES).order)


def test_b25_a_client_was_inherited_by_a_forked_worker():
    """A worker makes its own connection when it first needs one."""
    with LLMServer() as server:
        ranker = one_shot(server)
        ranker.rank(CLAIM, CANDIDATES)
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        child = context.Process(target=_rank_in_child, args=(ranker, queue))
        child.start()
        order = queue.get(timeout=10)
        child.join(10)
        ranker.rank(CLAIM, CANDIDATES)
        before, forked, after = (request.client_port for request in server.requests)
    assert order == ORDER
    assert before == after != forked


def test_b26_models_could_not_repeat_random_ids():
    """Prompts number the candidates from 1, and our own ids stay here."""
    claim = Claim("KdsMZ4Lb", CLAIM, "supported", tuple(CANDIDATES), ((4, 1),))
    with LLMServer([llm_server.words_as_ids("KdsMZ4Lb", "qR8")]) as server:
        ranking = one_shot(server).rank_claim(claim)
        first, second = server.requests
    assert ranking.order == ORDER
    assert numbers_of(first) == [1, 2, 3, 4, 5]
    assert "KdsMZ4Lb" not in json.dumps(first.body)
    assert re.findall("KdsMZ4Lb", json.dumps(second.body)) == ["KdsMZ4Lb"]  # its own bad reply


def test_b27_with_fixed_numbers_a_model_may_choose_one_again():
    """It is asked again, and then one position is filled and the run goes on."""

    def stuck(request: Request) -> Act | None:
        return pick(5) if shown_in(request) == [5] else None

    with LLMServer(stuck) as server:
        ranking = incremental(server, attempts=3).rank(CLAIM, CANDIDATES)
        repeats = [b["messages"][2]["content"] for b in server.bodies if len(b["messages"]) == 3]
    assert len(repeats) == 2
    assert all("[5] has been chosen before (repeat)" in text for text in repeats)
    assert ranking.order == (4, 3, 1, 0, 2)
    assert ranking.origins == ("judged", "fallback", "judged", "judged", "judged")


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("incremental_llm", {"depth": 0}),
        ("incremental_llm", {"depth": 0, "layout": "paper"}),
        ("one_pass_repair", {"depth": 0}),
    ],
)
def test_b28_a_schema_that_changes_spoils_the_cache(name: str, params: dict[str, Any]):
    """The same bytes at every step, though fewer sentences are on offer."""
    with LLMServer() as server:
        method = rankers.build(name, llm=llm_at(server, STRUCTURED), params=params)
        method.rank(CLAIM, CANDIDATES)
        schemas = [json.dumps(body["response_format"]) for body in server.bodies]
    assert len(schemas) >= 4
    assert len(set(schemas)) == 1
