"""The two interfaces every method implements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rankers.values import Claim, Ranking, Selection


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """One LLM call that a method is going to make, for estimates of cost.

    ``messages`` are those of the request; ``completion_tokens`` is a guess at the answer's length.
    """

    messages: tuple[Mapping[str, str], ...]
    completion_tokens: int


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

    def plan(self, claim: str, candidates: Sequence[str]) -> Sequence[PlannedCall]:
        """Return the LLM calls for a claim in their order, as if every answer were usable.

        Where a prompt holds earlier answers, reading order stands in for them. No call is made.
        """
        return ()

    def __repr__(self) -> str:
        shown = ", ".join(f"{key}={value!r}" for key, value in self.params.items())
        model = "" if self.model is None else f"/{self.model}"
        return f"{self.name}{model}({shown})"


class Ranker(Method):
    """Orders all candidates of a claim."""

    kind: ClassVar[str] = "ranker"

    @abstractmethod
    def rank(self, claim: str, candidates: Sequence[str]) -> Ranking:
        """Return a full order of ``candidates`` (n strings, possibly repeated).

        n = 0 gives an empty ranking and n = 1 the only one, both without any model call.
        Raises RankerError when nothing usable can be returned.
        """

    def rank_claim(self, claim: Claim) -> Ranking:
        """Rank a whole claim; only a method that says so (``gold_first``) looks at its gold."""
        return self.rank(claim.claim, claim.candidates)


class Selector(Method):
    """Chooses a subset of a claim's candidates."""

    kind: ClassVar[str] = "selector"

    @abstractmethod
    def select(self, claim: str, candidates: Sequence[str]) -> Selection:
        """Return an ascending, non-empty subset of the positions of ``candidates`` (n >= 1).

        Raises ValueError when there are no candidates and RankerError when the method fails.
        """

    def select_claim(self, claim: Claim) -> Selection:
        """Select from a whole claim; the gold is for methods built on ``gold_first`` alone."""
        return self.select(claim.claim, claim.candidates)
