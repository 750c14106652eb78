"""Delete a study: what goes, in numbers, and the study's name typed."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from studyapp.access import researcher_only
from studyapp.domain.deleting import delete_study, what_goes
from studyapp.enums import Role, StudyState
from studyapp.errors import StudyError
from studyapp.forms import DeleteForm
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
