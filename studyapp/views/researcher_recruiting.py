"""What the participants card says of recruiting: the link with its id, and who did not come in."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from studyapp.domain.recruiting import PROLIFIC, arrivals_of, recruits_by_id
from studyapp.enums import RecruitingSource, RefusedIdKind
from studyapp.models import Study
from studyapp.views.researcher_words import ago, listed, number


def recruiting_content(study: Study, now: datetime) -> dict[str, Any]:
    """For the card: how ids work here, and what became of the links. Empty without ids."""
    if not recruits_by_id(study):
        return {}
    return {"id_note": id_note(study), **arrivals_content(study, now)}


def arrivals_content(study: Study, now: datetime) -> dict[str, Any]:
    """What became of the links: who stopped at consent, and what was turned away. Two queries."""
    arrivals = arrivals_of(study)
    refused = [
        f"{number(arrivals.refused[kind])} {kind.label}"
        for kind in RefusedIdKind
        if arrivals.refused.get(kind)
    ]
    return {
        "stopped": number(arrivals.n_stopped),
        "last_stopped": ago(arrivals.last_stopped, now) if arrivals.last_stopped else "",
        "n_refused": number(sum(arrivals.refused.values())),
        "refused": listed(refused),
    }


_FILLERS = {
    RecruitingSource.PROLIFIC.value: "Prolific fills it in.",
    RecruitingSource.MTURK.value: "Mechanical Turk adds it, and what it needs besides.",
    RecruitingSource.SONA.value: "SONA fills it in.",
}


def id_note(study: Study) -> str:
    """How people are told apart by the study's link; empty where they are not."""
    if not recruits_by_id(study):
        return ""
    name = study.recruiting_setting("id_parameter")
    repeats = study.recruiting_setting("repeats")
    source = study.recruiting_setting("source")
    filler = _FILLERS.get(source) or (
        _FILLERS["prolific"] if name in PROLIFIC else "Your recruiter has to fill it in."
    )
    runs = (
        "The same id leads to the same run, in any browser."
        if repeats == 1
        else f"One id may have {number(repeats)} runs, none with a claim of an earlier one."
    )
    return f"Every person needs a link with their own {name}. {filler} {runs}"
