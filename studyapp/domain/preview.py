"""What participants will see, for the researcher, before the study opens."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import reduce
from operator import or_

from django.db.models import OuterRef, Q, Subquery

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
    """One sentence in the order shown, and the gold sets (from 1) that it belongs to."""

    rank: int
    text: str
    title: str | None
    gold_sets: list[int]


@dataclass(frozen=True)
class TrialPreview:
    """The first trial of a condition. ``sentences`` is empty while its evidence is not stored.

    ``msr`` is the rank of the first prefix that holds a gold set, None where no prefix does.
    """

    condition: Condition
    claim: Claim
    sentences: list[ShownSentence]
    gold_sets: list[list[int]]
    msr: int | None


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
    orders = _orders(conditions, claim_of)
    return [
        _preview(
            condition,
            candidates[claim_of[condition.pk]],
            gold_sets[claim_of[condition.pk]],
            orders.get((condition.pk, claim_of[condition.pk]), []),
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
    candidates: list[Candidate],
    gold_sets: list[list[int]],
    order: list[int],
) -> TrialPreview:
    return TrialPreview(
        condition=condition,
        claim=candidates[0].claim,
        sentences=[
            ShownSentence(
                rank,
                candidates[position].text,
                candidates[position].title,
                [number for number, members in enumerate(gold_sets, 1) if position in members],
            )
            for rank, position in enumerate(order, start=1)
        ],
        gold_sets=gold_sets,
        msr=minimal_sufficient_rank(order, gold_sets) if order else None,
    )


def _orders(
    conditions: list[Condition], claim_of: dict[int, int]
) -> dict[tuple[int, int], list[int]]:
    """What is shown, by condition and claim: one query for each interface there is."""
    found: dict[tuple[int, int], list[int]] = {}
    for table, column, is_incremental in ((Ranking, "order", True), (Selection, "selected", False)):
        wanted = [each.pk for each in conditions if each.is_incremental == is_incremental]
        if not wanted:
            continue
        pairs = [Q(condition=pk, claim=claim_of[pk]) for pk in wanted]
        rows = table.objects.filter(reduce(or_, pairs))
        for condition_id, claim_id, order in rows.values_list("condition_id", "claim_id", column):
            found[condition_id, claim_id] = order
    return found
