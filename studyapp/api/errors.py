"""One shape for every error below /api/: code, message, and a list of problems with their places.

{"error": {"code": "bad_upload", "message": "…",
           "problems": [{"line": 3, "field": "label", "message": "…"}]}}
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator
from typing import Any

from django.core.exceptions import (
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
)
from django.db import IntegrityError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from studyapp.errors import StudyError
from studyapp.middleware import API_PREFIX
from studyapp.views import errors as pages

logger = logging.getLogger(__name__)

Problem = dict[str, Any]

#: Codes of DRF's exceptions by status; a StudyError's code is the name of its class.
CODES = {
    400: "bad_request",
    401: "not_authenticated",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    411: "length_required",
    413: "too_large",
    415: "unsupported_media_type",
    429: "throttled",
}
_LINE = re.compile(r"(?:\S+, )?line (\d+)(?:, (?:field )?([^:]+))?: (.*)", re.DOTALL)
_FIELD = re.compile(r"field ([^:]+): (.*)", re.DOTALL)
_MORE = re.compile(r"… and (\d+) more problems")


class TooLarge(exceptions.APIException):
    """The body is larger than the address takes."""

    status_code = 413
    default_detail = "The body is too large."


class LengthRequired(exceptions.APIException):
    """A body of unknown length: it could not be refused before it is read."""

    status_code = 411
    default_detail = "Send the body with a Content-Length header, not in chunks."


class NotRepeated(StudyError):
    """Closing is for good, so it asks for the study's slug."""

    status = 422

    def __init__(self, slug: str):
        super().__init__(f"field slug: repeat the study's slug, {slug}, to close it for good.")


class NoFile(StudyError):
    """An export whose file is not there, or not whole."""

    status = 409

    def __init__(self, state: str):
        super().__init__(
            f"This export has no sound file; its state is {state}. Ask for one with POST exports/."
        )


class Contradiction(StudyError):
    """The stored data contradict themselves, so that no measure can be worked out."""

    status = 409


def answer_error(error: Exception, context: dict[str, Any]) -> Response:
    """The answer for whatever a view raised (DRF's EXCEPTION_HANDLER)."""
    set_rollback()
    if isinstance(error, StudyError):
        return _study_error(error)
    if isinstance(error, Http404):
        error = exceptions.NotFound(str(error) or None)
    elif isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied(str(error) or None)
    elif isinstance(error, RequestDataTooBig):
        error = TooLarge()
    elif isinstance(error, SuspiciousOperation):
        error = exceptions.ParseError("The request cannot be read.")
    if isinstance(error, exceptions.APIException):
        return _http_error(error, context)
    if isinstance(error, IntegrityError):
        logger.warning("a request of the API met another one: %s", error)
        text = "Somebody else changed the same thing at this moment: look, and ask again."
        return Response(error_body("conflict", text), 409)
    logger.error("a request of the API failed", exc_info=error)
    return Response(error_body("server_error", SERVER_ERROR), 500)


SERVER_ERROR = "The server failed, and has written down why. Nothing was half done."


def error_body(code: str, message: str, problems: Iterable[Problem] = ()) -> dict[str, Any]:
    """The one shape."""
    return {"error": {"code": code, "message": message, "problems": list(problems)}}


def problem_of(text: str) -> Problem:
    """A readable line taken apart: "line 3, field label: …" and "field title: …" name places."""
    if found := _LINE.fullmatch(text):
        line, field, message = found.groups()
        return {"line": int(line), "field": field, "message": message}
    if found := _FIELD.fullmatch(text):
        return {"line": None, "field": found[1], "message": found[2]}
    return {"line": None, "field": None, "message": text}


def listed_problems(texts: Iterable[str]) -> tuple[list[Problem], int]:
    """Problems from readable lines, and how many there are with those that are only counted."""
    problems: list[Problem] = []
    n_more = 0
    for text in map(str, texts):
        if more := _MORE.fullmatch(text):
            n_more += int(more[1])
        else:
            problems.append(problem_of(text))
    return problems, len(problems) + n_more


def _study_error(error: StudyError) -> Response:
    problems, n_problems = listed_problems(error.problems)
    name = type(error).__name__
    code = "refused" if type(error) is StudyError else re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
    if n_problems == 1:
        message = str(error.problems[0])
    elif n_problems > len(problems):
        message = f"{n_problems} problems, of which the first {len(problems)} are listed."
    else:
        message = f"{n_problems} problems."
    return Response(error_body(code, message, problems), error.status)


def _http_error(error: exceptions.APIException, context: dict[str, Any]) -> Response:
    headers = {}
    if getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = error.auth_header
    problems: list[Problem] = []
    message = str(error.detail)
    if isinstance(error, exceptions.ValidationError):
        problems = list(_field_problems(error.detail))
        message = f"{len(problems)} problem{'s' if len(problems) > 1 else ''} in the request."
    elif isinstance(error, exceptions.Throttled):
        seconds = max(1, int(error.wait or 1))
        headers["Retry-After"] = str(seconds)
        message = f"Too many requests: wait {seconds} s."
    elif isinstance(error, exceptions.NotAuthenticated):
        message = (
            "Send your token: Authorization: Token YOUR_TOKEN (your account page makes one, and so "
            "does manage.py api_token)"
        )
    elif isinstance(error, exceptions.MethodNotAllowed):
        message = _method_text(context)
    elif isinstance(error, exceptions.UnsupportedMediaType):
        kinds = ", ".join(parser.media_type for parser in context["view"].parser_classes)
        message = f"Send the body with a Content-Type of these: {kinds}."
    code = CODES.get(error.status_code, "refused")
    return Response(error_body(code, message, problems), error.status_code, headers=headers)


def _method_text(context: dict[str, Any]) -> str:
    allowed = ", ".join(context["view"].allowed_methods)
    return f"{context['request'].method} does nothing here; possible: {allowed}."


def _field_problems(detail: Any, path: str = "") -> Iterator[Problem]:
    """The problems of a serializer, each with the path of its field."""
    if isinstance(detail, dict):
        for name, inner in detail.items():
            yield from _field_problems(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(detail, list):
        for inner in detail:
            yield from _field_problems(inner, path)
    else:
        field = None if path in ("", "non_field_errors") else path
        yield {"line": None, "field": field, "message": str(detail)}


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's handler400: what is refused before a view is reached; a page outside the API."""
    if not request.path_info.startswith(API_PREFIX):
        return pages.bad_request(request, exception)
    return JsonResponse(error_body("bad_request", "The request cannot be read."), status=400)


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's handler500: what fails outside a view; a page outside the API."""
    if not request.path_info.startswith(API_PREFIX):
        return pages.server_error(request)
    return JsonResponse(error_body("server_error", SERVER_ERROR), status=500)
