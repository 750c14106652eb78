"""How runs end before they are finished, or are judged afterwards."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from studyapp.domain import run_ends
from studyapp.domain.trials import start_next_trial
from studyapp.enums import EnrolmentState, TrialState
from studyapp.errors import NoFreeSlot, StudyError
from studyapp.models import AuditEntry, Enrolment, Trial
from tests import factories

pytestmark = pytest.mark.django_db

ENDS = {
    "returned": run_ends.return_run,
    "timed_out": run_ends.release_run,
    "screened_out": run_ends.screen_out_run,
    "failed_checks": run_ends.fail_checks_of_run,
    "paid_partial": run_ends.pay_run_partly,
    "rejected": lambda study, code: run_ends.reject_run(study, code, "answers within a second"),
}


@pytest.mark.parametrize("state", ENDS)
def test_an_end_frees_the_slot_at_once_and_keeps_the_data_marked(study, state):
    first = factories.joined(study)
    factories.joined(study)
    trial = start_next_trial(first.token)
    with pytest.raises(NoFreeSlot):
        factories.joined(study)
    ended = ENDS[state](study, first.participant.code)
    assert (ended.state, ended.ended_at is not None) == (state, True)
    assert factories.joined(study).slot == first.slot
    assert Trial.objects.get(pk=trial.pk).state == TrialState.INCOMPLETE


@pytest.mark.parametrize("state", ENDS)
def test_an_end_is_logged_with_the_slot_and_without_the_person(study, state):
    run = factories.joined(study)
    ENDS[state](study, run.participant.code)
    entry = AuditEntry.objects.latest("pk")
    assert entry.details == {"slot": "1.1", "old_state": "consented"}
    assert run.participant.code not in str(entry.__dict__)


def test_a_finished_run_can_be_rejected_but_not_returned(study):
    run = factories.joined(study)
    Enrolment.objects.filter(pk=run.pk).update(
        state=EnrolmentState.COMPLETED, ended_at=timezone.now()
    )
    code = run.participant.code
    for end in ("returned", "timed_out", "screened_out", "failed_checks", "paid_partial"):
        with pytest.raises(StudyError, match=code):
            ENDS[end](study, code)
    assert run_ends.reject_run(study, code, "copied answers").end_note == "copied answers"


def test_a_rejection_needs_a_reason_that_fits(study):
    code = factories.joined(study).participant.code
    for note in ("  ", "x" * 501):
        with pytest.raises(StudyError, match="reason"):
            run_ends.reject_run(study, code, note)
    assert Enrolment.objects.get().state == EnrolmentState.CONSENTED


def test_a_run_is_never_ended_twice(study):
    code = factories.joined(study).participant.code
    run_ends.reject_run(study, code, "copied answers")
    with pytest.raises(StudyError, match="has no run that can be rejected"):
        run_ends.reject_run(study, code, "again")


def test_a_place_is_held_longer_and_never_shorter(study):
    run = factories.joined(study)
    day = run_ends.extend_run(study, run.participant.code, 24 * 60)
    assert day.lease_until > timezone.now() + timedelta(hours=23)
    assert run_ends.extend_run(study, run.participant.code, 5).lease_until == day.lease_until
    for minutes in (0, run_ends.MAX_EXTENSION + 1):
        with pytest.raises(StudyError, match="minutes"):
            run_ends.extend_run(study, run.participant.code, minutes)


def test_a_run_of_another_study_is_not_found(study):
    other = factories.open_study(slug="other")
    code = factories.joined(other).participant.code
    with pytest.raises(StudyError, match="holds no place here"):
        run_ends.release_run(study, code)


def test_an_earlier_run_of_the_person_is_never_reached(study):
    first = factories.joined(study)
    Enrolment.objects.filter(pk=first.pk).update(
        state=EnrolmentState.COMPLETED, ended_at=timezone.now()
    )
    second = factories.joined(study)
    Enrolment.objects.filter(pk=second.pk).update(participant=first.participant)
    code = first.participant.code
    assert run_ends.reject_run(study, code, "copied answers").pk == second.pk
    with pytest.raises(StudyError, match="has no run that can be rejected"):
        run_ends.reject_run(study, code, "copied answers")
    assert Enrolment.objects.get(pk=first.pk).state == EnrolmentState.COMPLETED
