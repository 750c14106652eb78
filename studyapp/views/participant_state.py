"""What a run shows: the one true state, from the database, as a region of the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.utils.safestring import mark_safe
from django.utils.translation import gettext as _

from studyapp.domain.endings import EARLY_ENDS
from studyapp.domain.languages import interface_language
from studyapp.domain.markdown import as_html
from studyapp.domain.personal_links import takes_personal_links_only
from studyapp.domain.queries import shown_sentences
from studyapp.domain.recruiting import recruits_by_id
from studyapp.domain.run_ends import RELEASED
from studyapp.domain.sitting import Stage, place_of, stage_of
from studyapp.domain.trials import open_trial_of
from studyapp.enums import EnrolmentState, StudyState, TrialKind
from studyapp.models import Enrolment, Study, Trial
from studyapp.models.assignment import RUNNING
from studyapp.protocols.verification import CONFIDENCE_SCALE, MAX_REASON
from studyapp.views.htmx import Region
from studyapp.views.participant_ending import ended_early_region, finished_region
from studyapp.views.participant_guard import message_region
from studyapp.views.participant_language import (
    decision_labels,
    page_language,
    trial_phrases,
    trial_words,
)
from studyapp.views.participant_sitting import (
    break_region,
    example_values,
    feedback_region,
    outline,
    questionnaire_region,
)
from studyapp.views.participant_values import (
    NOTICES,
    link_leads_back,
    run_url,
    run_values,
    study_values,
    way_back_values,
)

#: The notice that keeps the last page.
STAY = "stay"

#: Ends of a run that a researcher brought about.
ENDED_BY_RESEARCHERS = (EnrolmentState.PAID_PARTIAL, EnrolmentState.REJECTED)

NOTHING_GIVEN: Mapping[str, str] = {}


def run_region(enrolment: Enrolment, notice: str = "") -> Region:
    """The true current state of a run."""
    study = enrolment.slot.study
    if enrolment.state == EnrolmentState.COMPLETED:
        return finished_region(enrolment, stays=notice == STAY)
    if enrolment.state in EARLY_ENDS:
        return ended_early_region(enrolment, stays=notice == STAY)
    if was_released(enrolment) and enrolment.started_at is not None:
        return message_region(
            _("Your part in this study has ended"),
            _(
                "The researchers have given your place to somebody else. The answers you gave "
                "before are stored."
            ),
            _("If this is a mistake, tell the researchers."),
            **run_values(enrolment),
        )
    if enrolment.state == EnrolmentState.TIMED_OUT and enrolment.started_at is not None:
        return message_region(
            _("Your place in this study has expired"),
            _(
                "Nothing happened for longer than the study allows, so your place was given to "
                "somebody else. The answers you gave before are stored."
            ),
            _("If this is a mistake, tell the researchers."),
            **run_values(enrolment),
        )
    if enrolment.state == EnrolmentState.RETURNED:
        return message_region(
            _("Your part in this study has ended"),
            # By the person, by their recruiting site or by the researchers: true of all of them.
            _(
                "This study was returned, so your place was given to somebody else. The answers "
                "you gave before are stored."
            ),
            _("If this is a mistake, tell the researchers."),
            **run_values(enrolment),
        )
    if enrolment.state in ENDED_BY_RESEARCHERS:
        return message_region(
            _("Your part in this study has ended"),
            _("The answers you gave before are stored. Thank you for your time."),
            _("If this is a mistake, tell the researchers."),
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
            _("This study has ended"),
            _("Your answers so far are stored. Thank you for your time."),
            **run_values(enrolment),
        )
    if not study.is_open:
        return message_region(
            _("This study is paused"),
            _(
                "Your answers so far are stored. Come back later: the link you were given takes "
                "you on."
            )
            if link_leads_back(enrolment)
            else _(
                "Your answers so far are stored. Come back later: the address of this page takes "
                "you on."
            ),
            **run_values(enrolment),
        )
    if stage == Stage.FEEDBACK:
        return feedback_region(enrolment, notice)
    if stage == Stage.BREAK:
        return break_region(enrolment, notice)
    return _ready(enrolment, notice)


def was_released(enrolment: Enrolment) -> bool:
    """Whether the researchers took the place back; nothing had expired."""
    return enrolment.state == EnrolmentState.TIMED_OUT and enrolment.end_reason == RELEASED


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
    language = interface_language(study.lang)
    labels = decision_labels(language)
    is_practice = trial.kind == TrialKind.PRACTICE
    where = trial_phrases(language)["practice" if is_practice else "trial"]
    chosen = given.get("decision", "")
    context = reveal_values(trial) | {
        "title": study.title,
        "run_url": url,
        "trial_url": mark_safe(f"{url}t/{trial.code}/"),
        "where": where % {"number": place.number, "n_all": place.n_all},
        "is_practice": is_practice,
        "n_done": str(place.number - 1),
        "n_trials": str(place.n_all),
        "is_translatable": study.sitting_setting("allows_translation"),
        "claim": trial.claim.text,
        "lang": trial.claim.lang,
        "confirms_decision": study.confirms_decision,
        "options": [
            (option, labels[option], option == chosen) for option in study.response_options
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

    All values are flat and ready to print: looking things up in a template costs more than here,
    and so does writing a number as its language does.
    """
    study = trial.enrolment.slot.study
    n_order = len(trial.stimulus["order"])
    is_incremental = trial.condition.is_incremental
    has_more = trial.n_steps < n_order
    # The total is known to the page only where the study says so.
    n_total = n_order if study.shows_total else None
    language = interface_language(study.lang)
    return {
        **page_language(study.lang),
        "words": trial_words(language),
        # The first sentence was there from the start; the others came by the button.
        "sentences": [
            (
                str(sentence.rank),
                sentence.text,
                sentence.title,
                is_incremental and sentence.rank > 1,
            )
            for sentence in shown_sentences(trial, first=first)
        ],
        "is_incremental": is_incremental,
        "has_more": has_more,
        "n_shown": str(trial.n_steps),
        "next_rank": str(trial.n_steps + 1),
        "how_many": _how_many(trial, n_total, is_all_of_many=is_incremental and not has_more),
    }


def _how_many(trial: Trial, n_total: int | None, *, is_all_of_many: bool) -> str:
    """What is said about the number of sentences: nothing where the study keeps it back, except
    that no more come after the last one."""
    if n_total is None and not is_all_of_many:
        return ""
    phrases = trial_phrases(interface_language(trial.enrolment.slot.study.lang))
    if not is_all_of_many:
        return phrases["shown"] % {"n_shown": trial.n_steps, "n_total": n_total}
    return phrases["all_shown" if n_total is None else "all_shown_of"] % {"n_total": n_total}


def _ready(enrolment: Enrolment, notice: str) -> Region:
    """The instructions with their button, or the button alone after a pause."""
    study = enrolment.slot.study
    if enrolment.started_at is None:
        context = run_values(enrolment) | example_values(enrolment) | way_back_values(enrolment)
    else:
        context = run_values(enrolment)
    context |= {
        "instructions": as_html(study.texts.get("instructions", ""), below=1),
        "outline": outline(enrolment),
        "has_started": enrolment.started_at is not None,
        "has_expired": enrolment.state not in RUNNING,
        "was_released": was_released(enrolment),
        "notice": NOTICES.get(notice, ""),
    }
    return Region("participant/_ready.html", context)


def what_stays_of_a_person(study: Study, *, has_link: bool = False) -> str:
    """What a withdrawal leaves of a personal link or a recruiter id, where there is one."""
    if has_link or takes_personal_links_only(study):
        return _(
            "Your name is deleted with it. A checksum of your link stays, from which neither can "
            "be read, so that the link does not start another run."
        )
    if not recruits_by_id(study):
        return ""
    return _(
        "Your participant id is deleted with it. A checksum stays, from which the id cannot be "
        "read, so that the same link does not start another run."
    )


def _what_is_deleted(study: Study | None) -> str:
    """That the run is deleted; all runs, where a person may have had several."""
    if study is not None and study.recruiting_setting("repeats") > 1:
        return _(
            "Everything recorded in all your runs of this study is deleted. Only the fact that "
            "somebody withdrew is counted."
        )
    return _(
        "Everything recorded in your run is deleted. Only the fact that somebody withdrew is "
        "counted."
    )


def withdrawn_region(study: Study | None, *, has_link: bool = False) -> Region:
    """What an old address says after a withdrawal."""
    return message_region(
        _("You have withdrawn from this study"),
        _what_is_deleted(study),
        *filter(None, [study and what_stays_of_a_person(study, has_link=has_link)]),
        _("You can close this page. Thank you for your time."),
        status=410,
        **(study_values(study) if study else page_language(settings.LANGUAGE_CODE)),
    )
