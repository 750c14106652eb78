"""The schedule: lay it out, add to it, close parts, read it row by row, prove its balance."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from studyapp.api import answers, serializers
from studyapp.api.base import ApiView, checked_body, checked_query
from studyapp.api.pages import page_of
from studyapp.api.permissions import study_to_edit, study_to_see
from studyapp.domain import closing, schedule
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


class Cycles(ApiView):
    @extend_schema(
        operation_id="add_cycles",
        request=serializers.CyclesBody,
        responses={200: answers.Balance},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Add cycles with the same subsets and seed; answers with the balance."""
        study = study_to_edit(request, slug)
        wanted = checked_body(request, serializers.CyclesBody)
        schedule.add_cycles(study, wanted["further"], n_before=wanted.get("before"))
        return Response(_balance(study))


class _SlotMove(ApiView):
    """A slot is closed, or opened again."""

    def move(
        self, request: Request, slug: str, replication: int, number: int, change: Any
    ) -> Response:
        study = study_to_edit(request, slug)
        checked_body(request, serializers.NoQuery)
        slots = study.slots.filter(replication=_small(replication), number=_small(number))
        if not slots.exists():
            raise Http404
        change(study, replication, number)
        is_closed = slots.filter(closed_at__isnull=False).exists()
        return Response({"replication": replication, "slot": number, "closed": is_closed})


class CloseSlot(_SlotMove):
    @extend_schema(operation_id="close_slot", request=None, responses={200: answers.SlotMoved})
    def post(self, request: Request, slug: str, replication: int, number: int) -> Response:
        """Give a slot to nobody any more; runs under way in it go on."""
        return self.move(request, slug, replication, number, closing.close_slots)


class ReopenSlot(_SlotMove):
    @extend_schema(operation_id="reopen_slot", request=None, responses={200: answers.SlotMoved})
    def post(self, request: Request, slug: str, replication: int, number: int) -> Response:
        """Give a closed slot out again."""
        return self.move(request, slug, replication, number, closing.reopen_slots)


class _SubsetMove(ApiView):
    """A subset is closed, or opened again."""

    def move(self, request: Request, slug: str, number: int, change: Any) -> Response:
        study = study_to_edit(request, slug)
        checked_body(request, serializers.NoQuery)
        subsets = study.subsets.filter(number=_small(number))
        if not subsets.exists():
            raise Http404
        change(study, number)
        is_closed = subsets.filter(closed_at__isnull=False).exists()
        return Response({"subset": number, "closed": is_closed})


class CloseSubset(_SubsetMove):
    @extend_schema(operation_id="close_subset", request=None, responses={200: answers.SubsetMoved})
    def post(self, request: Request, slug: str, number: int) -> Response:
        """Give no slot with a subset's claims to anybody any more; runs under way go on."""
        return self.move(request, slug, number, closing.close_subset)


class ReopenSubset(_SubsetMove):
    @extend_schema(operation_id="reopen_subset", request=None, responses={200: answers.SubsetMoved})
    def post(self, request: Request, slug: str, number: int) -> Response:
        """Give the slots of a closed subset out again, but for those closed by themselves."""
        return self.move(request, slug, number, closing.reopen_subset)


def _small(number: int) -> int:
    """A number that a database can look for. Raises Http404 for any other: nothing has it."""
    if number > 2**31 - 1:
        raise Http404
    return number


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
