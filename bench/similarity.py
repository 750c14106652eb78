"""Incremental similarity against the paper's algorithm written literally, and on a long list.

The vectors are random, d = 1024 as of the paper's embedder, so that no model takes part.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bench.figures import goal, seconds_of
from rankers.embedders import Embedder
from rankers.metrics import Score, score
from rankers.similarity import IncrementalSimilarity

GOAL_RATIO = 1_000
GOAL_SECONDS = 3.0
GOAL_MB = 1_000
D = 1024
N = 1_000
N_LARGE = 5_000
#: The literal algorithm is run at N itself where that is expected to take less than this.
MOST_LITERAL_SECONDS = 240.0


class Planted(Embedder):
    """Random vectors, whatever the texts are."""

    name = "planted"

    def __init__(self, n_texts: int, seed: int = 1):
        self.vectors = np.random.default_rng(seed).normal(size=(n_texts + 1, D))

    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """The claim's vector and one a candidate."""
        return self.vectors


def measure() -> Iterator[str]:
    """Time both on the same vectors, then rank a list of ``N_LARGE`` in a process of its own."""
    for n in (40, 400):
        order = paper_order(Planted(n))
        assert order == fast_order(Planted(n)), f"the orders of {n} differ"
    embedder = Planted(N)
    fast = seconds_of(lambda: fast_order(embedder), times=5)
    literal, how = _literal_seconds()
    ratio = literal / fast
    yield (
        f"n={N}, d={D}: {fast * 1000:.0f} ms, the literal algorithm {literal:.0f} s ({how}), "
        f"ratio {ratio:.0f} {goal(f'{GOAL_RATIO:,}', ratio >= GOAL_RATIO)}"
    )
    seconds, megabytes = _large_run()
    is_met = seconds < GOAL_SECONDS and megabytes < GOAL_MB
    yield (
        f"n={N_LARGE}, d={D}: {seconds:.2f} s, peak {megabytes:.0f} MB "
        f"{goal(f'{GOAL_SECONDS:.0f} s and {GOAL_MB} MB', is_met)}"
    )


def fast_order(embedder: Planted) -> list[int]:
    """The order of ``rankers`` for the planted vectors."""
    texts = [str(number) for number in range(len(embedder.vectors) - 1)]
    return list(IncrementalSimilarity(embedder).rank("claim", texts).order)


def paper_order(embedder: Planted) -> list[int]:
    """Algorithm 2 of the evidence-ranking paper, step by step, in float64: O(n^3 d)."""
    claim, candidates = embedder.vectors[0], embedder.vectors[1:]
    order: list[int] = []
    ranked: list[NDArray[np.float64]] = []
    for _ in candidates:
        best, best_score = -1, -1.0
        for number, candidate in enumerate(candidates):
            if number in order:
                continue
            average = np.mean([*ranked, candidate], axis=0)
            lengths = np.linalg.norm(claim) * np.linalg.norm(average)
            similarity = float(claim @ average / lengths)
            if similarity > best_score:
                best, best_score = number, similarity
        order.append(best)
        ranked.append(candidates[best])
    return order


def scores_of(order: Sequence[int]) -> list[Score]:
    """Measures of an order for gold sets drawn at random, the same for every order of a length."""
    generator = random.Random(len(order))
    sets = [[generator.sample(range(len(order)), 3) for _ in range(4)] for _ in range(100)]
    return [score(order, gold_sets) for gold_sets in sets]


def _literal_seconds() -> tuple[float, str]:
    """Seconds of the literal algorithm at N and how they were found; the measures must agree."""
    small = _timed_literal(400)
    expected = small * (N / 400) ** 3
    if expected < MOST_LITERAL_SECONDS:
        return _timed_literal(N), "measured"
    larger = _timed_literal(600) * (N / 600) ** 3
    return min(expected, larger), "from n=400 and 600 by the cubic law, the smaller"


def _timed_literal(n: int) -> float:
    embedder = Planted(n)
    orders = []
    seconds = seconds_of(lambda: orders.append(paper_order(embedder)))
    assert scores_of(orders[0]) == scores_of(fast_order(embedder)), f"the measures of {n} differ"
    return seconds


def _large_run() -> tuple[float, float]:
    """Seconds of ranking N_LARGE vectors, and the peak memory of that process in MB."""
    command = [sys.executable, "-m", "bench.similarity"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, megabytes = json.loads(done.stdout)
    return seconds, megabytes


def main() -> None:
    """Rank ``N_LARGE`` vectors and print ``[seconds, peak MB]``."""
    embedder = Planted(N_LARGE)
    seconds = seconds_of(lambda: fast_order(embedder), times=3)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps([seconds, peak / (1024 if sys.platform != "darwin" else 1024**2)]))


if __name__ == "__main__":
    main()
