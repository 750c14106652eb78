"""The monitor: where everybody is, which places are filled, who holds a slot, how fast it goes."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from studyapp.access import researcher_only, rights
from studyapp.domain.filling import claim_cells, filling_of, finished_by_condition
from studyapp.domain.held_slots import held_slots
from studyapp.domain.pace import active_seconds, strip_of
from studyapp.domain.queries import main_claims, run_counts_of
from studyapp.enums import RunKind, StudyState
from studyapp.models import Study
from studyapp.run_forms import KindForm
from studyapp.views import held_words
from studyapp.views import monitor_words as words
from studyapp.views.htmx import is_htmx
from studyapp.views.researcher_layout import page
from studyapp.views.researcher_paging import pages_of
from studyapp.views.researcher_people import counts_table
from studyapp.views.researcher_recruiting import recruiting_content
from studyapp.views.researcher_words import number

#: Claims on a page of the claims' table.
CLAIMS_PAGE = 100


@require_safe
@researcher_only
def study_monitor(request: HttpRequest, slug: str) -> HttpResponse:
    """The whole page; for htmx, which asks again while the study runs, what changes in it."""
    study = request.study
    chosen = KindForm.chosen(request.GET)
    context = {"monitor": _monitor(study, chosen), "study": study} | rights(study)
    if is_htmx(request):
        response = render(request, "researcher/_monitor.html", context)
    else:
        response = page(request, "researcher/monitor.html", context)
    patch_vary_headers(response, ["HX-Request"])
    return response


def _monitor(study: Study, chosen: dict[str, Any]) -> dict[str, Any]:
    now = timezone.now()
    kind = chosen["kind"]
    counts = run_counts_of(study)
    conditions = list(study.conditions.order_by("position"))
    filling = filling_of(study, kind)
    held = held_slots(study, now)
    n_expired = sum(each.is_expired for each in held if each.run_kind == kind)
    active = active_seconds(study, kind)
    address = reverse("study-monitor", args=[study.slug])
    return {
        **_refreshing(study, chosen, address),
        "now": f"{now:%H:%M:%S}",
        "counts": counts_table(counts, with_empty=True),
        "recruiting": {} if study.is_draft else recruiting_content(study, now),
        "kind": RunKind(kind).label,
        "kind_value": kind,
        "kinds": words.kinds_words(address, counts.kinds, kind),
        "places": words.places_words(filling.all, n_expired),
        "filling": words.filling_words(filling, conditions),
        "finished": words.balance_words(finished_by_condition(study), conditions, counts.kinds),
        "times": words.times_words(study, kind, active, conditions),
        "strip": words.strip_words(strip_of(study, kind, now)),
        "held": held_words.held_words(study, held),
        "connections": held_words.connection_words(held),
        "is_running": study.state in (StudyState.OPEN, StudyState.PAUSED),
    }


def _refreshing(study: Study, chosen: dict[str, Any], address: str) -> dict[str, Any]:
    """Whether the page asks for news, and the addresses that switch this."""
    is_running = study.state in (StudyState.OPEN, StudyState.PAUSED)
    kind = f"?kind={chosen['kind']}"
    return {
        "can_refresh": is_running,
        "is_live": is_running and chosen["is_live"],
        "poll": f"{address}{kind}",
        "still": f"{address}{kind}&live=off",
    }


@require_safe
@researcher_only
def monitor_claims(request: HttpRequest, slug: str) -> HttpResponse:
    """Every claim under every condition: planned, finished, under way."""
    study = request.study
    chosen = KindForm.chosen(request.GET)
    kinds = run_counts_of(study).kinds
    conditions = list(study.conditions.order_by("position"))
    claims = main_claims(study)
    address = reverse("monitor-claims", args=[study.slug])
    pages = pages_of(
        claims.count(), chosen["page"], CLAIMS_PAGE, lambda n: f"?kind={chosen['kind']}&page={n}"
    )
    shown = list(
        claims.order_by("position").only("pk", "claim_id", "text")[pages.first : pages.last]
    )
    cells = claim_cells(study, chosen["kind"], shown)
    context = {
        "kinds": words.kinds_words(address, kinds, chosen["kind"]),
        "kind": RunKind(chosen["kind"]).label.lower(),
        "conditions": [condition.name for condition in conditions],
        "pages": pages,
        "rows": [
            {
                "claim": claim.claim_id,
                "text": claim.text,
                "cells": [
                    {
                        "completed": f"{number(cell.completed)} of {number(cell.planned)}",
                        "running": number(cell.running),
                    }
                    for condition in conditions
                    for cell in [cells[claim.pk, condition.pk]]
                ],
            }
            for claim in shown
        ],
    }
    return page(request, "researcher/monitor_claims.html", context)
