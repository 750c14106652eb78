"""A region of a page: alone for htmx, inside the full page for everybody else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.cache import patch_vary_headers


@dataclass(frozen=True)
class Region:
    """What the ``#run`` element holds: a template and its values, with the answer's status."""

    template: str
    context: dict[str, Any] = field(default_factory=dict)
    status: int = 200


def is_htmx(request: HttpRequest) -> bool:
    """Whether htmx asked, which swaps a fragment into the page it has."""
    return request.headers.get("HX-Request") == "true"


def fragment(template: str, context: dict[str, Any]) -> HttpResponse:
    """A part of a region, for htmx alone."""
    response = HttpResponse(render_to_string(template, context))
    patch_vary_headers(response, ("HX-Request",))
    return response


def region_or_page(request: HttpRequest, region: Region, page: str) -> HttpResponse:
    """The region alone for htmx, told to replace the old one whatever it meant to swap; else
    the full page around it."""
    if is_htmx(request):
        response = HttpResponse(
            render_to_string(region.template, region.context), status=region.status
        )
        response.headers["HX-Retarget"] = "#run"
        response.headers["HX-Reswap"] = "outerHTML show:none"
    else:
        response = HttpResponse(
            render_to_string(page, region.context | {"region": region.template}),
            status=region.status,
        )
    patch_vary_headers(response, ("HX-Request",))
    return response
