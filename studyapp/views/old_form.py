"""The answer to a form that had grown old: nothing is stored, and nothing typed is lost."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

#: Fields whose names hold one of these are never sent back to a page.
SECRET = ("password", "repeated", "token", "csrf", "secret")


def old_form(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A readable page with what was typed and a button that sends it with a fresh token.

    The button is offered only for forms of our own pages: a form of another site must not come back
    with one click.
    """
    if request.headers.get("HX-Request") == "true":
        answer = HttpResponse(status=403)
        answer.headers["HX-Refresh"] = "true"
        return answer
    fields = _typed(request)
    context = {
        "action": request.get_full_path(),
        "fields": fields,
        "can_send": request.user.is_authenticated and is_ours(request) and _is_whole(request),
        "has_files": is_ours(request) and bool(request.FILES),
        "back": _page_before(request),
    }
    return render(request, "403_csrf.html", context, status=403)


def is_ours(request: HttpRequest) -> bool:
    """Whether the browser says that the form stood on a page of this site."""
    return request.headers.get("Origin", "") in _origins(request)


def _origins(request: HttpRequest) -> set[str]:
    return {f"{request.scheme}://{request.get_host()}", *settings.CSRF_TRUSTED_ORIGINS}


def _typed(request: HttpRequest) -> list[tuple[str, str]]:
    return [
        (name, value)
        for name, values in request.POST.lists()
        for value in values
        if not _is_secret(name)
    ]


def _is_secret(name: str) -> bool:
    return any(word in name.lower() for word in SECRET)


def _is_whole(request: HttpRequest) -> bool:
    """Whether the fields that come back are all there were: no password, no file."""
    given = [name for name in request.POST if name != "csrfmiddlewaretoken"]
    return not request.FILES and not any(map(_is_secret, given))


def _page_before(request: HttpRequest) -> str:
    """The page of ours that the form stood on, or the list of studies."""
    before = urlsplit(request.headers.get("Referer", ""))
    if f"{before.scheme}://{before.netloc}" not in _origins(request):
        return "/"
    return before.path + (f"?{before.query}" if before.query else "")
