"""What every participant view shares: no cookies needed, no cross-site posts, readable refusals."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial, wraps
from urllib.parse import urlsplit

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection
from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.translation import gettext as _
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.csrf import csrf_exempt

from studyapp.errors import BadAnswer, BadLink, NoFreeSlot, NotOpen, StudyError
from studyapp.views.htmx import Region, region_or_page
from studyapp.views.participant_language import page_language
from studyapp.views.participant_values import values_of

logger = logging.getLogger(__name__)

PAGE = "participant/page.html"

#: PostgreSQL's states for "nothing was done, try again": deadlock and serialisation failure.
PASSING_STATES = ("40P01", "40001")

#: The longest form of ours is the consent form with its signed token: under 1 kB.
MAX_FORM_BYTES = 100_000

SAFE_METHODS = ("GET", "HEAD")


def message_region(heading: str, *paragraphs: str, status: int = 200, **values: object) -> Region:
    """A region that only says something."""
    context = {"heading": heading, "paragraphs": paragraphs, **values}
    return Region("participant/_message.html", context, status)


def message_page(
    request: HttpRequest, heading: str, *paragraphs: str, status: int = 200, **values: object
) -> HttpResponse:
    """The same as an answer."""
    region = message_region(heading, *paragraphs, status=status, **values)
    return region_or_page(request, region, PAGE)


def is_cross_site(request: HttpRequest) -> bool:
    """Whether the browser says that another site sent this request.

    A browser names the origin of every POST. A sandboxed frame's origin is ``null``: it counts as
    ours only where the browser does not say otherwise, because a hostile page can make one as well.
    A request with neither header (a script, an old browser) is let through: the run token or the
    signed form is the key, and no cookie gives a cross-site post any power.
    """
    site = request.headers.get("Sec-Fetch-Site")
    if site == "cross-site":
        return True
    origin = request.headers.get("Origin")
    if origin is None:
        return False
    if origin == "null":
        return site not in (None, "same-origin")
    # Behind a proxy the host may arrive rewritten; the public address is ours in any case.
    ours = (request.get_host(), urlsplit(settings.PUBLIC_URL).netloc)
    try:
        return urlsplit(origin).netloc not in ours
    except ValueError:
        return True


def is_readable_form(request: HttpRequest) -> bool:
    """Whether the body is a form of sensible size in an encoding that is one for text."""
    length = request.headers.get("Content-Length", "0")
    if not (length.isascii() and length.isdigit()) or int(length) > MAX_FORM_BYTES:
        return False
    try:
        return request.POST is not None
    except (AssertionError, LookupError, ValueError):  # "hex", "idna", "undefined" as charset
        return False


def participant_view(
    *methods: str,
) -> Callable[[Callable[..., HttpResponse]], Callable[..., HttpResponse]]:
    """Mark a participant view: its methods, no CSRF cookie, frames allowed, errors as pages.

    The token in the address is the key to a run, so the views work in frames and without cookies.
    """

    def decorate(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        @csrf_exempt
        @xframe_options_exempt
        @wraps(view)
        def guarded(request: HttpRequest, *args: str, **kwargs: str) -> HttpResponse:
            try:
                return _answered(_unsuitable(request, methods) or view, request, *args, **kwargs)
            except StudyError as error:
                return _refusal(request, error, kwargs["study_code"])
            except (InterfaceError, OperationalError):
                logger.exception("The database did not answer a participant's request.")
                return _come_back(request)
            finally:
                # What a view began to speak (participant_language.py) ends with its request; a
                # page about a fault of ours still needs to know it.
                request.spoken = translation.get_language()  # type: ignore[attr-defined]
                translation.deactivate()

        return guarded

    return decorate


def _unsuitable(
    request: HttpRequest, methods: tuple[str, ...]
) -> Callable[..., HttpResponse] | None:
    """What answers instead of the view a request that it must not see, or None."""
    if request.method not in methods:
        return partial(_not_allowed, methods)
    if request.method in SAFE_METHODS:
        return None
    if is_cross_site(request):
        return _from_another_site
    return None if is_readable_form(request) else _unreadable


def _not_allowed(
    methods: tuple[str, ...], request: HttpRequest, study_code: str, **kwargs: str
) -> HttpResponse:
    values = values_of(request, study_code)
    response = message_page(
        request,
        _("This address takes no such request"),
        _("Open the link you were given again. Nothing was stored."),
        status=405,
        **values,
    )
    response.headers["Allow"] = ", ".join(methods)
    return response


def _from_another_site(request: HttpRequest, study_code: str, **kwargs: str) -> HttpResponse:
    values = values_of(request, study_code)
    return message_page(
        request,
        _("This request came from another site"),
        _("Nothing was stored. Open the link you were given and answer there."),
        status=403,
        **values,
    )


def _unreadable(request: HttpRequest, study_code: str, **kwargs: str) -> HttpResponse:
    values = values_of(request, study_code)
    return message_page(
        request,
        _("This request cannot be read"),
        _("Nothing was stored. Open the link you were given and answer there."),
        status=400,
        **values,
    )


def _answered(
    view: Callable[..., HttpResponse], request: HttpRequest, *args: str, **kwargs: str
) -> HttpResponse:
    """The view's answer; once more on a fresh connection if the database had gone away.

    Safe because every action of a participant is idempotent, and cheaper than asking the database
    before each request whether it is still there.
    """
    connection.ensure_connection()
    used = connection.connection
    try:
        return view(request, *args, **kwargs)
    except (InterfaceError, OperationalError) as error:
        # A transaction that fails on a dead connection has opened a fresh one on its way out.
        is_same = connection.connection is used
        is_passing = getattr(error.__cause__, "sqlstate", None) in PASSING_STATES
        if connection.in_atomic_block or (is_same and not is_passing and connection.is_usable()):
            raise
        if is_same and not is_passing:
            connection.close()
        return view(request, *args, **kwargs)


def _refusal(request: HttpRequest, error: StudyError, study_code: str) -> HttpResponse:
    """A page for an action that was refused. Only texts written for participants are shown."""
    values = values_of(request, study_code)
    # A page that was only looked at is no conflict.
    status = 200 if request.method in SAFE_METHODS else error.status
    if isinstance(error, BadLink):
        return message_page(
            request,
            _("This link does not work"),
            *error.problems,
            _("Open the full link you were given again, or ask the researchers for a new one."),
            status=error.status,
            **values,
        )
    if isinstance(error, NoFreeSlot):
        return message_page(
            request,
            _("Every place is taken"),
            _("This study is full at the moment. Nothing about you was stored."),
            _(
                "A place may become free: you can try the same link again later. "
                "Thank you for your interest."
            ),
            status=status,
            **values,
        )
    if isinstance(error, NotOpen):
        heading = _("Not open now")
        return message_page(request, heading, *error.problems, status=status, **values)
    if isinstance(error, BadAnswer):
        heading = _("Nothing was stored")
        return message_page(request, heading, *error.problems, status=error.status, **values)
    # Other texts are for researchers: they may name claims and conditions.
    logger.error("A participant's request failed: %s", error)
    return message_page(
        request,
        _("The study cannot go on just now"),
        _("Your answers are stored. Please tell the researchers, and load this page again later."),
        status=500,
        **values,
    )


def _come_back(request: HttpRequest) -> HttpResponse:
    """While the database is away: 503, upon which the page tries again by itself.

    In the language that the view had begun to speak; nobody can be asked for another.
    """
    response = message_page(
        request,
        _("The study cannot be reached just now"),
        _(
            "What you did last is not stored yet; everything before it is. Please load this page "
            "again in a minute."
        ),
        status=503,
        **page_language(translation.get_language() or settings.LANGUAGE_CODE),
    )
    response.headers["Retry-After"] = "5"
    return response
