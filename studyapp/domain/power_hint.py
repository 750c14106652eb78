"""What a study of a planned size can detect: a sentence, worked out once a size."""

from __future__ import annotations

from dataclasses import astuple, dataclass

from django.core.cache import cache

from studyapp.domain.lifecycle import software_version
from studyapp.domain.queries import main_claims
from studyapp.enums import ConditionPolicy
from studyapp.models import Study


@dataclass(frozen=True)
class Size:
    """How large a study is planned: one participant a slot."""

    participants: int
    claims: int
    subsets: int
    conditions: int


def can_be_judged(study: Study, size: Size) -> bool:
    """Whether the simulation knows this design: at least two conditions, met by everybody."""
    return (
        study.condition_policy == ConditionPolicy.WITHIN
        and size.conditions >= 2
        and size.subsets >= size.conditions
        and size.participants >= 2
        and size.claims >= size.subsets
    )


def size_of(study: Study) -> Size:
    """The planned size: three queries."""
    return Size(
        participants=study.slots.count(),
        claims=main_claims(study).count(),
        subsets=study.n_subsets,
        conditions=study.conditions.count(),
    )


def known_hint(size: Size) -> str:
    """The sentence if it was worked out before, else an empty text. No query."""
    return str(cache.get(_key(size), ""))


def power_hint(size: Size) -> str:
    """The smallest difference that the primary test is likely to find, as a sentence.

    Takes a second or two the first time. A size that cannot be simulated says why.
    """
    if known := known_hint(size):
        return known

    from analysis.power import Assumptions, detectable_difference, sentence

    numbers = {"subsets": size.subsets, "conditions": size.conditions}
    try:
        difference = detectable_difference(size.participants, size.claims, **numbers)
        text = sentence(size.participants, size.claims, difference, **numbers)
        text += f" Assumed: {100 * Assumptions().success[1]:g} % success in the other condition."
    except ValueError as error:
        text = f"Not estimated: {str(error).splitlines()[0]}."
    cache.set(_key(size), text, timeout=None)
    return text


def _key(size: Size) -> str:
    return "-".join(map(str, ("power", software_version(), *astuple(size))))
