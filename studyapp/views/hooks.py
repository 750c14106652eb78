"""Addresses that other services call: no session, no login, one signature."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from studyapp.domain.prolific_hooks import MAX_BYTES, NotSigned, receive
from studyapp.errors import StudyError


@csrf_exempt
@require_POST
def prolific(request: HttpRequest, study_code: str) -> HttpResponse:
    """A message of Prolific: 200 once it is stored, and nothing about why it was refused."""
    length = request.META.get("CONTENT_LENGTH") or ""
    if not (length.isascii() and length.isdigit()):
        return _answer("length required", 411)
    if len(length) > 18 or int(length) > MAX_BYTES:
        return _answer("too large", 413)
    try:
        receive(
            study_code,
            request.headers.get("X-Prolific-Request-Timestamp", ""),
            request.headers.get("X-Prolific-Request-Signature", ""),
            request.body,
        )
    except NotSigned:
        return _answer("refused", 403)
    except StudyError:
        return _answer("cannot be read", 400)
    return _answer("taken", 200)


def _answer(word: str, status: int) -> HttpResponse:
    response = JsonResponse({"message": word}, status=status)
    response.headers["Cache-Control"] = "no-store"
    return response
