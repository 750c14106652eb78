"""What the measurements share: saying whether a goal is met, and timing."""

from __future__ import annotations

import time
from collections.abc import Callable


def goal(words: str, is_met: bool) -> str:
    """Return ``(goal WORDS: met)`` or ``(goal WORDS: MISSED)``."""
    return f"(goal {words}: {'met' if is_met else 'MISSED'})"


def seconds_of(action: Callable[[], object], times: int = 1) -> float:
    """Return the least wall time of ``times`` runs: what disturbs a run only makes it longer."""
    found = []
    for _ in range(times):
        started = time.perf_counter()
        action()
        found.append(time.perf_counter() - started)
    return min(found)
