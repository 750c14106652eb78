"""What participants will see, for the researcher, before the study opens."""

from __future__ import annotations

from dataclasses import dataclass

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
    order = _order(condition, claim)
    gold_sets = list(
        GoldSet.objects.filter(claim=claim).order_by("position").values_list("members", flat=True)
    )
    candidates = {row.position: row for row in Candidate.objects.filter(claim=claim)}
    return TrialPreview(
        condition=condition,
        claim=claim,
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


def _order(condition: Condition, claim: Claim) -> list[int]:
    key = {"condition": condition, "claim": claim}
    if condition.interface == Interface.INCREMENTAL:
        rows = Ranking.objects.filter(**key).values_list("order", flat=True)
    else:
        rows = Selection.objects.filter(**key).values_list("selected", flat=True)
    return rows.first() or []
