"""Search for the smallest number that gives enough power."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

#: A study that finds a difference in so many cases is large enough.
TARGET = 0.80


def smallest(low: int, high: int, power: Callable[[int], float]) -> int | None:
    """The smallest whole number from ``low`` to ``high`` whose power reaches TARGET, or None.

    Power is taken to grow with the number. Doubles first, then halves: large numbers cost most.
    """
    too_small, tried = low - 1, low
    while True:
        tried = min(tried, high)
        if tried <= too_small:
            return None
        if power(tried) >= TARGET:
            break
        too_small, tried = tried, 2 * tried
    while tried - too_small > 1:
        middle = (too_small + tried) // 2
        if power(middle) >= TARGET:
            tried = middle
        else:
            too_small = middle
    return tried


def share(found: np.ndarray | None) -> float:
    """Share of the simulated studies that found it; 0 where it can never be found."""
    return 0.0 if found is None else float(found.mean())


def monte_carlo_error(power: float, sims: int) -> float:
    """Standard error of a share of simulated studies."""
    return float(np.sqrt(power * (1 - power) / sims))
