"""What the registry says about a method, and what a method may be built from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rankers.base import Ranker, Selector
from rankers.embedders import Embedder, make_embedder
from rankers.params import Param
from rankers.spending import Spending
from rankers.store import ResponseStore

if TYPE_CHECKING:
    from rankers.llm import LLM

EMBEDDER = "embedder"
MODEL = "model"
#: A model that runs in this process, such as a cross-encoder; named like an LLM.
LOCAL_MODEL = "local_model"
#: The claim's gold sets: a method for upper bounds.
GOLD = "gold"


@dataclass(frozen=True)
class Options:
    """Names of a model and an embedder, or an LLM that is there already.

    ``store`` keeps what an embedder is answered by a server, ``spending`` limits and counts what it
    asks; without them, the LLM's do.
    """

    model: str | None = None
    embedder: str | None = None
    llm: LLM | None = None
    store: ResponseStore | None = None
    spending: Spending | None = None

    def make_embedder(self) -> Embedder:
        """Return the named embedder, the default one without a name."""
        store, spending = self.store, self.spending
        if self.llm is not None:
            store = self.llm.store if store is None else store
            spending = self.llm.spending if spending is None else spending
        return make_embedder(self.embedder, store, spending)

    def make_llm(self) -> LLM:
        """Return the LLM given, else one from the environment. Raises MissingDependency."""
        if self.llm is not None:
            return self.llm
        from rankers.llm import LLM

        return LLM.from_environment(self.model, spending=self.spending)


#: Makes a method from its checked parameters and the options.
Builder = Callable[[Mapping[str, Any], Options], Ranker | Selector]
#: The largest number of LLM calls for n candidates, retries aside.
CallCount = Callable[[int, Mapping[str, Any]], int]


def no_calls(n_candidates: int, params: Mapping[str, Any]) -> int:
    """No LLM is called."""
    return 0


@dataclass(frozen=True)
class MethodInfo:
    """One entry of the registry: ``kind`` is ``ranker`` or ``selector``.

    ``needs`` holds ``embedder``, ``model`` (an LLM), ``local_model`` and ``gold`` where the method
    uses them.
    """

    name: str
    kind: str
    summary: str
    builder: Builder
    needs: tuple[str, ...] = ()
    params: tuple[Param, ...] = ()
    calls: CallCount = no_calls

    def describe(self) -> dict[str, Any]:
        """Return ``{name, kind, needs, params}``, JSON-serialisable."""
        return {
            "name": self.name,
            "kind": self.kind,
            "needs": list(self.needs),
            "params": [param.describe() for param in self.params],
        }
