"""Efficiency without harm to accuracy, and equivalence, in words (statistics.md 4.5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.comparison.contrast import Contrast
from analysis.report.words import number, p_text, points, reason_of


def verdicts(document: Mapping[str, Any], contrast: Contrast) -> list[str]:
    """One sentence a claim that the comparison allows or does not; empty without a comparison."""
    found = document.get("non_inferiority")
    if not isinstance(found, Mapping) or "left_out" in found:
        return []
    sentences = [_not_worse(document, found, contrast), _fewer(document, found, contrast)]
    if found.get("efficient_without_harm") is not None:
        shown = "is shown" if found["efficient_without_harm"] else "is not shown"
        sentences.append(
            f"Both together, fewer sentences without harm to accuracy beyond the margin, {shown} "
            f"for {contrast.first} against {contrast.second}."
        )
    return [*sentences, *_equivalence(document, contrast)]


def _not_worse(document: Mapping[str, Any], found: Mapping[str, Any], contrast: Contrast) -> str:
    if found.get("non_inferior") is None:
        reason = reason_of(document, "non_inferiority.non_inferior", found)
        return f"Non-inferiority of success: {reason.rstrip('.')}."
    margin, low = points(found["margin"]), points(found["success_lower95"])
    if found["non_inferior"]:
        return (
            f"Success under {contrast.first} is not worse than under {contrast.second} by the "
            f"margin of {margin} or more: the lower 95 % limit of the difference, {low}, lies "
            "above minus the margin."
        )
    return (
        f"That success under {contrast.first} is not worse than under {contrast.second} by the "
        f"margin of {margin} or more is not shown: the lower 95 % limit of the difference, {low}, "
        "does not lie above minus the margin. This is no proof that it is worse."
    )


def _fewer(document: Mapping[str, Any], found: Mapping[str, Any], contrast: Contrast) -> str:
    if found.get("fewer_read") is None:
        reason = reason_of(document, "non_inferiority.fewer_read", found)
        return f"Fewer sentences: {reason.rstrip('.')}."
    high = number(found["read_upper95"])
    if found["fewer_read"]:
        return (
            f"Fewer sentences under {contrast.first}: the upper 95 % limit of the difference, "
            f"{high}, lies below 0."
        )
    return (
        f"That there are fewer sentences under {contrast.first} is not shown: the upper 95 % limit "
        f"of the difference, {high}, does not lie below 0."
    )


def _equivalence(document: Mapping[str, Any], contrast: Contrast) -> list[str]:
    """Two one-sided tests; the larger p of claims and participants decides."""
    found = document.get("equivalence")
    if not isinstance(found, Mapping) or "left_out" in found:
        return []
    p = found.get("p")
    if p is None:
        return [f"Equivalence of success: {reason_of(document, 'equivalence.p', found)}."]
    shown = "is shown" if p < 0.05 else "is not shown"
    return [
        f"Equivalence of success within the margin, in both directions, {shown} for "
        f"{contrast.name} (two one-sided tests over claims and over participants, the larger p: "
        f"{p_text(p)})."
    ]
