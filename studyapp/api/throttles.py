"""How often somebody may ask, counted in Django's cache (settings: API_RATE, API_FAILURE_RATE)."""

from __future__ import annotations

import logging
from typing import Any

from django.conf import settings
from redis.exceptions import RedisError
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

logger = logging.getLogger(__name__)


class _Throttle(SimpleRateThrottle):
    """Counts in a sliding window. A cache that cannot be reached stops nobody's work."""

    setting = ""

    def get_rate(self) -> str:
        rate: str = getattr(settings, self.setting)
        return rate

    def allow_request(self, request: Request, view: Any) -> bool:
        try:
            return super().allow_request(request, view)
        except RedisError as error:
            logger.warning("requests are not counted, the cache does not answer: %s", error)
            return True


class TokenThrottle(_Throttle):
    """Requests of one token."""

    scope = "api-token"
    setting = "API_RATE"

    def get_cache_key(self, request: Request, view: Any) -> str | None:
        if request.auth is None:
            return None
        return self.cache_format % {"scope": self.scope, "ident": request.auth.pk}


class FailureThrottle(_Throttle):
    """Wrong tokens from one address."""

    scope = "api-failure"
    setting = "API_FAILURE_RATE"
    _only_looks = True

    def __init__(self, request: Request):
        super().__init__()
        self._request = request

    def get_cache_key(self, request: Request, view: Any) -> str:
        return self.cache_format % {"scope": self.scope, "ident": self.get_ident(request)}

    def refuse_if_full(self) -> None:
        """Raise Throttled when the address was wrong too often."""
        if not self.allow_request(self._request, None):
            raise Throttled(self.wait())

    def count(self) -> None:
        """Note that the address was wrong once more."""
        self._only_looks = False
        self.allow_request(self._request, None)

    def throttle_success(self) -> bool:
        return True if self._only_looks else super().throttle_success()
