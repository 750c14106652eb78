"""What participants will see, for the researcher, before the study opens."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.db.models import Count, Max, Min, Q

from rankers.metrics import minimal_sufficient_rank
from studyapp.domain.queries import main_claims
from studyapp.enums import Interface
from studyapp.models import (
    Candidate,
    Claim,
    Condition,
    GoldSet,
    PlannedTrial,
    Ranking,
    Selection,
    Study,
)


@dataclass(frozen=True)
class ShownSentence:
    """One sentence in the order shown, and the gold sets (from 1) that it belongs to.

    ``position`` is its place among the claim's candidates. ``origin`` and ``score`` are None where
    the method gives none.
    """

    rank: int
    position: int
    text: str
    title: str | None
    gold_sets: list[int]
    origin: str | None = None
    score: float | None = None


@dataclass(frozen=True)
class TrialPreview:
    """A claim as a condition shows it. ``sentences`` is empty while its evidence is not stored.

    ``msr`` is the rank of the first prefix that holds a gold set, None where no prefix does.
    ``result`` is the stored ranking or selection. ``hidden_gold`` are sentences of gold sets that
    are not shown at all, in reading order, with rank 0.
    """

    condition: Condition
    claim: Claim
    sentences: list[ShownSentence]
    gold_sets: list[list[int]]
    msr: int | None
    result: Ranking | Selection | None = None
    hidden_gold: list[ShownSentence] = field(default_factory=list)


@dataclass(frozen=True)
class Neighbours:
    """Where a main claim stands: its number, how many there are, and the positions beside it."""

    number: int
    n_claims: int
    previous: int | None
    next: int | None


def preview_of(condition: Condition, claim: Claim) -> TrialPreview:
    """A claim as participants will see it under a condition: three queries."""
    return _preview(condition, claim)


def neighbours_of(claim: Claim) -> Neighbours:
    """The main claims before and after a claim: one query."""
    found = main_claims(claim.study).aggregate(
        n_claims=Count("pk"),
        number=Count("pk", filter=Q(position__lte=claim.position)),
        previous=Max("position", filter=Q(position__lt=claim.position)),
        next=Min("position", filter=Q(position__gt=claim.position)),
    )
    return Neighbours(**found)


def first_trials(study: Study) -> list[TrialPreview]:
    """The first trial of each condition, or its first claim before there is a schedule.

    One query, and four for each condition.
    """
    conditions = list(study.conditions.order_by("position"))
    claims = [(condition, _first_claim(study, condition)) for condition in conditions]
    return [_preview(condition, claim) for condition, claim in claims if claim is not None]


def _first_claim(study: Study, condition: Condition) -> Claim | None:
    if not study.n_replications:
        return main_claims(study).order_by("position").first()
    planned = (
        PlannedTrial.objects.filter(condition=condition)
        .select_related("claim")
        .order_by("slot__replication", "slot__number", "position")
        .first()
    )
    return planned.claim if planned else None


def _preview(condition: Condition, claim: Claim) -> TrialPreview:
    result = _result(condition, claim)
    order = _order(result)
    gold_sets = list(
        GoldSet.objects.filter(claim=claim).order_by("position").values_list("members", flat=True)
    )
    candidates = {row.position: row for row in Candidate.objects.filter(claim=claim)}
    origins, scores = getattr(result, "origins", None), getattr(result, "scores", None)
    hidden = sorted({member for members in gold_sets for member in members} - set(order))
    return TrialPreview(
        condition=condition,
        claim=claim,
        sentences=[
            _sentence(
                rank,
                candidates[position],
                gold_sets,
                origin=origins[rank - 1] if origins else None,
                score=scores[rank - 1] if scores else None,
            )
            for rank, position in enumerate(order, start=1)
        ],
        gold_sets=gold_sets,
        msr=minimal_sufficient_rank(order, gold_sets) if order else None,
        result=result,
        hidden_gold=[_sentence(0, candidates[position], gold_sets) for position in hidden],
    )


def _sentence(
    rank: int,
    candidate: Candidate,
    gold_sets: list[list[int]],
    *,
    origin: str | None = None,
    score: float | None = None,
) -> ShownSentence:
    return ShownSentence(
        rank=rank,
        position=candidate.position,
        text=candidate.text,
        title=candidate.title,
        gold_sets=[n for n, members in enumerate(gold_sets, 1) if candidate.position in members],
        origin=origin,
        score=score,
    )


def _result(condition: Condition, claim: Claim) -> Ranking | Selection | None:
    table = Ranking if condition.interface == Interface.INCREMENTAL else Selection
    return table.objects.filter(condition=condition, claim=claim).first()


def _order(result: Ranking | Selection | None) -> list[int]:
    if result is None:
        return []
    return result.order if isinstance(result, Ranking) else result.selected
