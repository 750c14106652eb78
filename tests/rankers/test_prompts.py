"""What the model is shown: stable prefixes, fixed numbers, nothing that looks like an id."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankers import prompts
from rankers.prompts import (
    correction_messages,
    display,
    first_token_messages,
    ids_schema,
    list_messages,
    paper_list_messages,
    paper_question,
    rerank_messages,
    selection_messages,
    stable_prefix,
    stable_question,
)
from tests.shared_data import DATA, needs_data

CLAIM = "Anna Smith wrote Winter in 1931"
CANDIDATES = ["Anna Smith was a writer.", "Winter is a novel.", "Cats sleep.", "Winter is a novel."]


def _text(messages: tuple[prompts.Message, ...]) -> str:
    (message,) = messages
    assert message["role"] == "user"
    return message["content"]


def test_all_steps_of_the_stable_layout_share_their_prefix_byte_for_byte():
    prefix = stable_prefix(CLAIM, CANDIDATES)
    texts = [_text(stable_question(CLAIM, CANDIDATES, [2, 0, 3][:k]).messages) for k in range(4)]
    assert all(text.startswith(prefix) for text in texts)
    shared = texts[0].removesuffix("none")
    assert [text.removeprefix(shared) for text in texts] == [
        "none",
        "[3]",
        "[3] [1]",
        "[3] [1] [4]",
    ]


@pytest.mark.parametrize("messages", [selection_messages, list_messages, first_token_messages])
def test_all_questions_but_the_papers_share_the_prefix(messages):
    prefix = stable_prefix(CLAIM, CANDIDATES)
    text = _text(messages(CLAIM, CANDIDATES))
    assert text.startswith(prefix)
    assert CLAIM not in text.removeprefix(prefix)
    assert stable_question(CLAIM, CANDIDATES, []).prefix == prefix
    assert paper_question(CLAIM, CANDIDATES, []).prefix is None


def test_the_question_for_a_list_says_how_many_numbers_there_are():
    assert "Name every number from 1 to 4 " in _text(list_messages(CLAIM, CANDIDATES))


def test_the_papers_list_asks_for_an_object_from_number_to_text():
    text = _text(paper_list_messages(CLAIM, CANDIDATES))
    assert text.startswith(prompts.PAPER_LIST)
    assert f"Claim: {CLAIM}\n\nCandidate sentences:\n[1] Anna Smith was a writer.\n" in text
    assert "all the numbers from 1 to 4, each once" in text
    assert text.endswith('{"number": "text", ...}')


def test_a_reranker_gets_its_instructions_in_the_turn_asked_for():
    system, user = rerank_messages(CLAIM, CANDIDATES, "system")
    assert system == {"role": "system", "content": prompts.RERANK_INSTRUCTIONS}
    text = _text(rerank_messages(CLAIM, CANDIDATES, "user"))
    assert text == f"{prompts.RERANK_INSTRUCTIONS}\n\n{user['content']}"
    assert "[4] Winter is a novel.\n\nOrder all 4 sentences" in text
    # The form of the answer is shown without any number that could be read as one.
    asked = text.replace("\n".join(re.findall(r"^\[\d.*$", text, re.MULTILINE)), "")
    assert not re.search(r"\[\d+\]", asked)


def test_the_stable_layout_keeps_numbers_and_names_those_used():
    question = stable_question(CLAIM, CANDIDATES, [2, 0])
    assert question.options == (0, 1, 2, 3)
    assert question.used == {3, 1}
    assert "[2] Winter is a novel.\n[3] Cats sleep.\n[4] Winter is a novel." in _text(
        question.messages
    )


def test_the_paper_layout_renumbers_what_remains_and_shows_the_used_as_bullets():
    question = paper_question(CLAIM, CANDIDATES, [1])
    text = _text(question.messages)
    assert question.options == (0, 2, 3)
    assert question.used == frozenset()
    # By position, not by text: the second copy of the chosen sentence is still on offer.
    assert text.endswith(
        "Sentences the reader has already seen:\n- Winter is a novel.\n\n"
        "Remaining sentences:\n[1] Anna Smith was a writer.\n[2] Cats sleep.\n"
        f"[3] Winter is a novel.\n\n{prompts.PAPER_REMINDER}"
    )


def test_the_first_paper_prompt_is_one_of_its_own():
    first = _text(paper_question(CLAIM, CANDIDATES, []).messages)
    later = _text(paper_question(CLAIM, CANDIDATES, [0]).messages)
    assert first.startswith(prompts.PAPER_FIRST)
    assert later.startswith(prompts.PAPER_NEXT)
    assert "already seen" not in first


def test_every_prompt_asks_for_sufficiency():  # W28
    asked = [
        *stable_question(CLAIM, CANDIDATES, []).messages,
        *selection_messages(CLAIM, CANDIDATES),
        *paper_question(CLAIM, CANDIDATES, []).messages,
        *paper_question(CLAIM, CANDIDATES, [0]).messages,
        *list_messages(CLAIM, CANDIDATES),
        *paper_list_messages(CLAIM, CANDIDATES),
        *first_token_messages(CLAIM, CANDIDATES),
        *rerank_messages(CLAIM, CANDIDATES, "user"),
    ]
    assert len(asked) == 8
    assert not any("relevant" in message["content"] for message in asked)
    assert all("sufficient" in message["content"] for message in asked)


@pytest.mark.parametrize("claim", ["It rained.", "It rained"])
def test_the_claim_is_shown_as_it_is(claim: str):  # W28
    assert f"Claim: {claim}\n" in stable_prefix(claim, CANDIDATES)
    assert f"Claim: {claim}\n" in _text(paper_question(claim, CANDIDATES, []).messages)
    assert f"Claim: {claim}\n" in _text(paper_list_messages(claim, CANDIDATES))
    assert f"Claim: {claim}\n" in _text(rerank_messages(claim, CANDIDATES, "user"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Born in 1931.[12] Died.[3, 4]", "Born in 1931.(12) Died.(3, 4)"),
        ("[1] first", "(1) first"),
        ("two\n[2] lines\u2028here", "two (2) lines here"),
        ("[[5]]", "[(5)]"),
        ("a [sic] word [citation needed]", "a [sic] word [citation needed]"),
    ],
)
def test_bracketed_numbers_in_sentences_lose_their_brackets(text: str, shown: str):
    assert display(text) == shown


@given(st.text(st.sampled_from("[]()0123456789, \n.-–a"), max_size=30))
def test_nothing_displayed_looks_like_an_id_or_breaks_the_line(text: str):
    shown = display(text)
    assert not re.search(r"\[\s*\d+\s*\]", shown)
    assert "\n" not in shown


def test_a_correction_replaces_the_one_before_and_keeps_the_prefix():
    messages = stable_question(CLAIM, CANDIDATES, []).messages
    second = correction_messages(messages, "[9]", "it is wrong", 2, 5)
    third = correction_messages(messages, "", "it is empty", 3, 5)
    assert [m["role"] for m in second] == ["user", "assistant", "user"]
    assert second[:1] == third[:1] == messages
    assert second[1]["content"] == "[9]"
    assert third[1]["content"] == "(no answer)"
    assert "it is wrong" in second[2]["content"]
    assert second[2] != third[2]


def test_a_long_bad_reply_is_cut_in_the_correction():
    messages = stable_question(CLAIM, CANDIDATES, []).messages
    turns = correction_messages(messages, "blah " * 5000, "no number", 2, 5)
    assert len(turns[1]["content"]) == 400


def test_a_correction_asks_for_the_form_of_the_question_whatever_it_is():
    for messages in (list_messages(CLAIM, CANDIDATES), paper_list_messages(CLAIM, CANDIDATES)):
        turn = correction_messages(messages, "[1]", "it leaves out [2]", 2, 5)[-1]["content"]
        assert "in exactly the form it asks for" in turn
        assert "square brackets" not in turn


def test_the_schema_depends_on_the_number_of_candidates_only():  # B28
    assert ids_schema(3) == ids_schema(3)
    assert ids_schema(3)["properties"]["ids"]["items"]["enum"] == [1, 2, 3]


@needs_data
def test_every_line_of_a_real_prompt_is_the_candidate_of_its_number():
    n_with_brackets = 0
    for line in (DATA / "wice_open.jsonl").read_text(encoding="utf-8").splitlines():
        claim = json.loads(line)
        n_with_brackets += any(re.search(r"\[\d+\]", text) for text in claim["candidates"])
        prefix = stable_prefix(claim["claim"], claim["candidates"])
        listed = re.findall(r"^\[(\d+)\] (.*)$", prefix, re.MULTILINE)
        assert [int(number) for number, _ in listed] == list(range(1, len(claim["candidates"]) + 1))
        assert [text for _, text in listed] == [display(text) for text in claim["candidates"]]
        assert len(re.findall(r"\[\d+\]", prefix)) == len(claim["candidates"])
    assert n_with_brackets > 0, "the data hold footnote marks; the test needs some"


@pytest.mark.parametrize("quote", ['"', "'", "“"])
def test_a_quoted_number_in_brackets_is_no_id_either(quote):
    close = "”" if quote == "“" else quote
    assert display(f"see [{quote}3{close}] there") == f"see ({quote}3{close}) there"
