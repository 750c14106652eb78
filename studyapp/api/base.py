"""What every view of the API does: limits on bodies, checked queries, JSON alone."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from studyapp.api.errors import LengthRequired, TooLarge


class ApiView(APIView):
    """The base of every view. Answers are never kept: they hold what participants must not see."""

    http_method_names = ["get", "head", "post", "patch"]

    @property
    def max_body(self) -> int:
        """The largest body in bytes."""
        return settings.API_JSON_BYTES

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Check who asks and how much comes, before a byte of the body is read."""
        request.get_host()  # raises for a host that is not ours: addresses in answers begin with it
        super().initial(request, *args, **kwargs)
        length = request.META.get("CONTENT_LENGTH") or ""
        if not length and request.headers.get("Transfer-Encoding"):
            raise LengthRequired
        if length.isdigit() and int(length) > self.max_body:
            raise TooLarge(
                f"The body has {int(length):,} bytes; the limit here is {self.max_body:,}."
            )

    def finalize_response(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        response = super().finalize_response(request, *args, **kwargs)
        response.headers.setdefault("Cache-Control", "no-store")
        return response


def checked_query(request: Request, form: type[Serializer]) -> dict[str, Any]:
    """The query of an address, typed. Raises ValidationError, also for a name nobody knows."""
    return _checked(form, request.query_params, dict.fromkeys(request.query_params))


def checked_body(request: Request, form: type[Serializer]) -> dict[str, Any]:
    """The JSON object of a body, typed. Raises ValidationError, also for an unknown name."""
    return _checked(form, request.data, request.data)


def _checked(form: type[Serializer], data: Any, names: Any) -> dict[str, Any]:
    serializer = form(data=data)
    known = serializer.fields
    if unknown := [name for name in names if name not in known]:
        told = f"Not known; known are {', '.join(known)}." if known else "Nothing is known here."
        raise ValidationError({name: [told] for name in unknown})
    serializer.is_valid(raise_exception=True)
    values: dict[str, Any] = serializer.validated_data
    return values
