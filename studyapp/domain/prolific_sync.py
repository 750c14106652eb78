"""Reading a study's submissions at Prolific, the way that works without a webhook."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from studyapp.domain.prolific_decisions import ENDS, decide
from studyapp.domain.prolific_setup import client_for, link_of
from studyapp.domain.prolific_submissions import (
    Message,
    Outcome,
    is_anothers,
    link_sessions,
    note,
)
from studyapp.models import ProlificLink, RecruiterSubmission, Study
from studyapp.recruiters.prolific import Submission
from studyapp.recruiters.prolific_errors import ProlificError
from studyapp.recruiters.prolific_statuses import supersedes


@dataclass(frozen=True)
class Synced:
    """What one reading came to: submissions listed, not ours, and runs that were ended."""

    n_listed: int
    n_unmatched: int
    n_ended: int


def sync(study: Study) -> Synced:
    """Read all submissions and bring the runs into agreement. Raises ProlificError.

    What was done before an error stays: the next reading goes on from there. That a submission is
    missing from the list means nothing.
    """
    link = link_of(study)
    link_sessions(study, timezone.now())
    try:
        if not link.study_ids:
            raise ProlificError("No study at Prolific is named yet: give its id first.")
        client = client_for(study)
        outcomes: Counter[str] = Counter()
        for study_id in link.study_ids:
            # A status was true at the latest when the answer came; what came later is newer.
            at = timezone.now()
            outcomes.update(_note_all(study, list(client.submissions(study_id)), at))
    except ProlificError as error:
        ProlificLink.objects.filter(study=study).update(sync_error=str(error))
        raise
    synced = Synced(outcomes.total(), outcomes[Outcome.UNMATCHED], outcomes[Outcome.ENDED])
    ProlificLink.objects.filter(study=study).update(
        synced_at=timezone.now(),
        sync_error="",
        n_listed=synced.n_listed,
        n_unmatched=synced.n_unmatched,
    )
    return synced


def _note_all(study: Study, submissions: list[Submission], at: datetime) -> list[Outcome]:
    """Note each submission; those of which nothing is new cost no query of their own."""
    rows = RecruiterSubmission.objects.filter(study=study).select_related(
        "enrolment__participant__recruiter_id"
    )
    known = {row.submission_id: row for row in rows}
    return [_note_one(study, each, known.get(each.id), at) for each in submissions]


def _note_one(
    study: Study, told: Submission, known: RecruiterSubmission | None, at: datetime
) -> Outcome:
    if known is not None and _says_nothing_new(known, told, at):
        return Outcome.NOTED
    message = Message(told.id, told.participant_id, told.status, at)
    return note(study, message, is_listed=True)


def _says_nothing_new(known: RecruiterSubmission, told: Submission, at: datetime) -> bool:
    if is_anothers(known, told.participant_id):
        return False
    if supersedes(told.status, at, known.status, known.status_at):
        return False
    return decide(known.enrolment.state, known.status) not in ENDS
