"""How each claim stands under each condition: the list behind the rankings page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.db.models import (
    BooleanField,
    Case,
    CharField,
    ExpressionWrapper,
    FilteredRelation,
    Q,
    QuerySet,
    Value,
    When,
)
from django.db.models.functions import Left

from studyapp.domain.progress import ConditionProgress
from studyapp.domain.queries import main_claims
from studyapp.enums import JobState
from studyapp.models import Claim, Condition

#: Signs of a claim's text and of a reason that a list shows.
LONGEST_TEXT = 200
LONGEST_REASON = 600


class EvidenceState(StrEnum):
    """How a claim stands under a condition."""

    MISSING = "missing"
    WAITING = "waiting"
    RUNNING = "running"
    FAILED = "failed"
    FALLBACK = "fallback"
    DONE = "done"


@dataclass(frozen=True)
class ClaimState:
    """One claim under one condition. ``job_id`` is None where nothing was ever queued."""

    condition: Condition
    position: int
    claim_id: str
    text: str
    state: EvidenceState
    reason: str
    n_attempts: int
    job_id: int | None
    has_reply: bool
    finished_at: datetime | None


def count_of(row: ConditionProgress, state: str = "") -> int:
    """How many claims of a condition are in ``state``; all of them without one."""
    if not state:
        return row.n_claims
    return {
        EvidenceState.MISSING: row.missing,
        EvidenceState.WAITING: row.queued,
        EvidenceState.RUNNING: row.running,
        EvidenceState.FAILED: row.failed,
        EvidenceState.FALLBACK: row.fallback,
        EvidenceState.DONE: row.done - row.fallback,
    }[EvidenceState(state)]


def claim_states(
    rows: Sequence[ConditionProgress], state: str, start: int, n: int
) -> list[ClaimState]:
    """``n`` entries from ``start`` on: the claims in their order, one condition after another.

    ``rows`` are the conditions to list, with the counts that tell where each begins. One query for
    each condition that the entries come from.
    """
    found: list[ClaimState] = []
    for row in rows:
        size = count_of(row, state)
        if start < size and len(found) < n:
            claims = _claims_under(row.condition, state)[start : start + n - len(found)]
            found += [_state(row.condition, values) for values in claims]
        start = max(0, start - size)
    return found


def _claims_under(condition: Condition, state: str) -> QuerySet[Claim, dict[str, Any]]:
    """The study's claims with their job and their result under one condition."""
    results = "rankings" if condition.is_incremental else "selections"
    claims = main_claims(condition.study).annotate(
        job=FilteredRelation("jobs", condition=Q(jobs__condition=condition)),
        result=FilteredRelation(results, condition=Q(**{f"{results}__condition": condition})),
        state=Case(
            When(result__status="fallback", then=Value(EvidenceState.FALLBACK.value)),
            When(result__isnull=False, then=Value(EvidenceState.DONE.value)),
            When(job__state=JobState.FAILED, then=Value(EvidenceState.FAILED.value)),
            When(job__state=JobState.LEASED, then=Value(EvidenceState.RUNNING.value)),
            When(job__state=JobState.QUEUED, then=Value(EvidenceState.WAITING.value)),
            default=Value(EvidenceState.MISSING.value),
            output_field=CharField(),
        ),
    )
    if state:
        claims = claims.filter(state=state)
    return claims.order_by("position").values(
        "position",
        "claim_id",
        "state",
        "job__n_attempts",
        "job__finished_at",
        "job__pk",
        shown=Left("text", LONGEST_TEXT),
        reason=Left("job__error", LONGEST_REASON),
        has_reply=ExpressionWrapper(Q(job__raw_reply__gt=""), output_field=BooleanField()),
    )


def _state(condition: Condition, values: dict[str, Any]) -> ClaimState:
    return ClaimState(
        condition=condition,
        position=values["position"],
        claim_id=values["claim_id"],
        text=values["shown"],
        state=EvidenceState(values["state"]),
        reason=values["reason"] or "",
        n_attempts=values["job__n_attempts"] or 0,
        job_id=values["job__pk"],
        has_reply=bool(values["has_reply"]),
        finished_at=values["job__finished_at"],
    )
