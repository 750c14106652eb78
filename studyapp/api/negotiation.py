"""Answers are JSON whatever a request accepts."""

from __future__ import annotations

from typing import Any

from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.request import Request


class JsonAlways(DefaultContentNegotiation):
    """Errors of a download are JSON too, and nobody is refused for an odd Accept header."""

    def select_renderer(
        self, request: Request, renderers: list[Any], format_suffix: str | None = None
    ) -> tuple[Any, str]:
        return renderers[0], renderers[0].media_type
