"""Mistaken ends of runs, undone."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from studyapp.domain import run_ends
from studyapp.domain.assignment import join, move_to_free_slot, withdraw
from studyapp.domain.join_forms import JoinForm
from studyapp.domain.trials import record_decision, reveal_next, start_next_trial
from studyapp.enums import EnrolmentState, TrialState
from studyapp.errors import NotEditable, NotOpen, StudyError
from studyapp.models import AuditEntry, Enrolment, Study, Trial, VerificationAnswer
from tests import factories
from tests.studyapp.domain.test_run_ends import ENDS
from tests.studyapp.domain.test_trials import in_threads
from tests.studyapp.views.console import finished, played

pytestmark = pytest.mark.django_db

UNDONE = ("returned", "timed_out", "paid_partial", "rejected")


def finish(run: Enrolment) -> Enrolment:
    """Answer every trial that is left of a run."""
    trial = start_next_trial(run.token)
    while trial is not None:
        trial = record_decision(run.token, trial.code, {"decision": "supported"})
    return Enrolment.objects.get(pk=run.pk)


def stored(run: Enrolment) -> dict:
    return Enrolment.objects.values(
        "state", "seat", "slot_id", "ended_at", "end_reason", "end_note", "ended_from"
    ).get(pk=run.pk)


def test_a_rejected_run_that_was_finished_is_completed_again_as_it_was(study):
    run = finish(factories.joined(study))
    before = stored(run)
    run_ends.reject_run(study, run.participant.code, "the wrong row of my list")
    assert stored(run)["ended_from"] == "completed"
    restored = run_ends.restore_run(study, run.participant.code)
    assert stored(restored) == before
    assert Trial.objects.filter(state=TrialState.COMPLETED).count() == 4


@pytest.mark.parametrize("end", UNDONE)
def test_a_run_that_was_stopped_goes_on_where_it_was(study, end):
    run, trial = factories.started_in(study, "incremental")
    reveal_next(run.token, trial.code, 2)
    ENDS[end](study, run.participant.code)
    run_ends.restore_run(study, run.participant.code)
    now = timezone.now()
    again = Enrolment.objects.get(pk=run.pk)
    assert again.state == EnrolmentState.ACTIVE
    assert (again.ended_at, again.end_reason, again.end_note) == (None, "", "")
    assert now < again.lease_until <= now + timedelta(minutes=study.lease_minutes)
    trial.refresh_from_db()
    assert (trial.state, trial.n_steps) == (TrialState.OPEN, 2)
    assert reveal_next(run.token, trial.code, 3).is_new
    assert finish(run).state == EnrolmentState.COMPLETED
    assert VerificationAnswer.objects.filter(trial__enrolment=run).count() == 4


def test_who_had_not_begun_is_at_the_instructions_again(study):
    run = factories.joined(study)
    run_ends.return_run(study, run.participant.code)
    assert run_ends.restore_run(study, run.participant.code).state == EnrolmentState.CONSENTED
    assert start_next_trial(run.token) is not None


def test_one_end_after_another_is_undone_at_once(study):
    run, trial = factories.started(study)
    for end in ("returned", "paid_partial"):
        ENDS[end](study, run.participant.code)
        assert Trial.objects.get(pk=trial.pk).state == TrialState.INCOMPLETE
    assert run_ends.restore_run(study, run.participant.code).state == EnrolmentState.ACTIVE


def test_a_run_whose_place_was_given_away_stays_ended_and_says_so(study):
    run, trial = factories.started(study)
    factories.joined(study)
    run_ends.return_run(study, run.participant.code)
    taker = factories.joined(study)
    assert taker.slot_id == run.slot_id
    before = stored(run)
    with pytest.raises(StudyError, match=r"every place of slot 1\.1 is taken by now"):
        run_ends.restore_run(study, run.participant.code)
    assert stored(run) == before
    assert Trial.objects.get(pk=trial.pk).state == TrialState.INCOMPLETE
    withdraw(taker.token)
    assert run_ends.restore_run(study, run.participant.code).seat == 1


def test_another_seat_of_the_slot_does_as_well(study):
    study.slots.update(target=2)
    run = factories.joined(study)
    run_ends.return_run(study, run.participant.code)
    takers = [factories.joined(study) for _ in range(2)]
    assert [taker.seat for taker in takers if taker.slot_id == run.slot_id] == [1]
    assert run_ends.restore_run(study, run.participant.code).seat == 2


@pytest.mark.parametrize("end", ["screened_out", "failed_checks"])
def test_who_was_not_to_take_part_stays_out(study, end):
    run = factories.joined(study)
    ENDS[end](study, run.participant.code)
    with pytest.raises(StudyError, match="has no run whose end can be undone here"):
        run_ends.restore_run(study, run.participant.code)


def test_a_run_that_did_not_end_is_left_alone(study):
    run = finish(factories.joined(study))
    before = stored(run)
    with pytest.raises(StudyError, match="has no run whose end can be undone here"):
        run_ends.restore_run(study, run.participant.code)
    assert stored(run) == before


def test_nobody_gets_two_runs_at_a_time_by_it(study):
    run = factories.joined(study)
    run_ends.return_run(study, run.participant.code)
    second = factories.joined(study)
    Enrolment.objects.filter(pk=second.pk).update(participant=run.participant)
    with pytest.raises(StudyError, match="has a run under way now"):
        run_ends.restore_run(study, run.participant.code)


def test_it_is_logged_with_the_slot_and_without_the_person(study):
    run = factories.joined(study)
    run_ends.reject_run(study, run.participant.code, "mistaken")
    run_ends.restore_run(study, run.participant.code)
    entry = AuditEntry.objects.latest("pk")
    assert (entry.action, entry.details) == (
        "run_restored",
        {"slot": "1.1", "old_state": "rejected"},
    )
    assert run.participant.code not in str(entry.__dict__)


@pytest.mark.usefixtures("committed_db")
def test_arrivals_and_a_restored_run_never_share_a_seat():
    for turn in range(5):
        study: Study = factories.open_study(n_replications=2)
        runs = [factories.joined(study) for _ in range(4)]
        run_ends.return_run(study, runs[0].participant.code)

        def one(index, study=study, runs=runs, turn=turn):
            if index % 2:
                return join(study.code, JoinForm(f"late-{turn}-{index}"))
            return run_ends.restore_run(study, runs[0].participant.code)

        answers = in_threads(one, 6)
        assert sum(isinstance(answer, Enrolment) for answer in answers) == 1
        assert sum(isinstance(answer, StudyError) for answer in answers) == 5
        held = Enrolment.objects.filter(slot__study=study, state="consented")
        assert held.values("slot").distinct().count() == held.count() == 4


def close(study: Study) -> None:
    Study.objects.filter(pk=study.pk).update(state="closed", closed_at=timezone.now())


def test_in_a_closed_study_no_run_goes_on_but_a_finished_one_can_be_judged():
    study = factories.open_study(n_replications=2)
    going, done = played(study, 1), finished(study)
    held = going.lease_until
    run_ends.return_run(study, going.participant.code)
    run_ends.reject_run(study, done.participant.code, "the wrong row of my list")
    close(study)
    with pytest.raises(NotEditable, match="the study is closed"):
        run_ends.restore_run(study, going.participant.code)
    going.refresh_from_db()
    assert (going.state, going.lease_until) == (EnrolmentState.RETURNED, held)
    assert run_ends.restore_run(study, done.participant.code).state == EnrolmentState.COMPLETED


def test_in_a_closed_study_no_place_is_held_longer_and_none_given_again():
    study = factories.open_study(n_replications=2)
    held, left = played(study, 1), factories.joined(study)
    run_ends.release_run(study, left.participant.code)
    close(study)
    with pytest.raises(NotEditable, match="the study is closed"):
        run_ends.extend_run(study, held.participant.code, 60)
    with pytest.raises(NotOpen):
        move_to_free_slot(left.token)
    left.refresh_from_db()
    assert left.state == EnrolmentState.TIMED_OUT
