"""What is asked of Prolific about a submission: written down first, then carried out by a worker.

A call is a row before it is a request, so a killed worker loses none. Before it asks, a worker
looks at the submission: what was already done is not asked for again.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Case, Exists, OuterRef, Q, QuerySet, When
from django.utils import timezone

from studyapp.domain import audit
from studyapp.domain.leases import (
    MAX_ATTEMPTS,
    Lease,
    finish,
    kept,
    requeue_expired,
    storable,
    take,
)
from studyapp.domain.prolific_setup import client_for, link_of
from studyapp.domain.prolific_submissions import is_anothers
from studyapp.domain.run_ends import RETURN, end_run
from studyapp.enums import (
    AuditAction,
    CallKind,
    EnrolmentState,
    JobState,
    RunKind,
    TrialKind,
    TrialState,
)
from studyapp.errors import StudyError
from studyapp.models import Enrolment, RecruiterCall, RecruiterSubmission, Study, Trial
from studyapp.models.assignment import RUNNING
from studyapp.recruiters.prolific import Prolific, Submission
from studyapp.recruiters.prolific_errors import ProlificError
from studyapp.recruiters.prolific_statuses import UNDER_WAY, SubmissionStatus

logger = logging.getLogger(__name__)

#: Why a participant is asked to return, in the words of Prolific's own page.
REASONS = ["Didn't finish the study"]
#: The first pause after which a call that Prolific could not do is tried again, in seconds; every
#: further one is four times as long. There are MAX_ATTEMPTS tries, over an hour and a half.
FIRST_PAUSE = 60.0
LONGEST_PAUSE = 86_400.0
MAX_ANSWER = 200


def fill_outbox(study: Study, now: datetime) -> int:
    """Write down the calls that are due; returns how many are new."""
    return _ask_for_screen_outs(study, now) + _ask_back(study, now)


def _ask_for_screen_outs(study: Study, now: datetime) -> int:
    """Every run that was screened out here has to be screened out at Prolific as well."""
    if not link_of(study).screen_out_code:
        return 0
    waiting = _without_call(study, CallKind.SCREEN_OUT).filter(
        enrolment__state=EnrolmentState.SCREENED_OUT
    )
    if not waiting.exists():
        return 0
    with transaction.atomic():
        # Nobody withdraws between the look and the row.
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        return _write_down(list(waiting.all()), CallKind.SCREEN_OUT, now)


def _ask_back(study: Study, now: datetime) -> int:
    """Ask those back who gave no sign for the lease and the study's delay, and end their runs."""
    minutes = study.recruiting_setting("return_after_minutes")
    if not minutes:
        return 0
    too_old = now - timedelta(minutes=minutes)
    silent = _silent(study, too_old)
    return sum(_ask_one_back(study, each, too_old, now) for each in silent)


def _silent(study: Study, too_old: datetime) -> QuerySet[RecruiterSubmission]:
    """Submissions whose runs gave no sign since; who has only questions left is spared."""
    last_trial = Trial.objects.filter(
        enrolment=OuterRef("enrolment"),
        kind=TrialKind.MAIN,
        state=TrialState.COMPLETED,
        position=OuterRef("enrolment__slot__n_trials"),
    )
    return _without_call(study, CallKind.REQUEST_RETURN).filter(
        ~Exists(last_trial),
        enrolment__state__in=(*RUNNING, EnrolmentState.TIMED_OUT),
        enrolment__lease_until__lt=too_old,
    )


def _ask_one_back(
    study: Study, submission: RecruiterSubmission, too_old: datetime, now: datetime
) -> bool:
    """Write the call down and end the run, both or neither; False for who came back meanwhile."""
    with transaction.atomic():
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        runs = Enrolment.objects.select_for_update().select_related("participant")
        run = runs.filter(pk=submission.enrolment_id, lease_until__lt=too_old).first()
        if run is None or run.state not in (*RUNNING, EnrolmentState.TIMED_OUT):
            return False
        if run.state in RUNNING:
            note = "gave no sign for too long; asked to return at Prolific"
            end_run(study, run.participant.code, RETURN, note, run_id=run.pk)
        return bool(_write_down([submission], CallKind.REQUEST_RETURN, now))


def _without_call(study: Study, kind: CallKind) -> QuerySet[RecruiterSubmission]:
    """Submissions of real runs that are under way at Prolific, without a call of this kind."""
    asked = RecruiterCall.objects.filter(submission=OuterRef("pk"), kind=kind)
    return RecruiterSubmission.objects.filter(
        ~Exists(asked), study=study, enrolment__run_kind=RunKind.REAL, status__in=UNDER_WAY
    ).select_related("enrolment")


def _write_down(submissions: list[RecruiterSubmission], kind: CallKind, now: datetime) -> int:
    rows = [RecruiterCall(submission=each, kind=kind, asked_at=now) for each in submissions]
    # Another worker may write the same one down: one of a kind stays.
    RecruiterCall.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows)


def calls_of(study: Study) -> QuerySet[RecruiterCall]:
    """The calls of a study with their runs: the refused ones, then the others, the newest first."""
    rows = RecruiterCall.objects.filter(submission__study=study).select_related(
        "submission__enrolment__participant", "submission__enrolment__slot"
    )
    return rows.order_by(Case(When(state=JobState.FAILED, then=0), default=1), "-pk")


def ask_again(study: Study, call_id: int) -> RecruiterCall:
    """Queue a refused call once more. Raises StudyError unless it is one of the study's."""
    with transaction.atomic():
        call = calls_of(study).filter(pk=call_id, state=JobState.FAILED).first()
        queued = RecruiterCall.objects.filter(pk=call_id, state=JobState.FAILED)
        if call is None or not queued.update(
            state=JobState.QUEUED, n_attempts=0, due_at=None, error="", finished_at=None
        ):
            raise StudyError(f"call {call_id}: there is no refused call of that number here.")
        slot = str(call.submission.enrolment.slot)
        audit.record(AuditAction.PROLIFIC_CALL_REPEATED, study, call=call.kind, slot=slot)
    call.refresh_from_db()
    return call


# ---- carrying them out ---------------------------------------------------------------------------


def run_due(study: Study) -> int:
    """Carry out the calls that are due, one after another; returns how many were done."""
    now = timezone.now()
    mine = RecruiterCall.objects.filter(submission__study=study)
    requeue_expired(mine, now)
    due = mine.filter(Q(due_at__isnull=True) | Q(due_at__lte=now), state=JobState.QUEUED)
    return sum(run_call(call_id) for call_id in list(due.values_list("pk", flat=True)))


def run_call(call_id: int) -> bool:
    """Take one call and carry it out; False where another worker has it, or it was not done."""
    lease = take(RecruiterCall, call_id)
    if lease is None:
        return False
    calls = RecruiterCall.objects.select_related(
        "submission__study", "submission__enrolment__participant__recruiter_id"
    )
    call = calls.filter(pk=call_id).first()
    if call is None:  # its person withdrew at this moment
        return False
    with kept(lease):
        try:
            answer = _carry_out(call)
        except ProlificError as error:
            return _not_done(lease, call, error)
        except Exception as error:
            logger.exception("a call to Prolific failed")
            return _not_done(lease, call, ProlificError(f"{type(error).__name__}: {error}"))
        return finish(lease, JobState.DONE, answer=storable(answer)[:MAX_ANSWER], due_at=None)


def _carry_out(call: RecruiterCall) -> str:
    """Do what the call is for, unless it is done already. Raises ProlificError."""
    submission, study = call.submission, call.submission.study
    # Once: a call that was not done has a pause of its own.
    client = client_for(study, tries=1)
    now = client.submission(submission.submission_id)
    if is_anothers(submission, now.participant_id):
        raise ProlificError(
            "At Prolific this submission is another person's than this run's, so nothing was asked."
        )
    if told := _already(call.kind, now):
        return told
    if call.kind == CallKind.SCREEN_OUT:
        return _screen_out(client, study, submission)
    return client.request_return(submission.submission_id, REASONS)


def _already(kind: str, now: Submission) -> str:
    """Why there is nothing left to ask; else empty. Raises ProlificError for what cannot be."""
    if kind == CallKind.REQUEST_RETURN and now.is_return_requested:
        return "was asked to return before"
    if now.status in UNDER_WAY:
        return ""
    if kind == CallKind.SCREEN_OUT and now.status == SubmissionStatus.AWAITING_REVIEW:
        # Handed in with another code, or none: that is for the researcher to settle.
        raise ProlificError("It was handed in at Prolific already and awaits your review there.")
    return f"nothing to ask; status {now.status.label}"


def _screen_out(client: Prolific, study: Study, submission: RecruiterSubmission) -> str:
    code = link_of(study).screen_out_code
    if not code:
        raise ProlificError("The study has no screen-out code: give it on the page for Prolific.")
    return client.screen_out(submission.submission_id, code)


def _not_done(lease: Lease, call: RecruiterCall, error: ProlificError) -> bool:
    """Put the call off, or give it up where waiting does not help. Returns False."""
    fields: dict[str, Any] = {"error": storable(str(error))}
    if error.is_worth_retry and call.n_attempts < MAX_ATTEMPTS:
        wait = max(error.retry_after or 0.0, FIRST_PAUSE * 4 ** (call.n_attempts - 1))
        due_at = timezone.now() + timedelta(seconds=min(wait, LONGEST_PAUSE))
        finish(lease, JobState.QUEUED, due_at=due_at, finished_at=None, **fields)
    else:
        finish(lease, JobState.FAILED, due_at=None, **fields)
    return False
