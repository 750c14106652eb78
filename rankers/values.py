"""Small immutable values that go into and come out of rankers.

A candidate is known by its position in ``Claim.candidates`` (0-based), never by its text, so that
repeated sentences stay separate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

LABELS = ("supported", "refuted", "partially_supported")

JUDGED = "judged"
SEED = "seed"
FALLBACK = "fallback"
ORIGINS = (JUDGED, SEED, FALLBACK)


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement to check, its candidate sentences and its minimal gold sets."""

    id: str
    claim: str
    label: str
    candidates: tuple[str, ...]
    gold_sets: tuple[tuple[int, ...], ...]
    titles: tuple[str | None, ...] | None = None
    source: str | None = None
    license: str | None = None
    lang: str = "en"
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def gold_min_size(self) -> int | None:
        """Size of the smallest gold set (IMSR), or None without gold sets."""
        return min((len(gold_set) for gold_set in self.gold_sets), default=None)


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer cost: calls and tokens. ``cached_prompt_tokens`` is None where unknown."""

    calls: int = 0
    prompt_tokens: int = 0
    cached_prompt_tokens: int | None = 0
    completion_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        unknown = self.cached_prompt_tokens is None or other.cached_prompt_tokens is None
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            None
            if unknown
            else (self.cached_prompt_tokens or 0) + (other.cached_prompt_tokens or 0),
            self.completion_tokens + other.completion_tokens,
        )


@dataclass(frozen=True, slots=True)
class Ranking:
    """A total order of a claim's candidates.

    ``order`` holds every position 0..n-1 once; ``origins`` says for each rank whether the method
    judged it, the cheap seed order filled it, or it is a fallback after a failure.
    Raises ValueError when the order is no permutation or the lengths differ.
    """

    order: tuple[int, ...]
    origins: tuple[str, ...]
    scores: tuple[float, ...] | None = None
    usage: Usage = Usage()

    def __post_init__(self) -> None:
        if sorted(self.order) != list(range(len(self.order))):
            raise ValueError(f"not a permutation of 0..{len(self.order) - 1}: {self.order}")
        if len(self.origins) != len(self.order):
            raise ValueError("origins and order differ in length")
        if self.scores is not None and len(self.scores) != len(self.order):
            raise ValueError("scores and order differ in length")

    @property
    def fallback_from(self) -> int | None:
        """The first rank (1-based) whose origin is ``fallback``, else None."""
        return self.origins.index(FALLBACK) + 1 if FALLBACK in self.origins else None

    @property
    def status(self) -> str:
        """``complete``, or ``fallback`` when any rank was filled after a failure."""
        return "complete" if self.fallback_from is None else "fallback"

    @classmethod
    def judged(cls, order: Sequence[int], scores: Sequence[float] | None = None) -> Ranking:
        """A ranking whose every rank was judged by the method itself."""
        return cls(
            tuple(order),
            (JUDGED,) * len(order),
            None if scores is None else tuple(scores),
        )


@dataclass(frozen=True, slots=True)
class Selection:
    """A subset of a claim's candidates, shown at once: positions in ascending order, at least one.

    ``is_fallback`` says that the method failed and a cheaper one chose.
    Raises ValueError for an empty, unsorted or repeated selection.
    """

    selected: tuple[int, ...]
    n_candidates: int
    is_fallback: bool = False
    usage: Usage = Usage()

    def __post_init__(self) -> None:
        if not self.selected or list(self.selected) != sorted(set(self.selected)):
            raise ValueError(f"not an ascending, non-empty selection: {self.selected}")
        if self.selected[0] < 0 or self.selected[-1] >= self.n_candidates:
            raise ValueError(f"selection outside 0..{self.n_candidates - 1}: {self.selected}")

    @property
    def status(self) -> str:
        """``complete`` or ``fallback``."""
        return "fallback" if self.is_fallback else "complete"
