"""The explicit table of methods, and building one by name.

A new method is one file and one entry in the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankers import coverage as cover
from rankers.base import Method, Ranker, Selector
from rankers.bm25 import BM25
from rankers.errors import BadInput, UnknownMethod
from rankers.fixed import DocumentOrder, Random
from rankers.method_info import EMBEDDER, MODEL, MethodInfo, Options
from rankers.params import Param, parse_params
from rankers.similarity import IncrementalSimilarity, Similarity
from rankers.top_k import TopK


def build(
    name: str,
    *,
    model: str | None = None,
    embedder: str | None = None,
    params: Mapping[str, Any] | None = None,
    llm: Any = None,
) -> Ranker | Selector:
    """Build the method ``name``; values of ``params`` may be text from a command line.

    ``llm`` (a ``rankers.llm.LLM``) is used as it is; without one, a method that needs a model
    makes it from the environment and ``model``. ``model`` and ``embedder`` are ignored by methods
    that use none (see ``unused_options``). Raises UnknownMethod, BadInput for a wrong parameter or
    embedder, MissingDependency when no model is named anywhere.
    """
    values = method_params(name, params)
    return METHODS[name].builder(values, Options(model, embedder, llm))


def method_info(name: str) -> MethodInfo:
    """Return the entry of a method. Raises UnknownMethod, listing the known ones."""
    if name not in METHODS:
        raise UnknownMethod(f"unknown method {name!r}: choose one of {', '.join(METHODS)}")
    return METHODS[name]


def method_params(name: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return all parameters of a method, checked, with defaults for those not given.

    Raises UnknownMethod, and BadInput naming the method, the parameter and what is allowed.
    """
    values = parse_params(f"method {name}", method_info(name).params, params or {})
    if name == TopK.name:
        rankers = [info.name for info in METHODS.values() if info.kind == Ranker.kind]
        if values["base"] not in rankers:
            raise BadInput(
                f"method {name}: parameter base must be one of {', '.join(rankers)}, "
                f"not {values['base']!r}"
            )
    return values


def method_needs(name: str, params: Mapping[str, Any] | None = None) -> tuple[str, ...]:
    """Return what the method uses with these parameters: ``embedder``, ``model``, both, none."""
    if name == TopK.name:
        return method_needs(method_params(name, params)["base"])
    return method_info(name).needs


def calls_for(name: str, n_candidates: int, params: Mapping[str, Any] | None = None) -> int:
    """Return the largest number of LLM calls for a claim of n candidates, retries aside."""
    values = method_params(name, params)
    if name == TopK.name:
        return calls_for(values["base"], n_candidates)
    return METHODS[name].calls(n_candidates, values)


def unused_options(
    name: str,
    model: str | None = None,
    embedder: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> list[str]:
    """Return one line for each given option that the method ignores, for callers to print."""
    needs = method_needs(name, params)
    given = {MODEL: model, EMBEDDER: embedder}
    return [
        f"--{option} {value} is not used by {name} and is ignored"
        for option, value in given.items()
        if value is not None and option not in needs
    ]


def describe_methods() -> list[dict[str, Any]]:
    """Return ``{name, kind, needs, params}`` of every method, for ``methods --json``."""
    return [info.describe() for info in METHODS.values()]


def result_name(method: Method) -> str:
    """Return the name results go by: METHOD, or METHOD/MODEL where a model or embedder is used."""
    return name_of(method.name, method.model)


def name_of(method: str, model: str | None) -> str:
    """Return METHOD or METHOD/MODEL of a ranking record."""
    return method if model is None else f"{method}/{model}"


def _top_k(params: Mapping[str, Any], options: Options) -> TopK:
    base = build(params["base"], model=options.model, embedder=options.embedder, llm=options.llm)
    assert isinstance(base, Ranker)  # method_params has refused anything else
    return TopK(base, k=params["k"])


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


_THRESHOLD = Param(
    "threshold",
    float,
    cover.THRESHOLD,
    "cosine from which a similar word covers a claim word in part",
    minimum=-1,
    maximum=0.99,
)
_WEIGHT = Param(
    "weight", float, cover.WEIGHT, "what an all but equal word covers", minimum=0, maximum=1
)
_REPEAT = Param(
    "repeat", float, cover.REPEAT, "share with which covered words count again", minimum=0
)
_SHARE = Param(
    "share", float, cover.SHARE, "share of the coverable weight to reach", minimum=0, maximum=1
)
_ATTEMPTS = Param("attempts", int, 5, "asks for one valid answer, the first included", minimum=1)
_TEMPERATURE = Param("temperature", float, 0.0, "sampling temperature", minimum=0)
_LAYOUT = Param("layout", str, "stable", "layout of the prompt", choices=("stable", "paper"))
_DEPTH = Param("depth", int, 6, "positions the LLM chooses; 0 for all", minimum=0)

_TABLE = (
    MethodInfo(
        "document_order",
        "ranker",
        "reading order",
        lambda params, options: DocumentOrder(),
    ),
    MethodInfo(
        "random",
        "ranker",
        "a seeded shuffle",
        lambda params, options: Random(**params),
        params=(Param("seed", int, 0, "seed of the shuffle"),),
    ),
    MethodInfo(
        "bm25",
        "ranker",
        "BM25 over the claim's candidates",
        lambda params, options: BM25(**params),
        params=(
            Param("k1", float, 1.5, "saturation of term frequency", minimum=0),
            Param("b", float, 0.75, "length normalisation", minimum=0, maximum=1),
        ),
    ),
    MethodInfo(
        "similarity",
        "ranker",
        "cosine of claim and sentence",
        lambda params, options: Similarity(options.make_embedder()),
        needs=(EMBEDDER,),
    ),
    MethodInfo(
        "incremental_similarity",
        "ranker",
        "cosine of claim and all chosen sentences together",
        lambda params, options: IncrementalSimilarity(options.make_embedder()),
        needs=(EMBEDDER,),
    ),
    MethodInfo(
        "coverage",
        "ranker",
        "greedy coverage of the claim's words (the offline default)",
        lambda params, options: cover.Coverage(options.make_embedder(), **params),
        needs=(EMBEDDER,),
        params=(_THRESHOLD, _WEIGHT, _REPEAT),
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
        "coverage_selection",
        "selector",
        "the shortest coverage prefix that covers a share of the claim",
        lambda params, options: cover.CoverageSelection(options.make_embedder(), **params),
        needs=(EMBEDDER,),
        params=(_SHARE, _THRESHOLD, _WEIGHT, _REPEAT),
    ),
    MethodInfo(
        "top_k",
        "selector",
        "the first k sentences of a ranker",
        _top_k,
        needs=(EMBEDDER,),
        params=(
            Param("base", str, "coverage", "any ranker, with its default parameters"),
            Param("k", int, 3, "number of sentences", minimum=1),
        ),
    ),
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

#: Every method by name.
METHODS: dict[str, MethodInfo] = {info.name: info for info in _TABLE}
