"""Who judges which claim under which of the two conditions compared (statistics.md 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.design import allowed_shifts, subset_seen
from analysis.errors import BadTable

#: The largest simulated study, in trials of the two conditions: memory and time stay bounded.
MAX_TRIALS = 200_000


@dataclass(frozen=True)
class Layout:
    """The trials of the two conditions compared, sorted by participant; all numbers from 0.

    ``participant``, ``claim`` (ints) and ``is_first`` (bool: of the first condition) have shape
    (trials,). ``trials_each`` is the smallest and the largest number of trials of a participant,
    all conditions of the study counted.
    """

    participants: int
    claims: int
    subsets: int
    participant: np.ndarray
    claim: np.ndarray
    is_first: np.ndarray
    trials_each: tuple[int, int]

    @property
    def trials(self) -> int:
        """Trials of the two conditions compared."""
        return len(self.claim)

    @property
    def replications(self) -> float:
        """Copies of the square; not whole when the last one is incomplete."""
        return self.participants / self.subsets


def problems_of_size(
    participants: int, claims: int, subsets: int, conditions: int
) -> list[tuple[str, str]]:
    """What is wrong with a size of study: name of the field and a sentence; empty when sound."""
    problems = []
    if conditions < 2:
        problems.append(("conditions", f"{conditions} is too few; two conditions are compared"))
    if subsets < max(2, conditions):
        problems.append(
            ("subsets", f"{subsets} is too few; {max(2, conditions)} conditions need as many")
        )
    if participants < 2:
        problems.append(("participants", f"{participants} is too few; give at least 2"))
    if claims < max(2, subsets):
        problems.append(("claims", f"{claims} is too few; {subsets} subsets need as many"))
    trials = 2 * participants * claims // max(subsets, 1)
    if not problems and trials > MAX_TRIALS:
        problems.append(
            (
                "participants",
                f"{participants} with {claims} claims are {trials:,} trials; at most "
                f"{MAX_TRIALS:,} can be simulated",
            )
        )
    return problems


def lay_out(participants: int, claims: int, subsets: int = 5, conditions: int = 2) -> Layout:
    """Fill the slots of the Latin square one by one; the last copy may stay incomplete.

    A study of more than two conditions is laid out with all of them; the trials are those of the
    first two. Raises BadTable for sizes that make no study.
    """
    problems = problems_of_size(participants, claims, subsets, conditions)
    if problems:
        raise BadTable([f"{name}: {problem}" for name, problem in problems])
    shifts = allowed_shifts(subsets, conditions)
    claims_of = [np.arange(subset, claims, subsets) for subset in range(subsets)]
    claim, participant, is_first, each = [], [], [], []
    for person in range(participants):
        copy, slot = divmod(person, subsets)
        shift = shifts[copy % len(shifts)]
        seen = [claims_of[subset_seen(slot, j, subsets, shift)] for j in range(conditions)]
        each.append(sum(map(len, seen)))
        claim += seen[:2]
        participant.append(np.full(len(seen[0]) + len(seen[1]), person))
        is_first.append(np.repeat([True, False], [len(seen[0]), len(seen[1])]))
    return Layout(
        participants=participants,
        claims=claims,
        subsets=subsets,
        participant=np.concatenate(participant),
        claim=np.concatenate(claim),
        is_first=np.concatenate(is_first),
        trials_each=(min(each), max(each)),
    )
