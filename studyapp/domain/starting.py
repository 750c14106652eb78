"""How a trial begins: its evidence is frozen and its row and first events are written."""

from __future__ import annotations

from datetime import datetime

from studyapp.compiled import CompiledRead, insert_rows
from studyapp.domain.events import Draft, append_events
from studyapp.enums import EnrolmentState, EventKind, TrialKind
from studyapp.models import Claim, Condition, Enrolment, PlannedTrial, Trial
from studyapp.protocols import rules_for

_PLANNED = CompiledRead(
    lambda slot_id, position: (
        PlannedTrial.objects.select_related("claim", "condition")
        .filter(slot_id=slot_id, position=position)
        .order_by()
        .only(
            "block",
            "position",
            "claim__claim_id",
            "claim__text",
            "claim__lang",
            "claim__label",
            "condition__name",
            "condition__interface",
        )
    ),
    slot_id=int,
    position=int,
)
_TRIAL_COLUMNS = tuple(field.name for field in Trial._meta.concrete_fields if not field.primary_key)


def start_main_trial(enrolment: Enrolment, position: int, now: datetime) -> Trial:
    """Start the planned trial at ``position``. The caller holds the lock of the run."""
    planned = _PLANNED.first(slot_id=enrolment.slot_id, position=position)
    trial = _new_trial(enrolment, TrialKind.MAIN, planned.claim, planned.condition, now)
    trial.planned = planned
    trial.block, trial.position = planned.block, planned.position
    return _begin(trial)


def start_practice_trial(
    enrolment: Enrolment, claim: Claim, condition: Condition, now: datetime
) -> Trial:
    """Start a practice trial, or another try of one. The caller holds the lock of the run."""
    return _begin(_new_trial(enrolment, TrialKind.PRACTICE, claim, condition, now))


def start_attention_trial(enrolment: Enrolment, index: int, now: datetime) -> Trial:
    """Start attention trial ``index`` (from 1), in the interface of the main trial before it.

    The caller holds the lock of the run.
    """
    study_id = enrolment.slot.study_id
    claims = Claim.objects.filter(study_id=study_id, role=TrialKind.ATTENTION).order_by("position")
    before = (
        Trial.objects.select_related("condition")
        .filter(enrolment=enrolment, kind=TrialKind.MAIN)
        .latest("position")
    )
    return _begin(
        _new_trial(enrolment, TrialKind.ATTENTION, claims[index - 1], before.condition, now)
    )


def _new_trial(
    enrolment: Enrolment, kind: TrialKind, claim: Claim, condition: Condition, now: datetime
) -> Trial:
    return Trial(
        enrolment=enrolment,
        participant_id=enrolment.participant_id,
        claim=claim,
        condition=condition,
        protocol=enrolment.slot.study.protocol,
        kind=kind,
        block=0,
        position=0,
        started_at=now,
    )


def _begin(trial: Trial) -> Trial:
    frozen = rules_for(trial.protocol).freeze(trial)
    n_first = len(frozen.first_steps)
    trial.stimulus = frozen.stimulus
    # Known beforehand, so the row needs no second write.
    trial.n_steps, trial.n_events = n_first, 1 + n_first
    values = [getattr(trial, Trial._meta.get_field(name).attname) for name in _TRIAL_COLUMNS]
    trial.pk = insert_rows(Trial, _TRIAL_COLUMNS, [values])
    trial.n_steps = trial.n_events = 0
    append_events(
        trial,
        [
            Draft(EventKind.TRIAL_STARTED),
            *(Draft(step.kind, step.step, step.data) for step in frozen.first_steps),
        ],
        at=trial.started_at,
        client_ms=0,
    )
    _mark_started(trial.enrolment, trial.started_at)
    return trial


def _mark_started(enrolment: Enrolment, now: datetime) -> None:
    if enrolment.state == EnrolmentState.CONSENTED:
        enrolment.state = EnrolmentState.ACTIVE
        enrolment.started_at = now
        enrolment.save(update_fields=["state", "started_at"])
