"""The versions of an opened study: the list, and a new one, looked at before it is published."""

from __future__ import annotations

import copy
import json
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from rankers.formats.lines import parse_json
from studyapp.access import researcher_only, rights
from studyapp.domain import audit
from studyapp.domain.imported_runs import imported_under_way
from studyapp.domain.version_changes import Change
from studyapp.domain.versions import (
    VersionRow,
    new_content,
    planned_changes,
    publish,
    runs_under_way,
    version_rows,
)
from studyapp.enums import StudyState
from studyapp.errors import NotEditable, StudyError
from studyapp.models import Study
from studyapp.setup_forms_questionnaire import KIND_LABELS, changed_rows
from studyapp.setup_forms_version import (
    VersionForms,
    VersionReasonForm,
    as_configuration,
    label_of,
)
from studyapp.views.researcher_card import manage
from studyapp.views.researcher_layout import page
from studyapp.views.researcher_running import imported_says
from studyapp.views.researcher_setup_pages import refused_page
from studyapp.views.researcher_setup_sitting import question_row
from studyapp.views.researcher_words import counted, listed, moment, number
from studyapp.views.version_words import change_rows, short_list

#: How the list names those who are no researchers.
_WHO = {audit.COMMAND: "a command", audit.IMPORT: "imported", "": "somebody who is not recorded"}


@require_safe
@researcher_only
def study_versions(request: HttpRequest, slug: str) -> HttpResponse:
    """Every version, the newest first: what it changed, when, who, why, and its runs."""
    study = request.study
    context = {
        "rows": [_version_row(row) for row in version_rows(study)],
        "may_publish": may_publish(study),
        "is_closed": study.state == StudyState.CLOSED,
        "origin": _origin(study),
        "command": manage("versions", study.slug),
    }
    return page(request, "researcher/versions.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@researcher_only
def version_new(request: HttpRequest, slug: str) -> HttpResponse:
    """Change what may change, look at old beside new, give the reason, publish."""
    study = request.study
    try:
        if not may_publish(study) and request.method != "POST":
            raise NotEditable(_cannot(study))
        if request.method != "POST":
            return _form_page(request, study, VersionForms(study))
        if "changes" in request.POST:
            return _after_the_look(request, study)
        return _after_the_form(request, study)
    except StudyError as error:
        return refused_page(request, study, error)


def may_publish(study: Study) -> bool:
    """Whether who asks may make a new version of this study now."""
    is_running = study.state in (StudyState.OPEN, StudyState.PAUSED)
    return is_running and rights(study)["may_edit"]


def _cannot(study: Study) -> list[str]:
    if not rights(study)["may_edit"]:
        return ["You are a viewer of this study: its editors and owners make new versions."]
    planned_changes(study, {})  # says why a draft or a closed study has none
    return []


def _after_the_form(request: HttpRequest, study: Study) -> HttpResponse:
    """A button of the questionnaire, or the wish to look at the changes."""
    planned_changes(study, {})
    forms = VersionForms(study, request.POST)
    do = request.POST.get("do", "check")
    if do != "check":
        forms.rows = changed_rows(forms.rows, do, request.POST.get("new_kind", ""))
        return _form_page(request, study, forms, is_changed=True)
    wanted = forms.changes()
    if wanted is None:
        return _form_page(request, study, forms, status=422)
    try:
        planned = planned_changes(study, wanted)
    except StudyError as error:
        return _form_page(request, study, forms, problems=error.problems, status=422)
    if not planned:
        nothing = ["Nothing is different from the newest version yet."]
        return _form_page(request, study, forms, problems=nothing, status=422)
    return _check_page(request, study, planned, VersionReasonForm())


def _after_the_look(request: HttpRequest, study: Study) -> HttpResponse:
    """Publish what was looked at, or go back to the form with it."""
    changes = _read_changes(request.POST["changes"])
    if request.POST.get("do") == "edit":
        edited = copy.copy(study)
        for name, value in new_content(study, changes).items():
            setattr(edited, name, value)
        return _form_page(request, study, VersionForms(edited))
    form = VersionReasonForm(request.POST)
    planned = planned_changes(study, changes)
    if not form.is_valid():
        return _check_page(request, study, planned, form, status=422)
    base = request.POST.get("base", "")
    version = publish(
        study,
        changes,
        form.cleaned_data["reason"],
        base=int(base) if base.isascii() and base.isdigit() else 0,
    )
    messages.success(
        request, f"Version {version.number} is published: who joins from now on gets it."
    )
    response = redirect("study-versions", slug=study.slug)
    response.status_code = 303
    return response


def _read_changes(text: str) -> dict[str, Any]:
    try:
        changes = parse_json(text)
    except ValueError as error:
        raise StudyError(f"changes: {error}.") from None
    if not isinstance(changes, dict):
        raise StudyError("changes: must be one JSON object.")
    return changes


def _form_page(
    request: HttpRequest,
    study: Study,
    forms: VersionForms,
    *,
    problems: list[str] | None = None,
    is_changed: bool = False,
    status: int = 200,
) -> HttpResponse:
    rows = enumerate(forms.rows, start=1)
    context = {
        "sections": [
            {
                "name": section.name,
                "title": section.title,
                "fields": section.fields,
                "errors": section.form.non_field_errors(),
                "is_open": bool(section.form.errors),
            }
            for section in forms
        ],
        "rows": [question_row(row, place, len(forms.rows)) for place, row in rows],
        "kinds": list(KIND_LABELS.items()),
        "questions_open": is_changed or any(row.errors for row in forms.rows),
        "is_changed": is_changed,
        "problems": [*(problems or []), *forms.problems],
        "is_wrong": status != 200,
        "base": study.version,
        "next_number": study.version + 1,
        "under_way": _under_way(study),
        "is_editable": True,
    }
    return page(request, "researcher/version_new.html", context, status)


def _check_page(
    request: HttpRequest,
    study: Study,
    planned: list[Change],
    form: VersionReasonForm,
    status: int = 200,
) -> HttpResponse:
    named = {change.setting for change in planned}
    context = {
        "rows": change_rows(planned),
        "form": form,
        "changes": json.dumps(as_configuration(planned), ensure_ascii=False),
        "base": study.version,
        "next_number": study.version + 1,
        "next_text": str(study.version + 1),
        "under_way": _under_way(study),
        "is_overtaken": request.POST.get("base") not in (None, str(study.version)),
        "changes_consent": "texts.consent" in named,
        "changes_codes": bool(named & {"completion_code", "sitting.return_url"}),
    }
    return page(request, "researcher/version_check.html", context, status)


def _under_way(study: Study) -> str:
    """What becomes of those who have begun."""
    n_imported = imported_under_way(study)
    n = runs_under_way(study).count() - n_imported
    if not n:
        return f"Nobody is under way now. {imported_says(n_imported)}".strip()
    people = counted(n, "person is", "people are")
    says = f"{people} under way and will finish on the version they began with."
    return f"{says} {imported_says(n_imported)}".strip()


def _version_row(row: VersionRow) -> dict[str, Any]:
    version = row.version
    return {
        "number": version.number,
        "name": version.name,
        "at": moment(version.created_at),
        "who": _WHO.get(version.who, version.who),
        "reason": version.reason,
        "changed": listed(short_list(row.changes)),
        "rows": change_rows(row.changes),
        "hashes": sorted((name, str(value)) for name, value in version.hashes.items()),
        "n_runs": number(row.n_runs),
    }


def _origin(study: Study) -> dict[str, Any]:
    """Where the study came from: the original's name and versions, as its export told them."""
    rows = [
        {
            "number": str(version.get("number", "")),
            "at": str(version.get("created_at", "")),
            "reason": str(version.get("reason", "")),
            "changed": listed(_told_settings(version.get("changes"))),
        }
        for version in study.origin.get("versions", [])
    ]
    return {"study_id": str(study.origin.get("study_id", "")), "rows": rows} if rows else {}


def _told_settings(changes: Any) -> list[str]:
    """The settings that an exported version names."""
    told = changes if isinstance(changes, list) else []
    return [label_of(str(each.get("setting"))) for each in told if isinstance(each, dict)]
