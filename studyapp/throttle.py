"""Which address a login attempt comes from, and how long a lock still lasts."""

from __future__ import annotations

import math
from ipaddress import ip_address
from typing import Any

from axes.models import AccessAttempt
from django.conf import settings
from django.db.models import Max, Q
from django.http import HttpRequest
from django.utils import timezone


def client_address(request: HttpRequest) -> str | None:
    """The visitor's address, counted from our end of ``X-Forwarded-For``.

    Each trusted proxy adds the address it was called from; what stands further left was sent by
    the visitor and proves nothing. Without trusted proxies the header is not looked at.
    """
    direct = request.META.get("REMOTE_ADDR") or None
    if not settings.TRUSTED_PROXIES:
        return direct
    hops = [hop.strip() for hop in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")]
    if len(hops) < settings.TRUSTED_PROXIES:
        return direct
    try:
        return str(ip_address(hops[-settings.TRUSTED_PROXIES]))
    except ValueError:
        return direct


def tried_name(request: HttpRequest, credentials: dict[str, Any] | None) -> str | None:
    """The user name of a login attempt: from what was checked, else from the login form."""
    return (credentials or {}).get("username") or request.POST.get("auth-username")


def minutes_locked(request: HttpRequest, username: str) -> int:
    """The minutes until the name and the address are free again, at least one."""
    attempts = AccessAttempt.objects.filter(
        Q(username=username) | Q(ip_address=client_address(request))
    )
    last = attempts.aggregate(last=Max("attempt_time"))["last"] or timezone.now()
    left = last + settings.AXES_COOLOFF_TIME - timezone.now()
    return max(1, math.ceil(left.total_seconds() / 60))
