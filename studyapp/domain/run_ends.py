"""How a run ends before it is finished, or is judged afterwards, and how a mistaken end is undone:
one function a transition.

Every end frees the run's place at once; what was done stays, marked. The audit log names the slot
and never the person, so that it says nothing of who withdraws later.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from studyapp.domain import audit
from studyapp.domain.closing import refuse_closed
from studyapp.domain.seats import free_seat_in, mark_incomplete
from studyapp.enums import AuditAction, EnrolmentState, TrialState
from studyapp.errors import NoFreeSlot, StalePage, StudyError
from studyapp.models import Enrolment, Study, Trial
from studyapp.models.assignment import RUNNING

#: Longest note of a researcher, and the most minutes that a place can be held longer.
MAX_NOTE = 500
MAX_EXTENSION = 7 * 24 * 60

#: The reason kept of a place that a researcher took back.
RELEASED = "released"


@dataclass(frozen=True)
class End:
    """A way to end: the state it leads to and those it may come from."""

    state: EnrolmentState
    reason: str
    action: AuditAction
    allowed_from: tuple[str, ...]
    says: str


_LEFT = (EnrolmentState.TIMED_OUT, EnrolmentState.RETURNED)

RETURN = End(
    EnrolmentState.RETURNED, "returned", AuditAction.RUN_RETURNED, RUNNING, "has no run under way"
)
RELEASE = End(
    EnrolmentState.TIMED_OUT, RELEASED, AuditAction.RUN_RELEASED, RUNNING, "holds no place"
)
SCREEN_OUT = End(
    EnrolmentState.SCREENED_OUT,
    "screened_out",
    AuditAction.RUN_SCREENED_OUT,
    RUNNING,
    "has no run under way",
)
FAIL_CHECKS = End(
    EnrolmentState.FAILED_CHECKS,
    "failed_checks",
    AuditAction.RUN_FAILED_CHECKS,
    RUNNING,
    "has no run under way",
)
PAY_PARTIAL = End(
    EnrolmentState.PAID_PARTIAL,
    "paid_partial",
    AuditAction.RUN_PAID_PARTIAL,
    (*RUNNING, *_LEFT),
    "has no run that is unfinished",
)
REJECT = End(
    EnrolmentState.REJECTED,
    "rejected",
    AuditAction.RUN_REJECTED,
    (*RUNNING, EnrolmentState.COMPLETED, *_LEFT),
    "has no run that can be rejected",
)

#: Ends that can be undone: those that a researcher may have brought about by mistake.
RESTORABLE = (*_LEFT, EnrolmentState.PAID_PARTIAL, EnrolmentState.REJECTED)
_RESTORED = [
    "state", "seat", "lease_until", "ended_at", "end_reason", "end_note", "ended_from"
]  # fmt: skip


def return_run(study: Study, participant_code: str) -> Enrolment:
    """Free the place of somebody who gave the task back to the recruiter; the data stay, marked.

    The run under way is the one meant. Raises StudyError where there is none.
    """
    return end_run(study, participant_code, RETURN)


def release_run(study: Study, participant_code: str) -> Enrolment:
    """Take back the place of somebody who holds one. Raises StudyError as in ``end_run``."""
    return end_run(study, participant_code, RELEASE)


def screen_out_run(study: Study, participant_code: str) -> Enrolment:
    """End the run of somebody who is not to take part. Raises StudyError as in ``end_run``."""
    return end_run(study, participant_code, SCREEN_OUT)


def fail_checks_of_run(study: Study, participant_code: str) -> Enrolment:
    """End the run of somebody who failed the study's checks. Raises StudyError as ``end_run``."""
    return end_run(study, participant_code, FAIL_CHECKS)


def pay_run_partly(study: Study, participant_code: str, note: str = "") -> Enrolment:
    """Mark unfinished work as paid in part: its data stay, its place is free.

    Raises StudyError as in ``end_run``.
    """
    return end_run(study, participant_code, PAY_PARTIAL, note)


def reject_run(study: Study, participant_code: str, note: str) -> Enrolment:
    """Reject a run, finished or not, for the reason in ``note``.

    Raises StudyError as in ``end_run``, and without a reason.
    """
    if not note.strip():
        raise StudyError("a rejection needs a reason: write what was wrong with the run.")
    return end_run(study, participant_code, REJECT, note)


def end_run(
    study: Study, participant_code: str, end: End, note: str = "", *, run_id: int | None = None
) -> Enrolment:
    """End the last run of a participant that may end so, or the one with ``run_id`` alone.

    All in one transaction. Raises StudyError where the participant has no such run or the note is
    too long.
    """
    note = note.strip()
    if len(note) > MAX_NOTE:
        raise StudyError(f"the reason has {len(note)} characters; the most is {MAX_NOTE}.")
    with transaction.atomic():
        study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        run = _last_run(study, participant_code, end.allowed_from, end.says, run_id)
        run.ended_from = run.state
        run.state, run.end_reason, run.end_note = end.state, end.reason, note
        run.ended_at = run.ended_at or timezone.now()
        run.save(update_fields=["state", "end_reason", "end_note", "ended_at", "ended_from"])
        mark_incomplete(run)
        audit.record(end.action, study, slot=str(run.slot), old_state=run.ended_from)
        return run


def restore_run(study: Study, participant_code: str) -> Enrolment:
    """Undo a mistaken end of the participant's last run that ended, in one transaction.

    A run that was finished is so again. Any other goes on where it stopped, in its slot, with a
    new lease; the trial that it was in is open again, with the time between inside it. Whoever was
    screened out or failed the checks stays out. Raises StudyError where there is no such run, the
    person has another one under way, or no seat of the slot is free any more; NotEditable where a
    run would go on in a closed study.
    """
    with transaction.atomic():
        study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        _refuse_second_run(study, participant_code)
        run = _last_run(study, participant_code, RESTORABLE, "has no run whose end can be undone")
        old_state = run.state
        run.state = restored_state(run)
        if run.state != EnrolmentState.COMPLETED:
            refuse_closed(study)
            _go_on(run, study.lease_minutes)
        run.seat = _seat_again(study, run, participant_code)
        run.end_reason = run.end_note = run.ended_from = ""
        run.save(update_fields=_RESTORED)
        audit.record(AuditAction.RUN_RESTORED, study, slot=str(run.slot), old_state=old_state)
        return run


def restored_state(run: Enrolment) -> EnrolmentState:
    """The state of an ended run once its end is undone."""
    if run.ended_from == EnrolmentState.COMPLETED:
        return EnrolmentState.COMPLETED
    has_begun = run.started_at is not None
    return EnrolmentState.ACTIVE if has_begun else EnrolmentState.CONSENTED


def _go_on(run: Enrolment, lease_minutes: int) -> None:
    """Give a run that goes on a new lease, and open the trial that it was in."""
    run.ended_at = None
    run.lease_until = timezone.now() + timedelta(minutes=lease_minutes)
    Trial.objects.filter(enrolment=run, state=TrialState.INCOMPLETE).update(state=TrialState.OPEN)


def _seat_again(study: Study, run: Enrolment, participant_code: str) -> int:
    """The seat that the run had, or another one of its slot. Raises StudyError."""
    try:
        return free_seat_in(study, run)
    except NoFreeSlot:
        raise StudyError(
            f"participant {participant_code!r}: every place of slot {run.slot} is taken by now, so "
            "the run cannot be restored. Its data are kept, marked as they are."
        ) from None


def _refuse_second_run(study: Study, participant_code: str) -> None:
    mine = Enrolment.objects.filter(participant__code=participant_code, slot__study=study)
    if mine.filter(state__in=RUNNING).exists():
        raise StudyError(f"participant {participant_code!r}: has a run under way now.")


def end_by_rule(run: Enrolment, end: End, now: datetime) -> None:
    """End a run by a rule of its sitting, in the transaction of the trial that brought it about.

    The caller holds the run's lock. The row says when and why, as with a finished run; the audit
    log has nothing of it, because nobody but the participant did anything. Raises StalePage where
    the run is over already.
    """
    ended = Enrolment.objects.filter(pk=run.pk, state__in=end.allowed_from).update(
        state=end.state, end_reason=end.reason, ended_at=now, ended_from=run.state
    )
    if not ended:
        raise StalePage("Your place in this study has expired or the study is finished.")
    run.ended_from = run.state
    run.state, run.end_reason, run.ended_at = end.state, end.reason, now


def extend_run(study: Study, participant_code: str, minutes: int) -> Enrolment:
    """Hold the place of a run under way for ``minutes`` from now, if that is longer than it is.

    Raises StudyError where there is no such run, or for a number outside 1 to MAX_EXTENSION.
    """
    if not 1 <= minutes <= MAX_EXTENSION:
        raise StudyError(f"minutes: must be a number from 1 to {MAX_EXTENSION}.")
    with transaction.atomic():
        study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        refuse_closed(study)
        run = _last_run(study, participant_code, RUNNING, "holds no place")
        run.lease_until = max(run.lease_until, timezone.now() + timedelta(minutes=minutes))
        run.save(update_fields=["lease_until"])
        audit.record(AuditAction.RUN_EXTENDED, study, slot=str(run.slot), minutes=minutes)
        return run


def _last_run(
    study: Study,
    participant_code: str,
    states: tuple[str, ...],
    says: str,
    run_id: int | None = None,
) -> Enrolment:
    """The participant's last run, or the one with ``run_id``, locked.

    Never an earlier one: the same request sent again must not reach it. Raises StudyError where it
    is in none of the states.
    """
    mine = Enrolment.objects.filter(participant__code=participant_code, slot__study=study)
    if run_id is not None:
        mine = mine.filter(pk=run_id)
    # Locked by itself: its slot could change while we waited.
    run = mine.select_for_update(of=("self",)).order_by("-pk").first()
    if run is None or run.state not in states:
        raise StudyError(f"participant {participant_code!r}: {says} here.")
    return run
