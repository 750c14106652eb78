"""Which layers a request passes: participant pages carry only what they need."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.exceptions import BadRequest
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django_otp.middleware import OTPMiddleware

from studyapp.charsets import is_utf8
from studyapp.domain import audit

PARTICIPANT_PREFIX = "/p/"
API_PREFIX = "/api/"
HOOK_PREFIX = "/hooks/"

# Participant pages may be framed by a recruiting site, so they name no frame-ancestors;
# researchers' pages are protected by X-Frame-Options as well.
PARTICIPANT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'"
)
RESEARCHER_POLICY = PARTICIPANT_POLICY + "; frame-ancestors 'none'"


def is_participant_page(request: HttpRequest) -> bool:
    """Whether the address belongs to the participants' part."""
    return request.path_info.startswith(PARTICIPANT_PREFIX)


def has_no_researcher(request: HttpRequest) -> bool:
    """Whether no session, login or message belongs to the address."""
    return is_participant_page(request) or request.path_info.startswith(HOOK_PREFIX)


class PagePolicy:
    """A content policy on every answer; participant pages are never stored by browser or proxy."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]):
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if is_participant_page(request):
            response.headers["Content-Security-Policy"] = _policy_for(response)
            response.headers["Cache-Control"] = "no-store"
        else:
            response.headers["Content-Security-Policy"] = RESEARCHER_POLICY
            response.headers.setdefault("Cache-Control", "no-cache, private")
        return response


def _policy_for(response: HttpResponse) -> str:
    """The policy of a participant page; the last one may name one address that its form goes to.

    A form's redirects are held to it as well, and stay on the site that it was sent to.
    """
    target = getattr(response, "form_target", "")
    if not target:
        return PARTICIPANT_POLICY
    parts = urlsplit(target)
    own = "form-action 'self'"
    return PARTICIPANT_POLICY.replace(own, f"{own} {parts.scheme}://{parts.netloc}")


class UploadLimit:
    """Refuses a request that is too large before a byte of it is read or looked at.

    A web server hands over as many bytes as the request announced, and none where it announced
    nothing, so the announced length is all there is to check. Participants' forms and the API have
    limits of their own (views/participant_guard.py, api/base.py).
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]):
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        length = request.META.get("CONTENT_LENGTH") or "0"
        is_number = length.isascii() and length.isdigit() and len(length) < 19
        if is_number and int(length) <= settings.MAX_UPLOAD_MB * 1_000_000:
            return self.get_response(request)
        if is_participant_page(request) or request.path_info.startswith(API_PREFIX):
            return self.get_response(request)
        context = {
            "limit": f"{settings.MAX_UPLOAD_MB:,} MB",
            "size": f"{int(length) / 1_000_000:,.0f} MB" if is_number else "",
        }
        return HttpResponse(render_to_string("413.html", context), status=413)


class ReadableText:
    """Refuses what is not sent in UTF-8: other encodings can spell texts that nothing can store.

    The body is not read. The pages are those of ``views/errors.py``.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]):
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not is_utf8(request.META.get("CONTENT_TYPE", "")):
            raise BadRequest("Not in UTF-8")
        return self.get_response(request)


class _ResearcherOnly:
    """Lets what is not for researchers pass by the layer it is mixed into."""

    get_response: Callable[[HttpRequest], HttpResponse]

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if has_no_researcher(request):
            return self.get_response(request)
        return super().__call__(request)  # type: ignore[misc]


class ResearcherSession(_ResearcherOnly, SessionMiddleware):
    """Sessions, for researchers only.

    Begins with a look whether the database connection is still alive: after a restart of the
    database a researcher sees no error page. Participants' requests are simply run again
    (views/participant_guard.py), which costs nothing while all is well.
    """

    def process_request(self, request: HttpRequest) -> None:
        is_idle = connection.connection is not None and not connection.in_atomic_block
        if is_idle and not connection.is_usable():
            connection.close()
        super().process_request(request)


class ResearcherAuthentication(_ResearcherOnly, AuthenticationMiddleware):
    """Logins, for researchers only."""


class ResearcherMessages(_ResearcherOnly, MessageMiddleware):
    """One-time messages, for researchers only."""


class ResearcherSecondFactor(_ResearcherOnly, OTPMiddleware):
    """Whether the login was confirmed by a second factor: ``request.user.is_verified()``."""


class ResearcherAudit:
    """Names the researcher behind what a request writes to the audit log."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]):
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if has_no_researcher(request):
            return self.get_response(request)
        with audit.acting(lambda: request.user):
            return self.get_response(request)
