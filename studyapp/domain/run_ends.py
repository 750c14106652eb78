"""How a run ends before it is finished, or is judged afterwards: one function a transition.

Every end frees the run's place at once; what was done stays, marked. The audit log names the slot
and never the person, so that it says nothing of who withdraws later.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from studyapp.domain import audit
from studyapp.domain.seats import mark_incomplete
from studyapp.enums import AuditAction, EnrolmentState
from studyapp.errors import StalePage, StudyError
from studyapp.models import Enrolment, Study
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


def end_run(study: Study, participant_code: str, end: End, note: str = "") -> Enrolment:
    """End the last run of a participant that may end so, in one transaction.

    Raises StudyError where the participant has no such run or the note is too long.
    """
    note = note.strip()
    if len(note) > MAX_NOTE:
        raise StudyError(f"the reason has {len(note)} characters; the most is {MAX_NOTE}.")
    with transaction.atomic():
        study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        run = _last_run(study, participant_code, end.allowed_from, end.says)
        old_state = run.state
        run.state, run.end_reason, run.end_note = end.state, end.reason, note
        run.ended_at = run.ended_at or timezone.now()
        run.save(update_fields=["state", "end_reason", "end_note", "ended_at"])
        mark_incomplete(run)
        audit.record(end.action, study, slot=str(run.slot), old_state=old_state)
        return run


def end_by_rule(run: Enrolment, end: End, now: datetime) -> None:
    """End a run by a rule of its sitting, in the transaction of the trial that brought it about.

    The caller holds the run's lock. The row says when and why, as with a finished run; the audit
    log has nothing of it, because nobody but the participant did anything. Raises StalePage where
    the run is over already.
    """
    ended = Enrolment.objects.filter(pk=run.pk, state__in=end.allowed_from).update(
        state=end.state, end_reason=end.reason, ended_at=now
    )
    if not ended:
        raise StalePage("Your place in this study has expired or the study is finished.")
    run.state, run.end_reason, run.ended_at = end.state, end.reason, now


def extend_run(study: Study, participant_code: str, minutes: int) -> Enrolment:
    """Hold the place of a run under way for ``minutes`` from now, if that is longer than it is.

    Raises StudyError where there is no such run, or for a number outside 1 to MAX_EXTENSION.
    """
    if not 1 <= minutes <= MAX_EXTENSION:
        raise StudyError(f"minutes: must be a number from 1 to {MAX_EXTENSION}.")
    with transaction.atomic():
        study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        run = _last_run(study, participant_code, RUNNING, "holds no place")
        run.lease_until = max(run.lease_until, timezone.now() + timedelta(minutes=minutes))
        run.save(update_fields=["lease_until"])
        audit.record(AuditAction.RUN_EXTENDED, study, slot=str(run.slot), minutes=minutes)
        return run


def _last_run(study: Study, participant_code: str, states: tuple[str, ...], says: str) -> Enrolment:
    """The participant's last run in one of the states, locked. Raises StudyError."""
    mine = Enrolment.objects.filter(participant__code=participant_code, slot__study=study)
    # Locked by itself: its slot could change while we waited.
    run = mine.select_for_update(of=("self",)).filter(state__in=states).order_by("-pk").first()
    if run is None:
        raise StudyError(f"participant {participant_code!r}: {says} here.")
    return run
