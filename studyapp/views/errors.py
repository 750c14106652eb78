"""Pages for addresses that are not there and for faults of ours.

Participants read them in the language of their study, else in the one that their browser asks for,
and inside a frame as well; researchers get Django's, from templates/researcher/404.html and
500.html. At other addresses the words are for both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.db import Error
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.translation import gettext as _
from django.views import defaults

from studyapp.middleware import PARTICIPANT_PREFIX, is_participant_page
from studyapp.views.participant_guard import message_page
from studyapp.views.participant_language import page_language, speak_to
from studyapp.views.participant_values import values_of

#: Addresses that only researchers are given.
RESEARCHER_PREFIXES = ("/studies/", "/new/", "/account/")

Page = Callable[[HttpRequest, dict[str, Any]], HttpResponse]


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404: there is no such address."""
    if not is_participant_page(request):
        is_ours = request.path_info.startswith(RESEARCHER_PREFIXES)
        template = "researcher/404.html" if is_ours else "404.html"
        return defaults.page_not_found(request, exception, template)
    return _in_its_language(request, _not_found_page)


def refused(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403: whoever asks may not see this."""
    if not is_participant_page(request):
        return defaults.permission_denied(request, exception)
    return _in_its_language(request, _refused_page)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400: what came in is no request that can be answered."""
    if not is_participant_page(request):
        return defaults.bad_request(request, exception)
    return _in_its_language(request, _bad_request_page)


def server_error(request: HttpRequest) -> HttpResponse:
    """500: a fault of ours. Needs neither the database nor the static files."""
    if not is_participant_page(request):
        return defaults.server_error(request)
    return _in_its_language(request, _server_error_page)


def _in_its_language(request: HttpRequest, page: Page) -> HttpResponse:
    try:
        response = page(request, _values_of(request))
    finally:
        translation.deactivate()
    response.xframe_options_exempt = True  # type: ignore[attr-defined]
    return response


def _values_of(request: HttpRequest) -> dict[str, Any]:
    """Speak what the view spoke, else the study's language, else the browser's; what to print."""
    spoken = getattr(request, "spoken", settings.LANGUAGE_CODE)
    # English is also what is spoken before a view knows its study.
    if spoken != settings.LANGUAGE_CODE:
        translation.activate(spoken)
        return page_language(spoken)
    study_code = request.path_info.removeprefix(PARTICIPANT_PREFIX).split("/", 1)[0]
    try:
        return values_of(request, study_code)
    except (Error, ValueError):  # a code with U+0000 is none for PostgreSQL
        return speak_to(request)


def _not_found_page(request: HttpRequest, values: dict[str, Any]) -> HttpResponse:
    return message_page(
        request,
        _("There is no page at this address"),
        _(
            "The link may be incomplete. Open the full link you were given again, or copy it once "
            "more from the message it came in."
        ),
        _(
            "If you were taking part in a study: every answer you gave is stored, and the address "
            "of your study page brings you back to where you were."
        ),
        status=404,
        **values,
    )


def _refused_page(request: HttpRequest, values: dict[str, Any]) -> HttpResponse:
    return message_page(
        request,
        _("This page is not open to you"),
        _("Open the link you were given again. Nothing was stored."),
        status=403,
        **values,
    )


def _bad_request_page(request: HttpRequest, values: dict[str, Any]) -> HttpResponse:
    return message_page(
        request,
        _("This request cannot be read"),
        _("Nothing was stored. Open the link you were given and answer there."),
        status=400,
        **values,
    )


def _server_error_page(request: HttpRequest, values: dict[str, Any]) -> HttpResponse:
    context: dict[str, Any] = {
        **values,
        "heading": _("Something went wrong on our side"),
        "paragraphs": [
            _(
                "What you did last may not have been saved; everything before it is. Go back, wait "
                "a moment and try again."
            ),
            _("If it happens again, tell the person who gave you this link."),
        ],
    }
    return HttpResponse(render_to_string("participant/fault.html", context), status=500)
