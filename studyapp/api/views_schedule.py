"""The schedule: lay it out, read it row by row, prove its balance."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from studyapp.api import answers, serializers
from studyapp.api.base import ApiView, checked_body, checked_query
from studyapp.api.pages import page_of
from studyapp.api.permissions import study_to_edit, study_to_see
from studyapp.domain import schedule
from studyapp.domain.balance import balance_of
from studyapp.models import PlannedTrial, Study


class Schedule(ApiView):
    """Who sees what, in which order."""

    @extend_schema(
        operation_id="list_schedule",
        parameters=[serializers.PageQuery],
        responses={200: answers.page(answers.Planned)},
    )
    def get(self, request: Request, slug: str) -> Response:
        """Every planned trial, slot by slot in the order of the trials."""
        study = study_to_see(request, slug)
        query = checked_query(request, serializers.PageQuery)
        planned = PlannedTrial.objects.filter(slot__study=study)
        return Response(page_of(request, planned, query, show=_rows))

    @extend_schema(
        operation_id="lay_out_schedule",
        request=serializers.ScheduleBody,
        responses={200: answers.Balance},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Lay out a draft anew, or add cycles to an open study; answers with the balance."""
        study = study_to_edit(request, slug)
        wanted = checked_body(request, serializers.ScheduleBody)
        schedule.lay_out(study, wanted["subsets"], wanted["replications"], wanted["seed"])
        return Response(_balance(study))


class Balance(ApiView):
    @extend_schema(operation_id="get_balance", responses={200: answers.Balance})
    def get(self, request: Request, slug: str) -> Response:
        """Each claim once per condition and cycle, nobody twice: counted from what is stored."""
        study = study_to_see(request, slug)
        checked_query(request, serializers.NoQuery)
        return Response(_balance(study))


_FIELDS = {
    "replication": "slot__replication",
    "slot": "slot__number",
    "position": "position",
    "block": "block",
    "subset": "claim__subset__number",
    "claim_id": "claim__claim_id",
    "condition": "condition__name",
}


def _rows(keys: list[int]) -> list[dict[str, Any]]:
    rows = PlannedTrial.objects.filter(pk__in=keys).order_by("pk").values_list(*_FIELDS.values())
    return [dict(zip(_FIELDS, row, strict=True)) for row in rows]


def _balance(study: Study) -> dict[str, Any]:
    balance = balance_of(study)
    return {
        "is_balanced": balance.is_balanced,
        "problems": balance.problems,
        "n_slots": balance.n_slots,
        "n_trials": balance.n_trials,
        "subset_sizes": {str(number): size for number, size in balance.subset_sizes.items()},
        "first_condition": balance.first_condition,
        "mean_position": balance.mean_position,
        "claims_once": [
            {"replication": replication, "condition": name, "claims": once}
            for (replication, name), once in sorted(balance.claims_once.items())
        ],
        "slots": balance.rows,
    }
