"""The rankings page: progress, every claim's state, what it costs, and the limit of that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from studyapp.access import researcher_only, rights
from studyapp.domain import estimating, precompute, spending
from studyapp.domain.spending import Account
from studyapp.errors import BrokerAway, StudyError
from studyapp.models import PrecomputeJob, Study
from studyapp.rankings_forms import LimitsForm, ListForm
from studyapp.views.htmx import is_htmx
from studyapp.views.rankings_costs import estimate_rows, spent_facts
from studyapp.views.rankings_list import claim_list
from studyapp.views.researcher_card import manage
from studyapp.views.researcher_layout import page as _page
from studyapp.views.researcher_precompute import precompute_status, ring

REGION = "researcher/_rankings.html"


@require_http_methods(["GET", "HEAD", "POST"])
@researcher_only
def study_rankings(request: HttpRequest, slug: str) -> HttpResponse:
    """GET: the page, or for htmx what changes on it. POST: queue what is missing and failed."""
    study = request.study
    if request.method == "POST":
        return _queue(request, study, lambda: precompute.queue_jobs(study))
    if is_htmx(request):
        account = spending.account_of(study)
        return _region(request, study, ring(study, account), account=account)
    return _whole_page(request, study)


@require_safe
@researcher_only
def rankings_estimate(request: HttpRequest, slug: str) -> HttpResponse:
    """What is still to come, from a sample of the claims; worked out when it is asked for."""
    study = request.study
    rows = estimate_rows(estimating.estimates_of(study, sample=estimating.SAMPLE))
    if is_htmx(request):
        context = {"study": study, "estimates": rows}
        return _varying(render(request, "researcher/_rankings_estimate.html", context))
    return _whole_page(request, study, estimates=rows)


@require_POST
@researcher_only
def study_spending(request: HttpRequest, slug: str) -> HttpResponse:
    """Set what the study may spend; jobs that waited for it go on."""
    study = request.study
    form = LimitsForm(request.POST)
    if not form.is_valid():
        return _whole_page(request, study, form=form, status=422)
    try:
        spending.set_limits(study, **form.cleaned_data)
        precompute.ring_due(study)
    except BrokerAway as error:
        messages.warning(request, str(error))
    messages.success(request, "The limit is saved.")
    return redirect("study-rankings", slug=study.slug)


@require_POST
@researcher_only
def job_retry(request: HttpRequest, slug: str, job_id: int) -> HttpResponse:
    """Queue one failed claim again."""
    study = request.study
    job = _job_or_404(study, job_id)
    return _queue(request, study, lambda: precompute.retry_job(job))


@require_safe
@researcher_only
def job_reply(request: HttpRequest, slug: str, job_id: int) -> HttpResponse:
    """The raw reply behind a failure: escaped for htmx, plain text for everybody else."""
    job = _job_or_404(request.study, job_id)
    if is_htmx(request):
        return _varying(render(request, "researcher/_reply.html", {"reply": job.raw_reply}))
    return _varying(HttpResponse(job.raw_reply, content_type="text/plain; charset=utf-8"))


def _queue(request: HttpRequest, study: Study, queue: Callable[[], Any]) -> HttpResponse:
    """Queue jobs and answer with the list as it was filtered; a refusal is said above it."""
    problems: list[str] = []
    status = 200
    try:
        queue()
    except StudyError as error:
        problems, status = error.problems, error.status
    if is_htmx(request):
        return _region(request, study, problems, status=status)
    if problems:
        return _whole_page(request, study, problems=problems, status=status)
    query = request.GET.urlencode()
    address = reverse("study-rankings", args=[study.slug])
    return _varying(redirect(f"{address}?{query}" if query else address))


def _region(
    request: HttpRequest,
    study: Study,
    problems: list[str],
    *,
    account: Account | None = None,
    status: int = 200,
) -> HttpResponse:
    account = account or spending.account_of(study)
    context = _values(request, study, account, problems) | rights(study) | {"is_oob": True}
    return _varying(render(request, REGION, context, status=status))


def _whole_page(
    request: HttpRequest,
    study: Study,
    *,
    problems: list[str] | None = None,
    form: LimitsForm | None = None,
    estimates: list[Any] | None = None,
    status: int = 200,
) -> HttpResponse:
    account = spending.account_of(study)
    values = _values(request, study, account, problems)
    asked = [row for row in values["status"].progress if spending.is_paid(row.condition)]
    context = values | {
        "form": form or LimitsForm.of(account),
        "estimates": estimates,
        "may_estimate": any(row.n_claims > row.done for row in asked),
        "asks_servers": bool(asked) or account.has_limit or bool(account.usage.calls),
        "command": manage("precompute", study.slug, "--wait"),
        "limit_command": manage("precompute", study.slug, "--max-calls", "N"),
    }
    return _varying(_page(request, "researcher/rankings.html", context, status))


def _values(
    request: HttpRequest, study: Study, account: Account, problems: list[str] | None
) -> dict[str, Any]:
    """What changes while jobs run."""
    status = precompute_status(study, problems, account=account)
    listed = claim_list(study, status.progress, ListForm.chosen(request.GET))
    return {
        "study": study,
        "status": status,
        "claims": listed,
        "spent": spent_facts(account),
    }


def _job_or_404(study: Study, job_id: int) -> PrecomputeJob:
    jobs = PrecomputeJob.objects.select_related("condition__study")
    return get_object_or_404(jobs, pk=job_id, condition__study=study)


def _varying(response: HttpResponse) -> HttpResponse:
    """Say that the answer differs for htmx, so that no cache mixes the two up."""
    patch_vary_headers(response, ["HX-Request"])
    return response
