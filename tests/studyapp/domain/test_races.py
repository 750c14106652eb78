"""Withdrawal, expiry, joining and deciding at the same moment: never a deadlock."""

from __future__ import annotations

import random
import time
from datetime import timedelta

import pytest
from django.utils import timezone

from studyapp.domain.assignment import join, move_to_free_slot, withdraw
from studyapp.domain.join_forms import JoinForm
from studyapp.domain.trials import (
    find_run,
    open_trial_of,
    record_decision,
    reveal_next,
    start_next_trial,
)
from studyapp.enums import EnrolmentState
from studyapp.errors import StudyError
from studyapp.models import Enrolment, Event, Trial, VerificationAnswer, Withdrawal
from tests import factories
from tests.studyapp.domain.test_trials import in_threads

pytestmark = pytest.mark.usefixtures("committed_db")

ROUNDS = 6


def faults(answers: list) -> list:
    """Everything that is neither a result nor an answer written for a participant."""
    return [a for a in answers if isinstance(a, Exception) and not isinstance(a, StudyError)]


def pause() -> None:
    time.sleep(random.random() * 0.05)


def expire_all(study, state: str | None = None) -> None:
    changes = {"lease_until": timezone.now() - timedelta(minutes=1)}
    if state:
        changes |= {"state": state, "ended_at": timezone.now()}
    Enrolment.objects.filter(slot__study=study).update(**changes)


def act_on(token: str) -> None:
    """Decide and reveal in whatever trial is open, as a busy tab does."""
    for _ in range(6):
        try:
            trial = open_trial_of(find_run(token))
            if trial is None:
                return
            record_decision(token, trial.code, {"decision": "cant_decide"})
            reveal_next(token, trial.code, trial.n_steps + 1)
        except StudyError:
            continue


def test_withdrawal_while_three_tabs_decide_leaves_nothing_behind():
    for _ in range(ROUNDS):
        study = factories.open_study(12, n_subsets=2)
        enrolment, _ = factories.started(study)
        token = enrolment.token

        def one(index, token=token):
            if index:
                return act_on(token)
            pause()
            return withdraw(token)

        assert faults(in_threads(one, 4)) == []
        assert Withdrawal.objects.filter(study=study).count() == 1
        assert not Trial.objects.filter(claim__study=study).exists()
        assert not Event.objects.filter(trial__claim__study=study).exists()
        assert not VerificationAnswer.objects.filter(trial__claim__study=study).exists()


def test_arrivals_that_take_expired_places_meet_withdrawals():
    for turn in range(ROUNDS):
        study = factories.open_study(10, n_subsets=5)
        tokens = [factories.started(study)[0].token for _ in range(5)]
        expire_all(study)

        def one(index, study=study, tokens=tokens, turn=turn):
            if index < 5:
                pause()
                return withdraw(tokens[index])
            return join(study.code, JoinForm(f"late-{turn}-{index}"))

        answers = in_threads(one, 10)
        assert faults(answers) == []
        joined = [answer.slot_id for answer in answers if isinstance(answer, Enrolment)]
        assert len(joined) == len(set(joined)) == 5


def test_beginning_after_expiry_meets_withdrawal():
    for _ in range(ROUNDS):
        study = factories.open_study(10, n_subsets=5)
        tokens = [factories.joined(study).token for _ in range(4)]
        expire_all(study, EnrolmentState.TIMED_OUT)

        def one(index, tokens=tokens):
            token = tokens[index // 3]
            if index % 3 == 0:
                pause()
                return withdraw(token)
            move_to_free_slot(token)
            return start_next_trial(token)

        assert faults(in_threads(one, 12)) == []
        assert not Trial.objects.filter(claim__study=study).exists()


def test_two_withdrawals_delete_once_and_the_second_is_told():
    study = factories.open_study()
    enrolment, _ = factories.started(study)
    answers = in_threads(lambda _: withdraw(enrolment.token), 4)
    assert faults(answers) == []
    assert answers.count(None) == 1
    assert Withdrawal.objects.get(study=study).n_trials == 1
