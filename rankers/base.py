"""The two interfaces every method implements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from rankers.values import Ranking, Selection


class Method(ABC):
    """What rankers and selectors share: a name and parameters that say what made a result."""

    name: ClassVar[str]
    #: LLM or embedder that the method uses, as written into ranking records.
    model: str | None = None
    #: Version of the prompt texts, for LLM methods.
    prompt_version: str | None = None

    @property
    def params(self) -> Mapping[str, Any]:
        """Every parameter with the value in force, JSON-serialisable."""
        return {}

    def __repr__(self) -> str:
        shown = ", ".join(f"{key}={value!r}" for key, value in self.params.items())
        return f"{self.name}({shown})"


class Ranker(Method):
    """Orders all candidates of a claim."""

    kind: ClassVar[str] = "ranker"

    @abstractmethod
    def rank(self, claim: str, candidates: Sequence[str]) -> Ranking:
        """Return a full order of ``candidates`` (n strings, possibly repeated).

        n = 0 gives an empty ranking and n = 1 the only one, both without any model call.
        Raises RankerError when nothing usable can be returned.
        """


class Selector(Method):
    """Chooses a subset of a claim's candidates."""

    kind: ClassVar[str] = "selector"

    @abstractmethod
    def select(self, claim: str, candidates: Sequence[str]) -> Selection:
        """Return an ascending, non-empty subset of the positions of ``candidates`` (n >= 1).

        Raises ValueError when there are no candidates and RankerError when the method fails.
        """
