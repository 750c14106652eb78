"""Before a run: the study's welcome, consent, and the way out."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from studyapp.domain.assignment import join
from studyapp.domain.join_forms import form_under_present_text, issue_join_form, read_join_form
from studyapp.domain.markdown import as_html
from studyapp.domain.mturk import PREVIEW
from studyapp.domain.personal_links import (
    LINK_PARAMETER,
    note_opened,
    run_of_link,
    takes_personal_links_only,
    usable_link,
)
from studyapp.domain.recruiting import (
    Recruited,
    count_refused,
    find_id,
    is_mturk,
    link_query,
    note_assignment,
    note_seen,
    read_recruited,
    recruits_by_id,
    standing_run,
)
from studyapp.domain.texts import with_default_texts
from studyapp.enums import RefusedIdKind, StudyState
from studyapp.errors import (
    AlreadyWithdrawn,
    BadLink,
    BadRecruiterId,
    ConsentChanged,
    NothingLeft,
    NotOpen,
)
from studyapp.models import Enrolment, Study
from studyapp.participant_forms import gives_consent
from studyapp.views.htmx import Region, region_or_page
from studyapp.views.participant_guard import PAGE, participant_view
from studyapp.views.participant_language import speak
from studyapp.views.participant_recruited import nothing_left_region, refused_id_region
from studyapp.views.participant_state import withdrawn_region
from studyapp.views.participant_values import run_url, study_values

COOKIE_SECONDS = 30 * 24 * 3600

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
    """The welcome and the consent form; leads a known browser, id or link back to its run.

    Stores nothing but when an id or a personal link came first, how often one could not be used,
    and what a recruiter sends along with an id that is known.
    """
    study = _study(study_code)
    if link := request.GET.get(LINK_PARAMETER, "").strip():
        return _welcome_by_link(request, study, link)
    invitation = _invitation_of(request)
    if recruits_by_id(study) and invitation is None:
        return _welcome_by_id(request, study)
    if takes_personal_links_only(study) and invitation is None:
        return _turn_away(request, study, RefusedIdKind.NO_LINK)
    form = issue_join_form(study, invitation)
    known = _run_of_cookie(request, study)
    if known is not None and (
        invitation is None or known.invitation == read_join_form(study, form).invitation
    ):
        return HttpResponseRedirect(run_url(study.code, known.token))
    _refuse_unless_open(study)
    return region_or_page(request, _consent(study, form, request), PAGE)


def _welcome_by_id(request: HttpRequest, study: Study) -> HttpResponse:
    """The same where the link says who comes: the id counts, whatever the browser remembers."""
    if _is_preview(request):
        _refuse_unless_open(study)
        return region_or_page(request, _consent(study, "", request), PAGE)
    try:
        recruited = read_recruited(study, request.GET)
    except BadRecruiterId as error:
        return _turn_away(request, study, error.kind)
    known = find_id(study, recruited.value)
    try:
        standing = standing_run(study, known) if known else None
    except AlreadyWithdrawn:
        return region_or_page(request, withdrawn_region(study), PAGE)
    if known is not None and is_mturk(study) and _is_opened(request):
        note_assignment(known, recruited)
    if standing is not None:
        return HttpResponseRedirect(run_url(study.code, standing.token))
    _refuse_unless_open(study)
    if known is None and _is_opened(request):
        note_seen(study, recruited.value)
    form = issue_join_form(study, None, recruited)
    return region_or_page(request, _consent(study, form, request, recruited=recruited), PAGE)


def _welcome_by_link(request: HttpRequest, study: Study, token: str) -> HttpResponse:
    """The same for a person with a link of their own."""
    try:
        link = usable_link(study, token)
    except AlreadyWithdrawn:
        return region_or_page(request, withdrawn_region(study, has_link=True), PAGE)
    except BadLink:
        return _turn_away(request, study, RefusedIdKind.BAD_LINK)
    standing = run_of_link(link)
    if standing is not None:
        return HttpResponseRedirect(run_url(study.code, standing.token))
    _refuse_unless_open(study)
    if link.first_seen is None and _is_opened(request):
        note_opened(link, timezone.now())
    form = issue_join_form(study, None, link=token)
    return region_or_page(request, _consent(study, form, request, link=token), PAGE)


#: Links that say nothing of who comes: a browser that has a run is led back to it.
_NAMELESS = (RefusedIdKind.MISSING, RefusedIdKind.NO_LINK)


def _turn_away(request: HttpRequest, study: Study, kind: str) -> HttpResponse:
    """Say what is wrong with a link, and count it; nothing else is stored."""
    known = _run_of_cookie(request, study) if kind in _NAMELESS else None
    if known is not None:
        return HttpResponseRedirect(run_url(study.code, known.token))
    _refuse_unless_open(study)
    if _is_opened(request):
        count_refused(study, kind)
    return region_or_page(request, refused_id_region(study, kind), PAGE)


def _refuse_unless_open(study: Study) -> None:
    if not study.is_open:
        raise NotOpen(NOT_OPEN[StudyState(study.state)])


def _is_opened(request: HttpRequest) -> bool:
    """Whether somebody opens the page, as far as can be told: no preview, nothing fetched ahead."""
    purpose = request.headers.get("Sec-Purpose", "") + request.headers.get("Purpose", "")
    return request.method == "GET" and "prefetch" not in purpose.lower()


@participant_view("POST")
def join_study(request: HttpRequest, study_code: str) -> HttpResponse:
    """Consent: create the participant, take a slot, go to the run."""
    study = _study(study_code)
    signed = request.POST.get("form", "")
    form = read_join_form(study, signed)
    if not gives_consent(request.POST):
        message = gettext("To take part, tick the box that says you agree. Nothing was stored.")
        return _consent_again(request, study, signed, message, 422)
    try:
        enrolment = join(study.code, form)
    except ConsentChanged as error:
        message = gettext(
            "The text you agreed to was changed while this page was open. Please read it again "
            "and decide once more. Nothing was stored."
        )
        study.refresh_from_db()
        return _consent_again(request, study, signed, message, error.status)
    except AlreadyWithdrawn:
        region = withdrawn_region(study, has_link=form.link is not None)
        return region_or_page(request, region, PAGE)
    except BadRecruiterId as error:
        return region_or_page(request, refused_id_region(study, error.kind), PAGE)
    except NothingLeft as error:
        return region_or_page(request, nothing_left_region(study, error.run_token), PAGE)
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
        "declined": as_html(with_default_texts(study.texts, study.lang)["declined"], below=1),
        "declined_code": study.sitting_setting("declined_code"),
        # Who changes their mind must still be known by the id in the link.
        "query": _query_of(request),
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


def _invitation_of(request: HttpRequest) -> str | None:
    """The invitation in the link; an empty one is none. Raises BadLink where there are several."""
    given = {value.strip() for value in request.GET.getlist("run")} - {""}
    if len(given) > 1:
        raise BadLink(_("This invitation is not valid. Ask for a new link."))
    return given.pop() if given else None


def _run_of_cookie(request: HttpRequest, study: Study) -> Enrolment | None:
    token = request.COOKIES.get(cookie_name(study.code), "")
    if not re.fullmatch(r"[a-z0-9]{1,40}", token):
        return None
    return Enrolment.objects.filter(token=token, slot__study=study).first()


def _is_preview(request: HttpRequest) -> bool:
    key, value = PREVIEW
    return request.GET.get(key) == value


def _query_of(request: HttpRequest) -> str:
    query = request.GET.urlencode()
    return f"?{query}" if query else ""


def _link_query(link: str | None) -> str:
    return f"?{urlencode({LINK_PARAMETER: link})}" if link else ""


def _consent_again(
    request: HttpRequest, study: Study, signed: str, message: str, status: int
) -> HttpResponse:
    """The consent form once more, with the present text and a form that is of this text."""
    form = read_join_form(study, signed)
    region = _consent(
        study,
        form_under_present_text(study, signed),
        request,
        recruited=form.recruited,
        link=form.link,
        message=message,
        status=status,
    )
    return region_or_page(request, region, PAGE)


def _consent(
    study: Study,
    form: str,
    request: HttpRequest,
    *,
    recruited: Recruited | None = None,
    link: str | None = None,
    message: str = "",
    status: int = 200,
) -> Region:
    texts = with_default_texts(study.texts, study.lang)
    context = study_values(study) | {
        "form": form,
        "welcome": as_html(texts["welcome"], below=1),
        "consent": as_html(texts["consent"]),
        "is_preview": _is_preview(request),
        # Who declines and changes their mind must still be known.
        "query": link_query(study, recruited) if recruited else _link_query(link),
        "message": message,
    }
    return Region("participant/_consent.html", context, status)
