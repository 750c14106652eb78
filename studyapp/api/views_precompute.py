"""Rankings and selections: queue them, watch them, see what failed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from studyapp.api import answers, serializers
from studyapp.api.base import ApiView, checked_body, checked_query
from studyapp.api.pages import page_of
from studyapp.api.permissions import study_to_edit, study_to_see
from studyapp.domain import estimating, precompute, progress, spending
from studyapp.domain.estimating import ConditionEstimate
from studyapp.domain.progress import ConditionProgress
from studyapp.domain.spending import Account
from studyapp.enums import JobState
from studyapp.errors import BrokerAway
from studyapp.models import PrecomputeJob, Study


class Precompute(ApiView):
    """The work that a study needs before it can open."""

    @extend_schema(operation_id="get_progress", responses={200: answers.Progress})
    def get(self, request: Request, slug: str) -> Response:
        """How far each condition is and what it cost. Work that was left behind goes on."""
        study = study_to_see(request, slug)
        checked_query(request, serializers.NoQuery)
        return Response(_progress(study, lambda: precompute.ring_due(study)))

    @extend_schema(operation_id="queue_precompute", request=None, responses={202: answers.Progress})
    def post(self, request: Request, slug: str) -> Response:
        """Queue what is missing; what failed stays failed."""
        study = study_to_edit(request, slug)
        checked_body(request, serializers.NoQuery)
        queue = lambda: precompute.queue_jobs(study, retry_failed=False)  # noqa: E731
        return Response(_progress(study, queue), 202)


class Retry(ApiView):
    @extend_schema(operation_id="retry_precompute", request=None, responses={202: answers.Progress})
    def post(self, request: Request, slug: str) -> Response:
        """Queue again what failed, with what is missing."""
        study = study_to_edit(request, slug)
        checked_body(request, serializers.NoQuery)
        return Response(_progress(study, lambda: precompute.queue_jobs(study)), 202)


class SpendingLimits(ApiView):
    """What the study may spend on servers, and what it has spent."""

    @extend_schema(operation_id="get_spending", responses={200: answers.Spending})
    def get(self, request: Request, slug: str) -> Response:
        """Limits (null: none), prices of a million tokens, and the account of all workers."""
        study = study_to_see(request, slug)
        checked_query(request, serializers.NoQuery)
        return Response(_spending(spending.account_of(study)))

    @extend_schema(
        operation_id="limit_spending",
        request=serializers.LimitsBody,
        responses={200: answers.Spending},
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Set the limits that are given; null takes one away. Jobs that waited for it go on."""
        study = study_to_edit(request, slug)
        account = spending.set_limits(
            study, **serializers.limits(checked_body(request, serializers.LimitsBody))
        )
        # A broker that is away loses nothing: the jobs are found by whoever looks next.
        with suppress(BrokerAway):
            precompute.ring_due(study, account)
        return Response(_spending(account))


class Estimates(ApiView):
    @extend_schema(operation_id="get_estimate", responses={200: answers.Estimates})
    def get(self, request: Request, slug: str) -> Response:
        """About what the claims without a result will cost, from a sample of them, by condition.

        Conditions that ask no server are not listed. Retries are not counted, nor is taken off what
        is stored already.
        """
        study = study_to_see(request, slug)
        checked_query(request, serializers.NoQuery)
        found = estimating.estimates_of(study, sample=estimating.SAMPLE)
        return Response({"conditions": [_estimate(one) for one in found]})


class Failures(ApiView):
    @extend_schema(
        operation_id="list_failures",
        parameters=[serializers.PageQuery],
        responses={200: answers.page(answers.Failure)},
    )
    def get(self, request: Request, slug: str) -> Response:
        """What failed, why, and the model's raw reply where there was one."""
        study = study_to_see(request, slug)
        query = checked_query(request, serializers.PageQuery)
        failed = PrecomputeJob.objects.filter(condition__study=study, state=JobState.FAILED)
        return Response(page_of(request, failed, query, show=_failures))


def _progress(study: Study, ring: Callable[[], Any]) -> dict[str, Any]:
    """Progress after ``ring``; a broker that is away loses nothing, so it is a notice."""
    notices: list[str] = []
    try:
        ring()
    except BrokerAway as error:
        notices = list(map(str, error.problems))
    account = spending.account_of(study)
    rows = progress.progress_of(study, account=account)
    return {
        "is_settled": all(row.is_settled for row in rows),
        "worker_answers": progress.worker_answers(),
        "conditions": [_condition(row) for row in rows],
        "spending": _spending(account),
        "notices": notices,
    }


def _spending(account: Account) -> dict[str, Any]:
    prices = account.prices
    return {
        "max_calls": account.max_calls,
        "max_tokens": account.max_tokens,
        "max_cost": account.max_cost,
        "prices": None
        if prices is None
        else {"input": prices.input, "cached": prices.cached_input, "output": prices.output},
        "calls": account.usage.calls,
        "prompt_tokens": account.usage.prompt_tokens,
        "cached_prompt_tokens": account.usage.cached_prompt_tokens,
        "completion_tokens": account.usage.completion_tokens,
        "cost": account.cost,
        "reached": account.reached or None,
    }


def _estimate(one: ConditionEstimate) -> dict[str, Any]:
    found = one.found
    return {
        "condition": one.condition.name,
        "claims": one.n_claims,
        "sampled": one.n_sampled,
        "calls": None if found is None else found.calls,
        "prompt_tokens": None if found is None else found.prompt_tokens,
        "cached_prompt_tokens": None if found is None else found.cached_tokens,
        "completion_tokens": None if found is None else found.completion_tokens,
        "cost": one.money,
        "reason": one.reason or None,
    }


def _condition(row: ConditionProgress) -> dict[str, Any]:
    return {
        "condition": row.condition.name,
        "claims": row.n_claims,
        "done": row.done,
        "queued": row.queued,
        "running": row.running,
        "failed": row.failed,
        "waiting": row.waiting,
        "fallback": row.fallback,
        "calls": row.calls,
        "prompt_tokens": row.prompt_tokens,
        "cached_prompt_tokens": row.cached_prompt_tokens,
        "completion_tokens": row.completion_tokens,
    }


def _failures(keys: list[int]) -> list[dict[str, Any]]:
    jobs = PrecomputeJob.objects.filter(pk__in=keys).select_related("condition", "claim")
    return [
        {
            "condition": job.condition.name,
            "claim_id": job.claim.claim_id,
            "attempts": job.n_attempts,
            "error": job.error,
            "raw_reply": job.raw_reply,
        }
        for job in jobs.order_by("pk")
    ]
