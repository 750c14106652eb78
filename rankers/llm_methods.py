"""The methods that ask an LLM: their entries in the registry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankers import coverage as cover
from rankers.base import Ranker, Selector
from rankers.method_info import EMBEDDER, MODEL, MethodInfo, Options
from rankers.params import Param


def _seed_ranker(options: Options) -> Ranker:
    return cover.Coverage(options.make_embedder())


def _llm(params: Mapping[str, Any], options: Options) -> Ranker:
    from rankers.one_shot import OneShotLLM

    return OneShotLLM(options.make_llm(), seed_ranker=_seed_ranker(options), **params)


def _incremental_llm(params: Mapping[str, Any], options: Options) -> Ranker:
    from rankers.incremental import IncrementalLLM

    return IncrementalLLM(options.make_llm(), seed_ranker=_seed_ranker(options), **params)


def _one_pass_repair(params: Mapping[str, Any], options: Options) -> Ranker:
    from rankers.one_pass_repair import OnePassRepair

    return OnePassRepair(options.make_llm(), seed_ranker=_seed_ranker(options), **params)


def _reranker(params: Mapping[str, Any], options: Options) -> Ranker:
    from rankers.reranker import Reranker

    return Reranker(options.make_llm(), seed_ranker=_seed_ranker(options), **params)


def _llm_selection(params: Mapping[str, Any], options: Options) -> Selector:
    from rankers.llm_selection import LLMSelection

    fallback = cover.CoverageSelection(options.make_embedder())
    return LLMSelection(options.make_llm(), fallback=fallback, **params)


def _one_call(n_candidates: int, params: Mapping[str, Any]) -> int:
    return int(n_candidates > 1)


def _incremental_calls(n_candidates: int, params: Mapping[str, Any]) -> int:
    from rankers.incremental import n_questions

    return n_questions(n_candidates, params["depth"])


def _repair_calls(n_candidates: int, params: Mapping[str, Any]) -> int:
    from rankers.one_pass_repair import most_calls

    return most_calls(n_candidates, params["depth"], params["ahead"])


def _reranker_calls(n_candidates: int, params: Mapping[str, Any]) -> int:
    from rankers.tournaments import n_calls

    return n_calls(n_candidates, params["tournament"], params["group"], params["keep"])


_ATTEMPTS = Param("attempts", int, 5, "asks for one valid answer, the first included", minimum=1)
_TEMPERATURE = Param("temperature", float, 0.0, "sampling temperature", minimum=0)
_LAYOUT = Param(
    "layout",
    str,
    "stable",
    "stable: claim and sentences come first and stay the same, so that servers can reuse their "
    "work; paper: the prompts of the evidence-ranking paper, gaps in reading order",
    choices=("stable", "paper"),
)
_DEPTH = Param("depth", int, 6, "positions the LLM chooses; 0 for all, as in the paper", minimum=0)


RANKERS = (
    MethodInfo(
        "reranker",
        "ranker",
        "a listwise reranker over groups of sentences, and a final of their best",
        _reranker,
        needs=(MODEL, EMBEDDER),
        params=(
            Param(
                "tournament",
                str,
                "groups",
                "groups: in parallel, then a final; paper: one newcomer a call, as in the paper",
                choices=("groups", "paper"),
            ),
            Param("group", int, 20, "sentences a call, at most", minimum=2),
            Param("keep", int, 6, "sentences of a group that go on; below group", minimum=1),
            Param(
                "instructions",
                str,
                "system",
                "turn they go into; user for models that know no system turn",
                choices=("system", "user"),
            ),
            Param("reasoning_tokens", int, 3072, "tokens for thinking before it", minimum=0),
            _ATTEMPTS,
            _TEMPERATURE,
        ),
        calls=_reranker_calls,
    ),
    MethodInfo(
        "llm",
        "ranker",
        "an LLM orders all sentences in one call",
        _llm,
        needs=(MODEL, EMBEDDER),
        params=(
            _LAYOUT,
            Param(
                "answer",
                str,
                "list",
                "list: all numbers; first_token: one token, by the log probabilities of numbers",
                choices=("list", "first_token"),
            ),
            _ATTEMPTS,
            _TEMPERATURE,
        ),
        calls=_one_call,
    ),
    MethodInfo(
        "incremental_llm",
        "ranker",
        "an LLM picks the next sentence given those already picked",
        _incremental_llm,
        needs=(MODEL, EMBEDDER),
        params=(_LAYOUT, _DEPTH, _ATTEMPTS, _TEMPERATURE),
        calls=_incremental_calls,
    ),
    MethodInfo(
        "one_pass_repair",
        "ranker",
        "an LLM orders all sentences, then its first picks are asked for several at a time",
        _one_pass_repair,
        needs=(MODEL, EMBEDDER),
        params=(
            _DEPTH,
            Param(
                "ahead",
                int,
                3,
                "questions asked before the answer to the one in front is there",
                minimum=0,
                maximum=3,
            ),
            _ATTEMPTS,
            _TEMPERATURE,
        ),
        calls=_repair_calls,
    ),
)

SELECTORS = (
    MethodInfo(
        "llm_selection",
        "selector",
        "an LLM chooses a sufficient set",
        _llm_selection,
        needs=(MODEL, EMBEDDER),
        params=(_ATTEMPTS, _TEMPERATURE),
        calls=_one_call,
    ),
)
