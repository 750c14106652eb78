"""Submissions at Prolific, matched with our runs and brought into agreement with them.

Messages may be late, come twice or in the wrong order, by the webhook or by reading the list: the
last status is kept with its time, nothing moves backwards, and the same message again does nothing.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.db import transaction

from studyapp.domain.prolific_decisions import ENDS, Action, decide
from studyapp.domain.run_ends import end_run
from studyapp.enums import RunKind
from studyapp.models import Enrolment, RecruiterId, RecruiterSubmission, Study
from studyapp.models.prolific import MAX_PROLIFIC_ID
from studyapp.recruiters.prolific_statuses import SubmissionStatus, supersedes

#: The parameter of a link in which Prolific names the submission.
SESSION = "SESSION_ID"


@dataclass(frozen=True)
class Message:
    """What Prolific told of a submission, and for which time."""

    submission_id: str
    participant_id: str
    status: SubmissionStatus
    at: datetime


class Outcome(StrEnum):
    """What became of a message."""

    UNMATCHED = "unmatched"
    NOTED = "noted"
    ENDED = "ended"


def note(study: Study, message: Message, *, is_listed: bool = False) -> Outcome:
    """Keep what a message tells and end the run if it asks for that, in one transaction.

    ``is_listed``: it stands in the list of a study at Prolific that sends people here. Any other
    message may be about another study of the workspace, so that its person alone proves nothing.
    """
    with transaction.atomic():
        # The study's row is the queue, as in every change of who holds a place.
        study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        submission = _found(study, message, is_listed)
        if submission is None:
            return Outcome.UNMATCHED
        _keep_status(submission, message)
        return _agree(study, submission)


def link_sessions(study: Study, now: datetime) -> int:
    """Make the rows of submissions whose ids came with the links of runs; returns how many.

    So a run can be asked back although Prolific has not told of it yet. Of an id that two people
    brought, none is made: anybody can write it into a link, and Prolific tells whose it is. Two
    queries where there are none to make.
    """
    if not _sessions_without_row(study):
        return 0
    with transaction.atomic():
        # Nobody withdraws meanwhile, and no message makes the same row.
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        last = _last_runs(study)
        rows = [
            RecruiterSubmission(
                study=study, submission_id=session, enrolment_id=last[participant], seen_at=now
            )
            for session, participant in _sessions_without_row(study).items()
            if participant in last
        ]
        RecruiterSubmission.objects.bulk_create(rows)
    return len(rows)


def _sessions_without_row(study: Study) -> dict[str, int]:
    """The participants of submissions that are not known yet, by the submission's id."""
    known = set(
        RecruiterSubmission.objects.filter(study=study).values_list("submission_id", flat=True)
    )
    brought = defaultdict(list)
    for recruited in RecruiterId.objects.filter(study=study, participant__isnull=False):
        session = session_of(recruited)
        if session and session not in known:
            brought[session].append(recruited.participant_id)
    return {session: people[0] for session, people in brought.items() if len(people) == 1}


def session_of(recruited: RecruiterId) -> str:
    """The id of the submission that a person's last link named, or an empty text."""
    session = recruited.others.get(SESSION, "")
    return session if len(session) <= MAX_PROLIFIC_ID else ""


def _last_runs(study: Study) -> dict[int, int]:
    """The last real run of every participant, by participant."""
    runs = Enrolment.objects.filter(slot__study=study, run_kind=RunKind.REAL).order_by("pk")
    return dict(runs.values_list("participant_id", "pk"))


def is_anothers(submission: RecruiterSubmission, participant_id: str) -> bool:
    """Whether Prolific names somebody else than the person of the submission's run.

    Where it names nobody, the submission's id is all there is to go by.
    """
    recruited = getattr(submission.enrolment.participant, "recruiter_id", None)
    return bool(participant_id) and (recruited is None or recruited.value != participant_id)


def _found(study: Study, message: Message, is_listed: bool) -> RecruiterSubmission | None:
    """The row of a message's submission, new where there was none, or None for nobody's."""
    rows = RecruiterSubmission.objects.select_for_update(of=("self",))
    known = (
        rows.select_related("enrolment__participant__recruiter_id")
        .filter(study=study, submission_id=message.submission_id)
        .first()
    )
    if known is not None and not is_anothers(known, message.participant_id):
        return known
    run = _run_told(study, message, is_listed)
    if run is None:
        return None
    if known is not None:
        return _handed_over(known, run)
    return RecruiterSubmission.objects.create(
        study=study, submission_id=message.submission_id, enrolment=run, seen_at=message.at
    )


def _handed_over(submission: RecruiterSubmission, run: Enrolment) -> RecruiterSubmission:
    """The row, tied to the run of its own person; what was to be asked for the other one goes."""
    submission.calls.all().delete()
    submission.enrolment = run
    submission.save(update_fields=["enrolment"])
    return submission


def _run_told(study: Study, message: Message, is_listed: bool) -> Enrolment | None:
    """The run here of the person that a message names, or None."""
    if not message.participant_id:
        return None
    recruited = RecruiterId.objects.filter(
        study=study, value=message.participant_id, participant__isnull=False
    ).first()
    return _run_of(recruited, message.submission_id, is_listed) if recruited else None


def _run_of(recruited: RecruiterId, submission_id: str, is_listed: bool) -> Enrolment | None:
    """The run that a submission stands for, or None where that is not certain.

    Where links carry the submission's id, only the very same one counts: people may have given
    back an earlier one. Without it, whoever has one run is meant with that, if the submission is
    known to be of a study that sends people here.
    """
    runs = Enrolment.objects.filter(
        participant_id=recruited.participant_id, run_kind=RunKind.REAL
    ).order_by("pk")
    session = session_of(recruited)
    if session:
        return runs.last() if session == submission_id else None
    if not is_listed:
        return None
    found = list(runs[:2])
    return found[0] if len(found) == 1 else None


def _keep_status(submission: RecruiterSubmission, message: Message) -> None:
    if supersedes(message.status, message.at, submission.status, submission.status_at):
        submission.status, submission.status_at = message.status, message.at
        submission.save(update_fields=["status", "status_at"])


def _agree(study: Study, submission: RecruiterSubmission) -> Outcome:
    """End the run if its submission's status says so. The caller holds the lock of the study."""
    run = Enrolment.objects.select_related("participant").get(pk=submission.enrolment_id)
    action = decide(run.state, submission.status)
    if action not in ENDS:
        return Outcome.NOTED
    told = SubmissionStatus(submission.status).label
    end_run(study, run.participant.code, ENDS[action], f"{told} at Prolific", run_id=run.pk)
    return Outcome.ENDED


def ends_again(run: Enrolment, state: str) -> list[str]:
    """What to say where Prolific's word on a run would end it again in ``state``: one query.

    A status never moves backwards, so undoing such an end lasts only until Prolific tells it again.
    """
    told = RecruiterSubmission.objects.filter(enrolment=run).values_list("status", flat=True)
    return [
        f"Prolific says {SubmissionStatus(status).label} of the submission. Once it says so "
        "again, at the latest when its list is read, the run is ended again: undoing its end lasts "
        "only if Prolific changes that."
        for status in told
        if decide(state, status) in ENDS
    ][:1]


def differing(study: Study) -> list[RecruiterSubmission]:
    """Submissions that say something else than their runs, with the runs: one query."""
    rows = RecruiterSubmission.objects.filter(study=study).select_related(
        "enrolment__participant", "enrolment__slot"
    )
    return [row for row in rows if decide(row.enrolment.state, row.status) != Action.AGREE]
