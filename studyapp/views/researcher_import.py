"""A study made again from an export, as a draft or with its data."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from studyapp.access import researcher_only
from studyapp.domain.import_archive import ImportedStudy, import_study
from studyapp.errors import StudyError
from studyapp.forms import ImportForm
from studyapp.views.researcher_layout import page
from studyapp.views.researcher_words import counted, listed


@require_http_methods(["GET", "HEAD", "POST"])
@researcher_only
def import_export(request: HttpRequest) -> HttpResponse:
    """GET: the form. POST: the study again, or what is wrong with the file."""
    if request.method != "POST":
        return _page(request, ImportForm())
    form = ImportForm(request.POST, request.FILES)
    if not form.is_valid():
        return _page(request, form, status=422)
    try:
        made = _import(request, form.cleaned_data)
    except StudyError as error:
        return _page(request, form, refused=error.problems, status=422)
    messages.success(request, _says(made))
    for note in made.notes:
        messages.info(request, note)
    return redirect("study", slug=made.study.slug)


def _import(request: HttpRequest, given: dict[str, Any]) -> ImportedStudy:
    """Import the uploaded file from a folder of its own, under the researcher's own name for it."""
    with tempfile.TemporaryDirectory(prefix="suffice-import-") as folder:
        path = Path(folder) / "export.zip"
        with path.open("wb") as stream:
            stream.writelines(given["file"].chunks())
        try:
            return import_study(
                path,
                given["slug"] or None,
                owner_name=request.user.get_username(),
                with_data=given["with_data"],
            )
        except StudyError as error:
            # The path is that of a copy, which means nothing to the reader.
            name = given["file"].name
            error.problems = [problem.replace(str(path), name) for problem in error.problems]
            raise


def _says(made: ImportedStudy) -> str:
    held = [counted(made.n_claims, "claim"), counted(made.n_slots, "slot")]
    if made.n_participants:
        held += [counted(made.n_participants, "participant"), counted(made.n_trials, "trial")]
    return f"{made.study.slug} was imported: {listed(held)}."


def _page(
    request: HttpRequest,
    form: ImportForm,
    *,
    refused: list[str] | None = None,
    status: int = 200,
) -> HttpResponse:
    context = {"form": form, "refused": refused or []}
    return page(request, "researcher/import.html", context, status)
