"""What a run shows: the one true state, from the database, as a region of the page."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe

from studyapp.domain.queries import shown_sentences
from studyapp.domain.trials import RUNNING, open_trial_of
from studyapp.enums import Decision, EnrolmentState, StudyState
from studyapp.models import Enrolment, Study, Trial
from studyapp.views.htmx import Region
from studyapp.views.participant_guard import message_region

#: Fixed texts, so that an address can name one without being echoed.
NOTICES = {
    "stale": "This page was older than what is stored. It now shows where you are.",
    "answered": "That trial was answered before; the first answer stays.",
    "elsewhere": "More sentences were shown in another tab, so nothing was decided yet. "
    "They are all here now: please decide again.",
    "moved": "Your first place had expired, so you were given another one.",
}

_LABELS = dict(Decision.choices)


@lru_cache(maxsize=4096)
def run_url(study_code: str, token: str) -> SafeString:
    """The address of a run, to which its other addresses are added.

    Kept for a while, because a run asks for it at every click; an address made of letters, digits
    and slashes needs no escaping.
    """
    return mark_safe(reverse("run", args=(study_code, token)))


def study_values(study: Study) -> dict[str, Any]:
    """What any page of a study may print."""
    return {"study": study, "title": study.title, "contact": study.texts.get("contact", "")}


def run_values(enrolment: Enrolment) -> dict[str, Any]:
    """What any page of a run may print."""
    study = enrolment.slot.study
    return study_values(study) | {"run_url": run_url(study.code, enrolment.token)}


def run_region(enrolment: Enrolment, notice: str = "") -> Region:
    """The true current state of a run."""
    study = enrolment.slot.study
    if enrolment.state == EnrolmentState.COMPLETED:
        return _finished(enrolment)
    if enrolment.state == EnrolmentState.TIMED_OUT and enrolment.started_at is not None:
        return message_region(
            "Your place in this study has expired",
            "Nothing happened for longer than the study allows, so your place was given to "
            "somebody else. The answers you gave before are stored.",
            "If this is a mistake, tell the researchers.",
            **run_values(enrolment),
        )
    if enrolment.state == EnrolmentState.ACTIVE:
        trial = open_trial_of(enrolment)
        if trial is not None:
            trial.enrolment = enrolment
            return trial_region(trial, notice)
    if study.state == StudyState.CLOSED:
        return message_region(
            "This study has ended",
            "Your answers so far are stored. Thank you for your time.",
            **run_values(enrolment),
        )
    if not study.is_open:
        return message_region(
            "This study is paused",
            "Your answers so far are stored. Come back later: the same link takes you on.",
            **run_values(enrolment),
        )
    return _ready(enrolment, notice)


def trial_region(
    trial: Trial, notice: str = "", *, chosen: str = "", message: str = "", status: int = 200
) -> Region:
    """The trial page. ``chosen`` and ``message`` keep a refused answer and say why."""
    enrolment = trial.enrolment
    study = enrolment.slot.study
    url = run_url(study.code, enrolment.token)
    context = reveal_values(trial) | {
        "title": study.title,
        "run_url": url,
        "trial_url": mark_safe(f"{url}t/{trial.code}/"),
        "position": trial.position,
        "n_done": trial.position - 1,
        "n_trials": enrolment.slot.n_trials,
        "claim": trial.claim.text,
        "lang": trial.claim.lang,
        "confirms_decision": study.confirms_decision,
        "options": [
            (option, _LABELS[option], option == chosen) for option in study.response_options
        ],
        "message": message,
        "notice": NOTICES.get(notice, ""),
    }
    return Region("participant/_trial.html", context, status)


def reveal_values(trial: Trial, *, first: int = 1) -> dict[str, Any]:
    """The sentences from rank ``first`` on, and what the button below them needs to know.

    All values are flat and ready to print: looking things up in a template costs more than here.
    """
    n_order = len(trial.stimulus["order"])
    is_incremental = trial.condition.is_incremental
    return {
        # The first sentence was there from the start; the others came by the button.
        "sentences": [
            (sentence.rank, sentence.text, sentence.title, is_incremental and sentence.rank > 1)
            for sentence in shown_sentences(trial, first=first)
        ],
        "is_incremental": is_incremental,
        "has_more": trial.n_steps < n_order,
        "n_shown": trial.n_steps,
        "next_rank": trial.n_steps + 1,
        # Known to the page only where the study says so.
        "n_total": n_order if trial.enrolment.slot.study.shows_total else None,
    }


def _ready(enrolment: Enrolment, notice: str) -> Region:
    """The instructions with their button, or the button alone after a pause."""
    study = enrolment.slot.study
    context = run_values(enrolment) | {
        "instructions": study.texts.get("instructions", ""),
        "n_trials": enrolment.slot.n_trials,
        "has_started": enrolment.started_at is not None,
        "has_expired": enrolment.state not in RUNNING,
        "notice": NOTICES.get(notice, ""),
    }
    return Region("participant/_ready.html", context)


def _finished(enrolment: Enrolment) -> Region:
    study = enrolment.slot.study
    context = run_values(enrolment) | {
        "completion": study.texts.get("completion", ""),
        "completion_code": study.completion_code,
        "n_trials": enrolment.slot.n_trials,
    }
    return Region("participant/_finished.html", context)


def withdrawn_region(study: Study | None) -> Region:
    """What an old address says after a withdrawal."""
    return message_region(
        "You have withdrawn from this study",
        "Everything recorded in your run is deleted. Only the fact that somebody withdrew is "
        "counted.",
        "You can close this page. Thank you for your time.",
        status=410,
        **(study_values(study) if study else {}),
    )
