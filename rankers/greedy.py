"""The greedy order over a cover: next is the sentence that adds most to what is chosen."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankers.cover import DECIMALS, Cover
from rankers.cover_settings import CoverSettings


def greedy_order(cover: Cover, settings: CoverSettings) -> tuple[list[int], list[float]]:
    """Return the positions in greedy order and the gain of each when it was picked.

    Ties go to the larger total cover, then to the lower position. When no sentence adds a word,
    another round starts as if nothing were chosen.
    """
    parts, weights, totals = cover.parts, cover.weights, cover.totals
    is_open = np.ones(len(parts), dtype=bool)
    covered = np.zeros(len(weights))
    beside = np.zeros(len(parts))
    rest = _Rest(cover)
    order: list[int] = []
    gains: list[float] = []
    while is_open.any():
        added = np.round(np.maximum(parts - covered, 0) @ weights, DECIMALS)
        if covered.any() and not (added[is_open] > 0).any():
            covered[:] = 0
            rest = _Rest(cover)
            continue
        gain = added + settings.repeat * totals + settings.sentence * rest.similarities()
        gain = np.round(gain * (1 + settings.nearby * beside), DECIMALS)
        gain[~is_open] = -np.inf
        best = np.flatnonzero(gain == gain.max())
        pick = int(best[np.argmax(totals[best])])
        is_open[pick] = False
        covered = np.maximum(covered, parts[pick])
        rest.take(pick)
        if cover.is_document:
            beside[max(pick - 1, 0) : pick + 2] = 1.0
        order.append(pick)
        gains.append(float(gain[pick]))
    return order, gains


class _Rest:
    """The part of the claim's vector that no combination of the chosen sentences explains."""

    def __init__(self, cover: Cover):
        self._sentences = cover.sentences
        self._rest = cover.claim
        self._basis = np.zeros((0, cover.claim.shape[0]))

    def similarities(self) -> NDArray[np.float64]:
        """Dot product of the rest and each sentence, at least 0, shape (n,)."""
        return np.maximum(self._sentences @ self._rest, 0.0)

    def take(self, position: int) -> None:
        """Remove a chosen sentence's direction from the rest (Gram-Schmidt, done twice)."""
        direction = self._sentences[position]
        for _ in range(2):
            direction = direction - (self._basis @ direction) @ self._basis
        length = float(np.linalg.norm(direction))
        if length > 1e-6:
            direction = direction / length
            self._basis = np.vstack([self._basis, direction])
            self._rest = self._rest - (self._rest @ direction) * direction
