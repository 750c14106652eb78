"""Holm's correction over the pre-registered family (statistics.md 4.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.comparison.contrast import Contrast

_UNTESTED = "not defined, because the primary comparison of this measure is not; two_way says why"


def holm(two_way: Mapping[str, Mapping[str, Any]], family: Sequence[str]) -> dict[str, Any]:
    """``family``: p of the primary comparison by measure; ``adjusted``: Holm's.

    A measure whose p is not defined was not tested: it is None in both, with ``reason`` beside
    them, and does not count for the others.
    """
    values = {key: two_way[key]["p"] for key in family}
    block: dict[str, Any] = {"family": values, "adjusted": adjusted(values)}
    return block | ({"reason": _UNTESTED} if None in values.values() else {})


def holm_over_contrasts(
    by_contrast: Mapping[str, Mapping[str, Mapping[str, Any]]], family: Sequence[str]
) -> dict[str, Any]:
    """Holm over the families of all contrasts together.

    ``adjusted``: contrast -> measure -> p, with ``reason`` beside it where one is None.
    """
    flat = {(name, key): blocks[key]["p"] for name, blocks in by_contrast.items() for key in family}
    corrected = adjusted(flat)
    block: dict[str, Any] = {
        "adjusted": {name: {key: corrected[name, key] for key in family} for name in by_contrast}
    }
    return block | ({"reason": _UNTESTED} if None in flat.values() else {})


def adjusted(values: Mapping[Any, float | None]) -> dict[Any, float | None]:
    """Holm's adjusted p of those that are defined, None for the others."""
    from statsmodels.stats.multitest import multipletests

    result: dict[Any, float | None] = dict.fromkeys(values)
    tested = {key: p for key, p in values.items() if p is not None}
    if tested:
        corrected = multipletests(list(tested.values()), method="holm")[1]
        result |= {key: float(p) for key, p in zip(tested, corrected, strict=True)}
    return result


def contrasts_beside(
    main: Contrast, conditions: Sequence[str], reference: str | None
) -> list[Contrast]:
    """The other contrasts of a study: each condition minus the reference, else all pairs.

    The pair of the main contrast is left out, whichever way round.
    """
    if reference is not None:
        every = [Contrast(c, reference) for c in conditions if c != reference]
    else:
        every = [
            Contrast(first, second)
            for place, first in enumerate(conditions)
            for second in conditions[place + 1 :]
        ]
    done = {main.first, main.second}
    return [contrast for contrast in every if {contrast.first, contrast.second} != done]
