"""How near the candidates' words come to the claim's words, on one scale for every embedder."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankers.embedders import Embedder
from rankers.stopwords import STOP_WORDS
from rankers.vectors import unit_rows


def similarities(
    terms: list[str], tokens: list[list[str]], embedder: Embedder
) -> NDArray[np.float64]:
    """Return the highest similarity of each term (k) to a content word of each candidate, (n, k).

    0 is the similarity of two words that happen to meet here, 1 that of equal ones: unrelated
    words have a cosine of nearly 0 with one embedder and of 0.3 with another.
    """
    kept = [[word for word in set(text) if word not in STOP_WORDS] for text in tokens]
    column = {word: i for i, word in enumerate(sorted({w for text in kept for w in text}))}
    nearest = np.zeros((len(tokens), len(terms)))
    if not column:
        return nearest
    vectors = unit_rows(embedder.embed([*terms, *column]))
    cosines = _calibrated(vectors[: len(terms)] @ vectors[len(terms) :].T)
    filled = [i for i, text in enumerate(kept) if text]
    starts = np.cumsum([0, *(len(kept[i]) for i in filled[:-1])])
    columns = [column[word] for i in filled for word in kept[i]]
    nearest[filled] = np.maximum.reduceat(cosines[:, columns], starts, axis=1).T
    return nearest


def _calibrated(cosines: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shift and stretch so that the median pair has 0 and equal words 1."""
    usual = min(float(np.median(cosines)), 0.99)
    return (cosines - usual) / (1 - usual)
