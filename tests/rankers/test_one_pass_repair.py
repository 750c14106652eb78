"""A draft and its repairs: the result of sequential questions, in fewer rounds."""

from __future__ import annotations

import json
import random
import zlib
from dataclasses import replace
from typing import Any

import pytest

from rankers.errors import BadInput, PermanentError
from rankers.incremental import IncrementalLLM
from rankers.llm import LLM
from rankers.one_pass_repair import OnePassRepair, most_calls
from rankers.store import FileStore, MemoryStore
from rankers.values import Ranking
from tests import llm_server
from tests.llm_server import Act, LLMServer, Request, pick, run, status
from tests.overlap_rule import overlap_order
from tests.rankers.llm_cast import (
    CANDIDATES,
    CLAIM,
    ORDER,
    QUICK,
    Broken,
    Fixed,
    llm_at,
    numbers_of,
    ranker_of,
    sentences,
    shown_in,
)

#: Wide enough for every question of a claim to be under way at once.
WIDE = replace(QUICK, concurrency=32)


ranker_at = ranker_of(OnePassRepair, WIDE)


def contrary(request: Request) -> Act | None:
    """A deterministic model that seldom picks what its draft says, and sometimes talks nonsense."""
    shown = shown_in(request)
    if shown is None:
        return None
    left = [number for number in numbers_of(request) if number not in shown]
    chance = zlib.crc32(json.dumps(request.body["messages"]).encode())
    return llm_server.prose() if chance % 5 == 0 else pick(left[chance % len(left)])


def moody(request: Request) -> Act | None:
    """A deterministic model that disagrees with its draft at about every third position."""
    chance = zlib.crc32(request.prompt.encode())
    return contrary(request) if chance % 3 == 0 else None


def random_claim(seed: int) -> tuple[str, list[str]]:
    chance = random.Random(seed)
    words = [a + b for a in ("gran", "tel", "mor", "sil") for b in ("ta", "no", "ki")]
    n = chance.randint(2, 14)
    return " ".join(chance.choices(words, k=8)), [
        " ".join(chance.choices(words, k=5)) for _ in range(n)
    ]


@pytest.mark.parametrize("rule", [lambda _: None, moody, contrary], ids=["agree", "moody", "not"])
@pytest.mark.parametrize("depth", [0, 1, 6])
def test_the_result_is_that_of_sequential_questions_with_the_draft_as_seed_order(
    rule: Any, depth: int
):
    n_disagreeing = 0
    with LLMServer(rule) as server:
        for seed in range(12):
            claim, candidates = random_claim(seed)
            n = len(candidates)
            drafted = overlap_order(claim, dict(enumerate(candidates, 1)))
            draft = tuple(number - 1 for number in drafted)
            mended = ranker_at(server, depth=depth, attempts=2).rank(claim, candidates)
            sequential = IncrementalLLM(
                llm_at(server), seed_ranker=Fixed(draft), depth=depth, attempts=2
            ).rank(claim, candidates)
            first = min(depth or n, n)
            assert mended.order == sequential.order
            assert mended.origins[:first] == sequential.origins[:first]
            assert set(mended.origins[first:]) <= {"judged"}
            n_disagreeing += mended.order != draft
    assert (n_disagreeing > 0) == (rule in (moody, contrary))


@pytest.mark.parametrize("ahead", [0, 1, 2, 3])
def test_how_far_one_asks_ahead_does_not_change_the_result(ahead: int):
    claim, candidates = random_claim(3)
    with LLMServer(contrary) as server:
        by_three = ranker_at(server).rank(claim, candidates)
        ranking = ranker_at(server, ahead=ahead).rank(claim, candidates)
    assert (ranking.order, ranking.origins) == (by_three.order, by_three.origins)


def test_a_whole_run_follows_the_rule_of_the_server():
    with LLMServer() as server:
        ranking = ranker_at(server).rank(CLAIM, CANDIDATES)
        # The draft, and every position but the last one, which has one sentence left.
        assert len(server.requests) == ranking.usage.calls == 5
        assert "Order all 5" in server.requests[0].prompt
    assert ranking.order == ORDER
    assert ranking.origins == ("judged",) * 5


@pytest.mark.parametrize(
    ("depth", "ahead", "n_rounds", "most_at_once"),
    [(4, 3, 2, 4), (6, 3, 3, 4), (6, 2, 3, 3), (6, 0, 7, 1), (1, 3, 2, 1)],
)
def test_answers_that_agree_take_one_round_for_each_four(
    depth: int, ahead: int, n_rounds: int, most_at_once: int
):
    with LLMServer(latency=0.25) as server:
        ranking = ranker_at(server, depth=depth, ahead=ahead).rank(CLAIM, sentences(12))
        assert server.n_rounds == n_rounds
        assert server.most_at_once == most_at_once
        assert len(server.requests) == ranking.usage.calls == 1 + depth


def _disagree_at(*places: int):
    """After so many sentences shown, the highest number left; otherwise the lowest."""

    def rule(request: Request) -> Act:
        shown, numbers = shown_in(request), numbers_of(request)
        if shown is None:
            return replace(run(*numbers), delay=0.25)
        left = [number for number in numbers if number not in shown]
        number = max(left) if len(shown) in places else min(left)
        return replace(pick(number), delay=0.25)

    return rule


@pytest.mark.parametrize(
    ("places", "n_rounds", "n_calls"),
    # depth 4, 3 ahead: the draft and 4 questions; behind a disagreement come all those left again.
    [((), 2, 5), ((0,), 3, 8), ((3,), 2, 5), ((0, 1), 4, 10), ((0, 1, 2, 3), 5, 11)],
)
def test_each_disagreement_costs_a_round_and_the_questions_behind_it(
    places: tuple[int, ...], n_rounds: int, n_calls: int
):
    with LLMServer(_disagree_at(*places)) as server:
        ranking = ranker_at(server, depth=4).rank(CLAIM, sentences(10))
        assert server.n_rounds == n_rounds <= 2 + len(places)
        assert len(server.requests) == ranking.usage.calls == n_calls
    left = list(range(10))
    expected = [left.pop(-1 if k in places else 0) for k in range(4)]
    assert ranking.order == (*expected, *left)


def test_the_largest_number_of_calls_is_that_of_a_model_that_never_agrees():
    with LLMServer(_disagree_at(*range(6))) as server:
        ranker_at(server, depth=6).rank(CLAIM, sentences(10))
        assert len(server.requests) == most_calls(10, 6, 3) == 1 + 4 + 4 + 4 + 3 + 2 + 1
    assert [most_calls(n, 0, 3) for n in (0, 1, 2, 3)] == [0, 0, 2, 4]


def test_a_draft_is_warm_before_the_questions_that_share_its_prefix():
    with LLMServer(cache_block=1) as server:
        usage = ranker_at(server, depth=4).rank(CLAIM, CANDIDATES).usage
    assert usage.cached_prompt_tokens / usage.prompt_tokens > 0.6


# Failures.


def test_an_error_of_a_question_that_is_not_needed_does_not_matter():
    def rule(request: Request) -> Act | None:
        shown = shown_in(request)
        if shown == []:
            return pick(3)  # the draft says 5, so questions behind [5] are not needed
        return status(400, "no") if shown and shown[0] == 5 else None

    with LLMServer(rule) as server:
        ranking = ranker_at(server).rank(CLAIM, CANDIDATES)
        assert any((shown_in(request) or [0])[0] == 5 for request in server.requests)
    assert ranking.order == (2, 4, 1, 0, 3)
    assert ranking.origins == ("judged",) * 5


def test_an_error_of_a_question_that_is_needed_ends_the_ranking_and_a_later_run_pays_the_rest(
    tmp_path,
):
    def rule(request: Request) -> Act | None:
        return status(401, "bad key") if shown_in(request) == [5, 2] else None

    store = FileStore(tmp_path / "answers.sqlite3")
    with LLMServer(rule) as server:
        with pytest.raises(PermanentError, match="bad key"):
            ranker_at(server, store).rank(CLAIM, CANDIDATES)
        # What was asked ahead has been kept, though the question before it failed.
        assert len(store) == 4
        server.script = ()
        n_before = len(server.requests)
        ranking = ranker_at(server, store).rank(CLAIM, CANDIDATES)
        assert len(server.requests) - n_before == 1
    assert (ranking.order, ranking.usage.calls) == (ORDER, 5)


def test_useless_answers_are_stored_and_counted_so_that_a_second_run_costs_nothing_more():
    store = MemoryStore()
    claim, candidates = random_claim(5)
    with LLMServer(contrary) as server:
        first = ranker_at(server, store).rank(claim, candidates)
        n_sent = len(server.requests)
        assert first.usage.calls == n_sent
        assert ranker_at(server, store).rank(claim, candidates) == first
        assert len(server.requests) == n_sent


def test_a_partial_draft_is_completed_by_the_seed_order_and_mended_all_the_same():
    def rule(request: Request) -> Act | None:
        return run(4, 3) if shown_in(request) is None else None

    with LLMServer(rule) as server:
        ranking = ranker_at(server, depth=1, attempts=2).rank(CLAIM, CANDIDATES)
    # Draft 4 3 and then, backwards, 5 2 1; the one question says 5.
    assert ranking.order == (4, 3, 2, 1, 0)
    assert ranking.origins == ("judged", "judged", "judged", "fallback", "fallback")


def test_a_position_without_a_usable_answer_keeps_the_draft():
    def rule(request: Request) -> Act | None:
        return llm_server.prose() if shown_in(request) == [5] else None

    with LLMServer(rule) as server:
        ranking = ranker_at(server, attempts=2).rank(CLAIM, CANDIDATES)
    assert ranking.order == ORDER
    assert ranking.origins == ("judged", "fallback", "judged", "judged", "judged")


def test_none_and_one_candidate_need_no_call():
    with LLMServer() as server:
        assert ranker_at(server).rank(CLAIM, []) == Ranking((), ())
        assert ranker_at(server).rank(CLAIM, ["Only."]) == Ranking((0,), ("judged",))
        assert server.requests == []


def test_name_model_version_and_parameters_say_what_made_a_ranking():
    with LLMServer() as server:
        ranker = ranker_at(server)
    assert (ranker.name, ranker.model) == ("one_pass_repair", "m")
    assert ranker.prompt_version == "list-stable-1+next-stable-2"
    assert ranker.params == {
        "depth": 6,
        "ahead": 3,
        "attempts": 5,
        "temperature": 0.0,
        "seed_order": "backwards()",
    }


def test_bad_parameters_are_named_all_at_once():
    with pytest.raises(BadInput) as raised:
        OnePassRepair(LLM("m"), seed_ranker=Broken(), depth=-1, ahead=4, attempts=0)
    named = [problem.split(":")[0] for problem in raised.value.problems]
    assert named == ["depth", "ahead", "attempts"]
