"""The table of methods, and building one by name.

A new method is one file and one entry in ``offline_methods`` or ``llm_methods``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankers import llm_methods, offline_methods
from rankers.base import Method, Ranker, Selector
from rankers.errors import BadInput, UnknownMethod
from rankers.method_info import EMBEDDER, LOCAL_MODEL, MODEL, MethodInfo, Options
from rankers.params import Param, parse_params
from rankers.spending import Spending
from rankers.store import ResponseStore
from rankers.top_k import TopK


def build(
    name: str,
    *,
    model: str | None = None,
    embedder: str | None = None,
    params: Mapping[str, Any] | None = None,
    llm: Any = None,
    store: ResponseStore | None = None,
    spending: Spending | None = None,
) -> Ranker | Selector:
    """Build the method ``name``; values of ``params`` may be text from a command line.

    ``llm`` (a ``rankers.llm.LLM``) is used as it is; without one, a method that needs a model
    makes it from the environment and ``model``. ``model`` and ``embedder`` are ignored by methods
    that use none (see ``unused_options``). ``store`` keeps the vectors of an embedder that asks a
    server, ``spending`` limits and counts what is asked; without them, those of ``llm`` do.
    Raises UnknownMethod, BadInput for a wrong parameter or embedder, MissingDependency when no
    model is named anywhere.
    """
    values = method_params(name, params)
    return METHODS[name].builder(values, Options(model, embedder, llm, store, spending))


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
    """Return what the method uses with these parameters: see ``MethodInfo.needs``."""
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
    needs = set(method_needs(name, params))
    given = (("model", model, {MODEL, LOCAL_MODEL}), ("embedder", embedder, {EMBEDDER}))
    return [
        f"--{option} {value} is not used by {name} and is ignored"
        for option, value, uses in given
        if value is not None and not uses & needs
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
    base = METHODS[params["base"]].builder(method_params(params["base"]), options)
    assert isinstance(base, Ranker)  # method_params has refused anything else
    return TopK(base, k=params["k"])


_TOP_K = MethodInfo(
    "top_k",
    "selector",
    "the first k sentences of a ranker",
    _top_k,
    needs=(EMBEDDER,),
    params=(
        Param("base", str, "coverage", "any ranker, with its default parameters"),
        Param("k", int, 3, "number of sentences", minimum=1),
    ),
)

#: Every method by name: rankers first, then selectors.
METHODS: dict[str, MethodInfo] = {
    info.name: info
    for info in (
        *offline_methods.RANKERS,
        *llm_methods.RANKERS,
        *offline_methods.SELECTORS,
        _TOP_K,
        *llm_methods.SELECTORS,
    )
}
