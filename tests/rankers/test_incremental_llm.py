"""Ordering by one question a position: whole runs against a server that answers by word overlap."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from rankers.errors import BadInput, PermanentError, RankerError, TransportError
from rankers.incremental import IncrementalLLM
from rankers.llm import LLM, request_key
from rankers.prompts import stable_prefix
from rankers.store import FileStore, MemoryStore
from rankers.values import Ranking, Usage
from tests import llm_server
from tests.llm_server import LLMServer, Request, pick, say, status
from tests.overlap_rule import overlap_pick, tokens
from tests.rankers.llm_cast import (
    CANDIDATES,
    CLAIM,
    ORDER,
    QUICK,
    Broken,
    Fixed,
    ranker_of,
)
from tests.shared_data import DATA, needs_data

# A seed order whose first sentence no sensible answer would name.
CATS_FIRST = Fixed((3, 4, 2, 1, 0))


ranker_at = ranker_of(IncrementalLLM)


@pytest.mark.parametrize("layout", ["stable", "paper"])
def test_a_whole_run_follows_the_rule_of_the_server(layout: str):
    with LLMServer() as server:
        ranking = ranker_at(server, layout=layout, depth=0).rank(CLAIM, CANDIDATES)
        assert ranking.order == ORDER
        assert ranking.origins == ("judged",) * 5
        assert ranking.status == "complete"
        # The last remaining sentence needs no question (W21).
        assert len(server.requests) == ranking.usage.calls == 4


@pytest.mark.parametrize(("layout", "tail"), [("stable", (3, 2, 0)), ("paper", (0, 2, 3))])
def test_behind_the_depth_comes_the_seed_order_or_reading_order(layout: str, tail: tuple):
    with LLMServer() as server:
        ranking = ranker_at(server, layout=layout, depth=2).rank(CLAIM, CANDIDATES)
        assert len(server.requests) == 2
    assert ranking.order == (4, 1, *tail)
    assert ranking.origins == ("judged", "judged", "seed", "seed", "seed")
    assert (ranking.status, ranking.fallback_from) == ("complete", None)


def test_a_depth_beyond_the_candidates_asks_for_all():
    with LLMServer() as server:
        assert ranker_at(server, depth=40).rank(CLAIM, CANDIDATES).order == ORDER


def test_none_and_one_candidate_need_no_call():  # B10
    with LLMServer() as server:
        assert ranker_at(server).rank(CLAIM, []) == Ranking((), ())
        assert ranker_at(server).rank(CLAIM, ["Only."]) == Ranking((0,), ("judged",))
        assert server.requests == []


def test_repeated_sentences_stay_separate():  # W4, W23
    candidates = ["Anna Smith.", "Cats.", "Anna Smith.", "Paris."]
    for layout in ("stable", "paper"):
        with LLMServer() as server:
            ranking = ranker_at(server, layout=layout, depth=0).rank(CLAIM, candidates)
        assert ranking.order == (0, 3, 2, 1)


def test_usage_adds_up_over_the_steps_and_prefixes_are_cached():
    with LLMServer() as server:
        usage = ranker_at(server, depth=0).rank(CLAIM, CANDIDATES).usage
    with LLMServer() as server:
        paper = ranker_at(server, depth=0, layout="paper").rank(CLAIM, CANDIDATES).usage
    prefix = len(tokens(stable_prefix(CLAIM, CANDIDATES)))
    assert usage.calls == paper.calls == 4
    assert usage.completion_tokens == 4 * 3  # "[", number, "]"
    assert usage.cached_prompt_tokens >= 3 * (prefix - llm_server.CACHE_BLOCK)
    assert usage.cached_prompt_tokens / usage.prompt_tokens > 0.6
    assert paper.cached_prompt_tokens / paper.prompt_tokens < 0.4


def test_all_stable_requests_of_a_claim_share_their_prefix():
    with LLMServer() as server:
        ranker_at(server, depth=0).rank(CLAIM, CANDIDATES)
        prompts = [request.prompt for request in server.requests]
    prefix = stable_prefix(CLAIM, CANDIDATES)
    assert all(prompt.startswith(prefix) for prompt in prompts)
    assert [prompt.rsplit(": ", 1)[1] for prompt in prompts] == [
        "none",
        "[5]",
        "[5] [2]",
        "[5] [2] [1]",
    ]


@pytest.mark.parametrize(
    "bad",
    [
        llm_server.prose(),
        llm_server.empty(),
        llm_server.no_content(),
        pick(9),
        pick(1, 2),
        say("[3] is better than [1]"),
    ],
)
def test_an_unusable_reply_is_asked_for_again(bad: llm_server.Act):
    with LLMServer([bad]) as server:
        ranking = ranker_at(server, depth=0).rank(CLAIM, CANDIDATES)
        assert ranking.order == ORDER
        assert ranking.origins == ("judged",) * 5
        assert len(server.requests) == ranking.usage.calls == 5
        first, second = server.bodies[:2]
    assert second["messages"][0] == first["messages"][0]
    assert [turn["role"] for turn in second["messages"]] == ["user", "assistant", "user"]


def test_corrections_replace_one_another_and_stop_at_the_budget():
    script = [pick(9), pick(8), llm_server.prose(), llm_server.empty(), pick(7)]
    with LLMServer(script) as server:
        ranking = ranker_at(server, depth=0, seed_ranker=CATS_FIRST).rank(CLAIM, CANDIDATES)
        asked = server.bodies[:5]
        assert len(server.requests) == 5 + 3
    assert [len(body["messages"]) for body in asked] == [1, 3, 3, 3, 3]
    assert [body["messages"][1]["content"] for body in asked[1:3]] == ["[9]", "[8]"]
    # The first position takes the next of the seed order, and the run goes on behind it.
    assert ranking.order == (3, 4, 1, 0, 2)
    assert ranking.origins == ("fallback", "judged", "judged", "judged", "judged")
    assert (ranking.status, ranking.fallback_from) == ("fallback", 1)
    assert ranking.usage.calls == 8


def test_a_repeat_costs_its_position_only_and_valid_answers_stay():  # B27, W4
    def stuck(request: Request) -> llm_server.Act | None:
        return pick(5) if request.prompt.endswith("[5]") else None

    with LLMServer(stuck) as server:
        ranking = ranker_at(server, depth=0, attempts=3).rank(CLAIM, CANDIDATES)
        corrections = [b["messages"][2]["content"] for b in server.bodies[2:4]]
    assert ranking.order == (4, 3, 1, 0, 2)
    assert ranking.origins == ("judged", "fallback", "judged", "judged", "judged")
    assert ranking.fallback_from == 2
    assert all("[5] has been chosen before (repeat)" in text for text in corrections)


def test_a_model_that_never_answers_leaves_the_seed_order_as_fallback():
    with LLMServer(lambda _: llm_server.prose()) as server:
        ranking = ranker_at(server, depth=2, attempts=2).rank(CLAIM, CANDIDATES)
        assert len(server.requests) == 4
    assert ranking.order == (4, 3, 2, 1, 0)
    assert ranking.origins == ("fallback", "fallback", "seed", "seed", "seed")


def test_layout_paper_falls_back_to_reading_order():
    with LLMServer(lambda _: llm_server.prose()) as server:
        ranking = ranker_at(server, layout="paper", depth=3, attempts=1).rank(CLAIM, CANDIDATES)
    assert ranking.order == (0, 1, 2, 3, 4)


def test_reading_order_stands_in_for_a_seed_order_that_fails():
    with LLMServer() as server:
        ranking = ranker_at(server, depth=1, seed_ranker=Broken()).rank(CLAIM, CANDIDATES)
    assert ranking.order == (4, 0, 1, 2, 3)


def test_a_reply_cut_twice_costs_its_position_without_corrections():
    def cut_first(request: Request) -> llm_server.Act | None:
        is_first = request.prompt.endswith(": none")
        return llm_server.reasoning_only() if is_first else None

    with LLMServer(cut_first) as server:
        ranking = ranker_at(server, depth=2, seed_ranker=CATS_FIRST).rank(CLAIM, CANDIDATES)
        assert len(server.requests) == 3
    assert ranking.order == (3, 4, 2, 1, 0)
    assert ranking.origins == ("fallback", "judged", "seed", "seed", "seed")
    assert ranking.usage.calls == 3


def test_a_pick_as_json_by_schema_is_understood():
    with LLMServer() as server:
        ranker = ranker_at(server, settings=replace(QUICK, structured=True), depth=0)
        assert ranker.rank(CLAIM, CANDIDATES).order == ORDER
        schemas = {json.dumps(body["response_format"]) for body in server.bodies}
    assert len(schemas) == 1  # the same bytes in every step (B28)


def test_temperature_and_attempt_reach_the_server():
    with LLMServer() as server:
        ranker_at(server, depth=1, temperature=0.5).rank(CLAIM, CANDIDATES)
        assert server.bodies[0]["temperature"] == 0.5


@pytest.mark.parametrize(
    ("trouble", "error"),
    [(status(503, "down"), TransportError), (status(401, "bad key"), PermanentError)],
)
def test_a_failure_in_the_middle_ends_the_run_and_a_later_one_pays_for_the_rest(
    trouble: llm_server.Act, error: type[RankerError], tmp_path
):
    def fail_at_third_step(request: Request) -> llm_server.Act | None:
        return trouble if request.prompt.endswith("[5] [2]") else None

    with LLMServer(fail_at_third_step) as server:
        store = FileStore(tmp_path / "answers.sqlite3")
        with pytest.raises(error):
            ranker_at(server, store, depth=0).rank(CLAIM, CANDIDATES)
        n_paid = len(store)
        server.script = ()
        n_before = len(server.requests)
        resumed = ranker_at(server, store, depth=0)
        ranking = resumed.rank(CLAIM, CANDIDATES)
        assert len(server.requests) - n_before == resumed.llm.n_requests_sent == 4 - n_paid == 2
    with LLMServer() as server:
        fresh = ranker_at(server, depth=0).rank(CLAIM, CANDIDATES)
    assert ranking.order == fresh.order
    # The record says what the ranking cost in total (cached tokens depend on the server's past).
    assert replace(ranking.usage, cached_prompt_tokens=0) == replace(
        fresh.usage, cached_prompt_tokens=0
    )


def test_corrections_are_resumed_as_well():
    store = MemoryStore()
    with LLMServer([pick(9), llm_server.empty()]) as server:
        first = ranker_at(server, store).rank(CLAIM, CANDIDATES)
        for attempt, body in enumerate(server.bodies[:3]):
            assert store.get(request_key(body, attempt)) is not None
        n_sent = len(server.requests)
        assert ranker_at(server, store).rank(CLAIM, CANDIDATES) == first
        assert len(server.requests) == n_sent


def test_unknown_cached_tokens_make_the_sum_unknown():  # B21
    usage = {"prompt_tokens": 5, "completion_tokens": 1}
    with LLMServer([say("[1]", usage=usage)]) as server:
        ranking = ranker_at(server, depth=2).rank(CLAIM, CANDIDATES)
    assert ranking.usage.cached_prompt_tokens is None
    assert ranking.usage.calls == 2
    assert ranking.usage != Usage()


def test_name_model_version_and_parameters_say_what_made_a_ranking():
    with LLMServer() as server:
        stable, paper = ranker_at(server), ranker_at(server, layout="paper", depth=0)
    assert (stable.name, stable.model, stable.prompt_version) == (
        "incremental_llm",
        "m",
        "next-stable-2",
    )
    assert stable.params == {
        "layout": "stable",
        "depth": 6,
        "attempts": 5,
        "temperature": 0.0,
        "seed_order": "backwards()",
    }
    assert paper.prompt_version == "next-paper-2"
    assert paper.params["seed_order"] == "document_order"
    json.dumps(stable.params)


def test_bad_parameters_are_named_all_at_once():
    with pytest.raises(BadInput) as raised:
        IncrementalLLM(LLM("m"), seed_ranker=Broken(), layout="new", depth=-1, attempts=0)
    assert [problem.split(":")[0] for problem in raised.value.problems] == [
        "layout",
        "depth",
        "attempts",
    ]


@needs_data
def test_real_claims_are_ranked_as_the_rule_says_in_both_layouts():
    lines = (DATA / "wice_open.jsonl").read_text(encoding="utf-8").splitlines()[:6]
    for claim in map(json.loads, lines):
        candidates = claim["candidates"]
        numbered = dict(enumerate(candidates, 1))
        expected: list[int] = []
        while len(expected) < min(6, len(candidates)):
            shown = [candidates[position] for position in expected]
            left = {k: text for k, text in numbered.items() if k - 1 not in expected}
            expected.append(overlap_pick(claim["claim"], left, shown) - 1)
        for layout in ("stable", "paper"):
            with LLMServer() as server:
                ranking = ranker_at(server, layout=layout).rank(claim["claim"], candidates)
            assert ranking.order[:6] == tuple(expected)
            assert ranking.status == "complete"
