"""A study at Prolific: the connection, what differs there, and what was asked and refused."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from studyapp.access import researcher_only
from studyapp.domain.prolific_calls import ask_again, calls_of, fill_outbox, run_call, run_due
from studyapp.domain.prolific_setup import (
    has_token,
    link_of,
    set_up,
    try_connection,
    webhook_address,
)
from studyapp.domain.prolific_submissions import differing
from studyapp.domain.prolific_sync import sync
from studyapp.domain.recruiting import study_link
from studyapp.enums import JobState
from studyapp.errors import StudyError
from studyapp.forms_prolific import ProlificForm
from studyapp.models import ProlificLink
from studyapp.recruiters.prolific_errors import ProlificError
from studyapp.views.prolific_words import (
    call_row,
    facts,
    missing,
    nothing_differs,
    submission_row,
)
from studyapp.views.researcher_card import manage
from studyapp.views.researcher_layout import page
from studyapp.views.researcher_words import counted, number

#: More calls than a page needs; the refused ones come first.
MAX_CALLS = 200


@require_http_methods(["GET", "HEAD", "POST"])
@researcher_only
def study_prolific(request: HttpRequest, slug: str) -> HttpResponse:
    """The whole page; a POST stores the connection."""
    study, link = request.study, link_of(request.study)
    form = ProlificForm(request.POST or None, initial=ProlificForm.initial_of(study, link))
    if request.method != "POST":
        return _prolific_page(request, link, form)
    if not form.is_valid():
        return _prolific_page(request, link, form, status=422)
    try:
        set_up(study, **form.cleaned_data)
    except StudyError as error:
        return _prolific_page(request, link, form, refused=error.problems, status=error.status)
    messages.success(request, "The connection to Prolific is saved.")
    return redirect("study-prolific", study.slug)


@require_POST
@researcher_only
def prolific_test(request: HttpRequest, slug: str) -> HttpResponse:
    """Ask Prolific for the study and say what it answers."""
    try:
        found = try_connection(request.study)
    except StudyError as error:
        return _with_stored_form(request, error)
    names = "; ".join(f"{each.name or each.id} ({each.status or 'no status'})" for each in found)
    messages.success(request, f"Prolific answers. It knows: {names}.")
    return redirect("study-prolific", request.study.slug)


@require_POST
@researcher_only
def prolific_sync(request: HttpRequest, slug: str) -> HttpResponse:
    """Read the submissions now, and do what follows."""
    study = request.study
    try:
        synced = sync(study)
    except StudyError as error:
        return _with_stored_form(request, error)
    fill_outbox(study, timezone.now())
    run_due(study)
    messages.success(
        request,
        f"{counted(synced.n_listed, 'submission')} read, {number(synced.n_unmatched)} without a "
        f"run here; {counted(synced.n_ended, 'run')} ended.",
    )
    return redirect("study-prolific", study.slug)


@require_POST
@researcher_only
def prolific_call_retry(request: HttpRequest, slug: str, call_id: int) -> HttpResponse:
    """Do a refused call once more, now."""
    try:
        call = ask_again(request.study, call_id)
    except StudyError as error:
        raise Http404(str(error)) from None
    run_call(call.pk)
    call.refresh_from_db()
    kind = call.get_kind_display()
    if call.state in (JobState.DONE, JobState.LEASED):
        # A worker may have been quicker, and be asking at this moment.
        messages.success(request, f"{kind}: {call.answer or 'under way'}.")
        return redirect("study-prolific", request.study.slug)
    later = "It is tried again later." if call.state == JobState.QUEUED else ""
    return _with_stored_form(request, ProlificError(f"{kind}: {call.error} {later}".strip()))


def _with_stored_form(request: HttpRequest, error: StudyError) -> HttpResponse:
    link = link_of(request.study)
    form = ProlificForm(initial=ProlificForm.initial_of(request.study, link))
    # A fault of Prolific is no fault of this server.
    status = error.status if error.status < 500 else 422
    return _prolific_page(request, link, form, not_done=error.problems, status=status)


def _prolific_page(
    request: HttpRequest,
    link: ProlificLink,
    form: ProlificForm,
    *,
    refused: list[str] | None = None,
    not_done: list[str] | None = None,
    status: int = 200,
) -> HttpResponse:
    study, now = request.study, timezone.now()
    calls = list(calls_of(study)[:MAX_CALLS])
    asked = {call.submission_id: call for call in calls}
    context = {
        "form": form,
        "refused": refused,
        "not_done": not_done,
        "missing": missing(study, link),
        "link": study_link(study),
        "webhook": webhook_address(study),
        "can_ask": bool(link.study_ids) and has_token(study),
        "facts": facts(study, link, now),
        "sync_error": link.sync_error,
        "submissions": [submission_row(row, link, asked.get(row.pk)) for row in differing(study)],
        "nothing_differs": nothing_differs(link),
        "calls": [call_row(call) for call in calls],
        "command": manage("prolific", study.slug),
    }
    return page(request, "researcher/prolific.html", context, status)
