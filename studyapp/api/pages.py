"""Lists in pages: a cursor names the last row seen, so that new rows shift nothing."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

LARGEST = 2**63 - 1


def page_of(
    request: Request,
    rows: QuerySet,
    query: dict[str, Any],
    *,
    key: str = "pk",
    newest_first: bool = False,
    show: Callable[[list[Any]], list[Any]],
) -> dict[str, Any]:
    """The rows after the cursor as ``{"results": [...], "next": address or null}``.

    ``rows`` is not ordered; ``key`` names a unique number that grows with time, ``query`` holds
    ``cursor`` and ``limit``. ``show`` turns the page's keys, in order, into what is sent; the keys
    are read by one query, whatever the page's size. Raises ValidationError for a strange cursor.
    """
    limit, sign = query["limit"], "-" if newest_first else ""
    if query.get("cursor"):
        bound = "lt" if newest_first else "gt"
        rows = rows.filter(**{f"{key}__{bound}": _number_of(query["cursor"])})
    keys = list(rows.order_by(f"{sign}{key}").values_list(key, flat=True)[: limit + 1])
    has_more = len(keys) > limit
    keys = keys[:limit]
    return {
        "results": show(keys) if keys else [],
        "next": _next_address(request, keys[-1]) if has_more else None,
    }


def _next_address(request: Request, last: int) -> str:
    query = request.query_params.copy()
    query["cursor"] = base64.urlsafe_b64encode(str(last).encode()).decode().rstrip("=")
    return request.build_absolute_uri(f"{request.path}?{query.urlencode()}")


def _number_of(cursor: str) -> int:
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
    except (ValueError, binascii.Error):
        text = ""
    if not text.isdecimal() or len(text) > 19 or int(text) > LARGEST:
        raise ValidationError(
            {"cursor": ["Not a cursor of this list: follow next as it is given."]}
        )
    return int(text)
