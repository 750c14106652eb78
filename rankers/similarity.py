"""Order by embedding: one-shot cosine, and the greedy order that re-embeds what is chosen.

Both follow the evidence-ranking paper (one-shot and incremental similarity) on the embeddings as
they come, in float64, without prompt prefixes. Ties go to the lower position; candidates with one
text, or with equal vectors, share one row of the embedding matrix, so that their scores are equal
to the last bit.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankers.base import Ranker
from rankers.embedders import Embedder, make_embedder
from rankers.values import Ranking

#: Up to so many distinct vectors all their inner products are kept: half a gigabyte at most.
MOST_PRODUCTS_KEPT = 8_000

#: Where a sum is shorter than this share of its parts (squared lengths), rounding may have eaten
#: what the inner products say about it.
_CANCELLED = 1e-6


class _EmbeddingRanker(Ranker):
    """What both share: an embedder, whose name goes into the record."""

    def __init__(self, embedder: Embedder | None = None):
        self.embedder = embedder or make_embedder()
        self.model = self.embedder.name

    @property
    def params(self) -> Mapping[str, Any]:
        """Nothing to set besides the embedder."""
        return {}

    def rank(self, claim: str, candidates: Sequence[str]) -> Ranking:
        """Return the candidates, nearest to the claim first; n < 2 needs no embedding."""
        if len(candidates) < 2:
            return Ranking.judged(range(len(candidates)))
        texts = list(dict.fromkeys(candidates))
        vectors = self.embedder.embed([claim, *texts])
        row_of = dict(zip(texts, _first_equal(vectors[1:]), strict=True))
        rows = np.array([row_of[text] for text in candidates])
        order, scores = self._order(vectors[0], vectors[1:], rows)
        return Ranking.judged(order, scores)

    @abstractmethod
    def _order(
        self, claim: NDArray[np.float64], vectors: NDArray[np.float64], rows: NDArray[np.int_]
    ) -> tuple[list[int], list[float]]:
        """Order n candidates; ``vectors`` is (texts, d), ``rows`` (n,) points into it."""


class Similarity(_EmbeddingRanker):
    """Cosine of claim and sentence, descending."""

    name = "similarity"

    def _order(
        self, claim: NDArray[np.float64], vectors: NDArray[np.float64], rows: NDArray[np.int_]
    ) -> tuple[list[int], list[float]]:
        norms = np.linalg.norm(vectors, axis=1)
        scores = _cosine(vectors @ claim, norms, float(np.linalg.norm(claim)))[rows]
        order = np.argsort(-scores, kind="stable")
        return order.tolist(), scores[order].tolist()


class IncrementalSimilarity(_EmbeddingRanker):
    """Greedy: next is the sentence that brings the mean of all chosen nearest to the claim.

    Mean and sum point the same way, so the sum of the chosen vectors is kept (see ``_ChosenSum``
    for the cost). Nothing penalises a copy of a chosen sentence: that is the paper's method.
    """

    name = "incremental_similarity"

    def _order(
        self, claim: NDArray[np.float64], vectors: NDArray[np.float64], rows: NDArray[np.int_]
    ) -> tuple[list[int], list[float]]:
        chosen = _ChosenSum(claim, vectors)
        is_open = np.ones(len(rows), dtype=bool)
        order: list[int] = []
        scores: list[float] = []
        for _ in range(len(rows)):
            cosines = np.where(is_open, chosen.cosines_with_each()[rows], -np.inf)
            best = int(np.argmax(cosines))
            is_open[best] = False
            chosen.add(rows[best])
            order.append(best)
            scores.append(float(cosines[best]))
        return order, scores


class _ChosenSum:
    """The sum S of the chosen ones among m vectors, known by its inner products.

    The products of all vectors with each other are one symmetric matrix product at the start;
    after that a step adds one row of it and is O(m). Beyond ``MOST_PRODUCTS_KEPT`` vectors a row
    is computed when it is needed, O(m d) a step, so that memory grows with m d only.
    """

    def __init__(self, claim: NDArray[np.float64], vectors: NDArray[np.float64]):
        self._claim = claim
        self._claim_norm = float(np.linalg.norm(claim))
        self._vectors = vectors
        self._to_claim = vectors @ claim
        self._squared = np.einsum("ij,ij->i", vectors, vectors)
        is_small = len(vectors) <= MOST_PRODUCTS_KEPT
        self._products = vectors @ vectors.T if is_small else None
        self._sum = np.zeros_like(claim)
        self._sum_to_each = np.zeros(len(vectors))

    def cosines_with_each(self) -> NDArray[np.float64]:
        """Return (m,) cosines of the claim with S + v, for every vector v."""
        # |S + v|^2 = |S|^2 + 2 S.v + |v|^2
        parts = self._sum @ self._sum + self._squared
        squared = parts + 2 * self._sum_to_each
        dots = self._sum @ self._claim + self._to_claim
        cancelled = squared < _CANCELLED * parts
        if cancelled.any():
            sums = self._sum + self._vectors[cancelled]
            squared[cancelled] = np.einsum("ij,ij->i", sums, sums)
            dots[cancelled] = sums @ self._claim
        return _cosine(dots, np.sqrt(squared), self._claim_norm)

    def add(self, row: int) -> None:
        """Choose the vector in ``row``."""
        vector = self._vectors[row]
        kept = self._products
        self._sum = self._sum + vector
        self._sum_to_each += self._vectors @ vector if kept is None else kept[row]


def _first_equal(vectors: NDArray[np.float64]) -> list[int]:
    """Return for each row the first row that equals it: products of equal rows differ in the last
    bit, depending on where the rows stand.
    """
    first: dict[bytes, int] = {}
    return [first.setdefault(vector.tobytes(), row) for row, vector in enumerate(vectors)]


def _cosine(
    dots: NDArray[np.float64], norms: NDArray[np.float64], claim_norm: float
) -> NDArray[np.float64]:
    """Cosines from dot products; 0 where a vector has no length (an empty text)."""
    lengths = norms * claim_norm
    return np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0)
