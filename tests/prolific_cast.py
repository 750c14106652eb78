"""People who come from Prolific, and a study that is tied to it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from django.test import override_settings
from django.utils import timezone

from studyapp.domain.assignment import join
from studyapp.domain.join_forms import JoinForm
from studyapp.domain.prolific_setup import set_up
from studyapp.domain.prolific_submissions import Message, note
from studyapp.domain.recruiting import Recruited
from studyapp.enums import EnrolmentState, RunKind
from studyapp.models import Enrolment, RecruiterSubmission, Study
from studyapp.recruiters.prolific_signature import sign
from studyapp.recruiters.prolific_statuses import SubmissionStatus
from tests import factories
from tests.prolific_server import SCREEN_OUT_CODE, STUDY_ID, TOKEN, ProlificServer

SECRET = "secret-of-the-workspace"
RECRUITING = {"id_parameter": "PROLIFIC_PID", "other_parameters": ["STUDY_ID", "SESSION_ID"]}

_numbers = itertools.count(1)


def connected_study(n_claims: int = 4, recruiting: Any = None, **options: Any) -> Study:
    """An open study that recruits at Prolific and is tied to it; 2 slots unless told otherwise."""
    study = factories.open_study(n_claims, recruiting=recruiting or RECRUITING, **options)
    set_up(study, study_ids=[STUDY_ID], screen_out_code=SCREEN_OUT_CODE)
    return study


@contextmanager
def connected(server: ProlificServer | None = None) -> Iterator[None]:
    """A server of ours that knows a token, a secret and, with ``server``, where Prolific is."""
    url = server.url if server else "http://127.0.0.1:9/api/v1"
    with override_settings(
        PROLIFIC_API_URL=url,
        PROLIFIC_API_TOKENS={"": (TOKEN,)},
        PROLIFIC_WEBHOOK_SECRETS={"": (SECRET,)},
    ):
        yield


def arrive(study: Study, person: str, session: str = "") -> Enrolment:
    """Somebody consents who came by a link with an id and, perhaps, with that of a submission."""
    others = {"SESSION_ID": session} if session else {}
    form = JoinForm(
        f"from-prolific-{next(_numbers)}", RunKind.REAL, None, Recruited(person, others)
    )
    return join(study.code, form)


def tell(
    study: Study, submission: str, person: str, status: str, at: datetime | None = None
) -> str:
    """Prolific tells that a submission has a status; what became of the message."""
    told = SubmissionStatus(status)
    return note(study, Message(submission, person, told, at or timezone.now()))


def state_of(run: Enrolment) -> str:
    return Enrolment.objects.get(pk=run.pk).state


def silent(run: Enrolment, minutes: int) -> None:
    """Let the place have expired so long ago."""
    until = timezone.now() - timedelta(minutes=minutes)
    Enrolment.objects.filter(pk=run.pk).update(lease_until=until)


def screened_out(study: Study, person: str, session: str) -> Enrolment:
    """A run that was screened out here while its submission goes on at Prolific."""
    from studyapp.domain.run_ends import screen_out_run

    run = arrive(study, person, session)
    screen_out_run(study, run.participant.code)
    assert state_of(run) == EnrolmentState.SCREENED_OUT
    return run


def status_of(submission: str) -> str:
    return RecruiterSubmission.objects.get(submission_id=submission).status


def signed(body: bytes, *, at: float | None = None, secret: str = SECRET) -> dict[str, str]:
    """The headers of a message of Prolific."""
    timestamp = str(int(time.time() if at is None else at))
    return {
        "X-Prolific-Request-Timestamp": timestamp,
        "X-Prolific-Request-Signature": sign(secret, timestamp, body),
    }
