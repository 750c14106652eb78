"""Greedy coverage of the claim: the offline default ranker and selector.

A claim is verified when all its parts are; sentences are therefore picked for what they add, not
for how much they resemble the claim. Each claim word weighs its inverse document frequency among
the candidates (numbers more), and a sentence covers it fully by holding it (compared by stem) or
in part by holding a similar word. How similar it must be depends on the claim: where a sentence
has most of its words, words decide; where none has, meaning must. With an embedder that reads
sentences, the similarity to what is left of the claim counts as one more word. In a document the
neighbours of a chosen sentence have a bonus. Training-free and deterministic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from rankers.base import Ranker, Selector
from rankers.cover import DECIMALS, Cover, make_cover
from rankers.cover_settings import CoverSettings
from rankers.embedders import Embedder, make_embedder
from rankers.greedy import greedy_order
from rankers.values import Ranking, Selection

SHARE = 0.8


class _CoverageMethod:
    """The parameters that ranker and selector share, and the cover they work on."""

    model: str | None

    def __init__(self, embedder: Embedder | None = None, **settings: float):
        self.embedder = embedder or make_embedder()
        self.model = self.embedder.name
        self.settings = CoverSettings(**settings)

    def cover(self, claim: str, candidates: Sequence[str]) -> Cover:
        """Return what each of the n candidates (n >= 1) covers of the claim's k content words."""
        return make_cover(claim, candidates, self.embedder, self.settings)


class Coverage(_CoverageMethod, Ranker):
    """Next is the sentence that adds the most, as the module says.

    A word covered before counts again with the share ``repeat`` (0: not at all), which keeps
    sentences on the subject ahead of those that add one stray word. The settings are those of
    ``CoverSettings``, by name.
    """

    name = "coverage"

    @property
    def params(self) -> Mapping[str, Any]:
        """The fields of ``CoverSettings``."""
        return asdict(self.settings)

    def rank(self, claim: str, candidates: Sequence[str]) -> Ranking:
        """Return the greedy order; its scores are the gains when picked."""
        if len(candidates) < 2:
            return Ranking.judged(range(len(candidates)))
        return Ranking.judged(*greedy_order(self.cover(claim, candidates), self.settings))


class CoverageSelection(_CoverageMethod, Selector):
    """The shortest prefix of the coverage order that covers ``share`` of the claim.

    The share is of the weight that the candidates can cover together: a word found nowhere would
    otherwise make every selection as long as the list.
    """

    name = "coverage_selection"

    def __init__(
        self, embedder: Embedder | None = None, *, share: float = SHARE, **settings: float
    ):
        super().__init__(embedder, **settings)
        self.share = share

    @property
    def params(self) -> Mapping[str, Any]:
        """``share`` and the fields of ``CoverSettings``."""
        return {"share": self.share, **asdict(self.settings)}

    def select(self, claim: str, candidates: Sequence[str]) -> Selection:
        """Return the selection; one sentence where the claim has nothing to cover."""
        if not candidates:
            raise ValueError("nothing to select from: the claim has no candidates")
        cover = self.cover(claim, candidates)
        order, _ = greedy_order(cover, self.settings)
        wanted = self.share * float(cover.parts.max(axis=0) @ cover.weights)
        covered = np.zeros(len(cover.weights))
        size = 0
        for position in order:
            size += 1
            covered = np.maximum(covered, cover.parts[position])
            if covered @ cover.weights >= wanted - 10.0**-DECIMALS:
                break
        return Selection(tuple(sorted(order[:size])), len(candidates))
