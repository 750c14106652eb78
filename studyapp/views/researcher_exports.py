"""The exports of a study: ask for one, see how far it is, download it, delete it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from django.contrib import messages
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import (
    require_GET,
    require_http_methods,
    require_POST,
    require_safe,
)

from studyapp.access import researcher_only, rights
from studyapp.domain import audit, export_files, export_jobs
from studyapp.domain.blinding import hides_results
from studyapp.domain.export import export_study
from studyapp.enums import AuditAction, ExportVariant, Role, RunKind, SpreadsheetCopies
from studyapp.errors import StudyError
from studyapp.forms import ExportForm, RunsForm
from studyapp.models import Enrolment, ExportJob, Study
from studyapp.views.exports_words import export_list
from studyapp.views.htmx import is_htmx
from studyapp.views.ranged import ranged_file
from studyapp.views.researcher_card import manage
from studyapp.views.researcher_layout import page


@require_http_methods(["GET", "HEAD", "POST"])
@researcher_only(write=Role.VIEWER)
def study_exports(request: HttpRequest, slug: str) -> HttpResponse:
    """The exports of the study: a fragment for htmx, a page otherwise. POST: ask for one more."""
    study = request.study
    if request.method == "POST":
        return _ask(request, study)
    problems = export_jobs.go_on(study)
    if not is_htmx(request):
        return _varying(_exports_page(request, study, ExportForm(), problems))
    context = {"study": study, "exports": export_list(study, problems)} | rights(study)
    return _varying(render(request, "researcher/_exports.html", context))


@require_safe
@researcher_only
def export_download(request: HttpRequest, slug: str, export_id: int) -> HttpResponseBase:
    """The file of an export, whole or from where a download was cut; never a damaged one."""
    job = _job(request.study, export_id)
    path = export_files.sound_file(job)
    if path is None:
        raise Http404("This export has no sound file: look on the page of the study's exports.")
    name = export_jobs.download_name(job)
    response = ranged_file(request, path, name=name, sha256=job.sha256)
    if request.method == "GET" and response.status_code in (200, 206):
        export_jobs.note_download(job)
    return response


@require_POST
@researcher_only(write=Role.VIEWER)
def export_retry(request: HttpRequest, slug: str, export_id: int) -> HttpResponse:
    """Make an export again that has failed or lost its file."""
    return _act(request, export_jobs.retry, export_id)


@require_POST
@researcher_only
def export_delete(request: HttpRequest, slug: str, export_id: int) -> HttpResponse:
    """Delete an export with its file."""
    return _act(request, export_jobs.delete, export_id, "The export is deleted.")


@require_GET
@researcher_only
def study_export(request: HttpRequest, slug: str) -> HttpResponseBase:
    """The study as one zip, made at once; a large one is asked for on the page of exports."""
    study = request.study
    simulated = RunsForm.wants_simulated(request.GET)
    if not export_jobs.is_small(study, simulated):
        return redirect("study-exports", study.slug)
    name = f"{study.slug}.zip"
    with tempfile.TemporaryDirectory(prefix="suffice-export-") as folder:
        path = Path(folder) / name
        try:
            made = export_study(study, path, include_simulated=simulated)
        except StudyError as error:
            return _refused(request, study, error)
        audit.record(AuditAction.STUDY_EXPORTED, study, simulated=simulated, hash=made.sha256)
        # The open file outlives its name: nothing is left behind however the download ends.
        return FileResponse(path.open("rb"), as_attachment=True, filename=name)


def _ask(request: HttpRequest, study: Study) -> HttpResponse:
    form = ExportForm(request.POST)
    if not form.is_valid():
        return _exports_page(request, study, form, [], status=400)
    try:
        export_jobs.ask(study, export_jobs.Wanted(**form.wanted()), request.user)
    except StudyError as error:
        return _refused(request, study, error)
    return redirect(reverse("study-exports", args=[study.slug]) + "#exports")


def _act(request: HttpRequest, act: Any, export_id: int, says: str = "") -> HttpResponse:
    study = request.study
    try:
        act(_job(study, export_id))
    except StudyError as error:
        return _refused(request, study, error)
    if says:
        messages.success(request, says)
    return redirect(reverse("study-exports", args=[study.slug]) + "#exports")


def _job(study: Study, export_id: int) -> ExportJob:
    return get_object_or_404(export_jobs.exports_of(study), pk=export_id)


def _refused(request: HttpRequest, study: Study, error: StudyError) -> HttpResponse:
    problems = list(map(str, error.problems))
    return _exports_page(request, study, ExportForm(), problems, status=error.status)


def _exports_page(
    request: HttpRequest, study: Study, form: ExportForm, problems: list[str], status: int = 200
) -> HttpResponse:
    simulated = Enrolment.objects.filter(slot__study=study, run_kind=RunKind.SIMULATED)
    chosen = form.data if form.is_bound else {}
    variant = chosen.get("variant") or ExportVariant.RAW
    spreadsheet = chosen.get("spreadsheet") or SpreadsheetCopies.NONE
    context = {
        "exports": export_list(study, problems),
        "is_odd": form.is_bound,
        "variants": [(value, text, value == variant) for value, text in _VARIANTS],
        "copies": [(value, text, value == spreadsheet) for value, text in _COPIES],
        "has_simulated": simulated.exists(),
        "n_kept": export_jobs.KEPT_FILES,
        "is_blind": hides_results(study),
        "command": manage("export_study", study.slug, "-o", f"{study.slug}.zip"),
    }
    return page(request, "researcher/exports.html", context, status)


_VARIANTS = (
    (
        ExportVariant.RAW.value,
        "Everything recorded: pseudonyms, times and what participants wrote. For your own work.",
    ),
    (
        ExportVariant.DEIDENTIFIED.value,
        "De-identified, to pass on: other pseudonyms, no real times, nothing that participants "
        "wrote. The measures are the same.",
    ),
)
_COPIES = (
    (SpreadsheetCopies.NONE.value, "None"),
    (SpreadsheetCopies.WITH_BOM.value, "Yes, for Excel (marked as UTF-8)"),
    (SpreadsheetCopies.PLAIN.value, "Yes, without the UTF-8 mark"),
)


def _varying(response: HttpResponse) -> HttpResponse:
    """Say that the answer differs for htmx, so that no cache mixes the two up."""
    patch_vary_headers(response, ["HX-Request"])
    return response
