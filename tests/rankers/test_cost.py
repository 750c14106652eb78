"""Estimates of calls and tokens, worked out by hand."""

from __future__ import annotations

import pytest

from rankers.base import PlannedCall
from rankers.cost import BYTES_PER_TOKEN, Estimate, count_tokens, estimate


def call(text: str, completion_tokens: int = 5) -> PlannedCall:
    return PlannedCall(({"role": "user", "content": text},), completion_tokens)


def test_a_token_is_about_four_and_a_half_bytes():
    assert count_tokens("") == 0
    assert count_tokens("a") == 1
    assert count_tokens("a" * 446) == 100
    assert count_tokens("é" * 223) == 100


def test_no_plan_costs_nothing():
    assert estimate([]) == Estimate()
    assert estimate([(), ()]) == Estimate()


def test_calls_and_answers_add_up():
    # "user" and a line break are 5 bytes, the turn 4 tokens more.
    found = estimate([(call("x" * 441, 3), call("y" * 441, 4)), (call("z" * 441, 5),)])
    assert found == Estimate(calls=3, prompt_tokens=312, cached_tokens=0, completion_tokens=12)
    assert found.computed_tokens == 312


@pytest.mark.parametrize(("block", "cached"), [(1, 100), (16, 96), (64, 64), (528, 0)])
def test_what_is_shared_with_the_call_before_is_cached_in_whole_blocks(block, cached):
    shared = "p" * 441
    plan = (call(shared + "a" * 446), call(shared + "b" * 446))
    assert estimate([plan], block=block).cached_tokens == cached


def test_a_service_that_caches_long_prefixes_only_serves_no_short_one():
    plan = (call("p" * 441), call("p" * 441))
    assert estimate([plan], least=64).cached_tokens == 96
    assert estimate([plan], least=1024).cached_tokens == 0


def test_the_claims_first_call_is_found_too_and_the_claim_before():
    a, b = "a" * 892, "b" * 892
    assert estimate([(call(a), call(b), call(a))], block=1).cached_tokens == 201 + 1
    assert estimate([(call(a),), (call(a),)], block=1).cached_tokens == int(897 / BYTES_PER_TOKEN)


@pytest.mark.parametrize("options", [{"block": 0}, {"least": -1}])
def test_sizes_that_mean_nothing_are_refused(options):
    with pytest.raises(ValueError, match="block must be at least 1"):
        estimate([], **options)
