"""The pages between and after the trials: examples, feedback, breaks, the questionnaire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from studyapp.domain.practice import Feedback, conditions_met, feedback_of
from studyapp.domain.queries import shown_sentences
from studyapp.domain.sitting import done_of, plan_of
from studyapp.domain.sitting_settings import MAX_ANSWER
from studyapp.enums import Decision
from studyapp.errors import BadAnswers
from studyapp.models import Enrolment
from studyapp.participant_forms import QUESTION_PREFIX
from studyapp.views.htmx import Region
from studyapp.views.participant_values import NOTICES, run_values

_LABELS = dict(Decision.choices)


def outline_values(enrolment: Enrolment) -> dict[str, Any]:
    """What a run will be like, in numbers, for the instructions."""
    study = enrolment.slot.study
    plan = plan_of(enrolment.slot)
    return {
        "n_trials": plan.n_trials,
        "n_practice": study.n_practice,
        "has_breaks": 0 < plan.break_every < plan.n_main,
        "has_questionnaire": bool(study.sitting_setting("questionnaire")),
    }


def example_values(enrolment: Enrolment) -> dict[str, Any]:
    """Which interfaces to illustrate: those that this run will meet. One query."""
    options = enrolment.slot.study.response_options
    return {
        "examples": [condition.is_incremental for condition in conditions_met(enrolment.slot)],
        "example_options": [_LABELS[option] for option in options],
    }


def feedback_region(enrolment: Enrolment, notice: str = "") -> Region:
    """How the last practice trial went, with the button to go on."""
    feedback = feedback_of(enrolment)
    trial = feedback.trial
    context = run_values(enrolment) | {
        "where": f"Practice {feedback.number} of {feedback.n_all}",
        "n_done": feedback.number - bool(feedback.n_left),
        "n_trials": feedback.n_all,
        "heading": _verdict(feedback),
        "claim": trial.claim.text,
        "lang": trial.claim.lang,
        "is_translatable": enrolment.slot.study.sitting_setting("allows_translation"),
        "chosen": _LABELS[feedback.decision],
        "label": _LABELS[feedback.label],
        "explanation": feedback.explanation,
        "sentences": [
            (sentence.rank, sentence.text, sentence.title, False)
            for sentence in shown_sentences(trial)
        ],
        "what_next": _what_next(feedback),
        "button": _button(feedback),
        "notice": NOTICES.get(notice, ""),
    }
    return Region("participant/_feedback.html", context)


def _verdict(feedback: Feedback) -> str:
    if feedback.is_right:
        return "That is right"
    if feedback.is_right is None:
        return "Your answer is noted"
    if feedback.decision == Decision.CANT_DECIDE:
        return "The evidence does settle this claim"
    return "That is not what the evidence says"


def _what_next(feedback: Feedback) -> str:
    if feedback.n_left == 1:
        return "You can try this claim once more."
    if feedback.n_left:
        return f"You can try this claim again, up to {feedback.n_left} times."
    if not feedback.is_last:
        return "Another practice claim follows."
    return (
        "Practice is over. From now on your answers count, and you are not told whether they are "
        "right."
    )


def _button(feedback: Feedback) -> str:
    if feedback.n_left:
        return "Try again"
    return "Begin the trials" if feedback.is_last else "Next practice claim"


def break_region(enrolment: Enrolment, notice: str = "") -> Region:
    """A rest between two trials, with the button to go on."""
    plan = plan_of(enrolment.slot)
    n_done = plan.number_of_main(done_of(enrolment).n_main + 1) - 1
    context = run_values(enrolment) | {
        "n_done": n_done,
        "n_trials": plan.n_trials,
        # A place is renewed once half of its time is over, so half is there in any case.
        "minutes": enrolment.slot.study.lease_minutes // 2,
        "notice": NOTICES.get(notice, ""),
    }
    return Region("participant/_break.html", context)


@dataclass(frozen=True)
class QuestionField:
    """One question as its page prints it. ``choices`` has (value, is chosen)."""

    id: str
    text: str
    kind: str
    is_required: bool
    choices: list[tuple[str, bool]]
    value: str
    fault: str


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
    )
