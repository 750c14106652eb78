"""Setting up: the sitting, its questionnaire, its end, and what is preregistered."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse

from studyapp.domain.changing import change_draft
from studyapp.domain.endings import EARLY_ENDS, code_for, return_setting
from studyapp.domain.recruiting import is_mturk
from studyapp.domain.return_addresses import (
    asked_parameters,
    asks_for_code,
    filled_address,
    is_known_host,
    return_host,
)
from studyapp.enums import EnrolmentState
from studyapp.models import Study
from studyapp.setup_forms_analysis import AnalysisForm
from studyapp.setup_forms_questionnaire import (
    KIND_LABELS,
    QuestionRow,
    changed_rows,
    checked_questions,
    rows_of,
    rows_posted,
)
from studyapp.setup_forms_recruiting import EndingForm, RecruitingForm
from studyapp.setup_forms_sitting import SittingForm
from studyapp.views.researcher_setup_pages import saved, setup_page, setup_view
from studyapp.views.researcher_words import listed

#: Stands in for a completion code that is made at the opening.
SAMPLE_CODE = "SAMPLE-CODE"


@setup_view("GET", "HEAD", "POST")
def sitting(request: HttpRequest, study: Study) -> HttpResponse:
    """Answers, practice, breaks, confidence and reasons."""
    form = SittingForm(request.POST or None, initial=SittingForm.initial_of(study))
    if request.method == "POST" and form.is_valid():
        change_draft(study, form.changes())
        return saved(request, study, "sitting", "The sitting is saved.")
    return setup_page(request, study, "sitting", {"form": form}, status=_status(request))


@setup_view("GET", "HEAD", "POST")
def ending(request: HttpRequest, study: Study) -> HttpResponse:
    """Codes and the return address, with a link that tries it."""
    form = EndingForm(request.POST or None, initial=EndingForm.initial_of(study))
    if request.method == "POST" and form.is_valid():
        change_draft(study, form.changes())
        return saved(request, study, "ending", "Codes and return address are saved.")
    context = {
        "form": form,
        "return_links": _return_links(study),
        "is_mturk": is_mturk(study),
    }
    return setup_page(request, study, "ending", context, status=_status(request))


@setup_view("GET", "HEAD", "POST")
def recruiting(request: HttpRequest, study: Study) -> HttpResponse:
    """How a recruiting site says who comes, and how often."""
    form = RecruitingForm(study, request.POST or None)
    if request.method == "POST" and form.is_valid():
        change_draft(study, form.changes())
        return saved(request, study, "recruiting", "The settings of recruiting are saved.")
    return setup_page(request, study, "recruiting", {"form": form}, status=_status(request))


@setup_view("GET", "HEAD", "POST")
def analysis(request: HttpRequest, study: Study) -> HttpResponse:
    """What is fixed before the data come; the report prints it."""
    form = AnalysisForm(study, request.POST or None)
    if request.method == "POST" and form.is_valid():
        change_draft(study, form.changes())
        return saved(request, study, "analysis", "The preregistered settings are saved.")
    return setup_page(request, study, "analysis", {"form": form}, status=_status(request))


@setup_view("GET", "HEAD", "POST")
def questionnaire(request: HttpRequest, study: Study) -> HttpResponse:
    """The questions after the last trial; rows are moved without storing anything."""
    if request.method != "POST":
        stored = study.sitting_setting("questionnaire")
        return _questionnaire_page(request, study, rows_of(stored))
    rows = rows_posted(request.POST)
    do = request.POST.get("do", "save")
    if do != "save":
        rows = changed_rows(rows, do, request.POST.get("new_kind", ""))
        return _questionnaire_page(request, study, rows, is_changed=True)
    questions, problems = checked_questions(rows)
    if problems or any(row.errors for row in rows):
        return _questionnaire_page(request, study, rows, problems=problems, status=422)
    change_draft(study, {"sitting": {"questionnaire": questions}})
    return saved(request, study, "questionnaire", "The questionnaire is saved.")


def _questionnaire_page(
    request: HttpRequest,
    study: Study,
    rows: list[QuestionRow],
    *,
    problems: list[str] | None = None,
    is_changed: bool = False,
    status: int = 200,
) -> HttpResponse:
    context = {
        "rows": [question_row(row, number, len(rows)) for number, row in enumerate(rows, start=1)],
        "kinds": list(KIND_LABELS.items()),
        "problems": problems or [],
        "is_changed": is_changed,
    }
    return setup_page(request, study, "questionnaire", context, status=status)


def question_row(row: QuestionRow, number: int, n_rows: int) -> dict[str, Any]:
    return {
        **row.values,
        "number": number,
        "kind_label": KIND_LABELS[row.kind],
        "errors": row.errors,
        "has_options": row.kind == "choice",
        "has_ends": row.kind in ("scale", "number"),
        "is_first": number == 1,
        "is_last": number == n_rows,
    }


def _return_links(study: Study) -> list[dict[str, Any]]:
    """The exact addresses that participants are sent to, from what is stored.

    Nobody is sent to an address that asks for a code where there is none.
    """
    if is_mturk(study):
        return []
    ends = (EnrolmentState.COMPLETED, *EARLY_ENDS)
    links = [(state, return_setting(study, state), code_for(study, state)) for state in ends]
    return [
        _return_link(study, state, address, code)
        for state, address, code in links
        if address and (code or state == EnrolmentState.COMPLETED or not asks_for_code(address))
    ]


def _return_link(study: Study, state: str, address: str, code: str) -> dict[str, Any]:
    id_parameter = study.recruiting_setting("id_parameter")
    names = asked_parameters(address, id_parameter)
    samples = {name: f"SAMPLE-{name or 'id'}" for name in names}
    is_sampled = asks_for_code(address) and not code
    host = return_host(address)
    return {
        "who": _WHO[EnrolmentState(state)],
        "address": filled_address(address, code or SAMPLE_CODE, samples, id_parameter),
        "host": host,
        "is_known_host": is_known_host(host),
        "sampled": listed(
            (["the code that is made at the opening"] if is_sampled else [])
            + [f"each person's {name or 'id'}" for name in names]
        ),
    }


_WHO = {
    EnrolmentState.COMPLETED: "Finished",
    EnrolmentState.SCREENED_OUT: "Screened out",
    EnrolmentState.FAILED_CHECKS: "Failed the checks",
}


def _status(request: HttpRequest) -> int:
    return 422 if request.method == "POST" else 200
