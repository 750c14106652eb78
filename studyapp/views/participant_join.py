"""Before a run: the study's welcome, consent, and the way out."""

from __future__ import annotations

import re

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from studyapp.domain.assignment import issue_join_form, join, read_join_form
from studyapp.domain.markdown import as_html
from studyapp.domain.texts import with_default_texts
from studyapp.enums import StudyState
from studyapp.errors import BadLink, NotOpen
from studyapp.models import Enrolment, Study
from studyapp.participant_forms import gives_consent
from studyapp.views.htmx import Region, region_or_page
from studyapp.views.participant_guard import PAGE, participant_view
from studyapp.views.participant_language import speak
from studyapp.views.participant_values import run_url, study_values

COOKIE_SECONDS = 30 * 24 * 3600
#: What a recruiter sends while somebody only looks at the task.
PREVIEW = ("assignmentId", "ASSIGNMENT_ID_NOT_AVAILABLE")

NOT_OPEN = {
    StudyState.DRAFT: _("This study has not opened yet. Come back later."),
    StudyState.PAUSED: _(
        "This study is paused and takes no new participants now. Come back later."
    ),
    StudyState.CLOSED: _(
        "This study has ended and takes no more participants. Thank you for your interest."
    ),
}


@participant_view("GET", "HEAD")
def welcome(request: HttpRequest, study_code: str) -> HttpResponse:
    """The welcome and the consent form. Stores nothing; leads a known browser back to its run."""
    study = _study(study_code)
    invitation = request.GET.get("run")
    form = issue_join_form(study, invitation)
    known = _run_of_cookie(request, study)
    if known is not None and (
        invitation is None or known.invitation == read_join_form(study, form).invitation
    ):
        return HttpResponseRedirect(run_url(study.code, known.token))
    if not study.is_open:
        raise NotOpen(NOT_OPEN[StudyState(study.state)])
    return region_or_page(request, _consent(study, form, request), PAGE)


@participant_view("POST")
def join_study(request: HttpRequest, study_code: str) -> HttpResponse:
    """Consent: create the participant, take a slot, go to the run."""
    study = _study(study_code)
    signed = request.POST.get("form", "")
    form = read_join_form(study, signed)
    if not gives_consent(request.POST):
        region = _consent(
            study,
            signed,
            request,
            message=gettext("To take part, tick the box that says you agree. Nothing was stored."),
            status=422,
        )
        return region_or_page(request, region, PAGE)
    enrolment = join(study.code, form)
    response = HttpResponseRedirect(run_url(study.code, enrolment.token))
    response.status_code = 303
    # A convenience, never required: the study's plain link leads back to the run.
    response.set_cookie(
        cookie_name(study.code),
        enrolment.token,
        max_age=COOKIE_SECONDS,
        path=cookie_path(study.code),
        secure=request.is_secure(),
        httponly=True,
        samesite="Lax",
    )
    return response


@participant_view("GET", "HEAD")
def declined(request: HttpRequest, study_code: str) -> HttpResponse:
    """Thanks for somebody who does not want to take part. Stores nothing."""
    study = _study(study_code)
    context = study_values(study) | {
        "declined": as_html(with_default_texts(study.texts, study.lang)["declined"]),
        "declined_code": study.sitting_setting("declined_code"),
    }
    return HttpResponse(render_to_string("participant/declined.html", context))


def cookie_name(study_code: str) -> str:
    return f"run-{study_code}"


def cookie_path(study_code: str) -> str:
    return f"/p/{study_code}/"


def _study(study_code: str) -> Study:
    """The study at an address; the request is answered in its language."""
    study = Study.objects.filter(code=study_code).first()
    if study is None:
        raise BadLink(_("There is no study at this address."))
    speak(study)
    return study


def _run_of_cookie(request: HttpRequest, study: Study) -> Enrolment | None:
    token = request.COOKIES.get(cookie_name(study.code), "")
    if not re.fullmatch(r"[a-z0-9]{1,40}", token):
        return None
    return Enrolment.objects.filter(token=token, slot__study=study).first()


def _consent(
    study: Study, form: str, request: HttpRequest, message: str = "", status: int = 200
) -> Region:
    texts = with_default_texts(study.texts, study.lang)
    key, value = PREVIEW
    context = study_values(study) | {
        "form": form,
        "welcome": as_html(texts["welcome"]),
        "consent": as_html(texts["consent"]),
        "is_preview": request.GET.get(key) == value,
        "message": message,
    }
    return Region("participant/_consent.html", context, status)
