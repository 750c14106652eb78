"""The pages between and after the trials: examples, feedback, breaks, the questionnaire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from studyapp.domain.languages import interface_language
from studyapp.domain.practice import Feedback, conditions_met, feedback_of
from studyapp.domain.queries import Sentence, shown_sentences
from studyapp.domain.questionnaire import MISSING
from studyapp.domain.sitting import done_of, plan_of
from studyapp.domain.sitting_settings import MAX_ANSWER
from studyapp.enums import Decision
from studyapp.errors import BadAnswers
from studyapp.models import Enrolment
from studyapp.participant_forms import QUESTION_PREFIX
from studyapp.views.htmx import Region
from studyapp.views.participant_language import decision_labels, trial_words
from studyapp.views.participant_values import (
    NOTICES,
    link_leads_back,
    run_values,
    way_back_values,
)


def outline(enrolment: Enrolment) -> list[str]:
    """What a run will be like, for the instructions: whole sentences, as other languages need."""
    study = enrolment.slot.study
    plan = plan_of(enrolment.slot)
    sentences = []
    if study.n_practice:
        sentences.append(
            ngettext(
                "First comes %(n)s practice claim, which does not count.",
                "First come %(n)s practice claims, which do not count.",
                study.n_practice,
            )
            % {"n": study.n_practice}
        )
        trials = ngettext(
            "Then there is %(n)s trial.", "Then there are %(n)s trials.", plan.n_trials
        )
    else:
        trials = ngettext("There is %(n)s trial.", "There are %(n)s trials.", plan.n_trials)
    sentences.append(trials % {"n": plan.n_trials})
    if 0 < plan.break_every < plan.n_main:
        sentences.append(_("There are breaks in between."))
    if questions := study.sitting_setting("questionnaire"):
        sentences.append(
            ngettext(
                "One question follows at the end.",
                "A few questions follow at the end.",
                len(questions),
            )
        )
    if link_leads_back(enrolment):
        way_back = _(
            "You can stop after any trial: the link you were given brings you back to where you "
            "were."
        )
    else:
        way_back = _(
            "You can stop after any trial: the address of this page brings you back to where you "
            "were, in any browser."
        )
    return [*sentences, way_back]


def example_values(enrolment: Enrolment) -> dict[str, Any]:
    """Which interfaces to illustrate: those that this run will meet. One query."""
    study = enrolment.slot.study
    labels = decision_labels(interface_language(study.lang))
    return {
        "examples": [condition.is_incremental for condition in conditions_met(enrolment.slot)],
        "example_options": [labels[option] for option in study.response_options],
    }


def feedback_region(enrolment: Enrolment, notice: str = "") -> Region:
    """How the last practice trial went, with the button to go on."""
    feedback = feedback_of(enrolment)
    trial = feedback.trial
    study = enrolment.slot.study
    language = interface_language(study.lang)
    labels = decision_labels(language)
    context = run_values(enrolment) | {
        "where": _("Practice %(number)s of %(n_all)s")
        % {"number": feedback.number, "n_all": feedback.n_all},
        "n_done": feedback.number - bool(feedback.n_left),
        "n_trials": feedback.n_all,
        "heading": _verdict(feedback),
        "claim": trial.claim.text,
        "lang": trial.claim.lang,
        "is_translatable": study.sitting_setting("allows_translation"),
        "chosen": labels[feedback.decision],
        "label": labels[feedback.label],
        "words": trial_words(language),
        "about_reading": _about_reading(feedback),
        "explanation": feedback.explanation,
        "sentences": _rows(shown_sentences(trial)),
        "unread": _rows(feedback.unread),
        "what_next": _what_next(feedback),
        "button": _button(feedback),
        "notice": NOTICES.get(notice, ""),
    }
    return Region("participant/_feedback.html", context)


def _rows(sentences: list[Sentence]) -> list[tuple[int, str, str | None, bool]]:
    """Sentences as their template prints them; none of them has just arrived."""
    return [(sentence.rank, sentence.text, sentence.title, False) for sentence in sentences]


def _verdict(feedback: Feedback) -> str:
    """How the answer fits what was read, not what there was to read."""
    if feedback.is_right is None:
        return _("Your answer is noted")
    if feedback.decision == Decision.CANT_DECIDE:
        if feedback.is_settled:
            return _("The evidence you read does settle this claim")
        return _("What you read did not settle the claim yet")
    if not feedback.is_right:
        return _("That is not what the evidence says")
    if feedback.is_settled:
        return _("That is right")
    return _("Right, but the sentences you had read did not show it yet")


def _about_reading(feedback: Feedback) -> list[str]:
    """Whole sentences on how much was read and what to do otherwise; none where all was well."""
    if feedback.is_settled:
        return []
    n_all = feedback.trial.n_steps + len(feedback.unread)
    read = ngettext(
        "You read %(n)s of %(n_all)s sentence.", "You read %(n)s of %(n_all)s sentences.", n_all
    ) % {"n": feedback.trial.n_steps, "n_all": n_all}
    if feedback.is_right:
        return [read, _("In the study, go on reading until they do.")]
    if feedback.decision == Decision.CANT_DECIDE:
        advice = _(
            "“Can't decide” fits what you read, but there was more to read: in the study, go on "
            "reading until the sentences settle the claim or all of them have been shown."
        )
        return [read, advice]
    advice = _(
        "What you read did not settle the claim yet: in the study, go on reading until it does."
    )
    return [read, advice]


def _what_next(feedback: Feedback) -> str:
    if feedback.n_left:
        return ngettext(
            "You can try this claim once more.",
            "You can try this claim again, up to %(n)s times.",
            feedback.n_left,
        ) % {"n": feedback.n_left}
    if not feedback.is_last:
        return _("Another practice claim follows.")
    return _(
        "Practice is over. From now on your answers count, and you are not told whether they are "
        "right."
    )


def _button(feedback: Feedback) -> str:
    if feedback.n_left:
        return _("Try again")
    return _("Begin the trials") if feedback.is_last else _("Next practice claim")


def break_region(enrolment: Enrolment, notice: str = "") -> Region:
    """A rest between two trials, with the button to go on."""
    plan = plan_of(enrolment.slot)
    n_done = plan.number_of_main(done_of(enrolment).n_main + 1) - 1
    context = run_values(enrolment) | {
        **way_back_values(enrolment),
        "n_done": n_done,
        "n_trials": plan.n_trials,
        # A place is renewed once half of its time is over, so half is there in any case.
        "minutes": enrolment.slot.study.lease_minutes // 2,
        "notice": NOTICES.get(notice, ""),
    }
    return Region("participant/_break.html", context)


@dataclass(frozen=True)
class QuestionField:
    """One question as its page prints it. ``choices`` has (value, is chosen); ``missing`` is what
    to say where a required answer was left out."""

    id: str
    text: str
    kind: str
    is_required: bool
    choices: list[tuple[str, bool]]
    value: str
    fault: str
    missing: Promise


def questionnaire_region(
    enrolment: Enrolment,
    notice: str = "",
    *,
    given: Mapping[str, str] | None = None,
    error: BadAnswers | None = None,
) -> Region:
    """The questions after the last trial; ``given`` and ``error`` keep what was refused."""
    study = enrolment.slot.study
    faults = error.faults if error else {}
    fields = [
        _field(question, (given or {}).get(question["name"], ""), faults.get(question["name"], ""))
        for question in study.sitting_setting("questionnaire")
    ]
    context = run_values(enrolment) | {
        "fields": fields,
        "faulty": [field for field in fields if field.fault],
        "n_questions": len(fields),
        "n_trials": plan_of(enrolment.slot).n_trials,
        "max_answer": MAX_ANSWER,
        "notice": NOTICES.get(notice, ""),
    }
    return Region("participant/_questionnaire.html", context, error.status if error else 200)


def _field(question: dict[str, Any], value: str, fault: str) -> QuestionField:
    values: list[str] = []
    if question["kind"] == "choice":
        values = question["options"]
    elif question["kind"] == "scale":
        values = [str(point) for point in range(question["min"], question["max"] + 1)]
    return QuestionField(
        id=QUESTION_PREFIX + question["name"],
        text=question["text"],
        kind=question["kind"],
        is_required=question.get("required", False),
        choices=[(choice, choice == value) for choice in values],
        value=value,
        fault=fault,
        missing=MISSING[question["kind"]],
    )
