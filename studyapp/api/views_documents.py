"""The OpenAPI document, a page to browse it, and the answer for addresses that are none."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from studyapp.api.base import ApiView
from studyapp.api.schema import document


@extend_schema(exclude=True)
class Schema(ApiView):
    """Public: it says nothing about any study."""

    authentication_classes: list[Any] = []
    permission_classes = [AllowAny]

    def get(self, request: Request) -> Response:
        """The OpenAPI document."""
        return Response(document(), headers={"Cache-Control": "public, max-age=300"})


@extend_schema(exclude=True)
class Nowhere(ApiView):
    """Every address below /api/ that is none."""

    authentication_classes: list[Any] = []
    permission_classes = [AllowAny]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        raise Http404("There is no such address; /api/v1/docs/ lists them. All end with a slash.")


@extend_schema(exclude=True)
class Docs(ApiView):
    """The addresses as a list, which Swagger's page takes the place of where scripts run."""

    authentication_classes: list[Any] = []
    permission_classes = [AllowAny]

    def get(self, request: HttpRequest) -> HttpResponse:
        """An HTML page."""
        operations = [
            {"method": method.upper(), "path": path, "summary": operation["summary"]}
            for path, methods in document()["paths"].items()
            for method, operation in methods.items()
        ]
        return render(request, "api/docs.html", {"operations": operations})
