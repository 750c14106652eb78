"""Ordering in one call: lists, JSON objects and first tokens, whole and partial."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from rankers.errors import BadInput, PermanentError, TransportError
from rankers.llm import LLM
from rankers.one_shot import OneShotLLM, number_scores
from rankers.prompts import stable_prefix
from rankers.store import MemoryStore
from rankers.values import Ranking
from tests import llm_server
from tests.llm_server import LLMServer, run, say, status
from tests.rankers.llm_cast import (
    CANDIDATES,
    CLAIM,
    ORDER,
    QUICK,
    Backwards,
    Broken,
    ranker_of,
    sentences,
)

ranker_at = ranker_of(OneShotLLM)


@pytest.mark.parametrize(
    "fields", [{}, {"layout": "paper"}, {"answer": "first_token"}], ids=["list", "paper", "token"]
)
def test_a_complete_answer_is_judged_as_a_whole_with_one_request(fields: dict[str, Any]):
    with LLMServer() as server:
        ranking = ranker_at(server, **fields).rank(CLAIM, CANDIDATES)
        assert len(server.requests) == ranking.usage.calls == 1
    assert ranking.order == ORDER
    assert ranking.origins == ("judged",) * 5
    assert ranking.status == "complete"


def test_the_list_question_comes_behind_the_shared_prefix_with_a_small_limit():
    with LLMServer() as server:
        ranker_at(server).rank(CLAIM, CANDIDATES)
        (body,) = server.bodies
    assert body["messages"][0]["content"].startswith(stable_prefix(CLAIM, CANDIDATES))
    assert body["max_tokens"] == 6 * 5 + 32
    assert body["temperature"] == 0.0


def test_the_paper_layout_has_room_for_all_texts_and_no_schema():
    with LLMServer() as server:
        ranker = ranker_at(server, layout="paper", settings=replace(QUICK, structured=True))
        assert ranker.rank(CLAIM, CANDIDATES).order == ORDER
        (body,) = server.bodies
    assert body["max_tokens"] > sum(map(len, CANDIDATES)) / 2
    assert "response_format" not in body


def test_a_schema_is_sent_for_a_list_where_it_is_on():
    with LLMServer() as server:
        ranker = ranker_at(server, settings=replace(QUICK, structured=True))
        assert ranker.rank(CLAIM, CANDIDATES).order == ORDER
        assert server.bodies[0]["response_format"]["type"] == "json_schema"


@pytest.mark.parametrize(
    "bad",
    [
        llm_server.prose(),
        llm_server.empty(),
        llm_server.no_content(),
        llm_server.decimals(),
        llm_server.words_as_ids("KdsMZ4Lb", "S2"),
        run(2, 1),
        run(5, 4, 3, 2, 6),
        say("[1, 2] or [2, 1]"),
        say('{"1": 3, "2": 1, "3": 2}'),
    ],
)
def test_an_incomplete_answer_is_asked_for_again(bad: llm_server.Act):
    with LLMServer([bad]) as server:
        ranking = ranker_at(server).rank(CLAIM, CANDIDATES)
        first, second = server.bodies
    assert ranking.order == ORDER
    assert ranking.status == "complete"
    assert ranking.usage.calls == 2
    assert second["messages"][0] == first["messages"][0]


@pytest.mark.parametrize(
    "good",
    [
        run(5, 2, 1, 3, 4),
        run(5, 2, 2, 1, 3, 4),
        run(5, 0, 2, 1, 9, 3, 4),
        llm_server.fenced_json([5, 2, 1, 3, 4]),
        llm_server.prose_before(5, 2, 1, 3, 4),
        llm_server.prose_behind(5, 2, 1, 3, 4),
        llm_server.json_as_reasoning(5, 2, 1, 3, 4),
        say("<think>[1] > [2]</think><answer>[5] > [2] > [1] > [3] > [4]</answer>"),
    ],
)
def test_every_form_that_names_all_numbers_is_accepted_at_once(good: llm_server.Act):
    with LLMServer([good]) as server:
        assert ranker_at(server).rank(CLAIM, CANDIDATES).order == ORDER
        assert len(server.requests) == 1


def test_a_correction_names_what_is_missing_and_replaces_the_one_before():
    with LLMServer([run(2, 1), run(1, 2, 3)]) as server:
        ranker_at(server).rank(CLAIM, CANDIDATES)
        second, third = server.bodies[1:]
    assert [len(body["messages"]) for body in (second, third)] == [3, 3]
    assert "it leaves out [3], [4], [5]." in second["messages"][2]["content"]
    assert "it leaves out [4], [5]." in third["messages"][2]["content"]
    assert third["messages"][1]["content"] == "[1] > [2] > [3]"


def test_the_best_partial_answer_counts_after_the_last_attempt():  # W6
    script = [run(1, 2), run(3, 2, 1), llm_server.prose(), run(2, 3, 5), run(4, 1)]
    with LLMServer(script) as server:
        ranking = ranker_at(server).rank(CLAIM, CANDIDATES)
        assert len(server.requests) == ranking.usage.calls == 5
    # Two answers name three; the later one counts. The seed order runs backwards.
    assert ranking.order == (1, 2, 4, 3, 0)
    assert ranking.origins == ("judged",) * 3 + ("fallback",) * 2
    assert (ranking.status, ranking.fallback_from) == ("fallback", 4)


def test_the_paper_layout_fills_the_rest_in_reading_order():
    with LLMServer(lambda _: llm_server.keyed({4: "text", 2: "text"})) as server:
        ranking = ranker_at(server, layout="paper", attempts=2).rank(CLAIM, CANDIDATES)
    assert ranking.order == (3, 1, 0, 2, 4)
    assert ranking.origins == ("judged",) * 2 + ("fallback",) * 3


@pytest.mark.parametrize(("seed", "order"), [(Backwards(), (4, 3, 2, 1, 0)), (Broken(), range(5))])
def test_nothing_usable_leaves_the_seed_order_or_reading_order(seed: Any, order: Any):
    with LLMServer(lambda _: llm_server.prose()) as server:
        ranking = ranker_at(server, seed_ranker=seed, attempts=1).rank(CLAIM, CANDIDATES)
    assert ranking.order == tuple(order)
    assert ranking.origins == ("fallback",) * 5


@pytest.mark.parametrize(
    ("layout", "cut"),
    [
        ("stable", llm_server.cut_list(5, 2, rest="1")),
        ("stable", llm_server.blank_loop(5, 2)),
        ("stable", llm_server.truncated("[5, 2, ")),
        ("paper", llm_server.truncated('{"5": "Anna [1] \\"Smith\\"", "2": "The nov')),
        ("paper", llm_server.truncated('{"5": "Anna", "2": "The", "1')),
    ],
)
def test_a_list_cut_twice_keeps_its_start_and_ends_the_asking(layout: str, cut: llm_server.Act):
    with LLMServer(lambda _: cut) as server:
        ranking = ranker_at(server, layout=layout).rank(CLAIM, CANDIDATES)
        assert len(server.requests) == ranking.usage.calls == 2
        assert server.bodies[1]["max_tokens"] >= 4 * server.bodies[0]["max_tokens"]
    assert ranking.order[:2] == (4, 1)
    assert ranking.origins == ("judged",) * 2 + ("fallback",) * 3


def test_a_start_that_was_cut_does_not_replace_a_longer_answer_before_it():
    cut = llm_server.cut_list(5)
    with LLMServer([run(1, 2, 3), cut, cut]) as server:
        ranking = ranker_at(server).rank(CLAIM, CANDIDATES)
    assert ranking.order == (0, 1, 2, 4, 3)


def test_repeated_sentences_stay_separate():
    candidates = ["Anna Smith.", "Cats.", "Anna Smith.", "Paris."]
    for layout in ("stable", "paper"):
        with LLMServer() as server:
            ranking = ranker_at(server, layout=layout).rank(CLAIM, candidates)
        assert ranking.order == (0, 3, 2, 1)


def test_none_and_one_candidate_need_no_call():
    with LLMServer() as server:
        for fields in ({}, {"layout": "paper"}, {"answer": "first_token"}):
            ranker = ranker_at(server, **fields)
            assert ranker.rank(CLAIM, []) == Ranking((), ())
            assert ranker.rank(CLAIM, ["Only."]) == Ranking((0,), ("judged",))
        assert server.requests == []


@pytest.mark.parametrize(
    ("trouble", "error"), [(status(503), TransportError), (status(401), PermanentError)]
)
def test_a_failing_server_is_an_error(trouble: llm_server.Act, error: type[Exception]):
    with LLMServer(lambda _: trouble) as server:
        with pytest.raises(error):
            ranker_at(server).rank(CLAIM, CANDIDATES)


def test_stored_answers_and_corrections_are_not_paid_for_again():
    store = MemoryStore()
    with LLMServer([run(2, 1), run(9)]) as server:
        first = ranker_at(server, store).rank(CLAIM, CANDIDATES)
        assert ranker_at(server, store).rank(CLAIM, CANDIDATES) == first
        assert len(server.requests) == 3


# The first token.


def test_the_first_token_is_asked_for_with_log_probabilities_and_a_limit_of_one():
    with LLMServer() as server:
        ranker_at(server, answer="first_token").rank(CLAIM, CANDIDATES)
        (body,) = server.bodies
    assert (body["max_tokens"], body["logprobs"], body["top_logprobs"]) == (1, True, 20)
    assert "without brackets" in body["messages"][0]["content"]


def test_candidates_without_a_token_follow_in_the_seed_order():
    top = llm_server.top_tokens(("3", -0.1), ("The", -1.0), ("1", -2.0), ("9", -3.0))
    with LLMServer([top]) as server:
        ranking = ranker_at(server, answer="first_token").rank(CLAIM, CANDIDATES)
    assert ranking.order == (2, 0, 4, 3, 1)
    assert ranking.origins == ("judged",) * 2 + ("seed",) * 3
    assert ranking.status == "complete"


def test_twenty_of_many_candidates_are_judged_by_their_tokens():
    with LLMServer() as server:
        ranking = ranker_at(server, answer="first_token").rank(CLAIM, sentences(30))
    assert ranking.origins == ("judged",) * 20 + ("seed",) * 10


def test_tokens_without_any_number_leave_the_seed_order_as_fallback():
    with LLMServer([llm_server.top_tokens(("The", -0.1), ("I", -1.0))]) as server:
        ranking = ranker_at(server, answer="first_token").rank(CLAIM, CANDIDATES)
    assert ranking.order == (4, 3, 2, 1, 0)
    assert ranking.origins == ("fallback",) * 5


def test_a_server_without_log_probabilities_is_an_error_that_says_what_to_set():
    with LLMServer([say("5")]) as server:
        with pytest.raises(PermanentError, match=r"no log probabilities .* set answer=list"):
            ranker_at(server, answer="first_token").rank(CLAIM, CANDIDATES)


def test_tokens_of_one_number_add_up_and_others_are_left_out():
    half, quarter = math.log(0.5), math.log(0.25)
    tokens = [
        ("10", half),
        ("1", quarter),
        (" 1", quarter),
        ("²", -1.0),
        ("13", 0.0),
        ("[2", -9999),
    ]
    scores = number_scores(tokens, 12)
    assert list(scores) == [10, 1, 2]
    assert scores[10] == pytest.approx(half)
    assert scores[1] == pytest.approx(half)
    assert scores[2] == -9999


# What made a ranking.


def test_name_model_version_and_parameters_say_what_made_a_ranking():
    with LLMServer() as server:
        stable, paper, token = (
            ranker_at(server, **fields)
            for fields in ({}, {"layout": "paper"}, {"answer": "first_token", "attempts": 2})
        )
    assert (stable.name, stable.model, stable.prompt_version) == ("llm", "m", "list-stable-1")
    assert stable.params == {
        "layout": "stable",
        "answer": "list",
        "attempts": 5,
        "temperature": 0.0,
        "seed_order": "backwards()",
    }
    assert (paper.prompt_version, paper.params["seed_order"]) == ("list-paper-1", "document_order")
    assert (token.prompt_version, token.params["answer"]) == ("first-token-1", "first_token")
    json.dumps(stable.params)


def test_bad_parameters_are_named_all_at_once():
    with pytest.raises(BadInput) as raised:
        OneShotLLM(LLM("m"), seed_ranker=Broken(), layout="new", answer="letter", attempts=0)
    named = [problem.split(":")[0] for problem in raised.value.problems]
    assert named == ["layout", "answer", "attempts"]
    with pytest.raises(BadInput, match="first_token goes with layout stable, not paper"):
        OneShotLLM(LLM("m"), seed_ranker=Broken(), layout="paper", answer="first_token")
