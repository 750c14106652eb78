"""What a participant does: start, reveal, decide. Each is idempotent and committed before answered.

A request names the trial and the rank it speaks of. What is already done is not done again, and a
page older than the stored state raises StalePage, which the views answer with the true state.

Locks are taken in one order everywhere: study, enrolment, trial. The enrolment is the lock of a
run, so nobody starts a trial that a withdrawal overlooks.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from studyapp.compiled import CompiledRead, update_row
from studyapp.domain.events import Draft, append_events, time_of_late
from studyapp.domain.practice import next_practice
from studyapp.domain.run_ends import end_by_rule
from studyapp.domain.screening import end_after
from studyapp.domain.sitting import Done, Plan, Step, done_of, plan_of
from studyapp.domain.starting import (
    start_attention_trial,
    start_main_trial,
    start_practice_trial,
)
from studyapp.domain.version_rows import on_its_version
from studyapp.enums import EnrolmentState, EventKind, TrialKind, TrialState
from studyapp.errors import BadLink, NotOpen, StalePage
from studyapp.models import Enrolment, Slot, Trial
from studyapp.models.assignment import RUNNING
from studyapp.protocols import rules_for

#: Most visibility events kept for one trial: a page that flickers for ever fills no disk.
MAX_VISIBILITY_EVENTS = 2000


@dataclass(frozen=True)
class Revealed:
    """The outcome of a reveal: the trial as stored, and whether this request moved it."""

    trial: Trial
    is_new: bool


_STUDY_OF_RUN = tuple(
    f"slot__study__{name}"
    for name in (
        "code",
        "title",
        "state",
        "lang",
        "texts",
        "protocol",
        "response_options",
        "shows_total",
        "confirms_decision",
        "lease_minutes",
        "completion_code",
        "sitting",
        "n_practice",
        "n_attention",
        "version",
    )
)
_RUN = CompiledRead(
    lambda token: (
        Enrolment.objects.select_related("slot__study")
        .filter(token=token)
        .only(
            "token",
            "state",
            "participant_id",
            "lease_until",
            "started_at",
            "version",
            "slot__n_trials",
            *_STUDY_OF_RUN,
        )
    ),
    token=str,
)
_TRIAL_FIELDS = (
    "code",
    "state",
    "kind",
    "protocol",
    "block",
    "position",
    "stimulus",
    "n_steps",
    "n_events",
    "participant_id",
)
_CLAIM_AND_INTERFACE = ("claim__text", "claim__lang", "claim__label", "condition__interface")
_OPEN_TRIAL = CompiledRead(
    lambda enrolment_id: (
        Trial.objects.select_related("claim", "condition")
        .filter(enrolment_id=enrolment_id, state=TrialState.OPEN)
        .order_by()
        .only("enrolment_id", *_TRIAL_FIELDS, *_CLAIM_AND_INTERFACE)
    ),
    enrolment_id=int,
)
# PostgreSQL locks in the order named: the run, then its trial.
_LOCKED_TRIAL = CompiledRead(
    lambda token, code: (
        Trial.objects.select_for_update(of=("enrolment", "self"))
        .select_related("enrolment__slot__study", "claim", "condition")
        .filter(code=code, enrolment__token=token)
        .order_by()
        .only(
            *_TRIAL_FIELDS,
            *_CLAIM_AND_INTERFACE,
            "enrolment__token",
            "enrolment__state",
            "enrolment__participant_id",
            "enrolment__lease_until",
            "enrolment__started_at",
            "enrolment__version",
            "enrolment__slot__n_trials",
            *(f"enrolment__{name}" for name in _STUDY_OF_RUN if not name.endswith("texts")),
        )
    ),
    token=str,
    code=str,
)


def find_run(token: str) -> Enrolment:
    """The enrolment behind a run token, with its slot and study. Raises BadLink."""
    enrolment = _RUN.first(token=token)
    if enrolment is None:
        raise BadLink(_("This link belongs to no run of this study."))
    return on_its_version(enrolment)


def open_trial_of(enrolment: Enrolment) -> Trial | None:
    """The trial in progress, with its claim and condition, or None."""
    return _OPEN_TRIAL.first(enrolment_id=enrolment.pk)


def renew_lease(enrolment: Enrolment, now: datetime) -> None:
    """Keep the slot for another lease. Raises StalePage when it was given to somebody else."""
    lease_until = now + timedelta(minutes=enrolment.slot.study.lease_minutes)
    kept = Enrolment.objects.filter(pk=enrolment.pk, state__in=RUNNING).update(
        lease_until=lease_until
    )
    if not kept:
        raise StalePage("Your place in this study has expired or the study is finished.")
    enrolment.lease_until = lease_until


def renew_lease_in_time(enrolment: Enrolment, now: datetime) -> None:
    """Renew once half of the lease is over; before that nobody else can take the slot."""
    period = timedelta(minutes=enrolment.slot.study.lease_minutes)
    if enrolment.lease_until - now < period / 2:
        renew_lease(enrolment, now)


def start_next_trial(token: str) -> Trial | None:
    """Begin the run, or go on after a pause, a break or a practice trial: start the next trial if
    none is open.

    Returns the open trial, or None when there are no more. Raises BadLink, NotOpen, StalePage.
    """
    with transaction.atomic():
        enrolment = lock_run(token)
        trial = open_trial_of(enrolment)
        if trial is not None or enrolment.state not in RUNNING:
            return trial
        now = timezone.now()
        done = done_of(enrolment)
        if plan_of(enrolment.slot).step(done.n_main, done.n_attention) == Step.END:
            _end_trials(enrolment, now)
            return None
        if not enrolment.slot.study.is_open:
            raise NotOpen(_("The study is paused. Your answers are stored; come back later."))
        renew_lease(enrolment, now)
        return _start_next(enrolment, done, now)


def reveal_next(
    token: str,
    trial_code: str,
    rank: int,
    *,
    client_ms: int | None = None,
    study_code: str | None = None,
) -> Revealed:
    """Show the sentence at ``rank``, the one after the last shown.

    A rank already shown changes nothing (a double click, a retry, a second tab). Raises StalePage
    for a finished trial, a rank that skips one, or a rank beyond the last sentence; BadLink for a
    trial of another run, or of another study than the one with ``study_code``.
    """
    with transaction.atomic():
        trial = _lock_trial(token, trial_code, study_code)
        _refuse_finished(trial)
        if rank <= trial.n_steps:
            return Revealed(trial, is_new=False)
        step = rules_for(trial.protocol).next_step(trial)
        if step is None or rank != step.step:
            raise StalePage("The page was older than what is stored; this is the current state.")
        now = timezone.now()
        append_events(trial, [Draft(step.kind, step.step, step.data)], at=now, client_ms=client_ms)
        update_row(trial, "n_steps", "n_events")
        renew_lease_in_time(trial.enrolment, now)
    return Revealed(trial, is_new=True)


def record_decision(
    token: str,
    trial_code: str,
    answer: dict[str, Any],
    *,
    n_steps: int | None = None,
    client_ms: int | None = None,
    study_code: str | None = None,
) -> Trial | None:
    """Store the answer that ends the trial and start the next one, in one transaction.

    ``n_steps`` is how many sentences the page showed; a page that showed fewer than are stored is
    stale. Returns the next open trial, or None where nothing starts by itself: after a practice
    trial, at a break, after the last trial, and while the study is paused. Raises StalePage when
    the trial is already decided, BadAnswer for an answer that is none, BadLink as in
    ``reveal_next``.
    """
    with transaction.atomic():
        trial = _lock_trial(token, trial_code, study_code)
        _refuse_finished(trial)
        if n_steps is not None and n_steps != trial.n_steps:
            raise StalePage(
                "More sentences were shown in another tab. Nothing was decided yet: "
                "this is the current state."
            )
        enrolment = trial.enrolment
        study = enrolment.slot.study
        now = timezone.now()
        renew_lease_in_time(enrolment, now)
        rules_for(trial.protocol).store_answer(trial, study, answer)
        append_events(trial, [Draft(EventKind.DECISION_SUBMITTED)], at=now, client_ms=client_ms)
        trial.state = TrialState.COMPLETED
        trial.ended_at = now
        update_row(trial, "state", "ended_at", "n_events")
        return _go_on_after(trial, now)


def record_visibility(
    token: str,
    trial_code: str,
    kind: str,
    *,
    client_ms: int | None = None,
    late_ms: int | None = None,
    study_code: str | None = None,
) -> bool:
    """Note that the page was hidden or seen again, ``late_ms`` ago where it could not say so
    at once. Returns False where the trial is over. Raises BadLink as in ``reveal_next``."""
    if kind not in (EventKind.PAGE_HIDDEN, EventKind.PAGE_VISIBLE):
        raise StalePage("Unknown kind of event.")
    with transaction.atomic():
        trial = _lock_trial(token, trial_code, study_code)
        if trial.state != TrialState.OPEN or trial.n_events >= MAX_VISIBILITY_EVENTS:
            return False
        at = time_of_late(trial, timezone.now(), late_ms)
        append_events(trial, [Draft(kind)], at=at, client_ms=client_ms)
        update_row(trial, "n_events")
    return True


def _go_on_after(trial: Trial, now: datetime) -> Trial | None:
    """Start what follows a trial just decided, unless the participant is to say when.

    Nothing follows where a rule of the sitting ends the run.
    """
    end = end_after(trial)
    if end is not None:
        end_by_rule(trial.enrolment, end, now)
        return None
    if trial.kind == TrialKind.PRACTICE:
        return None
    enrolment = trial.enrolment
    plan = plan_of(enrolment.slot)
    n_main, n_attention = _counts_after(trial, plan)
    step = plan.step(n_main, n_attention)
    if step == Step.END:
        _end_trials(enrolment, now)
        return None
    if not enrolment.slot.study.is_open:
        return None
    if step == Step.MAIN and plan.has_break_after(n_main):
        return None
    return _start_step(enrolment, step, n_main, n_attention, now)


def _counts_after(trial: Trial, plan: Plan) -> tuple[int, int]:
    """How many main and attention trials are done. Each comes in its place, so one tells both."""
    if trial.kind == TrialKind.MAIN:
        return trial.position, plan.n_attention_by(trial.position - 1)
    n_attention = Trial.objects.filter(
        enrolment_id=trial.enrolment_id, kind=TrialKind.ATTENTION
    ).count()
    return plan.attention_after(n_attention), n_attention


def _start_next(enrolment: Enrolment, done: Done, now: datetime) -> Trial:
    """Start what follows in a run without an open trial that is not at its end."""
    if enrolment.slot.study.n_practice and not done.n_main:
        practice = next_practice(enrolment, done)
        if practice is not None:
            return start_practice_trial(enrolment, *practice, now)
    step = plan_of(enrolment.slot).step(done.n_main, done.n_attention)
    return _start_step(enrolment, step, done.n_main, done.n_attention, now)


def _start_step(
    enrolment: Enrolment, step: Step, n_main: int, n_attention: int, now: datetime
) -> Trial:
    if step == Step.ATTENTION:
        return start_attention_trial(enrolment, n_attention + 1, now)
    return start_main_trial(enrolment, n_main + 1, now)


def _end_trials(enrolment: Enrolment, now: datetime) -> None:
    """After the last trial the run is complete, unless a questionnaire is still to come."""
    if not enrolment.slot.study.sitting_setting("questionnaire"):
        complete_run(enrolment, now)


def complete_run(enrolment: Enrolment, now: datetime) -> None:
    """Finish a run after its last answer; it keeps its slot for good."""
    enrolment.state = EnrolmentState.COMPLETED
    enrolment.ended_at = now
    enrolment.save(update_fields=["state", "ended_at"])


def lock_run(token: str) -> Enrolment:
    """The run with its slot and study, locked. Raises BadLink."""
    # Locked by itself: a join would miss the row if its slot changed while we waited for it.
    enrolment = Enrolment.objects.select_for_update().filter(token=token).first()
    if enrolment is None:
        raise BadLink(_("This link belongs to no run of this study."))
    enrolment.slot = Slot.objects.select_related("study").get(pk=enrolment.slot_id)
    return on_its_version(enrolment)


def _lock_trial(token: str, trial_code: str, study_code: str | None) -> Trial:
    """The trial with everything an action needs, locked; only if it belongs to the run (and the
    run to the study, where its code is given)."""
    trial: Trial | None = _LOCKED_TRIAL.first(token=token, code=trial_code)
    if trial is None or study_code not in (None, trial.enrolment.slot.study.code):
        raise BadLink(_("This trial does not belong to your run. Nothing was stored."))
    on_its_version(trial.enrolment)
    return trial


def _refuse_finished(trial: Trial) -> None:
    if trial.state == TrialState.COMPLETED:
        raise StalePage("This trial is already decided; the first answer stays.")
    if trial.state != TrialState.OPEN or trial.enrolment.state not in RUNNING:
        raise StalePage("This trial is over.")
