"""The best possible order, for upper bounds: a gold set first."""

from __future__ import annotations

from collections.abc import Sequence

from rankers.base import Ranker
from rankers.errors import RankerError
from rankers.values import Claim, Ranking


class GoldFirst(Ranker):
    """One gold set, the smallest, then all other sentences; both in reading order.

    A reader can verify the claim no sooner under any order. Among equally small sets the one that
    comes first when their positions are compared is taken. The other sets are no part of the best
    order: placed next, they would only push sentences about.
    """

    name = "gold_first"

    def rank(self, claim: str, candidates: Sequence[str]) -> Ranking:
        """Raise RankerError: texts alone do not tell which sentences are gold."""
        raise RankerError(
            f"{self.name} needs the gold sets of the claim: rank a whole claim (rank_claim)"
        )

    def rank_claim(self, claim: Claim) -> Ranking:
        """Return the order. Raises RankerError when no gold set is among the candidates."""
        positions = range(len(claim.candidates))
        reachable = [
            sorted(set(gold_set))
            for gold_set in claim.gold_sets
            if gold_set and all(position in positions for position in gold_set)
        ]
        if not reachable:
            raise RankerError(
                f"claim {claim.id!r} has no gold set among its candidates: {self.name} cannot "
                "order it"
            )
        first = min(reachable, key=lambda gold_set: (len(gold_set), gold_set))
        return Ranking.judged([*first, *(i for i in positions if i not in first)])
