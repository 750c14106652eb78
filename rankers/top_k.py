"""The first k of a ranking, shown at once: the simplest selector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankers.base import PlannedCall, Ranker, Selector
from rankers.values import Claim, Ranking, Selection


class TopK(Selector):
    """The ``k`` best sentences of the ranker ``base``, or all where there are fewer."""

    name = "top_k"

    def __init__(self, base: Ranker, *, k: int = 3):
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        self.base = base
        self.k = k
        self.model = base.model
        self.prompt_version = base.prompt_version

    @property
    def params(self) -> Mapping[str, Any]:
        """``base`` (a ranker's name) and ``k``."""
        return {"base": self.base.name, "k": self.k}

    def select(self, claim: str, candidates: Sequence[str]) -> Selection:
        """Return the selection; a fallback among its sentences makes it a fallback."""
        if not candidates:
            raise ValueError("nothing to select from: the claim has no candidates")
        return self._first(self.base.rank(claim, candidates))

    def select_claim(self, claim: Claim) -> Selection:
        """Return the selection for a whole claim, as the base ranks it."""
        if not claim.candidates:
            raise ValueError("nothing to select from: the claim has no candidates")
        return self._first(self.base.rank_claim(claim))

    def plan(self, claim: str, candidates: Sequence[str]) -> Sequence[PlannedCall]:
        """The calls of the base."""
        return self.base.plan(claim, candidates)

    def _first(self, ranking: Ranking) -> Selection:
        failed = ranking.fallback_from
        return Selection(
            tuple(sorted(ranking.order[: self.k])),
            len(ranking.order),
            is_fallback=failed is not None and failed <= self.k,
            usage=ranking.usage,
        )
