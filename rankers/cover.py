"""What each candidate covers of a claim: its words, words like them, the sentence as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankers.cover_settings import CoverSettings
from rankers.embedders import Embedder
from rankers.reading_order import is_document
from rankers.similar_words import similarities
from rankers.vectors import unit_rows
from rankers.word_order import ignores_word_order
from rankers.words import content_words, stem, words

#: Sums closer than this are ties; matrix products differ by less between equal sentences.
DECIMALS = 10


@dataclass(frozen=True)
class Cover:
    """What n candidates cover of a claim's k words.

    ``parts`` (n, k) in 0..1 and ``weights`` (k,) of the words; ``is_document`` says whether the
    candidates stand in reading order; ``claim`` (d,) and ``sentences`` (n, d) are unit vectors,
    with d = 0 where whole sentences are not compared.
    """

    parts: NDArray[np.float64]
    weights: NDArray[np.float64]
    is_document: bool
    claim: NDArray[np.float64]
    sentences: NDArray[np.float64]

    @property
    def totals(self) -> NDArray[np.float64]:
        """Weight that each candidate covers alone, shape (n,)."""
        return np.round(self.parts @ self.weights, DECIMALS)


def make_cover(
    claim: str, candidates: Sequence[str], embedder: Embedder, settings: CoverSettings
) -> Cover:
    """Return the cover of a claim's content words by its candidates."""
    terms = content_words(claim)
    tokens = [words(text) for text in candidates]
    stems = [{stem(word) for word in set(text)} for text in tokens]
    exact = _exact_parts(list(terms), stems)
    weights = _weights(exact, list(terms.values()), settings.numbers)
    parts = exact
    if settings.weight > 0 and terms:
        similar = similarities(list(terms.values()), tokens, embedder)
        threshold = settings.strictness * _best_share(exact, weights)
        above = np.maximum(similar - threshold, 0) / (1 - threshold)
        parts = np.maximum(exact, settings.weight * above)
    return Cover(
        parts, weights, is_document(stems), *_sentences(claim, candidates, embedder, settings)
    )


def _exact_parts(terms: list[str], stems: list[set[str]]) -> NDArray[np.float64]:
    """1 where a candidate holds a word with the claim word's stem, shape (n, k)."""
    column = {one: i for i, one in enumerate(terms)}
    exact = np.zeros((len(stems), len(terms)))
    for row, found in enumerate(stems):
        exact[row, [column[one] for one in found if one in column]] = 1.0
    return exact


def _weights(exact: NDArray[np.float64], terms: list[str], numbers: float) -> NDArray[np.float64]:
    """Inverse document frequency of the claim's words among the candidates, shape (k,)."""
    n, df = len(exact), exact.sum(axis=0)
    has_digit = np.array([any(sign.isdigit() for sign in term) for term in terms], dtype=bool)
    return np.log(1 + (n - df + 0.5) / (df + 0.5)) * np.where(has_digit, numbers, 1.0)


def _best_share(exact: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Share of the claim's weight that the best candidate holds word for word, in 0..1."""
    whole = float(weights.sum())
    return float((exact @ weights).max()) / whole if whole > 0 else 0.0


def _sentences(
    claim: str, candidates: Sequence[str], embedder: Embedder, settings: CoverSettings
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Unit vectors of claim and candidates; copies of a text share theirs."""
    if settings.sentence == 0 or ignores_word_order(embedder):
        return np.zeros(0), np.zeros((len(candidates), 0))
    texts = list(dict.fromkeys(candidates))
    row_of: Mapping[str, int] = {text: row for row, text in enumerate(texts)}
    vectors = unit_rows(embedder.embed([claim, *texts]))
    return vectors[0], vectors[1:][[row_of[text] for text in candidates]]
