"""Time of the offline rankers over real lengths: claims a second, and the ratio to bm25."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

import rankers

METHODS = ("bm25", "similarity", "incremental_similarity", "coverage")
N_CLAIMS = 40
N_CANDIDATES = 60


def measure() -> Iterator[str]:
    """Rank the same generated claims with every method."""
    generator = random.Random(2)
    words = [f"{a}{b}" for a in ("gran", "tel", "mor", "sil", "ver") for b in ("ta", "no", "ki")]
    claims = [
        (
            " ".join(generator.choices(words, k=12)),
            [" ".join(generator.choices(words, k=25)) for _ in range(N_CANDIDATES)],
        )
        for _ in range(N_CLAIMS)
    ]
    seconds = {}
    for name in METHODS:
        method = rankers.build(name)
        method.rank(*claims[0])
        started = time.perf_counter()
        for claim, candidates in claims:
            method.rank(claim, candidates)
        seconds[name] = time.perf_counter() - started
    for name in METHODS:
        yield (
            f"{name}: {N_CLAIMS / seconds[name]:.0f} claims of {N_CANDIDATES} sentences a second, "
            f"ratio to bm25 {seconds[name] / seconds['bm25']:.1f}"
        )
