"""Requests in another encoding than UTF-8, which no page of ours sends."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable
from typing import Any

from django.utils.http import parse_header_parameters

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

#: Stands in for a content type that Django must not see; no encoding has such a name.
REFUSED = "application/octet-stream; charset=refused"


def is_utf8(content_type: str) -> bool:
    """Whether a content type names UTF-8 or no encoding at all."""
    try:
        _, parameters = parse_header_parameters(content_type)
        return codecs.lookup(parameters.get("charset", "utf-8")).name == "utf-8"
    except (LookupError, ValueError):  # an encoding that is not there, or a name that is none
        return False


def without_odd_charsets(application: Application) -> Application:
    """``application``, guarded from encodings that are none for text, such as ``hex``.

    Django decodes the query while it makes the request, before any middleware can answer. The
    request is let through with a harmless content type that ``middleware.ReadableText`` refuses.
    """

    def guarded(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if not is_utf8(environ.get("CONTENT_TYPE", "")):
            environ["CONTENT_TYPE"] = REFUSED
        return application(environ, start_response)

    return guarded
