"""Large finished studies, made by bulk inserts: what thousands of requests would have left."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from studyapp.codes import event_code, participant_code, run_token, trial_code
from studyapp.domain import lifecycle, schedule
from studyapp.enums import EnrolmentState, EventKind, JobState, RunKind, TrialState
from studyapp.models import (
    Candidate,
    Claim,
    Condition,
    Enrolment,
    Event,
    GoldSet,
    Participant,
    PlannedTrial,
    PrecomputeJob,
    Ranking,
    Selection,
    Slot,
    Study,
    Trial,
    VerificationAnswer,
)
from studyapp.protocols.verification import REVEAL
from tests import factories

START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
BATCH = 2000


def finished_study(n_trials: int, *, n_claims: int = 100, seed: int = 1, **fields: Any) -> Study:
    """An open study in which about ``n_trials`` trials are finished: whole cycles of 5 people.

    People decide right three times in four, read on until evidence suffices or a little further,
    and take a few seconds a sentence.
    """
    per_cycle = 2 * n_claims
    cycles = max(1, round(n_trials / per_cycle))
    study = factories.open_study(n_claims, n_subsets=5, n_replications=cycles, **fields)
    sit_all(study, list(study.slots.all()), seed=seed)
    return study


def large_study(
    n_claims: int, *, n_candidates: int, n_subsets: int, n_cycles: int, **fields: Any
) -> Study:
    """An open study with a finished run in each of its slots, claims and evidence made in bulk.

    Claims are like those of the factories, with more candidates that are short.
    """
    study = factories.draft_study(**fields)
    claims = Claim.objects.bulk_create(
        [_claim(study, number, n_candidates) for number in range(1, n_claims + 1)],
        batch_size=BATCH,
    )
    candidates = (
        Candidate(claim=claim, position=position, text=f"Sentence {position} of {claim.claim_id}.")
        for claim in claims
        for position in range(n_candidates)
    )
    while batch := list(islice(candidates, 10 * BATCH)):
        Candidate.objects.bulk_create(batch, batch_size=BATCH)
    sets = (
        GoldSet(claim=claim, position=position, members=members)
        for claim in claims
        for position, members in enumerate(([1], [0, 2]))
    )
    GoldSet.objects.bulk_create(sets, batch_size=BATCH)
    for condition in factories.add_conditions(study):
        _add_evidence(condition, claims)
    schedule.lay_out(study, n_subsets, n_cycles, 7)
    study = lifecycle.open_study(Study.objects.get(pk=study.pk))
    sit_all(study, list(study.slots.all()))
    return study


def _claim(study: Study, number: int, n_candidates: int) -> Claim:
    return Claim(
        study=study,
        position=number,
        claim_id=f"c{number}",
        text=f"Claim number {number} of the study.",
        label="supported" if number % 2 else "refuted",
        n_candidates=n_candidates,
        gold_min_size=1,
        digest=f"{number:064d}",
    )


def _add_evidence(condition: Condition, claims: list[Claim]) -> None:
    common: dict[str, Any] = {
        "condition": condition,
        "method": condition.method,
        "status": "complete",
        "cached_prompt_tokens": 0,
    }
    if condition.is_incremental:
        rows = [Ranking(claim=claim, **common, **_ranked(claim.n_candidates)) for claim in claims]
        Ranking.objects.bulk_create(rows, batch_size=BATCH)
    else:
        selections = [Selection(claim=claim, **common, selected=[0, 2, 3]) for claim in claims]
        Selection.objects.bulk_create(selections, batch_size=BATCH)
    PrecomputeJob.objects.bulk_create(
        [PrecomputeJob(condition=condition, claim=c, state=JobState.DONE) for c in claims],
        batch_size=BATCH,
    )


def _ranked(n_candidates: int) -> dict[str, Any]:
    order = [3, 0, 2, 1, *range(4, n_candidates)]
    return {"order": order, "origins": ["judged"] * len(order)}


def sit_all(study: Study, slots: list[Slot], *, seed: int = 1) -> None:
    """One finished run in each of ``slots``."""
    numbers = random.Random(seed)
    runs = {slot.pk: run for slot, run in zip(slots, _runs(study, slots), strict=True)}
    planned = PlannedTrial.objects.filter(slot__in=slots).select_related("claim", "condition")
    evidence = _evidence(study)
    trials, plays = [], []
    for plan in planned.order_by("slot_id", "position").iterator(BATCH):
        order = evidence[plan.condition_id, plan.claim_id]
        trial, play = _trial(plan, runs[plan.slot_id], order, numbers)
        trials.append(trial)
        plays.append(play)
    Trial.objects.bulk_create(trials, batch_size=BATCH)
    answers = [
        VerificationAnswer(trial=trial, n_shown=trial.n_steps, **play["answer"])
        for trial, play in zip(trials, plays, strict=True)
    ]
    VerificationAnswer.objects.bulk_create(answers, batch_size=BATCH)
    events = (
        Event(trial=trial, seq=seq, code=event_code(), **event)
        for trial, play in zip(trials, plays, strict=True)
        for seq, event in enumerate(play["events"])
    )
    Event.objects.bulk_create(events, batch_size=BATCH)


def _runs(study: Study, slots: list[Slot]) -> list[Enrolment]:
    people = Participant.objects.bulk_create(
        [Participant(study=study, code=participant_code()) for _ in slots], batch_size=BATCH
    )
    return Enrolment.objects.bulk_create(
        [
            Enrolment(
                participant=person,
                slot=slot,
                run_kind=RunKind.REAL,
                state=EnrolmentState.COMPLETED,
                token=run_token(),
                join_nonce=run_token(),
                consent_version="1",
                consented_at=START,
                started_at=START,
                ended_at=START + timedelta(hours=2),
                lease_until=START + timedelta(hours=2),
            )
            for slot, person in zip(slots, people, strict=True)
        ],
        batch_size=BATCH,
    )


def _evidence(study: Study) -> dict[tuple[int, int], list[int]]:
    found: dict[tuple[int, int], list[int]] = {}
    for table, column in ((Ranking, "order"), (Selection, "selected")):
        rows = table.objects.filter(condition__study=study)
        for condition, claim, order in rows.values_list("condition_id", "claim_id", column):
            found[condition, claim] = order
    return found


def _trial(
    plan: PlannedTrial, run: Enrolment, order: list[int], numbers: random.Random
) -> tuple[Trial, dict[str, Any]]:
    """A finished trial, with its answer and events."""
    msr = _sufficient_rank(order)
    n_read = len(order)
    if plan.condition.is_incremental:
        n_read = min(len(order), (msr or len(order)) + (numbers.random() < 0.2))
    started = START + timedelta(minutes=2 * plan.position, microseconds=1000 * plan.slot_id)
    steps = [started + timedelta(seconds=3 * k) for k in range(n_read)]
    if not plan.condition.is_incremental:
        steps = [started] * n_read
    decided = max(steps) + timedelta(seconds=numbers.uniform(2, 20))
    label = plan.claim.label
    decision = numbers.choices(
        [label, "refuted" if label == "supported" else "supported", "cant_decide"], [75, 10, 15]
    )[0]
    events = [{"kind": EventKind.TRIAL_STARTED, "server_at": started}]
    events += [
        {"kind": REVEAL, "step": k, "data": {"candidate": order[k - 1]}, "server_at": at}
        for k, at in enumerate(steps, start=1)
    ]
    events.append({"kind": EventKind.DECISION_SUBMITTED, "server_at": decided})
    trial = Trial(
        code=trial_code(),
        enrolment=run,
        participant=run.participant,
        planned=plan,
        claim=plan.claim,
        condition=plan.condition,
        protocol="verification",
        state=TrialState.COMPLETED,
        block=plan.block,
        position=plan.position,
        stimulus={"order": order, "msr": msr},
        n_steps=n_read,
        n_events=len(events),
        started_at=started,
        ended_at=decided,
    )
    answer = {"decision": decision, "is_correct": decision == label}
    return trial, {"answer": answer, "events": events}


def _sufficient_rank(order: list[int]) -> int | None:
    """Rank of the first sufficient prefix for the gold sets of the factories: {1} and {0, 2}."""
    for rank in range(1, len(order) + 1):
        seen = set(order[:rank])
        if {1} <= seen or {0, 2} <= seen:
            return rank
    return None
