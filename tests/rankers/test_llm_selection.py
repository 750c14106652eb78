"""Choosing one sufficient set: strict replies, corrections, and the selector that steps in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from rankers.base import Selector
from rankers.endpoint import LLMSettings
from rankers.errors import BadInput, PermanentError, TransportError
from rankers.llm import LLM
from rankers.llm_selection import LLMSelection
from rankers.store import MemoryStore
from rankers.values import Selection, Usage
from tests import llm_server
from tests.llm_server import LLMServer, say, status

CLAIM = "Anna Smith wrote the novel Winter in Paris"
CANDIDATES = [
    "Cats sleep.",
    "Anna Smith was a writer.",
    "Anna Smith wrote Winter.",  # four words of the claim
    "The novel was written in Paris.",  # the other two
]
QUICK = LLMSettings(timeout=5, backoff=0.01, backoff_cap=0.02, tries=2)


class FirstTwo(Selector):
    """A fallback that costs something, so that its usage shows."""

    name: ClassVar[str] = "first_two"

    def select(self, claim: str, candidates: Sequence[str]) -> Selection:
        return Selection((0, 1), len(candidates), usage=Usage(1, 100, 0, 10))


def selector_at(server: LLMServer, store: Any = None, settings=QUICK, **fields: Any):
    llm = LLM("m", base_url=server.base_url, store=store, settings=settings)
    return LLMSelection(llm, fallback=FirstTwo(), **fields)


def test_a_selection_follows_the_rule_of_the_server_with_one_call():
    with LLMServer() as server:
        selection = selector_at(server).select(CLAIM, CANDIDATES)
        assert server.bodies[0]["temperature"] == 0.0
    assert (selection.selected, selection.n_candidates) == ((2, 3), 4)
    assert (selection.status, selection.usage.calls) == ("complete", 1)


@pytest.mark.parametrize(
    ("text", "selected"),
    [
        ("[4, 2, 2]", (1, 3)),  # ascending, once each
        ("[2] [4]", (1, 3)),  # W11
        ("Selected: [2, 4]", (1, 3)),  # W11
        ('```json\n{"ids": [4]}\n```', (3,)),
        ("<think>[1]?</think>[1, 2, 3, 4]", (0, 1, 2, 3)),
    ],
)
def test_accepted_replies(text: str, selected: tuple[int, ...]):
    with LLMServer([say(text)]) as server:
        selection = selector_at(server).select(CLAIM, CANDIDATES)
        assert len(server.requests) == 1
    assert selection.selected == selected
    assert not selection.is_fallback


@pytest.mark.parametrize(
    "bad",
    [
        llm_server.prose(),
        llm_server.empty(),
        llm_server.no_content(),
        say("[]"),
        say("[2] or maybe [4]"),
        say("[9, 2]"),
        say("[0]"),
    ],
)
def test_an_unusable_reply_is_asked_for_again(bad: llm_server.Act):
    with LLMServer([bad]) as server:
        selection = selector_at(server).select(CLAIM, CANDIDATES)
        assert len(server.requests) == selection.usage.calls == 2
        assert server.bodies[1]["messages"][0] == server.bodies[0]["messages"][0]
    assert (selection.selected, selection.is_fallback) == ((2, 3), False)


def test_the_fallback_chooses_after_the_last_attempt_and_all_costs_count():
    with LLMServer(lambda _: llm_server.empty()) as server:
        selection = selector_at(server, attempts=3).select(CLAIM, CANDIDATES)
        assert len(server.requests) == 3
    assert (selection.selected, selection.status) == ((0, 1), "fallback")
    assert selection.usage.calls == 4
    assert selection.usage.completion_tokens == 10
    assert selection.usage.prompt_tokens > 100


def test_valid_numbers_beside_invalid_ones_are_kept_when_nothing_better_comes():
    with LLMServer([say("[9, 4, 2]"), say("[9]"), llm_server.prose()]) as server:
        selection = selector_at(server, attempts=3).select(CLAIM, CANDIDATES)
    assert (selection.selected, selection.is_fallback) == ((1, 3), False)


def test_a_reply_cut_twice_goes_to_the_fallback_with_its_cost():
    with LLMServer(lambda _: llm_server.reasoning_only("hm")) as server:
        selection = selector_at(server).select(CLAIM, CANDIDATES)
        assert len(server.requests) == 2
    assert selection.is_fallback
    assert selection.usage.calls == 3


def test_a_schema_is_understood_where_it_is_on():
    with LLMServer() as server:
        selector = selector_at(server, settings=replace(QUICK, structured=True))
        assert selector.select(CLAIM, CANDIDATES).selected == (2, 3)
        assert "response_format" in server.bodies[0]


def test_one_candidate_needs_no_call_and_none_is_an_error():
    with LLMServer() as server:
        assert selector_at(server).select(CLAIM, ["Only."]) == Selection((0,), 1)
        with pytest.raises(ValueError, match="no candidates"):
            selector_at(server).select(CLAIM, [])
        assert server.requests == []


@pytest.mark.parametrize(
    ("trouble", "error"), [(status(503), TransportError), (status(400), PermanentError)]
)
def test_a_failing_server_is_an_error_and_no_fallback(
    trouble: llm_server.Act, error: type[Exception]
):
    with LLMServer(lambda _: trouble) as server:
        with pytest.raises(error):
            selector_at(server).select(CLAIM, CANDIDATES)


def test_a_stored_selection_is_not_paid_for_again():
    store = MemoryStore()
    with LLMServer([llm_server.empty()]) as server:
        first = selector_at(server, store).select(CLAIM, CANDIDATES)
        assert selector_at(server, store).select(CLAIM, CANDIDATES) == first
        assert len(server.requests) == 2


def test_name_model_version_and_parameters_say_what_made_a_selection():
    with LLMServer() as server:
        selector = selector_at(server, attempts=2)
    assert (selector.name, selector.model, selector.prompt_version) == (
        "llm_selection",
        "m",
        "selection-2",
    )
    assert selector.params == {"attempts": 2, "temperature": 0.0, "fallback": "first_two()"}
    json.dumps(selector.params)


def test_a_budget_without_a_request_is_refused():
    with pytest.raises(BadInput, match="attempts"):
        LLMSelection(LLM("m"), fallback=FirstTwo(), attempts=0)
