"""What every researchers' page prints around its content."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from studyapp.access import rights
from studyapp.models import Study


def page(
    request: HttpRequest, template: str, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    """A whole page, with the researcher's name, the messages, and what the study lets them do."""
    return render(request, template, _common(request) | context, status=status)


def _common(request: HttpRequest) -> dict[str, Any]:
    study: Study | None = getattr(request, "study", None)
    return {
        "user_name": request.user.get_username(),
        "messages": messages.get_messages(request),
        "study": study,
    } | (rights(study) if study else {})
