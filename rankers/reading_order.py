"""Whether a claim's candidates stand in reading order, told from their words alone.

Sentences of a document share more words with the next one than with sentences at large; in a list
that a retriever put together, or that was shuffled, they do not.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from statistics import fmean, stdev

from rankers.words import STOP_STEMS

#: Fewer sentences tell nothing.
_FEWEST = 8
#: Standard errors by which neighbours must be more alike than other pairs.
_ERRORS = 0.5


def is_document(stems: Sequence[AbstractSet[str]]) -> bool:
    """Say whether neighbours share clearly more than all pairs do; ``stems`` are those of each."""
    kept = [one - STOP_STEMS for one in stems]
    if len(kept) < _FEWEST:
        return False
    squares = _squared_frequencies(kept)
    lengths = [math.sqrt(math.fsum(squares[one] for one in sorted(text))) for text in kept]
    beside = [
        _cosine(math.fsum(squares[one] for one in sorted(a & b)), length_a * length_b)
        for (a, length_a), (b, length_b) in pairwise(zip(kept, lengths, strict=True))
    ]
    spread = stdev(beside)
    excess = fmean(beside) - _mean_cosine(kept, lengths, squares)
    return excess > _ERRORS * spread / math.sqrt(len(beside)) if spread > 0 else False


def _squared_frequencies(texts: Sequence[AbstractSet[str]]) -> dict[str, float]:
    """Squared inverse document frequency of each stem."""
    n = len(texts)
    counts = Counter(one for text in texts for one in text)
    return {one: math.log(1 + (n - df + 0.5) / (df + 0.5)) ** 2 for one, df in counts.items()}


def _mean_cosine(
    texts: Sequence[AbstractSet[str]], lengths: Sequence[float], squares: dict[str, float]
) -> float:
    """Mean cosine of all pairs, from the length of the sum of the unit vectors."""
    sums: Counter[str] = Counter()
    for text, length in zip(texts, lengths, strict=True):
        for one in text:
            sums[one] += 1 / length  # type: ignore[assignment]
    whole = math.fsum(squares[one] * sums[one] ** 2 for one in sorted(sums))
    n, filled = len(texts), sum(length > 0 for length in lengths)
    return (whole - filled) / (n * (n - 1))


def _cosine(dot: float, lengths: float) -> float:
    return dot / lengths if lengths > 0 else 0.0
