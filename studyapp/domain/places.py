"""How many places a study has, in numbers: taken, free, closed, and beyond what was planned."""

from __future__ import annotations

from dataclasses import dataclass

from studyapp.domain.seats import read_filling
from studyapp.models import Study


@dataclass(frozen=True)
class Places:
    """Places of one kind of run. ``taken`` and ``free`` ones and those that are ``closed`` without
    anybody make up ``planned``; ``extra`` ones were given beyond the targets, and ``extra_free``
    are still to be had once nothing else is."""

    planned: int
    taken: int
    free: int
    closed: int
    extra: int
    extra_free: int


def places_of(study: Study, run_kind: str) -> Places:
    """Count the places: three queries, whatever the size."""
    filling = read_filling(study, run_kind)
    more = study.recruiting_setting("extra_places")
    planned = taken = free = extra = extra_free = 0
    for place in filling.places:
        held = filling.held[place.pk]
        within = sum(number <= place.target for number in held)
        planned, taken, extra = planned + place.target, taken + within, extra + len(held) - within
        if place.is_open:
            n_free = place.target - within
            free += n_free
            extra_free += len(list(filling.free(place, more))) - n_free
    return Places(planned, taken, free, planned - taken - free, extra, extra_free)
