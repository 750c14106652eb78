"""Orders that look at nothing: reading order and a seeded shuffle, the baselines."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from typing import Any

from rankers.base import Ranker
from rankers.values import Ranking


class DocumentOrder(Ranker):
    """The candidates as they stand in the claims file."""

    name = "document_order"

    def rank(self, claim: str, candidates: Sequence[str]) -> Ranking:
        """Return 0..n-1."""
        return Ranking.judged(range(len(candidates)))


class Random(Ranker):
    """A shuffle that depends on the seed, the claim and its candidates only.

    Two claims are shuffled differently under one seed, and the same claim alike in every process.
    """

    name = "random"

    def __init__(self, seed: int = 0):
        self.seed = seed

    @property
    def params(self) -> Mapping[str, Any]:
        """``seed``."""
        return {"seed": self.seed}

    def rank(self, claim: str, candidates: Sequence[str]) -> Ranking:
        """Return the shuffled positions."""
        digest = hashlib.sha256(str(self.seed).encode())
        for text in (claim, *candidates):
            # The length keeps texts apart that would read the same when joined.
            data = text.encode("utf-8", "surrogatepass")
            digest.update(b"%d:" % len(data))
            digest.update(data)
        order = list(range(len(candidates)))
        random.Random(int.from_bytes(digest.digest(), "big")).shuffle(order)
        return Ranking.judged(order)
