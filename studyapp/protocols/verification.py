"""Verification: read evidence for a claim, then decide."""

from __future__ import annotations

from typing import Any

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from rankers.metrics import minimal_sufficient_rank
from studyapp.compiled import CompiledRead, insert_rows
from studyapp.enums import Decision, Interface, TrialKind
from studyapp.errors import BadAnswer, NotReady
from studyapp.models import GoldSet, Ranking, Selection, Study, Trial, VerificationAnswer
from studyapp.protocols.base import Frozen, ProtocolRules, Step

REVEAL = "reveal"
#: How sure a participant can be: 1 not at all, 5 completely.
CONFIDENCE_SCALE = (1, 2, 3, 4, 5)
#: The longest reason that is kept, in characters.
MAX_REASON = 1000

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


def _evidence_order(trial: Trial) -> list[int]:
    """The positions a participant will see, in display order.

    Practice and attention trials have no ranking: they show all candidates in the file's order.
    """
    if trial.kind != TrialKind.MAIN:
        return list(range(trial.claim.n_candidates))
    key = {"condition_id": trial.condition_id, "claim_id": trial.claim_id}
    if trial.condition.interface == Interface.INCREMENTAL:
        ranking = _RANKING.first(**key)
        order = ranking and ranking.order
    else:
        selection = _SELECTION.first(**key)
        order = selection and selection.selected
    if order is None:
        raise NotReady(
            f"Claim {trial.claim.claim_id} has no evidence for condition "
            f"{trial.condition.name}: run precompute."
        )
    return order


def freeze(trial: Trial) -> Frozen:
    """Freeze the order, and with it the rank of the first sufficient prefix (paper, section 3.1).

    ``msr`` is None where the evidence shown holds no gold set (possible for a selection only).
    """
    order = _evidence_order(trial)
    gold_sets = list(
        GoldSet.objects.filter(claim_id=trial.claim_id).values_list("members", flat=True)
    )
    stimulus = {"order": order, "msr": minimal_sufficient_rank(order, gold_sets)}
    n_first = 1 if trial.condition.interface == Interface.INCREMENTAL else len(order)
    return Frozen(stimulus, [_step(order, number) for number in range(1, n_first + 1)])


def _step(order: list[int], number: int) -> Step:
    return Step(REVEAL, number, {"candidate": order[number - 1]})


def next_step(trial: Trial) -> Step | None:
    """The reveal after the last one, or None when all evidence is visible."""
    order = trial.stimulus["order"]
    return _step(order, trial.n_steps + 1) if trial.n_steps < len(order) else None


def store_answer(trial: Trial, study: Study, answer: dict[str, Any]) -> None:
    """Insert the decision, with confidence and reason where the study asks for them.

    A claim whose label is none of the options is not scorable.
    """
    options = study.response_options
    decision = answer.get("decision")
    if decision not in options:
        raise BadAnswer(_("Choose one of the answers, then confirm. Nothing was stored."))
    confidence, reason = _confidence(study, answer), _reason(study, answer)
    label = trial.claim.label
    is_correct = decision == label if label in options else None
    insert_rows(
        VerificationAnswer,
        ("trial", "decision", "is_correct", "n_shown", "confidence", "reason"),
        [(trial.pk, decision, is_correct, trial.n_steps, confidence, reason)],
    )


def _confidence(study: Study, answer: dict[str, Any]) -> int | None:
    asked, confidence = study.sitting_setting("confidence"), answer.get("confidence")
    if asked == "off" or (confidence is None and asked == "optional"):
        return None
    if confidence not in CONFIDENCE_SCALE:
        raise BadAnswer(_("Say how sure you are, then confirm. Nothing was stored."))
    return int(confidence)


def _reason(study: Study, answer: dict[str, Any]) -> str:
    reason = str(answer.get("reason") or "")
    if study.sitting_setting("reason") == "off":
        return ""
    if len(reason) > MAX_REASON:
        raise BadAnswer(
            format_lazy(
                _("Write at most {limit} characters; these are {length}. Nothing was stored."),
                limit=MAX_REASON,
                length=len(reason),
            )
        )
    return reason


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
