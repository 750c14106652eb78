"""The methods that ask an LLM: their entries in the registry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankers import coverage as cover
from rankers.base import Ranker, Selector
from rankers.method_info import EMBEDDER, MODEL, MethodInfo, Options
from rankers.params import Param


def _incremental_llm(params: Mapping[str, Any], options: Options) -> Ranker:
    from rankers.incremental import IncrementalLLM

    seed_ranker = cover.Coverage(options.make_embedder())
    return IncrementalLLM(options.make_llm(), seed_ranker=seed_ranker, **params)


def _llm_selection(params: Mapping[str, Any], options: Options) -> Selector:
    from rankers.llm_selection import LLMSelection

    fallback = cover.CoverageSelection(options.make_embedder())
    return LLMSelection(options.make_llm(), fallback=fallback, **params)


def _incremental_calls(n_candidates: int, params: Mapping[str, Any]) -> int:
    # The last position has one candidate left and is never asked.
    return max(0, min(params["depth"] or n_candidates, n_candidates - 1))


_ATTEMPTS = Param("attempts", int, 5, "asks for one valid answer, the first included", minimum=1)
_TEMPERATURE = Param("temperature", float, 0.0, "sampling temperature", minimum=0)
_LAYOUT = Param("layout", str, "stable", "layout of the prompt", choices=("stable", "paper"))
_DEPTH = Param("depth", int, 6, "positions the LLM chooses; 0 for all", minimum=0)


RANKERS = (
    MethodInfo(
        "incremental_llm",
        "ranker",
        "an LLM picks the next sentence given those already picked",
        _incremental_llm,
        needs=(MODEL, EMBEDDER),
        params=(_LAYOUT, _DEPTH, _ATTEMPTS, _TEMPERATURE),
        calls=_incremental_calls,
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
        calls=lambda n_candidates, params: int(n_candidates > 1),
    ),
)
