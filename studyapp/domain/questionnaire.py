"""The questionnaire after the last trial: read strictly, stored once, all or nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.formats import localize
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from studyapp.domain.sitting import Stage, stage_of
from studyapp.domain.sitting_settings import MAX_ANSWER
from studyapp.domain.trials import complete_run, lock_run, open_trial_of
from studyapp.enums import EnrolmentState
from studyapp.errors import BadAnswers, StalePage
from studyapp.models import QuestionnaireAnswer
from studyapp.models.assignment import RUNNING

_NUMBER = re.compile(r"[+-]?[0-9]{1,12}([.,][0-9]{1,6})?")
#: One thousand and a bit in some countries, one and a bit in others.
_AMBIGUOUS = re.compile(r"([+-]?)([0-9]+)([.,])([0-9]{3})")
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,9}")


def submit_questionnaire(token: str, given: Mapping[str, str]) -> None:
    """Store the answers in ``given`` (texts by question name) and complete the run.

    Sent again, it changes nothing: the first answers stay. A question left empty has no row.
    Raises BadAnswers, one text a question, and stores nothing; StalePage where the run is not at
    its questionnaire; BadLink.
    """
    with transaction.atomic():
        enrolment = lock_run(token)
        if enrolment.state == EnrolmentState.COMPLETED:
            return
        if enrolment.state not in RUNNING or open_trial_of(enrolment) is not None:
            raise StalePage("This page was older than what is stored.")
        if stage_of(enrolment) != Stage.QUESTIONNAIRE:
            raise StalePage("This page was older than what is stored.")
        answers = read_answers(enrolment.slot.study.sitting_setting("questionnaire"), given)
        now = timezone.now()
        QuestionnaireAnswer.objects.bulk_create(
            QuestionnaireAnswer(enrolment=enrolment, name=name, value=value, answered_at=now)
            for name, value in answers.items()
        )
        complete_run(enrolment, now)


def read_answers(questions: list[dict[str, Any]], given: Mapping[str, str]) -> dict[str, str]:
    """The answers by question name, empty ones left out. Raises BadAnswers."""
    answers: dict[str, str] = {}
    faults: dict[str, str] = {}
    for question in questions:
        name = question["name"]
        value = plain_text(given.get(name, ""))
        if not value.strip():
            if question.get("required", False):
                faults[name] = MISSING[question["kind"]]
        elif (fault := _FAULTS[question["kind"]](question, value)) is not None:
            faults[name] = fault
        else:
            answers[name] = _AS_KEPT.get(question["kind"], str)(value)
    if faults:
        raise BadAnswers(faults)
    return answers


def plain_text(value: str) -> str:
    """A typed text as it is kept: line ends as \\n, without what no database takes: U+0000 and
    half characters, which become U+FFFD."""
    whole = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")


def _choice_fault(question: dict[str, Any], value: str) -> str | None:
    return None if value in question["options"] else MISSING["choice"]


def _scale_fault(question: dict[str, Any], value: str) -> str | None:
    is_point = _WHOLE.fullmatch(value) and question["min"] <= int(value) <= question["max"]
    return None if is_point else MISSING["scale"]


def _number_fault(question: dict[str, Any], value: str) -> str | None:
    if not _NUMBER.fullmatch(value.strip()):
        return MISSING["number"]
    if (fault := _ambiguity(value.strip())) is not None:
        return fault
    number = float(_as_number(value))
    low, high = question.get("min"), question.get("max")
    if low is not None and number < low:
        return format_lazy(_("Write a number of at least {low}."), low=localize(low))
    if high is not None and number > high:
        return format_lazy(_("Write a number of at most {high}."), high=localize(high))
    return None


def _ambiguity(value: str) -> str | None:
    """What to write instead of ``1,000``, whose sign may be that of thousands or of decimals."""
    found = _AMBIGUOUS.fullmatch(value)
    if found is None or not int(found[2]):
        return None
    sign, whole, separator, decimals = found.groups()
    return format_lazy(
        _("This can be read as two numbers. Write {large} or {small}, whichever you mean."),
        large=f"{sign}{whole}{decimals}",
        small=f"{sign}{whole}{separator}{decimals}0",
    )


def _as_number(value: str) -> str:
    """Digits as every program reads them: the decimal comma of some countries as a point."""
    return value.strip().replace(",", ".")


def _text_fault(question: dict[str, Any], value: str) -> str | None:
    if len(value) <= MAX_ANSWER:
        return None
    return format_lazy(
        _("Write at most {limit} characters; these are {length}."),
        limit=MAX_ANSWER,
        length=len(value),
    )


_FAULTS: dict[str, Callable[[dict[str, Any], str], str | None]] = {
    "choice": _choice_fault,
    "scale": _scale_fault,
    "number": _number_fault,
    "text": _text_fault,
}
#: How an answer is kept that is not kept as it was sent.
_AS_KEPT: dict[str, Callable[[str], str]] = {"number": _as_number}
#: What is said where a required answer was left out, by kind of question.
MISSING = {
    "choice": _("Choose one of the answers."),
    "scale": _("Choose one of the numbers."),
    "number": _("Write a number in digits."),
    "text": _("Write an answer."),
}
