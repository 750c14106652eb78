"""Setting up: a new study, its title, language and texts."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_http_methods

from studyapp.access import researcher_only
from studyapp.domain.changing import change_draft
from studyapp.domain.configuration import create_study, parse_configuration
from studyapp.domain.markdown import as_html
from studyapp.errors import StudyError
from studyapp.models import Study
from studyapp.setup_forms import (
    TEXT_FIELDS,
    BasicsForm,
    NewStudyForm,
    TextsForm,
    free_slug,
    plain_lines,
)
from studyapp.views.researcher_setup_pages import saved, setup_page, setup_view, to_step


@require_http_methods(["GET", "HEAD", "POST"])
@researcher_only
def new_study(request: HttpRequest) -> HttpResponse:
    """A new study, empty or with the settings of a study.json."""
    if request.method != "POST":
        return _new_page(request, NewStudyForm())
    form = NewStudyForm(request.POST, request.FILES)
    if not form.is_valid():
        return _new_page(request, form, status=422)
    try:
        study = _create(request, form.cleaned_data)
    except StudyError as error:
        for problem in error.problems:
            form.add_error("configuration" if form.cleaned_data["configuration"] else None, problem)
        return _new_page(request, form, status=422)
    messages.success(request, f"{study.slug} was created. It is a draft until you open it.")
    return to_step(study, "texts")


def _create(request: HttpRequest, given: dict[str, Any]) -> Study:
    file = given["configuration"]
    configuration = parse_configuration(file.read(), file.name) if file else {}
    if given["lang"]:
        configuration["lang"] = given["lang"]
    title = given["title"] or None
    slug = given["slug"]
    if title is None and not request.POST.get("slug"):
        slug = free_slug(str(configuration.get("title", "")))
    return create_study(
        slug,
        title=title,
        configuration=configuration,
        owner_name=request.user.get_username(),
    )


def _new_page(request: HttpRequest, form: NewStudyForm, status: int = 200) -> HttpResponse:
    context = {"form": form, "user_name": request.user.get_username()}
    return render(request, "researcher/setup/new.html", context, status=status)


@require_http_methods(["GET", "HEAD"])
@researcher_only
def setup(request: HttpRequest, slug: str) -> HttpResponse:
    """The first step."""
    return redirect("setup-basics", slug=slug)


@setup_view("GET", "HEAD", "POST")
def basics(request: HttpRequest, study: Study) -> HttpResponse:
    """Title and language."""
    form = BasicsForm(request.POST or None, initial={"title": study.title, "lang": study.lang})
    if request.method == "POST" and form.is_valid():
        change_draft(study, form.cleaned_data)
        return saved(request, study, "basics", "Title and language are saved.")
    return setup_page(request, study, "basics", {"form": form}, status=_status(request))


@setup_view("GET", "HEAD", "POST")
def texts(request: HttpRequest, study: Study) -> HttpResponse:
    """Every text, with a preview of what participants will read."""
    form = TextsForm(study, request.POST or None)
    wants_preview = "preview" in request.POST
    is_valid = request.method == "POST" and form.is_valid()
    if is_valid and not wants_preview:
        change_draft(study, {"texts": form.texts()})
        return saved(request, study, "texts", "The texts are saved.")
    previews = _previews(form)
    context = {
        "form": form,
        "rows": [
            {"field": form[name], "preview": previews[name], "name": name} for name in TEXT_FIELDS
        ],
        "is_preview": wants_preview and is_valid,
        "preview_url": reverse("setup-text-preview", args=[study.slug]),
    }
    status = 200 if wants_preview and is_valid else _status(request)
    return setup_page(request, study, "texts", context, status=status)


@setup_view("POST")
def text_preview(request: HttpRequest, study: Study) -> HttpResponse:
    """One text as participants will read it; nothing is stored."""
    name = request.GET.get("name", "")
    text = plain_lines(request.POST.get(name, "")) if name in TEXT_FIELDS else ""
    return render(request, "researcher/setup/_preview.html", {"preview": _shown(text)})


def _previews(form: TextsForm) -> dict[str, SafeString]:
    return {name: _shown(plain_lines(form[name].value() or "")) for name in TEXT_FIELDS}


def _shown(text: str) -> SafeString:
    return as_html(text[:100_000])


def _status(request: HttpRequest) -> int:
    """The status of a page that a POST leads back to: something in it was wrong."""
    return 422 if request.method == "POST" else 200
