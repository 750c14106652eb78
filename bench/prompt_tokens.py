"""Prompt tokens that a server with a prefix cache has to work on, by layout and depth.

The scripted server counts them as vLLM would, in blocks of 16, and starts with an empty cache for
each layout. The yardstick is the paper's layout asked for every position.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.figures import goal
from bench.llm_server import Answered, server_process
from bench.open_claims import MissingData, open_claims
from rankers.registry import build
from rankers.values import Claim

GOAL_RATIO = 12
LONG_LIST = 30
#: Every so many claims of a file: enough for a mean, and done in about a minute.
EVERY = {"wice_open": 2, "fm2_open": 5}

OURS: Mapping[str, Any] = {"layout": "stable", "depth": 6}
PAPER: Mapping[str, Any] = {"layout": "paper", "depth": 0}


def measure() -> Iterator[str]:
    """Compare on long lists (WiCE), where the goal is, and on short ones (FM2)."""
    try:
        long_lists = open_claims("wice_open", at_least=LONG_LIST, every=EVERY["wice_open"])
        short_lists = open_claims("fm2_open", every=EVERY["fm2_open"])
    except MissingData as error:
        yield f"not measured: {error}"
        return
    words, ratio = _compare(long_lists)
    yield f"WiCE, {words} {goal(f'{GOAL_RATIO}', ratio >= GOAL_RATIO)}"
    yield f"FM2, {_compare(short_lists)[0]}"


def _compare(claims: Sequence[Claim]) -> tuple[str, float]:
    """Run both and say what they cost a claim; also the ratio of computed tokens."""
    ours, paper = (_answers(claims, params) for params in (OURS, PAPER))
    ratio = _computed(paper) / _computed(ours)
    mean_n = sum(len(claim.candidates) for claim in claims) / len(claims)
    return (
        f"{len(claims)} claims of {mean_n:.1f} candidates: computed prompt tokens a claim "
        f"{_computed(ours) / len(claims):.0f} against {_computed(paper) / len(claims):.0f}, "
        f"calls {len(ours) / len(claims):.1f} against {len(paper) / len(claims):.1f}, "
        f"raw ratio {_raw(paper) / _raw(ours):.1f}, ratio after the cache {ratio:.1f}",
        ratio,
    )


def _answers(claims: Sequence[Claim], params: Mapping[str, Any]) -> list[Answered]:
    """Rank every claim against a fresh server and return its log."""
    with server_process() as server:
        method = build("incremental_llm", params=params, llm=server.llm())
        for claim in claims:
            ranking = method.rank_claim(claim)
            assert ranking.status == "complete", f"{claim.id}: {ranking}"
    return server.log


def _raw(log: Sequence[Answered]) -> int:
    return sum(answered.prompt_tokens for answered in log)


def _computed(log: Sequence[Answered]) -> int:
    return sum(answered.computed_tokens for answered in log)
