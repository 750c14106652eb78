"""What rankers that ask an LLM share: the model, the budget, and the order that fills gaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankers.base import Ranker
from rankers.errors import (
    BadInput,
    MissingDependency,
    RankerError,
    SpendLimitReached,
    StoreError,
)
from rankers.llm import LLM
from rankers.values import JUDGED, Ranking, Usage

#: The seed order of the paper's layouts.
READING_ORDER = "document_order"


class LLMRanker(Ranker):
    """A ranker with an LLM, at most ``attempts`` requests a question, and a cheap seed order.

    The seed order is that of ``seed_ranker``, or reading order where ``fills_as_read``, as the
    paper has it.
    """

    def __init__(
        self,
        llm: LLM,
        *,
        seed_ranker: Ranker,
        attempts: int,
        temperature: float,
        fills_as_read: bool = False,
        problems: Sequence[str] = (),
    ):
        """Raises BadInput for ``problems`` that a subclass has found, and for its own, together."""
        found = list(problems)
        if attempts < 1:
            found.append(f"attempts: {attempts} is below 1")
        if found:
            raise BadInput(found)
        self.llm = llm
        self.model = llm.model
        self.seed_ranker = seed_ranker
        self.attempts = attempts
        self.temperature = temperature
        self.fills_as_read = fills_as_read

    @property
    def params(self) -> Mapping[str, Any]:
        """Attempts, temperature and the order that fills gaps; subclasses add their own."""
        return {
            "attempts": self.attempts,
            "temperature": self.temperature,
            "seed_order": READING_ORDER if self.fills_as_read else repr(self.seed_ranker),
        }

    def _seed_order(self, claim: str, candidates: Sequence[str]) -> tuple[list[int], Usage]:
        """The cheap order that fills gaps (reading order where it fails), and its cost.

        Raises what would fail every claim alike: a missing package, a store that cannot be
        written, a spent limit.
        """
        reading_order = list(range(len(candidates)))
        if self.fills_as_read:
            return reading_order, Usage()
        try:
            seed = self.seed_ranker.rank(claim, candidates)
        except (MissingDependency, StoreError, SpendLimitReached):
            raise
        except RankerError:
            return reading_order, Usage()
        return list(seed.order), seed.usage


def without(order: Sequence[int], taken: Sequence[int]) -> list[int]:
    """``order`` without the positions in ``taken``."""
    gone = set(taken)
    return [position for position in order if position not in gone]


def filled(judged: Sequence[int], seed: Sequence[int], origin: str, usage: Usage) -> Ranking:
    """The positions ``judged``, then the rest of the order ``seed`` with this origin."""
    rest = without(seed, judged)
    origins = (*[JUDGED] * len(judged), *[origin] * len(rest))
    return Ranking((*judged, *rest), origins, usage=usage)
