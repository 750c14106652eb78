"""One thing fixed beforehand, and what the data show of it."""

from __future__ import annotations

from dataclasses import dataclass

DEVIATION = "deviation"
KEPT = "as fixed"
NOT_FIXED = "not fixed beforehand"
UNCHECKED = "cannot be checked from the data"


@dataclass(frozen=True, slots=True)
class Finding:
    """``subject``: what it is about; ``fixed``: what was fixed; ``found``: what the data show.

    ``verdict`` is one of this module's four.
    """

    subject: str
    fixed: str
    found: str
    verdict: str


def judged(subject: str, fixed: str, deviations: list[str], kept: str) -> Finding:
    """A deviation for every sentence in ``deviations``; without any, what was ``kept``."""
    if deviations:
        return Finding(subject, fixed, " ".join(deviations), DEVIATION)
    return Finding(subject, fixed, kept, KEPT)
