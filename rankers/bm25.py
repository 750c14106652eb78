"""BM25 over the claim's own candidates, in float64.

Okapi BM25 with k1 1.5 and b 0.75; tokens are ``\\w+`` runs, lower-cased, without stop words or
stemming; idf = ln(1 + (n - df + 0.5) / (df + 0.5)); summed over the claim's tokens in order with
repeats counted. Our own lines because libraries differ in tokens and precision.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rankers.base import Ranker
from rankers.values import Ranking

_TOKEN = re.compile(r"\w+")


class BM25(Ranker):
    """Lexical order; ties go to the lower position."""

    name = "bm25"

    def __init__(self, k1: float = 1.5, b: float = 0.75):
        self.k1 = k1
        self.b = b

    @property
    def params(self) -> Mapping[str, Any]:
        """``k1`` and ``b``."""
        return {"k1": self.k1, "b": self.b}

    def rank(self, claim: str, candidates: Sequence[str]) -> Ranking:
        """Return the candidates by descending BM25 score of the claim."""
        scores = self.scores(claim, candidates)
        order = sorted(range(len(candidates)), key=lambda i: (-scores[i], i))
        return Ranking.judged(order, [scores[i] for i in order])

    def scores(self, claim: str, candidates: Sequence[str]) -> list[float]:
        """Return one score a candidate, in candidate order."""
        counts = [Counter(_tokens(text)) for text in candidates]
        lengths = [sum(count.values()) for count in counts]
        mean_length = sum(lengths) / len(lengths) if any(lengths) else 1.0
        scores = [0.0] * len(candidates)
        for token in _tokens(claim):
            holding = [i for i, count in enumerate(counts) if token in count]
            df = len(holding)
            idf = math.log(1 + (len(candidates) - df + 0.5) / (df + 0.5))
            for i in holding:
                tf = counts[i][token]
                norm = self.k1 * (1 - self.b + self.b * lengths[i] / mean_length)
                scores[i] += idf * tf * (self.k1 + 1) / (tf + norm)
        return scores


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text.lower())
