"""What participants will see, for the researcher, before the study opens."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from django.db.models import Count, Max, Min, OuterRef, Q, Subquery

from rankers.metrics import minimal_sufficient_rank
from studyapp.domain.queries import main_claims
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
    gold_sets = GoldSet.objects.filter(claim=claim).order_by("position")
    table = Ranking if condition.is_incremental else Selection
    return _preview(
        condition,
        claim,
        list(Candidate.objects.filter(claim=claim)),
        list(gold_sets.values_list("members", flat=True)),
        table.objects.filter(condition=condition, claim=claim).first(),
    )


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

    At most six queries, whatever the number of conditions.
    """
    claim_of = _first_claims(study)
    conditions = [each for each in study.conditions.order_by("position") if each.pk in claim_of]
    candidates: dict[int, list[Candidate]] = defaultdict(list)
    rows = Candidate.objects.filter(claim__in=set(claim_of.values())).select_related("claim")
    for row in rows.order_by("claim", "position"):
        candidates[row.claim_id].append(row)
    gold_sets: dict[int, list[list[int]]] = defaultdict(list)
    members = GoldSet.objects.filter(claim__in=candidates).order_by("claim", "position")
    for claim_id, positions in members.values_list("claim_id", "members"):
        gold_sets[claim_id].append(positions)
    results = _results(conditions, claim_of)
    return [
        _preview(
            condition,
            candidates[claim_of[condition.pk]][0].claim,
            candidates[claim_of[condition.pk]],
            gold_sets[claim_of[condition.pk]],
            results.get((condition.pk, claim_of[condition.pk])),
        )
        for condition in conditions
    ]


def _first_claims(study: Study) -> dict[int, int]:
    """The claim of each condition's first trial, by primary keys: one query."""
    if study.n_replications:
        planned = PlannedTrial.objects.filter(condition=OuterRef("pk"))
        first = planned.order_by("slot__replication", "slot__number", "position").values("claim")
    else:
        first = main_claims(study).order_by("position").values("pk")
    conditions = study.conditions.annotate(first_claim=Subquery(first[:1]))
    return dict(conditions.filter(first_claim__isnull=False).values_list("pk", "first_claim"))


def _preview(
    condition: Condition,
    claim: Claim,
    rows: list[Candidate],
    gold_sets: list[list[int]],
    result: Ranking | Selection | None,
) -> TrialPreview:
    order = _order(result)
    candidates = {row.position: row for row in rows}
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


def _results(
    conditions: list[Condition], claim_of: dict[int, int]
) -> dict[tuple[int, int], Ranking | Selection]:
    """What is shown, by condition and claim: one query for each interface there is."""
    found: dict[tuple[int, int], Ranking | Selection] = {}
    for table, is_incremental in ((Ranking, True), (Selection, False)):
        wanted = [each.pk for each in conditions if each.is_incremental == is_incremental]
        if not wanted:
            continue
        pairs = [Q(condition=pk, claim=claim_of[pk]) for pk in wanted]
        for row in table._default_manager.filter(reduce(or_, pairs)):
            found[row.condition_id, row.claim_id] = row
    return found


def _order(result: Ranking | Selection | None) -> list[int]:
    if result is None:
        return []
    return result.order if isinstance(result, Ranking) else result.selected
