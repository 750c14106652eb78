"""Tournaments of a reranker that reads few sentences at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankers.errors import BadInput, PermanentError, TransportError
from rankers.llm import LLM
from rankers.reranker import Reranker
from rankers.store import MemoryStore
from rankers.tournaments import Verdict, by_groups, n_calls, one_by_one
from rankers.values import Ranking
from tests import llm_server
from tests.llm_server import Act, LLMServer, Request, run, say, status
from tests.overlap_rule import overlap_order
from tests.rankers.llm_cast import (
    CANDIDATES,
    CLAIM,
    ORDER,
    QUICK,
    Broken,
    Fixed,
    numbers_of,
    ranker_of,
    sentences,
)

SIZES = st.tuples(st.integers(2, 9), st.integers(1, 8)).filter(lambda sizes: sizes[1] < sizes[0])


ranker_at = ranker_of(Reranker)


def backwards(request: Request) -> Act:
    """A reranker that finds every list in exactly the wrong order."""
    return run(*reversed(numbers_of(request)))


def judge_by(worth: Sequence[int], asked: list[list[int]]):
    """A judge with one opinion about every position, who notes what it was shown."""

    def judge(groups: Sequence[Sequence[int]], needed: int) -> list[Verdict]:
        asked.extend(map(list, groups))
        ordered = [sorted(group, key=lambda position: -worth[position]) for group in groups]
        return [Verdict(tuple(group), True) for group in ordered]

    return judge


# The tournaments by themselves.


@settings(max_examples=150, deadline=None)
@given(n=st.integers(2, 60), sizes=SIZES, data=st.data())
def test_groups_find_the_top_of_a_judge_with_one_opinion_and_show_every_candidate(
    n: int, sizes: tuple[int, int], data: st.DataObject
):
    size, keep = sizes
    worth = data.draw(st.permutations(range(n)))
    asked: list[list[int]] = []
    ranking = by_groups(range(n), size, keep, judge_by(worth, asked))
    best = sorted(range(n), key=lambda position: -worth[position])
    n_judged = n if n <= size else keep
    assert ranking.order[:n_judged] == tuple(best[:n_judged])
    assert ranking.origins == ("judged",) * n_judged + ("seed",) * (n - n_judged)
    assert set().union(*asked) == set(range(n))
    assert max(map(len, asked)) <= size
    assert len(asked) == n_calls(n, "groups", size, keep)


@settings(max_examples=100, deadline=None)
@given(n=st.integers(2, 40), size=st.integers(2, 9), data=st.data())
def test_one_by_one_finds_the_top_but_for_its_last_and_shows_every_candidate(
    n: int, size: int, data: st.DataObject
):
    worth = data.draw(st.permutations(range(n)))
    asked: list[list[int]] = []
    ranking = one_by_one(n, size, judge_by(worth, asked))
    best = sorted(range(n), key=lambda position: -worth[position])
    n_judged = n if n <= size else size - 1
    assert ranking.order[:n_judged] == tuple(best[:n_judged])
    assert ranking.origins == ("judged",) * n_judged + ("seed",) * (n - n_judged)
    assert list(ranking.order[size:]) == sorted(ranking.order[size:])
    assert set().union(*asked) == set(range(n))
    assert len(asked) == n_calls(n, "paper", size, 1)


def test_the_papers_window_is_the_current_order_without_its_last_and_the_newcomer_behind():
    asked: list[list[int]] = []
    one_by_one(5, 3, judge_by([1, 3, 2, 9, 0], asked))
    assert asked == [[0, 1, 2], [1, 2, 3], [3, 1, 4]]


def test_the_number_of_calls():
    groups = [n_calls(n, "groups", 20, 6) for n in (0, 1, 2, 20, 21, 34, 35, 48, 49, 60, 62, 63)]
    assert groups == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 5]
    assert [n_calls(n, "paper", 20, 6) for n in (1, 20, 34, 42)] == [0, 1, 15, 23]  # A5


# Over HTTP.


def expected_by_groups(claim: str, candidates: list[str], groups: list[list[int]]) -> list[int]:
    """The first six of the tournament in which these groups are judged, by the server's rule."""

    def best(positions: list[int], n: int) -> list[int]:
        order = overlap_order(claim, {k: candidates[p] for k, p in enumerate(positions, 1)})
        return [positions[number - 1] for number in order[:n]]

    pool = [p for group in groups for p in sorted(best(group, 6))]
    rest = [p for p in range(len(candidates)) if not any(p in group for group in groups)]
    return best(pool + rest, 6)


@pytest.mark.parametrize("tournament", ["groups", "paper"])
@pytest.mark.parametrize("instructions", ["system", "user"])
def test_few_candidates_take_one_call_and_are_judged_as_a_whole(tournament, instructions):
    with LLMServer() as server:
        ranker = ranker_at(server, tournament=tournament, instructions=instructions)
        ranking = ranker.rank(CLAIM, CANDIDATES)
        (body,) = server.bodies
    assert (ranking.order, ranking.origins) == (ORDER, ("judged",) * 5)
    roles = [turn["role"] for turn in body["messages"]]
    assert roles == (["system", "user"] if instructions == "system" else ["user"])
    assert body["max_tokens"] == 3072 + 6 * 5 + 32


def test_sixty_candidates_take_four_calls_in_two_rounds():
    candidates = [f"{text} {k}" for k in range(12) for text in CANDIDATES]
    with LLMServer(latency=0.25) as server:
        ranking = ranker_at(server).rank(CLAIM, candidates)
        assert len(server.requests) == ranking.usage.calls == 4
        assert (server.n_rounds, server.most_at_once) == (2, 3)
    groups = [list(range(k, k + 20)) for k in (0, 20, 40)]
    assert list(ranking.order[:6]) == expected_by_groups(CLAIM, candidates, groups)
    assert ranking.origins == ("judged",) * 6 + ("seed",) * 54
    assert ranking.status == "complete"


def test_what_the_final_has_room_for_goes_there_unjudged():
    with LLMServer() as server:
        ranker_at(server).rank(CLAIM, sentences(34))
        shown = [numbers_of(request) for request in server.requests]
    # One group of 20 leaves 6; with the other 14 the final is full.
    assert [len(numbers) for numbers in shown] == [20, 20]
    assert "Sentence number 33 " in server.requests[1].prompt


def test_dropped_candidates_follow_the_final_in_the_seed_order():
    seed = (*range(1, 25, 2), *range(0, 25, 2))
    with LLMServer(backwards) as server:
        ranking = ranker_at(server, seed_ranker=Fixed(seed)).rank(CLAIM, sentences(25))
        assert len(server.requests) == 2
    # Of 0..19 the last six stay, and with 20..24 all are put backwards.
    final = tuple(range(24, 13, -1))
    assert ranking.order == (*final, *(p for p in seed if p < 14))
    assert ranking.origins == ("judged",) * 6 + ("seed",) * 19


def test_the_papers_tournament_puts_the_dropped_into_input_order():
    with LLMServer(backwards) as server:
        ranking = ranker_at(server, tournament="paper").rank(CLAIM, sentences(24))
        assert len(server.requests) == 5
        assert server.n_rounds == 5
    # Each newcomer wins and the rest turns over, so the last of the next round was the first.
    top, dropped = ranking.order[:20], ranking.order[20:]
    assert top[0] == 23
    assert list(dropped) == sorted(dropped)
    # The last of the window was never compared with the one it took the place of.
    assert ranking.origins == ("judged",) * 19 + ("seed",) * 5


def test_repeated_sentences_stay_separate():
    candidates = ["Anna Smith.", "Cats.", "Anna Smith.", "Paris."]
    with LLMServer() as server:
        assert ranker_at(server).rank(CLAIM, candidates).order == (0, 3, 2, 1)


def test_numbers_in_brackets_inside_sentences_lose_them():  # W14
    with LLMServer() as server:
        ranker_at(server).rank(CLAIM, ["Born in 1931.[2]", "Anna Smith.[12]"])
        prompt = server.requests[0].prompt
    assert "[1] Born in 1931.(2)\n[2] Anna Smith.(12)\n" in prompt


def test_an_order_quoted_while_thinking_hides_nothing():  # W13
    text = (
        "<think>Say <answer>[1] > [2] > [3] > [4] > [5]</answer></think>"
        "<answer>[5] > [2] > [1] > [3] > [4]</answer>"
    )
    with LLMServer([say(text)]) as server:
        assert ranker_at(server).rank(CLAIM, CANDIDATES).order == ORDER


# Answers that leave something out.


@pytest.mark.parametrize(
    "bad",
    [
        say("<answer></answer>"),  # W13
        say("<think>[1] > [2]</think>"),
        run(0, 5, 2, 1, 3),  # W12
        run(5, 5, 5),
        llm_server.prose(),
    ],
)
def test_an_incomplete_answer_is_asked_for_again(bad: Act):
    with LLMServer([bad]) as server:
        ranking = ranker_at(server).rank(CLAIM, CANDIDATES)
        assert len(server.requests) == 2
        assert [turn["role"] for turn in server.bodies[1]["messages"]] == [
            "system",
            "user",
            "assistant",
            "user",
        ]
    assert (ranking.order, ranking.status) == (ORDER, "complete")


@pytest.mark.parametrize(("tournament", "rest"), [("groups", (4, 3, 2)), ("paper", (2, 3, 4))])
def test_what_the_only_answer_leaves_out_follows_as_fallback(tournament: str, rest: tuple):
    with LLMServer(lambda _: run(2, 0, 1, 9)) as server:
        ranking = ranker_at(server, tournament=tournament, attempts=2).rank(CLAIM, CANDIDATES)
        assert len(server.requests) == 2
    assert ranking.order == (1, 0, *rest)
    assert ranking.origins == ("judged",) * 2 + ("fallback",) * 3


def test_a_group_needs_to_name_only_those_that_stay():
    def rule(request: Request) -> Act:
        return run(*list(reversed(numbers_of(request)))[:6])

    with LLMServer(rule) as server:
        ranking = ranker_at(server).rank(CLAIM, sentences(60))
        assert len(server.requests) == 4
    # 59..54 head the last group. The final's other twelve keep the seed order, which is backwards.
    assert ranking.order[:6] == (59, 58, 57, 56, 55, 54)
    assert ranking.order[6:18] == (39, 38, 37, 36, 35, 34, 19, 18, 17, 16, 15, 14)
    assert ranking.origins == ("judged",) * 6 + ("seed",) * 54


def test_a_group_without_a_usable_answer_is_cut_by_the_seed_order_and_marked():
    def rule(request: Request) -> Act:
        is_first = (
            "Sentence number 0 " in request.prompt and "Sentence number 19 " in request.prompt
        )
        return llm_server.prose() if is_first else backwards(request)

    with LLMServer(rule) as server:
        ranking = ranker_at(server, attempts=1).rank(CLAIM, sentences(34))
    # The seed order runs backwards: 19..14 stay, and 13..0 fell without having been judged.
    assert ranking.order == tuple(range(33, -1, -1))
    assert ranking.origins == ("judged",) * 6 + ("seed",) * 14 + ("fallback",) * 14
    assert ranking.fallback_from == 21


def test_a_final_without_a_usable_answer_leaves_the_seed_order_as_fallback():
    def rule(request: Request) -> Act:
        is_final = "Sentence number 33 " in request.prompt
        return llm_server.prose() if is_final else backwards(request)

    with LLMServer(rule) as server:
        ranking = ranker_at(server, attempts=1).rank(CLAIM, sentences(34))
    assert ranking.order[:20] == (*range(33, 13, -1),)
    assert ranking.origins == ("fallback",) * 20 + ("seed",) * 14


def test_in_the_papers_tournament_nothing_falls_out_of_the_window():  # W12
    # Every answer names the newcomer (the last) alone.
    with LLMServer(lambda request: run(numbers_of(request)[-1])) as server:
        ranking = ranker_at(server, tournament="paper", group=4, attempts=1).rank(
            CLAIM, sentences(6)
        )
    # [0 1 2 3] -> 3 0 1 2; drop 2, 4 comes -> 4 3 0 1; drop 1, 5 comes -> 5 4 3 0.
    assert ranking.order == (5, 4, 3, 0, 1, 2)
    assert ranking.origins == ("judged", "fallback", "fallback", "fallback") + ("fallback",) * 2


def test_thinking_cut_twice_is_a_fallback_and_what_it_cost_counts():  # W13
    with LLMServer(lambda _: llm_server.reasoning_only()) as server:
        ranking = ranker_at(server).rank(CLAIM, CANDIDATES)
        limits = [body["max_tokens"] for body in server.bodies]
    assert limits == [3134, 4 * 3134]
    assert ranking.origins == ("fallback",) * 5
    assert ranking.usage.calls == 2


@pytest.mark.parametrize(
    ("trouble", "error"), [(status(503), TransportError), (status(401), PermanentError)]
)
def test_a_failing_group_ends_the_ranking_and_a_later_run_pays_only_for_it(
    trouble: Act, error: type[Exception]
):
    def rule(request: Request) -> Act | None:
        return trouble if "Sentence number 21 " in request.prompt else None

    store = MemoryStore()
    with LLMServer(rule) as server:
        with pytest.raises(error):
            ranker_at(server, store, settings=replace(QUICK, tries=1)).rank(CLAIM, sentences(60))
        assert len(server.requests) == 3
        server.script = ()
        ranking = ranker_at(server, store).rank(CLAIM, sentences(60))
        assert len(server.requests) == 3 + 2
    assert ranking.usage.calls == 4


def test_none_and_one_candidate_need_no_call():
    with LLMServer() as server:
        for tournament in ("groups", "paper"):
            ranker = ranker_at(server, tournament=tournament)
            assert ranker.rank(CLAIM, []) == Ranking((), ())
            assert ranker.rank(CLAIM, ["Only."]) == Ranking((0,), ("judged",))
        assert server.requests == []


# What made a ranking.


def test_name_model_version_and_parameters_say_what_made_a_ranking():
    with LLMServer() as server:
        groups, paper = ranker_at(server), ranker_at(server, tournament="paper")
    assert (groups.name, groups.model, groups.prompt_version) == ("reranker", "m", "rerank-1")
    assert groups.params == {
        "tournament": "groups",
        "group": 20,
        "keep": 6,
        "instructions": "system",
        "reasoning_tokens": 3072,
        "attempts": 5,
        "temperature": 0.0,
        "seed_order": "backwards()",
    }
    assert paper.params["seed_order"] == "document_order"


def test_bad_parameters_are_named_all_at_once():
    with pytest.raises(BadInput) as raised:
        Reranker(
            LLM("m"),
            seed_ranker=Broken(),
            tournament="cup",
            group=0,
            keep=0,
            instructions="aloud",
            reasoning_tokens=-1,
            attempts=0,
        )
    assert [problem.split(":")[0] for problem in raised.value.problems] == [
        "tournament",
        "group",
        "keep",
        "instructions",
        "reasoning_tokens",
        "attempts",
    ]


def test_keep_matters_to_groups_alone():
    with pytest.raises(BadInput, match=r"keep: 6 is not below group \(6\)"):
        Reranker(LLM("m"), seed_ranker=Broken(), group=6)
    assert Reranker(LLM("m"), seed_ranker=Broken(), group=6, tournament="paper").group == 6
