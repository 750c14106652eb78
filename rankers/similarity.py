"""Order by embedding: one-shot cosine, and the greedy order that re-embeds what is chosen.

Both follow the evidence-ranking paper (one-shot and incremental similarity) on the embeddings as
they come, in float64, without prompt prefixes. Ties go to the lower position; copies of a text
share one row of the embedding matrix, so that their scores are equal to the last bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankers.base import Ranker
from rankers.embedders import Embedder, make_embedder
from rankers.values import Ranking


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
        row_of = {text: row for row, text in enumerate(texts)}
        vectors = self.embedder.embed([claim, *texts])
        rows = np.array([row_of[text] for text in candidates])
        order, scores = self._order(vectors[0], vectors[1:], rows)
        return Ranking.judged(order, scores)

    def _order(
        self, claim: NDArray[np.float64], texts: NDArray[np.float64], rows: NDArray[np.int_]
    ) -> tuple[list[int], list[float]]:
        """Order n candidates; ``texts`` is (distinct, d), ``rows`` (n,) points into it."""
        raise NotImplementedError


class Similarity(_EmbeddingRanker):
    """Cosine of claim and sentence, descending."""

    name = "similarity"

    def _order(
        self, claim: NDArray[np.float64], texts: NDArray[np.float64], rows: NDArray[np.int_]
    ) -> tuple[list[int], list[float]]:
        scores = _cosine(texts @ claim, np.linalg.norm(texts, axis=1), float(np.linalg.norm(claim)))
        order = np.argsort(-scores[rows], kind="stable")
        return order.tolist(), scores[rows][order].tolist()


class IncrementalSimilarity(_EmbeddingRanker):
    """Greedy: next is the sentence that brings the mean of all chosen nearest to the claim.

    Mean and sum point the same way, so a running sum is kept; each step is one matrix product,
    O(n^2 d) in all. Nothing penalises a copy of a chosen sentence: that is the paper's method.
    """

    name = "incremental_similarity"

    def _order(
        self, claim: NDArray[np.float64], texts: NDArray[np.float64], rows: NDArray[np.int_]
    ) -> tuple[list[int], list[float]]:
        claim_norm = float(np.linalg.norm(claim))
        to_claim = texts @ claim
        squared = np.einsum("ij,ij->i", texts, texts)
        total = np.zeros_like(claim)
        is_open = np.ones(len(rows), dtype=bool)
        order: list[int] = []
        scores: list[float] = []
        for _ in range(len(rows)):
            # |S + c|^2 = |S|^2 + 2 S.c + |c|^2, for every candidate c at once.
            norms = np.sqrt(np.maximum(total @ total + 2 * (texts @ total) + squared, 0.0))
            cosines = _cosine(total @ claim + to_claim, norms, claim_norm)[rows]
            best = int(np.argmax(np.where(is_open, cosines, -np.inf)))
            is_open[best] = False
            total = total + texts[rows[best]]
            order.append(best)
            scores.append(float(cosines[best]))
        return order, scores


def _cosine(
    dots: NDArray[np.float64], norms: NDArray[np.float64], claim_norm: float
) -> NDArray[np.float64]:
    """Cosines from dot products; 0 where a vector has no length (an empty text)."""
    lengths = norms * claim_norm
    return np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0)
