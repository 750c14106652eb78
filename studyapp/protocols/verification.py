"""Verification: read evidence for a claim, then decide."""

from __future__ import annotations

from typing import Any

from rankers.metrics import minimal_sufficient_rank
from studyapp.compiled import CompiledRead, insert_rows
from studyapp.enums import Decision, Interface
from studyapp.errors import BadAnswer, NotReady
from studyapp.models import GoldSet, PlannedTrial, Ranking, Selection, Trial, VerificationAnswer
from studyapp.protocols.base import Frozen, ProtocolRules, Step

REVEAL = "reveal"

_RANKING = CompiledRead(
    lambda condition_id, claim_id: Ranking.objects.filter(
        condition_id=condition_id, claim_id=claim_id
    ).only("order"),
    condition_id=int,
    claim_id=int,
)
_SELECTION = CompiledRead(
    lambda condition_id, claim_id: Selection.objects.filter(
        condition_id=condition_id, claim_id=claim_id
    ).only("selected"),
    condition_id=int,
    claim_id=int,
)


def _evidence_order(planned: PlannedTrial) -> list[int]:
    """The positions a participant will see, in display order."""
    key = {"condition_id": planned.condition_id, "claim_id": planned.claim_id}
    if planned.condition.interface == Interface.INCREMENTAL:
        ranking = _RANKING.first(**key)
        order = ranking and ranking.order
    else:
        selection = _SELECTION.first(**key)
        order = selection and selection.selected
    if order is None:
        raise NotReady(
            f"Claim {planned.claim.claim_id} has no evidence for condition "
            f"{planned.condition.name}: run precompute."
        )
    return order


def freeze(planned: PlannedTrial) -> Frozen:
    """Freeze the order, and with it the rank of the first sufficient prefix (paper, section 3.1).

    ``msr`` is None where the evidence shown holds no gold set (possible for a selection only).
    """
    order = _evidence_order(planned)
    gold_sets = list(
        GoldSet.objects.filter(claim_id=planned.claim_id).values_list("members", flat=True)
    )
    stimulus = {"order": order, "msr": minimal_sufficient_rank(order, gold_sets)}
    n_first = 1 if planned.condition.interface == Interface.INCREMENTAL else len(order)
    return Frozen(stimulus, [_step(order, number) for number in range(1, n_first + 1)])


def _step(order: list[int], number: int) -> Step:
    return Step(REVEAL, number, {"candidate": order[number - 1]})


def next_step(trial: Trial) -> Step | None:
    """The reveal after the last one, or None when all evidence is visible."""
    order = trial.stimulus["order"]
    return _step(order, trial.n_steps + 1) if trial.n_steps < len(order) else None


def store_answer(trial: Trial, options: list[str], answer: dict[str, Any]) -> None:
    """Insert the decision. A claim whose label is none of the options is not scorable."""
    decision = answer.get("decision")
    if decision not in options:
        raise BadAnswer("Choose one of the answers, then confirm. Nothing was stored.")
    label = trial.claim.label
    is_correct = decision == label if label in options else None
    insert_rows(
        VerificationAnswer,
        ("trial", "decision", "is_correct", "n_shown", "confidence", "reason"),
        [(trial.pk, decision, is_correct, trial.n_steps, None, "")],
    )


def default_options(labels: set[str]) -> list[str]:
    """Supported, refuted, can't decide; partially supported where a claim has that label."""
    options = [Decision.SUPPORTED, Decision.REFUTED]
    if Decision.PARTIALLY_SUPPORTED in labels:
        options.append(Decision.PARTIALLY_SUPPORTED)
    return [str(option.value) for option in [*options, Decision.CANT_DECIDE]]


RULES = ProtocolRules(
    event_kinds=frozenset({REVEAL}),
    freeze=freeze,
    next_step=next_step,
    store_answer=store_answer,
)
