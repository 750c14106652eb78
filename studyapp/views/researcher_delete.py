"""Delete a study, or one participant's data: what goes, in numbers, and the name typed."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from studyapp.access import researcher_only
from studyapp.domain.assignment import delete_participant, deletion_of
from studyapp.domain.deleting import delete_study, what_goes
from studyapp.enums import Role, StudyState
from studyapp.errors import StudyError
from studyapp.forms import DeleteForm, DeletePersonForm
from studyapp.views.researcher_layout import page
from studyapp.views.researcher_words import counted


@require_http_methods(["GET", "HEAD", "POST"])
@researcher_only(read=Role.OWNER, write=Role.OWNER)
def study_delete(request: HttpRequest, slug: str) -> HttpResponse:
    """GET: what goes. POST: delete it, once the study's short name was typed."""
    form = DeleteForm(request.study, request.POST or None)
    if request.method != "POST":
        return _page(request, form)
    if not form.is_valid():
        return _page(request, form, status=422)
    try:
        delete_study(request.study)
    except StudyError as error:
        return _page(request, form, refused=error.problems, status=error.status)
    messages.success(request, f"The study {slug} is deleted.")
    return redirect("study-list")


@require_http_methods(["GET", "HEAD", "POST"])
@researcher_only(read=Role.OWNER, write=Role.OWNER)
def participant_delete(request: HttpRequest, slug: str, participant: str) -> HttpResponse:
    """GET: what goes with a participant. POST: delete it, once the study's name was typed."""
    study = request.study
    form = DeletePersonForm(study, request.POST or None)
    try:
        if request.method == "POST" and form.is_valid():
            delete_participant(study, participant)
            messages.success(request, "The participant's data are deleted. A count stays.")
            return redirect("study-participants", slug=slug)
        going = deletion_of(study, participant)
    except StudyError as error:
        raise Http404(str(error)) from error
    context = {
        "participant": participant,
        "says": (
            f"{counted(going.n_runs, 'run')} with {counted(going.n_trials, 'trial')}, and "
            f"{counted(going.n_exports, 'stored export')} that could hold them"
        ),
        "form": form,
    }
    status = 422 if request.method == "POST" else 200
    return page(request, "researcher/participant_delete.html", context, status)


def _page(
    request: HttpRequest, form: DeleteForm, *, refused: list[str] | None = None, status: int = 200
) -> HttpResponse:
    study = request.study
    going = what_goes(study)
    says = (
        f"{counted(going.n_claims, 'claim')}, {counted(going.n_participants, 'participant')} and "
        f"{counted(going.n_trials, 'trial')}"
    )
    context = {
        "says": says,
        "form": form,
        "refused": refused or [],
        "can_delete": study.state in (StudyState.DRAFT, StudyState.CLOSED),
        "has_people": bool(going.n_participants),
    }
    return page(request, "researcher/delete.html", context, status)
