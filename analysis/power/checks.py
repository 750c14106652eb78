"""Refuse numbers that make no study, all at once."""

from __future__ import annotations

from analysis.errors import BadTable
from analysis.power.assumptions import Assumptions, problems_of
from analysis.power.layout import problems_of_size

#: Fewer simulated studies say nothing; more would only take long.
MIN_SIMS, MAX_SIMS = 50, 100_000


def problems_of_run(sims: int, seed: int) -> list[tuple[str, str]]:
    """What is wrong with the number of simulated studies and the seed."""
    problems = []
    if not MIN_SIMS <= sims <= MAX_SIMS:
        problems.append(("sims", f"{sims} is no number from {MIN_SIMS} to {MAX_SIMS:,}"))
    if seed < 0:
        problems.append(("seed", f"{seed} is below 0"))
    return problems


def refuse(
    assumptions: Assumptions,
    sizes: list[tuple[int, int]],
    subsets: int,
    conditions: int,
    sims: int,
    seed: int,
    *,
    most_participants: int | None = None,
    prefix: str = "",
) -> None:
    """Raise BadTable with a line for everything that makes no study.

    ``sizes``: participants and claims of every study asked for; ``most_participants`` bounds a
    search with the same numbers of claims. Lines begin with ``prefix`` and
    the name of the field; with the prefix ``--`` the name is spelt as an option.
    """
    problems = [
        problem
        for participants, claims in sizes
        for problem in problems_of_size(participants, claims, subsets, conditions)
    ]
    if most_participants is not None:
        problems += [
            ("most_participants", text)
            for claims in dict.fromkeys(claims for _, claims in sizes)
            for name, text in problems_of_size(most_participants, claims, subsets, conditions)
            if name == "participants"
        ]
    problems += [*problems_of(assumptions), *problems_of_run(sims, seed)]
    if problems:
        raise BadTable(
            list(dict.fromkeys(f"{spelt(name, prefix)}: {text}" for name, text in problems))
        )


def spelt(name: str, prefix: str) -> str:
    """A field's name as the reader knows it."""
    return f"{prefix}{name.replace('_', '-')}" if prefix else name
