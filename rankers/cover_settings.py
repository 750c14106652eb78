"""The parameters of the coverage methods and their defaults.

One set for every kind of claim and embedder, chosen on open claims only: docs/coverage.md has what
each part is worth, what was tried besides, and how far the numbers can be moved.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CoverSettings:
    """``strictness`` 0..0.99, ``weight`` 0..1, the others from 0 up.

    ``strictness`` is the similarity from which another word counts, for a claim that one sentence
    holds wholly by its words; it falls with the part that the best sentence holds. ``weight`` is
    what an all but equal word covers, ``repeat`` the share with which covered words count again,
    ``numbers`` the factor of a word with a digit, ``nearby`` the bonus of a neighbour of a chosen
    sentence in a document, ``sentence`` the weight of whole-sentence similarity, on the scale of
    the words' inverse document frequencies.
    """

    strictness: float = 0.75
    weight: float = 0.7
    repeat: float = 0.7
    numbers: float = 2.0
    nearby: float = 0.4
    sentence: float = 15.0
