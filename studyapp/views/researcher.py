"""Researchers' pages: the list of studies, one study, its progress and its opening."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import (
    require_http_methods,
    require_POST,
    require_safe,
)

from studyapp.access import researcher_only, rights
from studyapp.domain import changing, lifecycle, precompute
from studyapp.enums import Role
from studyapp.errors import StudyError
from studyapp.forms import CloseForm
from studyapp.models import Study
from studyapp.views.htmx import is_htmx
from studyapp.views.researcher_card import manage
from studyapp.views.researcher_layout import page as _page
from studyapp.views.researcher_pages import next_after_precompute, study_page, study_rows
from studyapp.views.researcher_precompute import precompute_status, ring
from studyapp.views.researcher_running import opening_status

# ---- pages ---------------------------------------------------------------------------------------


@require_safe
@researcher_only
def study_list(request: HttpRequest) -> HttpResponse:
    """Every study the researcher may see."""
    context = {
        "rows": study_rows(request.user),
        "create_line": manage("create_study", "SLUG", "--owner", request.user.get_username()),
    }
    return _page(request, "researcher/study_list.html", context)


@require_safe
@researcher_only
def study(request: HttpRequest, slug: str) -> HttpResponse:
    """One study: a card for each step of the work."""
    return _study_page(request, request.study)


# ---- precompute ----------------------------------------------------------------------------------


@require_http_methods(["GET", "HEAD", "POST"])
@researcher_only
def study_precompute(request: HttpRequest, slug: str) -> HttpResponse:
    """GET: progress, polled by htmx. POST: queue what is missing and what failed."""
    study = request.study
    if request.method == "POST":
        return _queue(request, study, lambda: precompute.queue_jobs(study))
    if not is_htmx(request):
        return _varying(redirect(_card_url(study, "rankings")))
    return _precompute_fragment(request, study, ring(study))


# ---- states --------------------------------------------------------------------------------------


@require_POST
@researcher_only
def study_open(request: HttpRequest, slug: str) -> HttpResponse:
    """Freeze the study and let participants in."""
    study = request.study
    return _change(
        request, study, lambda: lifecycle.open_study(study), "The study is open.", "participants"
    )


@require_POST
@researcher_only
def study_pause(request: HttpRequest, slug: str) -> HttpResponse:
    """Let nobody in and start no further trial, until it is resumed."""
    study = request.study
    return _change(
        request, study, lambda: changing.pause_study(study), "The study is paused.", "opening"
    )


@require_POST
@researcher_only
def study_resume(request: HttpRequest, slug: str) -> HttpResponse:
    """Open a paused study again."""
    study = request.study
    return _change(
        request, study, lambda: changing.resume_study(study), "The study is open again.", "opening"
    )


@require_POST
@researcher_only(write=Role.OWNER)
def study_close(request: HttpRequest, slug: str) -> HttpResponse:
    """Close for good, once the study's short name was typed."""
    study = request.study
    form = CloseForm(study, request.POST)
    if not form.is_valid():
        return _study_page(request, study, close_form=form, status=422)
    return _change(
        request, study, lambda: changing.close_study(study), "The study is closed.", "opening"
    )


# ---- the server ---------------------------------------------------------------------------------


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """Whether this process answers and reaches its database; for health checks."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return HttpResponse("the database does not answer", status=503, content_type="text/plain")
    return HttpResponse("ok", content_type="text/plain")


# ---- what they share -----------------------------------------------------------------------------


def _study_page(
    request: HttpRequest,
    study: Study,
    *,
    refused: list[str] | None = None,
    close_form: CloseForm | None = None,
    status: int = 200,
) -> HttpResponse:
    page = study_page(study, refused=refused, close_form=close_form)
    return _page(request, "researcher/study.html", {"study": study, "page": page}, status)


def _queue(request: HttpRequest, study: Study, queue: Callable[[], Any]) -> HttpResponse:
    """Queue jobs and answer with the progress; what was refused is said in the same place."""
    problems: list[str] = []
    status = 200
    try:
        queue()
    except StudyError as error:
        problems, status = error.problems, error.status
    if is_htmx(request):
        return _precompute_fragment(request, study, problems, status)
    if problems:
        return _varying(_study_page(request, study, refused=problems, status=status))
    return _varying(redirect(_card_url(study, "rankings")))


def _precompute_fragment(
    request: HttpRequest, study: Study, problems: list[str], status: int = 200
) -> HttpResponse:
    progress = precompute_status(study, problems)
    context: dict[str, Any] = {"study": study, "status": progress} | rights(study)
    if study.is_draft and (progress.is_settled or request.method == "POST"):
        # Something was queued, or all is over: what keeps the study from opening has changed.
        opening = opening_status(study)
        context["opening"] = opening
        context["next"] = next_after_precompute(progress, opening)
    return _varying(render(request, "researcher/_precompute_answer.html", context, status=status))


def _change(
    request: HttpRequest, study: Study, change: Callable[[], Any], done: str, anchor: str
) -> HttpResponse:
    """Change the study's state and go back to its page, or say there why it was refused."""
    try:
        change()
    except StudyError as error:
        study.refresh_from_db()
        return _study_page(request, study, refused=error.problems, status=error.status)
    messages.success(request, done)
    return redirect(_card_url(study, anchor))


def _card_url(study: Study, anchor: str) -> str:
    return f"{reverse('study', args=[study.slug])}#{anchor}"


def _varying(response: HttpResponse) -> HttpResponse:
    """Say that the answer differs for htmx, so that no cache mixes the two up."""
    patch_vary_headers(response, ["HX-Request"])
    return response
