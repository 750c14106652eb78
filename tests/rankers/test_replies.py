"""The strict parser: known failures of other rerankers, and properties of any text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankers.errors import MalformedReply, TruncatedReply
from rankers.replies import (
    Parsed,
    answer_text,
    is_json,
    number_of_token,
    parse_ids,
    parse_pick,
)


def ids(text: str | None, n: int, **fields: str | None) -> tuple[int, ...]:
    return parse_ids(text, n, **fields).ids


# Reports on other rerankers, numbered as in the specification.


def test_two_digit_ids_are_read_whole_and_the_rest_is_missing():  # B1
    parsed = parse_ids("[11] > [3] > [2]", 11)
    assert parsed == Parsed((11, 3, 2), 0, (1, 4, 5, 6, 7, 8, 9, 10), "partial")


def test_the_text_of_a_transport_error_holds_no_ids():  # B4
    assert ids("Error 429: Limit 10, Used 7, Requested 3", 12) == ()


def test_digits_in_a_remark_beside_the_ids_do_not_count():  # B9
    assert ids("[5] > [1]\nSee also Doc: 5, page 3.", 6) == (5, 1)


@pytest.mark.parametrize("n", [0, 1])
def test_empty_text_with_no_or_one_candidate_is_no_error(n: int):  # B10
    parsed = parse_ids("", n)
    assert parsed.ids == ()
    assert parsed.status == ("ok" if n == 0 else "fallback")


def test_decimals_are_not_two_ids():  # B11
    assert ids("3.1 > 2", 5) == ()
    assert parse_ids("[3.1] > [2]", 5) == Parsed((2,), 1, (1, 3, 4, 5), "partial")
    assert parse_ids("[2.0, 1]", 3) == Parsed((1,), 1, (2, 3), "partial")


def test_a_blank_loop_keeps_the_start_and_is_truncated():  # B13
    parsed = parse_ids('{"order": [3,' + "\n" * 500, 5, finish_reason="length")
    assert parsed.ids == (3,)
    assert parsed.status == "truncated"


def test_the_last_number_of_a_cut_list_is_dropped_without_a_delimiter():  # B14
    assert ids('{"order":[3,1,1', 12, finish_reason="length") == (3, 1)
    assert ids('{"order":[3,1,11\n', 12, finish_reason="length") == (3, 1, 11)
    assert ids('{"order":["3","1","1', 12, finish_reason="length") == (3, 1)


def test_an_open_list_of_a_reply_that_was_not_cut_is_nothing():
    assert ids('{"order":[3,1,1', 12, finish_reason="stop") == ()


def test_a_cut_list_counts_more_than_an_earlier_closed_one():
    text = 'First thoughts: [1, 2]. Final: {"order": [3, 1, '
    assert ids(text, 4, finish_reason="length") == (3, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"3": "a, \\"b\\" [1]", "1": "te', (3, 1)),
        ('{"3": "a", "1":', (3, 1)),
        ('{"3": "a", "1"', (3,)),  # the number may have lost digits
        ('{"3": "a", "1', (3,)),
        ('{"3": "a",', (3,)),
        ('{"3": "ends in a backslash \\', (3,)),
        ('First {"1": "a", "2": "b"}. Better: {"3": "a", "2": "b", "1', (3, 2)),
        ('{"3": "a", "1": "b"} and then', (3, 1)),  # closed: read as it is
        ('{"why": "x", "3": "a', ()),
        ('{"3": 1, "2": ', ()),
    ],
)
def test_a_cut_object_of_texts_keeps_the_keys_it_had(text: str, expected: tuple[int, ...]):
    assert ids(text, 4, finish_reason="length") == expected


def test_a_complete_order_is_ok_even_if_the_reply_was_cut_behind_it():
    assert parse_ids("[2] > [1]\nBecause", 2, finish_reason="length").status == "ok"


def test_reasoning_counts_only_when_it_is_json_as_a_whole():  # B15
    assert parse_ids(None, 3, reasoning='{"order": [3, 1, 2]}').ids == (3, 1, 2)
    cut = parse_ids(None, 3, reasoning="I think [3] > [1] > [2]")
    assert (cut.ids, cut.status) == ((), "truncated")
    assert parse_ids("[1]", 3, reasoning='{"order": [3, 1, 2]}').ids == (1,)


def test_prose_before_the_ids_is_not_harvested():  # B23
    assert ids("I rank the 5 passages: [3] > [1]", 5) == (3, 1)


def test_an_open_think_block_is_a_cut_reply():  # B24
    parsed = parse_ids("<think>maybe [7] or 1990", 8)
    assert (parsed.ids, parsed.status) == ((), "truncated")
    assert parse_ids("<think>a</think>[1] <think>[2]", 8).status == "truncated"


# Faults of the published code, numbered as in the specification.


def test_fenced_json_is_read():  # W9
    text = 'Sure:\n```json\n{"order": [2, 3, 1]}\n```\nI hope this helps.'
    assert parse_ids(text, 3) == Parsed((2, 3, 1), 0, (), "ok")


def test_the_last_fenced_block_counts():
    assert ids("```json\n[1, 2, 3]\n```\nBetter:\n```\n[3, 2, 1]\n```", 3) == (3, 2, 1)


def test_the_same_id_written_twice_counts_once():  # W10
    parsed = parse_ids('{"3": "a", "03": "b", "1": "c", "2": "d"}', 3)
    assert parsed == Parsed((3, 1, 2), 0, (), "repaired", repeated=1)
    assert parse_ids("[2, 2]", 3) == Parsed((2,), 0, (1, 3), "partial", repeated=1)


def test_true_is_not_one():  # W10
    assert parse_ids("[true, 2]", 2) == Parsed((2,), 1, (1,), "partial")
    assert ids("[True]", 2) == ()


def test_two_single_ids_in_prose_are_ambiguous():  # W11
    assert ids("[3] is better than [1]", 4) == ()
    assert ids("[2] [4]", 4) == (2, 4)
    assert ids("Selected: [2, 4]", 4) == (2, 4)


def test_zero_negative_and_large_numbers_are_rejected_and_counted():  # W12
    assert parse_ids("[0] > [2] > [-1] > [5] > [1]", 4) == Parsed((2, 1), 3, (3, 4), "partial")
    assert parse_ids("[0, 2, -1, 5, 1]", 4) == Parsed((2, 1), 3, (3, 4), "partial")
    assert parse_ids("[2] > [2] > [1]", 2) == Parsed((2, 1), 0, (), "repaired", repeated=1)


def test_the_last_answer_block_with_ids_counts():  # W13
    text = "<answer>[1] > [2]</answer> no: <answer>[2] > [1]</answer> <answer></answer>"
    assert ids(text, 2) == (2, 1)
    assert ids("<answer></answer> [2] > [1]", 2) == ()


def test_an_answer_block_quoted_while_thinking_hides_nothing():  # W13
    text = "<think>I write <answer>[1] > [2]</answer> then</think><answer>[2] > [1]</answer>"
    assert ids(text, 2) == (2, 1)


def test_thinking_without_a_start_tag_is_dropped():
    assert ids("so [1] > [2] > [3]?\n</think>\n[3] > [1]", 3) == (3, 1)


# The forms that are accepted, and those that are not.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[3, 1, 2]", (3, 1, 2)),
        ('["3", "1"]', (3, 1)),
        ('{"order": [3, 1, 2], "why": "text"}', (3, 1, 2)),
        ('{"3": "text [1]", "1": "text", "2": "text"}', (3, 1, 2)),
        ('The order is {"order": [2, 3]} as asked.', (2, 3)),
        ("First [1, 2, 3], then again: [2, 1, 3].", (2, 1, 3)),
        ("[2]>[3],[1]", (2, 3, 1)),
        ("[ 2 ]\n[3]\n[1]", (2, 3, 1)),
        ("Not [1]. Rather [2] > [3].", (2, 3)),
    ],
)
def test_accepted_forms(text: str, expected: tuple[int, ...]):
    assert ids(text, 3) == expected


@pytest.mark.parametrize(
    "text",
    [
        "3 > 1 > 2",
        "3",
        "The answer is 2.",
        '{"best": [1, 2], "worst": [2, 1]}',  # which of the lists?
        '{"1": 3, "2": 1, "3": 2}',  # ids to texts, or ranks to ids?
        '{"order": 3}',
        '{"S2": "text"}',
        '["S2", "the first one"]',
        "[[3], [1]]",
        "[1] > [2] or [2] > [1]",  # two runs of equal length
        "(3) > (1)",
        "[²]",
        "null",
    ],
)
def test_forms_that_yield_nothing(text: str):
    assert ids(text, 3) == ()


def test_a_number_too_long_for_an_integer_is_rejected_quietly():
    assert ids("[" + "9" * 5000 + "]", 3) == ()
    assert ids("[" * 100_000, 3) == ()


def test_a_negative_number_of_candidates_is_refused():
    with pytest.raises(ValueError, match="-1"):
        parse_ids("[1]", -1)


# Picking one.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[3]", 3),
        ("The answer is [3], since [3] says so in 1990.", 3),
        ("[3] goes well with [1]", 3),  # 1 has been used
        ('{"ids": [3]}', 3),
        ('```json\n{"3": "text"}\n```', 3),
        ("<think>[2] or [4]?</think> [3]", 3),
        ("<answer>[2]</answer> wait <answer>[3]</answer>", 3),
        ("[9] does not exist; [3]", 3),
    ],
)
def test_a_pick_is_the_only_valid_unused_id(text: str, expected: int):
    assert parse_pick(text, 4, {1}) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[3] is better than [2]", r"several sentences \(\[2\], \[3\]\)"),
        ("[2, 4]", "several"),
        ("[1]", r"\[1\] has been chosen before \(repeat\)"),  # B27
        ("[9]", "no number from 1 to 4"),
        ("[0]", "no number from 1 to 4"),
        ("[3.0]", "no number from 1 to 4"),
        ("[true]", "no number in square brackets"),
        ("3", "no number in square brackets"),
        ("I would choose sentence 3.", "no number in square brackets"),
        ("", "no number in square brackets"),
        ("<answer></answer> [3]", "no number in square brackets"),
    ],
)
def test_an_unclear_pick_says_what_is_wrong_and_keeps_the_reply(text: str, problem: str):
    with pytest.raises(MalformedReply, match=problem) as raised:
        parse_pick(text, 4, {1})
    assert raised.value.raw == text


def test_a_pick_cut_while_thinking_is_truncated():
    with pytest.raises(TruncatedReply):
        parse_pick("<think>[3] or", 4)


def test_a_pick_in_the_reasoning_field_counts_only_as_json():
    assert parse_pick(None, 4, reasoning='{"ids": [3]}') == 3
    with pytest.raises(MalformedReply):
        parse_pick(None, 4, reasoning="so it is [3]")


@pytest.mark.parametrize(
    ("token", "number"),
    [
        ("10", 10),
        (" 1", 1),
        ("[3", 3),
        ("3]", 3),
        ("\u01203", 3),
        ("\u25817", 7),
        ("3.", 3),
        ("03", 3),
        ("13", None),
        ("0", None),
        ("-1", None),
        ("3.0", None),
        ("²", None),
        ("٣", None),
        ("The", None),
        ("", None),
    ],
)
def test_a_token_is_a_number_with_nothing_but_blanks_and_brackets_around_it(token, number):  # B2
    assert number_of_token(token, 12) == number


def test_think_tags_in_any_case_and_spelling_are_dropped():
    assert answer_text("<THINK>x</THINK> a <thinking>y</thinking> b") == "a   b"
    assert answer_text(None) == ""


def test_everything_before_an_end_tag_without_a_start_is_thinking():
    assert answer_text("[1] <think>a</think> [2] </think>[3]") == "[3]"


def test_only_lists_and_objects_count_as_json():
    assert is_json(" [1] ")
    assert is_json("{}")
    assert not is_json("1")
    assert not is_json("[1] so")
    assert not is_json(None)


# Any text at all.

_SIGNS = ["[", "]", "{", "}", '"', ",", ">", ":", "\n", " ", "```", "```json\n", "null", "true"]
_TAGS = ["<think>", "</think>", "<answer>", "</answer>"]
_IDS = ["[1]", "[2] > [3]", "[3, 1, 2]", '{"order": [2, 1]}', "order"]
_NUMBERS = ["0", "-1", "2.0", "7", "99", "²", "٣", "NaN"]
_PIECES = st.sampled_from([*_SIGNS, *_TAGS, *_IDS, *_NUMBERS])
_TEXTS = st.one_of(
    st.text(),
    st.lists(_PIECES, max_size=25).map("".join),
    st.recursive(
        st.none() | st.booleans() | st.integers(-3, 12) | st.floats() | st.text(max_size=4),
        lambda inner: st.lists(inner) | st.dictionaries(st.text("0123456789a", max_size=2), inner),
        max_leaves=15,
    ).map(json.dumps),
)


@settings(max_examples=400, deadline=None)
@given(
    text=st.none() | _TEXTS,
    n=st.integers(0, 12),
    finish_reason=st.sampled_from([None, "stop", "length"]),
    reasoning=st.none() | _TEXTS,
)
def test_any_text_gives_distinct_ids_in_range_and_an_honest_status(
    text: str | None, n: int, finish_reason: str | None, reasoning: str | None
):
    parsed = parse_ids(text, n, finish_reason=finish_reason, reasoning=reasoning)
    assert len(set(parsed.ids)) == len(parsed.ids)
    assert sorted((*parsed.ids, *parsed.missing)) == list(range(1, n + 1))
    assert parsed.rejected >= 0
    assert (parsed.status in ("ok", "repaired")) == (not parsed.missing)
    if parsed.status == "fallback":
        assert not parsed.ids


@settings(max_examples=400, deadline=None)
@given(text=st.none() | _TEXTS, n=st.integers(0, 12), used=st.sets(st.integers(1, 12)))
def test_any_text_gives_an_unused_pick_in_range_or_a_named_error(
    text: str | None, n: int, used: set[int]
):
    try:
        number = parse_pick(text, n, used)
    except (MalformedReply, TruncatedReply):
        return
    assert 1 <= number <= n
    assert number not in used


@settings(max_examples=200, deadline=None)
@given(order=st.permutations(range(1, 10)))
def test_every_order_survives_each_accepted_form(order: list[int]):
    run = " > ".join(f"[{number}]" for number in order)
    for text in (run, json.dumps(order), json.dumps({"order": order}), f"It is {run}."):
        assert parse_ids(text, 9) == Parsed(tuple(order), 0, (), "ok")


@pytest.mark.parametrize("sign", [" ", "a", "`", "\n"])
def test_an_endless_fence_is_read_in_linear_time(sign):
    # Quadratic reading took a quarter of a minute; this many signs would take an hour.
    text = "```" + sign * 1_000_000
    assert parse_ids(text, 5).ids == ()


def test_the_last_closed_fence_counts_whatever_its_language():
    assert parse_ids("```json\n[2, 1]\n``` or ```python\n[1, 2]\n``` and ```[2", 2).ids == (1, 2)
