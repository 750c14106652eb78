"""Rules that end a run early: practice that is never right, attention checks that fail."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from studyapp.domain import lifecycle
from studyapp.domain.endings import ending_problems, ending_warnings
from studyapp.domain.trials import record_decision, start_next_trial
from studyapp.enums import TrialKind, TrialState
from studyapp.errors import NoFreeSlot, NotReady, StalePage
from studyapp.models import AuditEntry, Enrolment, Study, Trial
from tests import factories
from tests.studyapp.domain.test_trials import in_threads

pytestmark = pytest.mark.django_db

MUST_PASS = {"practice_must_pass": True, "practice_tries": 2}


def answer(trial: Trial, decision: str | None = None) -> Trial | None:
    """Decide a trial: rightly, unless another decision is given."""
    given = {"decision": decision or trial.claim.label}
    return record_decision(trial.enrolment.token, trial.code, given, n_steps=trial.n_steps)


def wrong(trial: Trial) -> Trial | None:
    return answer(trial, "cant_decide")


def begun(**options: Any) -> tuple[Enrolment, Trial]:
    return factories.started(factories.sitting_study(**options))


def play(enrolment: Enrolment, *, fails: int) -> list[str]:
    """Decide trial after trial, the first ``fails`` checks wrongly; the kinds in order."""
    kinds = []
    while (trial := start_next_trial(enrolment.token)) is not None:
        is_wrong = trial.kind == TrialKind.ATTENTION and kinds.count("attention") < fails
        kinds.append(trial.kind)
        wrong(trial) if is_wrong else answer(trial)
    enrolment.refresh_from_db()
    return kinds


def state_of(enrolment: Enrolment) -> tuple[str, str]:
    enrolment.refresh_from_db()
    return enrolment.state, enrolment.end_reason


# ---- practice ------------------------------------------------------------------------------------


def test_who_never_gets_a_practice_claim_right_is_screened_out_at_the_last_try():
    enrolment, trial = begun(n_practice=2, sitting=MUST_PASS)
    assert wrong(trial) is None
    assert state_of(enrolment) == ("active", "")
    assert wrong(start_next_trial(enrolment.token)) is None
    assert state_of(enrolment) == ("screened_out", "screened_out")
    assert enrolment.ended_at == Trial.objects.latest("pk").ended_at
    assert start_next_trial(enrolment.token) is None
    assert set(Trial.objects.values_list("state", flat=True)) == {TrialState.COMPLETED}


def test_a_right_answer_at_the_last_try_of_each_claim_passes():
    enrolment, trial = begun(n_practice=2, sitting=MUST_PASS)
    for _ in range(2):
        wrong(trial)
        answer(start_next_trial(enrolment.token))
        trial = start_next_trial(enrolment.token)
    assert trial.kind == TrialKind.MAIN
    assert state_of(enrolment) == ("active", "")


def test_without_the_rule_practice_ends_nothing():
    enrolment, trial = begun(n_practice=1, sitting={"practice_tries": 1})
    wrong(trial)
    assert start_next_trial(enrolment.token).kind == TrialKind.MAIN


def test_a_practice_claim_without_a_right_button_screens_nobody_out():
    study = factories.ready_study(sitting=MUST_PASS | {"practice_tries": 1})
    factories.add_claims(study, 1, role=TrialKind.PRACTICE, label="partially_supported")
    enrolment, trial = factories.started(lifecycle.open_study(study))
    wrong(trial)
    assert state_of(enrolment) == ("active", "")


# ---- attention checks ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("allowed", "fails", "state", "n_trials"),
    [
        (None, 3, "completed", 7),
        (0, 0, "completed", 7),
        (0, 1, "failed_checks", 2),
        (1, 1, "completed", 7),
        (1, 2, "failed_checks", 4),
        (3, 3, "completed", 7),
    ],
)
def test_one_failure_more_than_allowed_ends_the_run(
    allowed: int | None, fails: int, state: str, n_trials: int
):
    sitting = {} if allowed is None else {"attention_failures_allowed": allowed}
    enrolment, _ = begun(n_attention=3, sitting=sitting)
    assert len(play(enrolment, fails=fails)) == n_trials
    assert enrolment.state == state
    assert enrolment.end_reason == ("failed_checks" if state == "failed_checks" else "")


def test_wrong_main_trials_are_no_failed_checks():
    enrolment, trial = begun(n_attention=1, sitting={"attention_failures_allowed": 0})
    while trial is not None:
        trial = answer(trial) if trial.kind == TrialKind.ATTENTION else wrong(trial)
    assert state_of(enrolment) == ("completed", "")


def test_the_place_is_free_at_once_and_what_was_done_stays():
    enrolment, _ = begun(n_attention=1, sitting={"attention_failures_allowed": 0})
    study = enrolment.slot.study
    factories.joined(study)
    with pytest.raises(NoFreeSlot):
        factories.joined(study)
    play(enrolment, fails=1)
    assert factories.joined(study).slot == enrolment.slot
    assert enrolment.trials.count() == 3


def test_a_closing_study_ends_failed_runs_as_well():
    enrolment, trial = begun(n_attention=1, sitting={"attention_failures_allowed": 0})
    while trial.kind != TrialKind.ATTENTION:
        trial = answer(trial)
    Study.objects.update(state="closed")
    wrong(trial)
    assert state_of(enrolment) == ("failed_checks", "failed_checks")


def test_the_decision_sent_again_changes_nothing():
    enrolment, trial = begun(n_attention=1, sitting={"attention_failures_allowed": 0})
    while trial.kind != TrialKind.ATTENTION:
        trial = answer(trial)
    wrong(trial)
    ended_at = Enrolment.objects.get(pk=enrolment.pk).ended_at
    for decision in (wrong, answer):
        with pytest.raises(StalePage, match="already decided"):
            decision(trial)
    assert Enrolment.objects.get(pk=enrolment.pk).ended_at == ended_at
    assert not AuditEntry.objects.filter(action="run_failed_checks").exists()


def test_five_equal_decisions_at_once_end_the_run_once(committed_db: None):
    enrolment, trial = begun(n_practice=1, sitting=MUST_PASS | {"practice_tries": 1})

    def one(index: int) -> str:
        try:
            wrong(trial)
        except StalePage:
            return "stale"
        return "stored"

    assert sorted(in_threads(one, 5)) == ["stale"] * 4 + ["stored"]
    assert state_of(enrolment) == ("screened_out", "screened_out")


def test_rules_cost_a_main_trial_nothing():
    counts = []
    for sitting in ({}, MUST_PASS | {"attention_failures_allowed": 0}):
        _, trial = begun(n_claims=8, n_attention=1, sitting=sitting)
        with CaptureQueriesContext(connection) as captured:
            answer(trial)
        counts.append(len(captured))
    assert counts[0] == counts[1]


# ---- before the opening --------------------------------------------------------------------------


def test_rules_that_never_apply_and_ends_without_a_code_are_warned_about():
    study = factories.ready_study(
        sitting={
            "practice_must_pass": True,
            "attention_failures_allowed": 1,
            "return_url": "https://app.prolific.com/submissions/complete?cc={code}",
        }
    )
    factories.add_claims(study, 1, role=TrialKind.ATTENTION)
    assert ending_warnings(study) == [
        "sitting: practice must be passed, but there is no practice claim",
        "sitting: 1 failed attention checks are allowed and there are 1, so nobody is turned away",
        "no code for those who are screened out: they have no way back",
        "no code for those who fail the checks: they have no way back",
    ]
    assert set(ending_warnings(study)) <= set(lifecycle.opening_warnings(study))
    assert ending_warnings(factories.ready_study()) == []


def test_an_early_end_may_not_have_the_completion_code():
    study = factories.ready_study(
        completion_code="PAID", sitting={"screened_out_code": "PAID", "failed_checks_code": "NO"}
    )
    problem = "the code for those who are screened out is the completion code: choose another one"
    assert ending_problems(study) == [problem]
    with pytest.raises(NotReady, match=problem):
        lifecycle.open_study(study)
