"""What a size of study can find: the smallest difference, and the fewest participants."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from analysis.power.assumptions import Assumptions
from analysis.power.checks import refuse
from analysis.power.layout import lay_out
from analysis.power.outcomes import success_outcomes
from analysis.power.search import TARGET, monte_carlo_error, share, smallest

#: Simulated studies behind a difference that is shown while a study is being planned.
QUICK_SIMS = 400

DEFAULT_SEED = 20260301


def detectable_difference(
    participants: int,
    claims: int,
    assumptions: Assumptions | None = None,
    *,
    subsets: int = 5,
    conditions: int = 2,
    sims: int = QUICK_SIMS,
    seed: int = DEFAULT_SEED,
) -> float | None:
    """The smallest difference in success that the primary test finds with power TARGET.

    A rate, in whole points: the second condition keeps its assumed rate, the first one has so many
    points more. Found by bisection, all steps on the same random numbers. None when even the
    largest difference that leaves the first rate below 1 is not found so often.
    Raises BadTable (a ValueError) for a size or assumptions that make no study.
    """
    assumptions = assumptions or Assumptions()
    refuse(assumptions, [(participants, claims)], subsets, conditions, sims, seed)
    layout = lay_out(participants, claims, subsets, conditions)
    base = assumptions.success[1]

    def power(points: int) -> float:
        shifted = replace(assumptions, success=(base + points / 100, base))
        return share(success_outcomes(layout, shifted, sims, seed)["power_success_two_way"])

    points = smallest(1, largest_points(base), power)
    return None if points is None else points / 100


def sentence(
    participants: int,
    claims: int,
    difference: float | None,
    assumptions: Assumptions | None = None,
    *,
    subsets: int = 5,
    conditions: int = 2,
    sims: int = QUICK_SIMS,
) -> str:
    """What a study of this size finds; ``difference`` is what ``detectable_difference`` gave.

    The other arguments are those it was asked with.
    """
    fewest, most = lay_out(participants, claims, subsets, conditions).trials_each
    each = f"{most}" if fewest == most else f"{fewest} to {most}"
    size = f"With {participants} participants and {claims} claims ({each} trials each)"
    error = max(1, round(100 * monte_carlo_error(TARGET, sims)))
    how = (
        f"found in {5 * TARGET:.0f} of 5 studies ({sims:,} simulated studies, Monte-Carlo error "
        f"{_points(error)})."
    )
    if difference is not None:
        return f"{size} a difference of {_points(round(100 * difference))} in success is {how}"
    base = (assumptions or Assumptions()).success[1]
    return (
        f"{size} no difference in success, up to {_points(largest_points(base))} above "
        f"{100 * base:g} %, is {how}"
    )


def fewest_participants(
    claims: int,
    assumptions: Assumptions,
    outcome: str,
    *,
    most: int,
    subsets: int = 5,
    conditions: int = 2,
    sims: int,
    seed: int = DEFAULT_SEED,
) -> int | None:
    """The fewest participants, in whole copies of the square, for whom ``outcome`` reaches TARGET.

    ``outcome`` is a name of ``success_outcomes``. None when ``most`` participants do not reach it.
    """

    def power(copies: int) -> float:
        layout = lay_out(copies * subsets, claims, subsets, conditions)
        return share(success_outcomes(layout, assumptions, sims, seed)[outcome])

    copies = smallest(1, most // subsets, power)
    return None if copies is None else copies * subsets


def largest_points(base: float) -> int:
    """The largest whole number of points that leaves a rate below 1."""
    return int(np.ceil(round(100 * (1 - base), 6))) - 1


def _points(number: int) -> str:
    return f"{number} point{'' if number == 1 else 's'}"
