"""What a study of the planned size can detect."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from studyapp.access import researcher_only
from studyapp.domain.power_hint import can_be_judged, power_hint, size_of
from studyapp.views.htmx import is_htmx
from studyapp.views.researcher_layout import page


@require_safe
@researcher_only
def study_power(request: HttpRequest, slug: str) -> HttpResponse:
    """The sentence for the schedule card: a fragment for htmx, a page otherwise."""
    study = request.study
    size = size_of(study)
    if not can_be_judged(study, size):
        raise Http404("The study has no schedule whose power could be estimated.")
    context = {"study": study, "hint": power_hint(size)}
    if is_htmx(request):
        response = render(request, "researcher/_power.html", context)
    else:
        response = page(request, "researcher/power.html", context)
    patch_vary_headers(response, ["HX-Request"])
    return response
