"""What a run shows: the one true state, from the database, as a region of the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.safestring import mark_safe

from studyapp.domain.queries import shown_sentences
from studyapp.domain.sitting import Stage, place_of, plan_of, stage_of
from studyapp.domain.sitting_settings import return_address, return_host
from studyapp.domain.trials import RUNNING, open_trial_of
from studyapp.enums import Decision, EnrolmentState, StudyState, TrialKind
from studyapp.models import Enrolment, Study, Trial
from studyapp.protocols.verification import CONFIDENCE_SCALE, MAX_REASON
from studyapp.views.htmx import Region
from studyapp.views.participant_guard import message_region
from studyapp.views.participant_sitting import (
    break_region,
    example_values,
    feedback_region,
    outline_values,
    questionnaire_region,
)
from studyapp.views.participant_values import NOTICES, run_url, run_values, study_values

#: How long the last page stays before it leads back by itself, not counting the time to read it:
#: time enough to find the link that keeps it (WCAG 2.2.1).
RETURN_SECONDS = 20
#: The notice that keeps the last page.
STAY = "stay"
#: A careful reader's.
WORDS_A_SECOND = 3

NOTHING_GIVEN: Mapping[str, str] = {}

_LABELS = dict(Decision.choices)


def run_region(enrolment: Enrolment, notice: str = "") -> Region:
    """The true current state of a run."""
    study = enrolment.slot.study
    if enrolment.state == EnrolmentState.COMPLETED:
        return _finished(enrolment, stays=notice == STAY)
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
    stage = stage_of(enrolment) if enrolment.state == EnrolmentState.ACTIVE else None
    if stage == Stage.QUESTIONNAIRE:
        # Nothing but answers is left, so a pause or the end of the study keeps nobody from it.
        return questionnaire_region(enrolment, notice)
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
    if stage == Stage.FEEDBACK:
        return feedback_region(enrolment, notice)
    if stage == Stage.BREAK:
        return break_region(enrolment, notice)
    return _ready(enrolment, notice)


def trial_region(
    trial: Trial,
    notice: str = "",
    *,
    given: Mapping[str, str] = NOTHING_GIVEN,
    message: str = "",
    status: int = 200,
) -> Region:
    """The trial page. ``given`` and ``message`` keep a refused answer and say why.

    Nothing here but the word for practice depends on the kind of trial: an attention trial looks
    like any other.
    """
    enrolment = trial.enrolment
    study = enrolment.slot.study
    url = run_url(study.code, enrolment.token)
    place = place_of(trial)
    chosen = given.get("decision", "")
    context = reveal_values(trial) | {
        "title": study.title,
        "run_url": url,
        "trial_url": mark_safe(f"{url}t/{trial.code}/"),
        "where": f"{place.word} {place.number} of {place.n_all}",
        "is_practice": trial.kind == TrialKind.PRACTICE,
        "n_done": place.number - 1,
        "n_trials": place.n_all,
        "is_translatable": study.sitting_setting("allows_translation"),
        "claim": trial.claim.text,
        "lang": trial.claim.lang,
        "confirms_decision": study.confirms_decision,
        "options": [
            (option, _LABELS[option], option == chosen) for option in study.response_options
        ],
        **_further_questions(study, given),
        "message": message,
        "notice": NOTICES.get(notice, ""),
    }
    return Region("participant/_trial.html", context, status)


def _further_questions(study: Study, given: Mapping[str, str]) -> dict[str, Any]:
    """What is asked beside the decision, with what was given so far."""
    confidence, reason = study.sitting_setting("confidence"), study.sitting_setting("reason")
    if confidence == reason == "off":
        return {}
    sure = given.get("confidence", "")
    return {
        "has_more_questions": True,
        "points": [(point, str(point) == sure) for point in CONFIDENCE_SCALE]
        if confidence != "off"
        else [],
        "needs_confidence": confidence == "required",
        "asks_reason": reason != "off",
        "reason": given.get("reason", ""),
        "max_reason": MAX_REASON,
    }


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
    if enrolment.started_at is None:
        context = run_values(enrolment) | example_values(enrolment)
    else:
        context = run_values(enrolment)
    context |= {
        "instructions": study.texts.get("instructions", ""),
        **outline_values(enrolment),
        "has_started": enrolment.started_at is not None,
        "has_expired": enrolment.state not in RUNNING,
        "notice": NOTICES.get(notice, ""),
    }
    return Region("participant/_ready.html", context)


def returns_by_itself(enrolment: Enrolment) -> bool:
    """Whether the run is complete and its page leads back to where the participant came from."""
    is_complete = enrolment.state == EnrolmentState.COMPLETED
    return is_complete and bool(enrolment.slot.study.sitting_setting("return_url"))


def _finished(enrolment: Enrolment, *, stays: bool = False) -> Region:
    study = enrolment.slot.study
    context = run_values(enrolment) | {
        "completion": study.texts.get("completion", ""),
        "debriefing": study.texts.get("debriefing", ""),
        "completion_code": study.completion_code,
        "n_trials": plan_of(enrolment.slot).n_trials,
        "stays": stays,
        **_return_values(study),
    }
    return Region("participant/_finished.html", context)


def _return_values(study: Study) -> dict[str, Any]:
    """Where the page leads in the end, and after how many seconds: time enough to read it."""
    return_url = study.sitting_setting("return_url")
    n_words = sum(len(study.texts.get(name, "").split()) for name in ("completion", "debriefing"))
    return {
        "return_to": return_address(return_url, study.completion_code),
        "return_host": return_host(return_url),
        "return_seconds": RETURN_SECONDS + n_words // WORDS_A_SECOND,
    }


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
