"""Whether an embedder reads sentences, or only adds up their words."""

from __future__ import annotations

from functools import lru_cache

from rankers.embedders import Embedder
from rankers.vectors import unit_rows

_PROBE = ("The dog bit the man.", "The man bit the dog.")
#: Float noise of a mean over the same words; sentence models differ a hundredfold more.
_NOISE = 1e-4


@lru_cache(maxsize=32)
def ignores_word_order(embedder: Embedder) -> bool:
    """Say whether two sentences of the same words get the same vector, asked once an embedder.

    Such a vector says nothing about a sentence that its words, compared one by one, do not.
    """
    first, second = unit_rows(embedder.embed(_PROBE))
    return float(first @ second) > 1 - _NOISE
