"""What preparing the rest of a study is going to cost, before anything is queued.

Counted by ``rankers.cost`` from the very prompts that a method would send. Large studies are
estimated from a sample of their claims, spread evenly over the numbers of candidates.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, QuerySet

import rankers
from rankers import cost
from rankers.method_info import MODEL
from rankers.registry import method_needs
from studyapp.domain import spending
from studyapp.domain.queries import main_claims
from studyapp.models import Candidate, Claim, Condition, Ranking, Selection, Study

#: Claims that a page's estimate looks at, for each condition.
SAMPLE = 12


@dataclass(frozen=True)
class ConditionEstimate:
    """What ``n_claims`` without a result are going to cost under a condition, retries aside.

    ``found`` is None where nothing can be said, for ``reason``. ``money`` is None without prices.
    """

    condition: Condition
    n_claims: int
    n_sampled: int = 0
    found: cost.Estimate | None = None
    money: float | None = None
    reason: str = ""


def estimates_of(study: Study, *, sample: int | None = None) -> list[ConditionEstimate]:
    """An estimate for each condition, from at most ``sample`` of its claims (None: from all).

    Answers that are stored already cost nothing and are not taken off.
    """
    prices = spending.account_of(study).prices
    estimates = []
    for condition in study.conditions.order_by("position"):
        if not spending.is_paid(condition):
            continue
        one = _estimate(study, condition, sample)
        if prices is not None and one.found is not None:
            one = ConditionEstimate(
                condition, one.n_claims, one.n_sampled, one.found, prices.cost(one.found.usage)
            )
        estimates.append(one)
    return estimates


def in_words(one: ConditionEstimate) -> str:
    """An estimate in one line."""
    if not one.n_claims:
        return "nothing is left to ask"
    if one.found is None:
        return f"{one.n_claims:,} claims to ask, {one.reason}"
    found = one.found
    words = (
        f"{one.n_claims:,} claims to ask, about {found.calls:,} calls, {found.prompt_tokens:,} "
        f"prompt tokens ({found.cached_tokens:,} of them from the server's prefix cache) and at "
        f"most {found.completion_tokens:,} completion tokens, without retries"
    )
    return words if one.money is None else f"{words}; cost about {one.money:,.2f}"


def _estimate(study: Study, condition: Condition, sample: int | None) -> ConditionEstimate:
    claim_ids = list(_without_result(study, condition).values_list("pk", flat=True))
    n_claims = len(claim_ids)
    if not claim_ids:
        return ConditionEstimate(condition, 0)
    if MODEL not in method_needs(condition.method, condition.params):
        reason = "for embeddings, which are not estimated"
        return ConditionEstimate(condition, n_claims, reason=reason)
    chosen = _spread(claim_ids, sample)
    try:
        method = _planner(condition)
        found = cost.estimate(
            method.plan(claim.text, texts) for claim, texts in _claims_with_texts(chosen)
        )
    except rankers.RankerError as error:
        return ConditionEstimate(condition, n_claims, reason=f"not estimated: {error}")
    return ConditionEstimate(
        condition, n_claims, len(chosen), _scaled(found, n_claims / len(chosen))
    )


def _without_result(study: Study, condition: Condition) -> QuerySet[Claim]:
    table = Ranking if condition.is_incremental else Selection
    stored = table.objects.filter(condition=condition, claim=OuterRef("pk"))
    return main_claims(study).exclude(Exists(stored)).order_by("n_candidates", "position")


def _spread(claim_ids: list[int], sample: int | None) -> list[int]:
    """At most ``sample`` of the ids, from the middles of equal parts of the list."""
    if sample is None or len(claim_ids) <= sample:
        return claim_ids
    return [claim_ids[(2 * part + 1) * len(claim_ids) // (2 * sample)] for part in range(sample)]


def _planner(condition: Condition) -> rankers.Ranker | rankers.Selector:
    """The condition's method with a model that is never asked: neither key nor server is needed."""
    from rankers.llm import LLM

    model = condition.model or os.environ.get("OPENAI_MODEL") or "unnamed"
    return rankers.build(
        condition.method,
        model=model,
        embedder=condition.embedder or None,
        params=condition.params,
        llm=LLM(model),
    )


def _claims_with_texts(claim_ids: list[int]) -> Iterator[tuple[Claim, list[str]]]:
    for start in range(0, len(claim_ids), 200):
        part = claim_ids[start : start + 200]
        texts: dict[int, list[str]] = {claim_id: [] for claim_id in part}
        rows = Candidate.objects.filter(claim__in=part).order_by("claim_id", "position")
        for claim_id, text in rows.values_list("claim_id", "text"):
            texts[claim_id].append(text)
        claims = Claim.objects.only("pk", "text").in_bulk(part)
        yield from ((claims[claim_id], texts[claim_id]) for claim_id in part)


def _scaled(found: cost.Estimate, factor: float) -> cost.Estimate:
    return cost.Estimate(
        *(
            round(value * factor)
            for value in (
                found.calls,
                found.prompt_tokens,
                found.cached_tokens,
                found.completion_tokens,
            )
        )
    )
