"""The participants card: the link to give out, where everybody is, and the way to the monitor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from studyapp.domain.personal_links import takes_personal_links_only
from studyapp.domain.places import Places, places_of
from studyapp.domain.queries import RunCounts, run_counts_of
from studyapp.domain.recruiting import recruits_by_id, study_link
from studyapp.enums import EnrolmentState, RunKind, StudyState
from studyapp.models import Study
from studyapp.models.assignment import HOLDING, RUNNING
from studyapp.views.researcher_card import Card, Tone
from studyapp.views.researcher_recruiting import recruiting_content
from studyapp.views.researcher_words import counted, listed, number


@dataclass(frozen=True)
class People:
    """Where everybody is: counts of states by kind of run, and the places of real participants."""

    counts: RunCounts
    places: Places

    @property
    def n_under_way(self) -> int:
        return self.counts.of(RunKind.REAL, *RUNNING)


def people_of(study: Study) -> People:
    """Count everybody and the places: four queries."""
    return People(counts=run_counts_of(study), places=places_of(study, RunKind.REAL))


def people_card(study: Study, people: People) -> Card:
    """Recruiting, and what the monitor tells more of."""
    is_draft = study.is_draft
    completed = people.counts.of(RunKind.REAL, EnrolmentState.COMPLETED)
    if is_draft:
        state, tone = "Opens with the study", Tone.WAITING
    else:
        state = _only_others(people) or (
            f"{number(people.places.taken)} of {counted(people.places.planned, 'place')} taken, "
            f"{number(completed)} completed"
        )
        is_full = completed >= people.places.planned > 0
        tone = Tone.DONE if is_full else (Tone.BUSY if study.is_open else Tone.PLAIN)
    return Card(
        anchor="participants",
        title="Participants",
        tone=tone,
        state=state,
        template="researcher/_participants.html",
        is_open=not is_draft,
        content={
            "link": study_link(study),
            "recruiting": {} if is_draft else recruiting_content(study, timezone.now()),
            "is_draft": is_draft,
            "link_note": _link_note(study, people),
            **counts_table(people.counts),
        },
    )


def counts_table(counts: RunCounts, *, with_empty: bool = False) -> dict[str, Any]:
    """Counts of states by kind of run, ready to print, with their sums.

    ``rows`` leaves out states that nobody is in, but for the usual ones and unless ``with_empty``.
    """
    kinds = counts.kinds
    rows = [
        {
            "value": state.value,
            "label": state.label,
            "cells": [{"kind": kind.value, "n": number(counts.of(kind, state))} for kind in kinds],
        }
        for state in EnrolmentState
        if with_empty or state in _USUAL or any(counts.of(kind, state) for kind in kinds)
    ]
    return {
        "kinds": [kind.label for kind in kinds],
        "counts": rows,
        "totals": [{"kind": kind.value, "n": number(counts.of(kind))} for kind in kinds],
        "has_any": any(counts.of(kind) for kind in kinds),
    }


#: States that a table names also where nobody is in them.
_USUAL = HOLDING


def _only_others(people: People) -> str:
    """What is said of pilot and simulated runs where nobody else has come; else empty."""
    if people.counts.of(RunKind.REAL):
        return ""
    return listed(
        [
            f"{counted(finished, f'{kind} run')} finished"
            for kind in (RunKind.PILOT, RunKind.SIMULATED)
            if (finished := people.counts.of(kind, EnrolmentState.COMPLETED))
        ]
    )


def _link_note(study: Study, people: People) -> str:
    if study.state == StudyState.PAUSED:
        return "The study is paused: the link says so, and nobody can join."
    if study.state == StudyState.CLOSED:
        return "The study is closed: the link says so, and nobody can join."
    places = people.places
    if not places.free + places.extra_free:
        return f"{_nothing_free(places)} Add a cycle to the schedule to let more people in."
    if takes_personal_links_only(study):
        return (
            "It opens nothing by itself: everybody needs a link of their own, made on the page "
            "Recruiting."
        )
    same = "" if recruits_by_id(study) else "Everybody gets the same link; "
    takes = "the consent form takes the next free slot."
    return f"{_free_words(places)}. {same}{takes if same else takes.capitalize()}"


def _free_words(places: Places) -> str:
    """``33 places free, 1 closed``; extra places only once they are what is given out."""
    if not places.free:
        return f"Every planned place is taken; {counted(places.extra_free, 'extra place')} free"
    closed = f", {number(places.closed)} closed" if places.closed else ""
    return f"{counted(places.free, 'place')} free{closed}"


def _nothing_free(places: Places) -> str:
    if not places.closed:
        return "Every place is taken."
    are = "is" if places.closed == 1 else "are"
    return f"No place is free: {number(places.closed)} {are} closed, and the others are taken."
