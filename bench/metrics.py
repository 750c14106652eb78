"""Scoring rankings: 100,000 rankings of 40 candidates, and the ratio to sorting the same lists."""

from __future__ import annotations

import random
from collections.abc import Iterator

from bench.figures import goal, seconds_of
from rankers.metrics import score

GOAL_SECONDS = 5.0
N_RANKINGS = 100_000
N_CANDIDATES = 40
#: As in WiCE: about five gold sets a claim of one to four sentences.
N_GOLD_SETS = 5


def measure() -> Iterator[str]:
    """Score every ranking once, then sort every list once."""
    generator = random.Random(3)
    positions = range(N_CANDIDATES)
    orders = [generator.sample(positions, N_CANDIDATES) for _ in range(N_RANKINGS)]
    gold = [
        tuple(
            tuple(generator.sample(positions, generator.randint(1, 4))) for _ in range(N_GOLD_SETS)
        )
        for _ in range(N_RANKINGS)
    ]
    claims = list(zip(orders, gold, strict=True))
    scoring = seconds_of(lambda: [score(order, sets, N_CANDIDATES) for order, sets in claims])
    sorting = seconds_of(lambda: [sorted(order) for order in orders])
    yield (
        f"{N_RANKINGS:,} rankings of {N_CANDIDATES} candidates scored in {scoring:.2f} s "
        f"{goal(f'{GOAL_SECONDS:.0f} s', scoring < GOAL_SECONDS)}, "
        f"ratio to sorting the same lists {scoring / sorting:.1f}"
    )
