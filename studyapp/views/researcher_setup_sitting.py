"""Setting up: the sitting, its questionnaire, its end, and what is preregistered."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse

from studyapp.domain.changing import change_draft
from studyapp.domain.sitting_settings import (
    is_known_host,
    return_address,
    return_host,
)
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
from studyapp.setup_forms_sitting import EndingForm, RecruitingForm, SittingForm
from studyapp.views.researcher_setup_pages import saved, setup_page, setup_view

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
    initial = {
        "completion_code": study.completion_code,
        "return_url": study.sitting_setting("return_url"),
        "declined_code": study.sitting_setting("declined_code"),
    }
    form = EndingForm(request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        change_draft(study, form.changes())
        return saved(request, study, "ending", "Codes and return address are saved.")
    context = {"form": form, **_return_link(study)}
    return setup_page(request, study, "ending", context, status=_status(request))


@setup_view("GET", "HEAD", "POST")
def recruiting(request: HttpRequest, study: Study) -> HttpResponse:
    """How a recruiting site says who comes, and how often."""
    form = RecruitingForm(request.POST or None, initial=RecruitingForm.initial_of(study))
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


def _return_link(study: Study) -> dict[str, Any]:
    """The exact address that participants are sent to, from what is stored."""
    return_url = study.sitting_setting("return_url")
    host = return_host(return_url)
    return {
        "test_address": return_address(return_url, study.completion_code or SAMPLE_CODE),
        "test_host": host,
        "is_known_host": is_known_host(host),
        "is_sample": not study.completion_code,
    }


def _status(request: HttpRequest) -> int:
    return 422 if request.method == "POST" else 200
