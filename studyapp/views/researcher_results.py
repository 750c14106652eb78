"""The results page: measures, what to look at, and the report to download.

The page only reads what a job has stored; see ``studyapp.domain.results_jobs``.
"""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_http_methods, require_safe

from studyapp.access import researcher_only
from studyapp.domain import audit, results_jobs
from studyapp.domain.results_jobs import Results
from studyapp.domain.results_report import report_path
from studyapp.enums import AuditAction, ResultsKind, Role
from studyapp.forms import ResultsForm, RunsForm
from studyapp.models import Study
from studyapp.views.htmx import is_htmx
from studyapp.views.ranged import ranged_file
from studyapp.views.researcher_blind import hidden_while_blind
from studyapp.views.researcher_layout import page
from studyapp.views.researcher_words import counted, number
from studyapp.views.results_status import query_of, status_of
from studyapp.views.results_words import design_words, review_words


@require_http_methods(["GET", "HEAD", "POST"])
@researcher_only(write=Role.VIEWER)
@hidden_while_blind
def study_measures(request: HttpRequest, slug: str) -> HttpResponse:
    """The results so far: a fragment for htmx, a page otherwise. POST: compute them once more."""
    study = request.study
    wanted = ResultsForm.wanted(request.GET)
    results = _measures(request, study, wanted)
    if not is_htmx(request):
        if request.method == "POST":
            return _varying(redirect(_address(study, wanted)))
        return _varying(_results_page(request, study, results, wanted))
    context = _measures_context(study, results, wanted)
    if wanted["watch"] and results.is_under_way:
        # Only the line that says so: what stands below it stays as the reader has it.
        return _varying(render(request, "researcher/_results_status.html", context))
    response = render(request, "researcher/_results.html", context)
    response.headers["HX-Retarget"] = "#results"
    response.headers["HX-Reswap"] = "outerHTML"
    return _varying(response)


@require_http_methods(["GET", "HEAD", "POST"])
@researcher_only(write=Role.VIEWER)
@hidden_while_blind
def study_report(request: HttpRequest, slug: str) -> HttpResponse:
    """How far the report is, for htmx. POST: build it from the data as they are now."""
    study = request.study
    simulated = RunsForm.wants_simulated(request.GET)
    act = results_jobs.build if request.method == "POST" else results_jobs.look
    results = act(study, ResultsKind.REPORT, simulated)
    if not is_htmx(request):
        wanted = {"simulated": simulated}
        return _varying(redirect(_address(study, wanted) + "#report"))
    context = {"study": study, "report": _report_context(study, results, simulated)}
    return _varying(render(request, "researcher/_report.html", context))


@require_safe
@researcher_only
@hidden_while_blind
def report_download(request: HttpRequest, slug: str) -> HttpResponseBase:
    """The last report that was built, whole or from where a download was cut."""
    study = request.study
    results = results_jobs.look(study, ResultsKind.REPORT, RunsForm.wants_simulated(request.GET))
    path = report_path(study, results.content)
    if path is None:
        raise Http404("The report has not been built yet: build it on the results page.")
    digest = (results.content or {})["sha256"]
    response = ranged_file(request, path, name=f"{study.slug}-report.zip", sha256=digest)
    if request.method == "GET" and response.status_code in (200, 206):
        audit.record(AuditAction.REPORT_DOWNLOADED, study, hash=digest)
    return response


def _measures(request: HttpRequest, study: Study, wanted: dict[str, Any]) -> Results:
    if request.method == "POST":
        act = results_jobs.build
    else:
        act = results_jobs.look if wanted["watch"] else results_jobs.ask
    return act(study, ResultsKind.MEASURES, wanted["simulated"])


def _results_page(
    request: HttpRequest, study: Study, results: Results, wanted: dict[str, Any]
) -> HttpResponse:
    report = results_jobs.look(study, ResultsKind.REPORT, wanted["simulated"])
    context = _measures_context(study, results, wanted | {"part": ""}) | {
        "report": _report_context(study, report, wanted["simulated"]),
    }
    return page(request, "researcher/measures.html", context)


def _measures_context(study: Study, results: Results, wanted: dict[str, Any]) -> dict[str, Any]:
    simulated, part = wanted["simulated"], wanted["part"]
    content = results.content or {}
    return {
        "study": study,
        "status": status_of(results),
        "content": content,
        "n_trials": counted(content.get("n_trials", 0), "trial"),
        "review": review_words(content) if "items" in content else None,
        "design": design_words(content) if "balance" in content else None,
        "with_simulated": simulated,
        "is_whole": part != "table",
        "address": _address(study, wanted),
        "watch": _address(study, wanted | {"watch": True}),
        "other": _address(study, wanted | {"simulated": not simulated}),
        "page": _address(study, {"simulated": simulated}),
    }


def _report_context(study: Study, results: Results, simulated: bool) -> dict[str, Any]:
    content = results.content or {}
    query = query_of(simulated=simulated)
    has_file = report_path(study, results.content) is not None
    return {
        "status": status_of(results, "Built"),
        "has_file": has_file,
        "is_lost": bool(content) and not has_file,
        "facts": _report_facts(content) if has_file else [],
        "name": f"{study.slug}-report.zip",
        "download": reverse("report-download", args=[study.slug]) + query,
        "address": reverse("study-report", args=[study.slug]) + query,
    }


def _report_facts(content: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        ("Rows in its trial table", number(content["n_trials"])),
        ("Files", number(content["n_files"])),
        ("Size", f"{number(content['n_bytes'])} bytes"),
        ("SHA-256", content["sha256"]),
    ]


def _address(study: Study, wanted: dict[str, Any]) -> str:
    said = {name: wanted.get(name) for name in ("simulated", "watch", "part")}
    return reverse("study-measures", args=[study.slug]) + query_of(**said)


def _varying(response: HttpResponse) -> HttpResponse:
    """Say that the answer differs for htmx, so that no cache mixes the two up."""
    patch_vary_headers(response, ["HX-Request"])
    return response
