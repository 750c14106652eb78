"""What a blind study shows instead of its results, and how an owner unblinds it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_POST

from studyapp.access import researcher_only, rights
from studyapp.domain import blinding
from studyapp.enums import Role
from studyapp.errors import Blinded, StudyError
from studyapp.forms import UnblindForm
from studyapp.models import Study
from studyapp.views.htmx import is_htmx
from studyapp.views.researcher_card import manage
from studyapp.views.researcher_layout import page


def hidden_while_blind(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Answer a view of results, while they are hidden, with a page that says so and why."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except Blinded as error:
            # A look is no conflict; asking for results to be made is.
            status = 200 if request.method in ("GET", "HEAD") else error.status
            return blind_page(request, request.study, status=status)

    return guarded


def blind_page(
    request: HttpRequest, study: Study, form: UnblindForm | None = None, status: int = 200
) -> HttpResponse:
    """The page of the results of a blind study; for htmx the fragment that takes their place."""
    context = {
        "study": study,
        "form": form or UnblindForm(study),
        "command": manage("unblind_study", study.slug, "--confirm", study.slug),
        **rights(study),
    }
    if is_htmx(request):
        response = render(request, "researcher/_blind.html", context, status=status)
    else:
        response = page(request, "researcher/blind.html", context, status)
    patch_vary_headers(response, ["HX-Request"])
    return response


@require_POST
@researcher_only(write=Role.OWNER)
def study_unblind(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the results from now on, once the study's short name was typed."""
    study = request.study
    form = UnblindForm(study, request.POST)
    if blinding.hides_results(study) and not form.is_valid():
        return blind_page(request, study, form, status=422)
    try:
        blinding.unblind(study, Role.OWNER)
    except StudyError as error:
        messages.error(request, str(error))
        return redirect("study", slug=study.slug)
    messages.success(
        request, "The results are unblinded. The audit log and the report say so from now on."
    )
    return redirect("study-measures", slug=study.slug)
