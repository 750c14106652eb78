"""Setting up: claims from a file, the report on a file with faults, and taking claims out."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db.models import Count, Sum
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from studyapp.domain import uploads
from studyapp.domain.draft_claims import remove_claims, what_goes
from studyapp.domain.importing import ImportReport
from studyapp.domain.uploads import WaitingFile
from studyapp.enums import Label, TrialKind
from studyapp.errors import BadUpload
from studyapp.models import Claim, Study
from studyapp.setup_forms import SlugForm
from studyapp.setup_forms_claims import ClaimsForm, size_limit_text
from studyapp.views.researcher_setup_pages import (
    is_editable,
    saved,
    setup_page,
    setup_view,
    to_step,
)
from studyapp.views.researcher_words import counted, listed, number

#: Claims shown of those that are there.
N_SAMPLE = 5


@setup_view("GET", "HEAD", "POST")
def claims(request: HttpRequest, study: Study) -> HttpResponse:
    """The claims that are there, and a form for more."""
    if request.method != "POST":
        return _claims_page(request, study, ClaimsForm())
    form = ClaimsForm(request.POST, request.FILES)
    if not form.is_valid():
        return _claims_page(request, study, form, status=422)
    file, role = form.cleaned_data["file"], form.cleaned_data["role"]
    try:
        result = uploads.take_file(study, file.name, file.chunks(), form.format_name(), role)
    except BadUpload as error:
        for problem in error.problems:
            form.add_error("file", problem)
        return _claims_page(request, study, form, status=422)
    if isinstance(result, WaitingFile):
        response = redirect("setup-claims-report", slug=study.slug, token=result.token)
        response.status_code = 303
        return response
    return _after_import(request, study, file.name, result, role)


@setup_view("GET", "HEAD", "POST")
def report(request: HttpRequest, study: Study, token: str) -> HttpResponse:
    """What is wrong with a file. POST: import its good claims, or throw it away."""
    file = _file_or_404(study, token)
    if request.method != "POST":
        return _report_page(request, study, file)
    if request.POST.get("do") == "discard":
        uploads.throw_away(study, file)
        messages.success(request, f"{file.name} was thrown away; nothing of it was imported.")
        return to_step(study, "claims")
    if request.POST.get("do") != "skip" or not file.can_skip:
        return _report_page(request, study, file, status=422)
    imported = uploads.import_waiting(study, file)
    return _after_import(request, study, file.name, imported, file.role)


@setup_view("GET", "HEAD")
def problems(request: HttpRequest, study: Study, token: str) -> FileResponse:
    """Every problem of a file, as CSV."""
    file = _file_or_404(study, token)
    path = uploads.problems_path(study, file)
    return FileResponse(
        path.open("rb"),
        as_attachment=True,
        filename=f"{file.name}.problems.csv",
        content_type="text/csv; charset=utf-8",
    )


@setup_view("GET", "HEAD")
def notices(request: HttpRequest, study: Study, token: str) -> HttpResponse:
    """What an import had to remark, line by line."""
    kept = uploads.kept_notices(study, token)
    if kept is None:
        raise Http404("These remarks are not kept any more: they are for a day.")
    n_hidden = kept.n - len(kept.shown)
    context = {
        "file_name": kept.name,
        "total": counted(kept.n, "remark"),
        "shown": kept.shown,
        "hidden": counted(n_hidden, "further remark") if n_hidden else "",
    }
    template = "researcher/setup/claims_notices.html"
    return setup_page(request, study, "claims", context, template=template)


@setup_view("POST")
def remove(request: HttpRequest, study: Study) -> HttpResponse:
    """Take every claim out, once the study's short name was typed."""
    form = SlugForm(study, request.POST)
    if not form.is_valid():
        return _claims_page(request, study, ClaimsForm(), remove_form=form, status=422)
    removal = remove_claims(study)
    says = f"{counted(removal.n_claims, 'claim')} deleted"
    if removal.n_evidence:
        says += f", with {counted(removal.n_evidence, 'stored ranking')}"
    return saved(request, study, "claims", f"{says}.")


def _claims_page(
    request: HttpRequest,
    study: Study,
    form: ClaimsForm,
    *,
    remove_form: SlugForm | None = None,
    status: int = 200,
) -> HttpResponse:
    rows = _groups(study)
    removal = what_goes(study)
    context = {
        "form": form,
        "limit": size_limit_text(),
        "rows": rows,
        "sample": _sample(study),
        "total": counted(removal.n_claims, "claim"),
        "waiting": uploads.waiting_files(study),
        "has_schedule": bool(study.n_replications),
        "can_remove": bool(is_editable(study) and removal.n_claims and not study.n_replications),
        "remove_form": remove_form or SlugForm(study, auto_id="remove_%s"),
        "remove_says": _remove_says(removal.n_claims, removal.n_evidence),
    }
    return setup_page(request, study, "claims", context, status=status)


def _report_page(
    request: HttpRequest, study: Study, file: WaitingFile, status: int = 200
) -> HttpResponse:
    n_hidden = file.n_problems - len(file.shown)
    context = {
        "file": file,
        "says": _report_says(file),
        "skip_says": _skip_says(file),
        "left_out": [
            f"{counted(n, 'row')} left out: {reason.replace('_', ' ')}"
            for reason, n in file.left_out.items()
        ],
        "hidden": counted(n_hidden, "further problem") if n_hidden else "",
        "n_problems": counted(file.n_problems, "problem"),
    }
    template = "researcher/setup/claims_report.html"
    return setup_page(request, study, "claims", context, template=template, status=status)


def _report_says(file: WaitingFile) -> str:
    parts = [counted(file.n_bad, "claim") + " with faults", counted(file.n_good, "good claim")]
    if file.n_repeated:
        parts.append(f"{counted(file.n_repeated, 'good claim')} that the study has already")
    if file.n_conflicts:
        parts.append(
            f"{counted(file.n_conflicts, 'good claim')} with the id of another claim in the study"
        )
    return listed(parts)


def _skip_says(file: WaitingFile) -> str:
    """What an import of the good claims alone does, in numbers."""
    says = (
        f"{counted(file.n_new, 'claim')} will be imported, and "
        f"{counted(file.n_bad, 'claim')} with faults left out."
    )
    if file.n_repeated:
        says += f" {counted(file.n_repeated, 'claim')} will be skipped as already there."
    return says


def _after_import(
    request: HttpRequest, study: Study, name: str, report: ImportReport, role: str
) -> HttpResponse:
    """Say what was imported; with remarks, go on to the page that lists them."""
    response = saved(request, study, "claims", _imported(report, role))
    if report.notices:
        token = uploads.keep_notices(study, name, report.notices)
        response.headers["Location"] = reverse("setup-claims-notices", args=[study.slug, token])
    return response


def _imported(report: ImportReport, role: str) -> str:
    kind = "" if role == TrialKind.MAIN else f"{TrialKind(role).label.lower()} "
    says = f"{counted(report.n_imported, f'{kind}claim')} imported."
    if report.n_repeated:
        says += f" {counted(report.n_repeated, 'claim')} skipped: already there, word for word."
    left_out = sum(report.left_out.values())
    if left_out:
        says += f" {counted(left_out, 'row')} left out by the rules of the format."
    return says


def _remove_says(n_claims: int, n_evidence: int) -> str:
    says = f"Deletes {counted(n_claims, 'claim')}"
    if n_evidence:
        says += f" and {counted(n_evidence, 'stored ranking')} of them"
    return f"{says}, for good."


def _groups(study: Study) -> list[dict[str, str]]:
    """The claims by role and label, with their candidates and smallest gold sets: one query."""
    groups = (
        Claim.objects.filter(study=study)
        .values_list("role", "label", "gold_min_size")
        .annotate(n=Count("id"), candidates=Sum("n_candidates"))
        .order_by()
    )
    table: dict[tuple[str, str], dict[int, tuple[int, int]]] = {}
    for role, label, size, n, candidates in groups:
        table.setdefault((role, label), {})[size] = (n, candidates)
    order = [(role, label) for role in TrialKind.values for label in Label.values]
    return [_group_row(role, label, table[role, label]) for role, label in order
            if (role, label) in table]  # fmt: skip


def _group_row(role: str, label: str, sizes: dict[int, tuple[int, int]]) -> dict[str, str]:
    n = sum(count for count, _ in sizes.values())
    candidates = sum(total for _, total in sizes.values())
    return {
        "role": TrialKind(role).label,
        "label": Label(label).label,
        "n": number(n),
        "sizes": ", ".join(
            f"{counted(size, 'sentence')}: {counted(count, 'claim')}"
            for size, (count, _) in sorted(sizes.items())
        ),
        "candidates": f"{candidates / n:.1f}",
    }


def _sample(study: Study) -> list[dict[str, Any]]:
    rows = Claim.objects.filter(study=study).order_by("position")[:N_SAMPLE]
    return [
        {
            "claim_id": claim.claim_id,
            "text": claim.text,
            "label": claim.get_label_display(),
            "n_candidates": number(claim.n_candidates),
            "gold": number(claim.gold_min_size),
        }
        for claim in rows
    ]


def _file_or_404(study: Study, token: str) -> WaitingFile:
    file = uploads.waiting_file(study, token)
    if file is None:
        raise Http404("This file does not wait here any more: upload it again.")
    return file
