"""What is asked of Prolific: screen-outs and returns, written down, carried out, repeated."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from studyapp.domain import leases
from studyapp.domain.assignment import withdraw
from studyapp.domain.prolific_calls import ask_again, calls_of, fill_outbox, run_call, run_due
from studyapp.domain.prolific_setup import set_up
from studyapp.domain.prolific_submissions import link_sessions
from studyapp.domain.prolific_work import ring_due, tend
from studyapp.domain.trials import start_next_trial
from studyapp.enums import CallKind, EnrolmentState, JobState, RunKind, TrialState
from studyapp.errors import BrokerAway, StudyError
from studyapp.models import (
    AuditEntry,
    Enrolment,
    ProlificLink,
    RecruiterCall,
    RecruiterSubmission,
    Slot,
    Study,
    Trial,
)
from studyapp.tasks import tend_prolific
from tests.prolific_cast import (
    arrive,
    connected,
    connected_study,
    screened_out,
    silent,
    state_of,
    tell,
)
from tests.prolific_server import Fault, ProlificServer

pytestmark = pytest.mark.django_db


def written_down(study: Study) -> int:
    """Fill the outbox as a worker does after it has linked the runs."""
    link_sessions(study, timezone.now())
    return fill_outbox(study, timezone.now())


def the_call() -> RecruiterCall:
    return RecruiterCall.objects.get()


def all_due() -> None:
    """Let the pause of every call be over."""
    RecruiterCall.objects.update(due_at=timezone.now() - timedelta(seconds=1))


# ---- whose submission it is ----------------------------------------------------------------------


def test_nothing_is_asked_about_the_submission_of_another_person() -> None:
    study = connected_study(n_replications=3)
    set_up(study, return_after_minutes=10)
    screened_out(study, "other", "s1")
    silent(arrive(study, "somebody", "s2"), minutes=60)
    with ProlificServer() as server, connected(server):
        server.add("s1", "p1")
        server.add("s2", "p2")
        assert (written_down(study), run_due(study)) == (2, 0)
        assert (server.sent("transition"), server.sent("request-return")) == ([], [])
    said = "At Prolific this submission is another person's than this run's, so nothing was asked."
    calls = RecruiterCall.objects.values_list("state", "error")
    assert list(calls) == [(JobState.FAILED, said)] * 2


def test_calls_for_another_run_go_when_prolific_names_the_person_of_a_submission() -> None:
    study = connected_study(n_replications=3)
    screened_out(study, "other", "s1")
    assert written_down(study) == 1
    own = arrive(study, "p1", "s1")
    assert tell(study, "s1", "p1", "active") == "noted"
    assert (RecruiterCall.objects.count(), written_down(study)) == (0, 0)
    assert (RecruiterSubmission.objects.get().enrolment, state_of(own)) == (own, "consented")


# ---- screen-outs ---------------------------------------------------------------------------------


def test_a_run_screened_out_here_is_screened_out_at_prolific() -> None:
    study = connected_study()
    screened_out(study, "p1", "s1")
    with ProlificServer() as server, connected(server):
        server.add("s1", "p1")
        assert [written_down(study), written_down(study)] == [1, 0]
        assert [run_due(study), run_due(study)] == [1, 0]
        assert [each.body for each in server.sent("transition")] == [
            {"action": "COMPLETE", "completion_code": "SCREENED1"}
        ]
        assert server.submissions["s1"]["status"] == "SCREENED OUT"
    call = the_call()
    assert (call.state, call.answer) == ("done", "screened out; status SCREENED OUT")


def test_r039_a_refused_screen_out_is_seen_with_its_reason_and_can_be_repeated() -> None:
    study = connected_study()
    run = screened_out(study, "p1", "s1")
    set_up(study, screen_out_code="MISTYPED")
    with ProlificServer() as server, connected(server):
        server.add("s1", "p1")
        written_down(study)
        assert run_due(study) == 0
        call = the_call()
        assert (call.state, call.is_refused, call.n_attempts) == ("failed", True, 1)
        assert call.error == (
            "Prolific refused this (status 400). It said: completion_code: Not a valid code."
        )
        assert [run_due(study), written_down(study)] == [0, 0]
        set_up(study, screen_out_code="SCREENED1")
        assert ask_again(study, call.pk).state == JobState.QUEUED
        assert AuditEntry.objects.latest("pk").details == {"call": "screen_out", "slot": "1.1"}
        assert run_due(study) == 1
    assert (the_call().state, the_call().error) == ("done", "")
    assert state_of(run) == EnrolmentState.SCREENED_OUT


def test_without_a_code_nothing_is_asked() -> None:
    study = connected_study()
    set_up(study, screen_out_code="")
    screened_out(study, "p1", "s1")
    assert written_down(study) == 0


def test_a_submission_that_was_handed_in_already_is_left_to_the_researcher() -> None:
    study = connected_study()
    screened_out(study, "p1", "s1")
    with ProlificServer() as server, connected(server):
        server.add("s1", "p1", "AWAITING REVIEW")
        written_down(study)
        run_due(study)
        assert server.sent("transition") == []
    assert the_call().error == "It was handed in at Prolific already and awaits your review there."


def test_what_ended_at_prolific_meanwhile_needs_no_screen_out() -> None:
    study = connected_study()
    screened_out(study, "p1", "s1")
    tell(study, "s1", "p1", "returned")
    assert written_down(study) == 0


# ---- returns -------------------------------------------------------------------------------------


def silent_study(minutes: int = 30, **options: Any) -> tuple[Study, Enrolment]:
    """A study that asks back after ``minutes``, and a run that has been silent for an hour."""
    study = connected_study(**options)
    set_up(study, return_after_minutes=minutes)
    study.refresh_from_db()
    run = arrive(study, "p1", "s1")
    silent(run, 60)
    return study, run


def test_who_is_silent_longer_than_the_delay_is_asked_to_return_and_the_place_is_free() -> None:
    study, run = silent_study()
    with ProlificServer() as server, connected(server):
        server.add("s1", "p1")
        assert [written_down(study), written_down(study)] == [1, 0]
        assert state_of(run) == EnrolmentState.RETURNED
        assert run_due(study) == 1
        assert [each.body for each in server.sent("request-return")] == [
            {"request_return_reasons": ["Didn't finish the study"]}
        ]
    assert the_call().answer == "asked to return; status ACTIVE"
    note = "gave no sign for too long; asked to return at Prolific"
    assert Enrolment.objects.get().end_note == note


def test_a_place_that_was_given_on_before_is_asked_back_and_stays_timed_out() -> None:
    study, run = silent_study()
    Enrolment.objects.filter(pk=run.pk).update(state="timed_out", ended_at=timezone.now())
    assert written_down(study) == 1
    assert state_of(run) == EnrolmentState.TIMED_OUT


@pytest.mark.parametrize(("delay", "minutes"), [(0, 10_000), (30, 29)])
def test_nobody_is_asked_back_before_the_delay_or_without_one(delay: int, minutes: int) -> None:
    study, run = silent_study(delay)
    silent(run, minutes)
    assert (written_down(study), state_of(run)) == (0, "consented")


def test_who_has_only_the_questionnaire_left_is_spared() -> None:
    study, run = silent_study()
    trial = start_next_trial(run.token)
    Slot.objects.filter(pk=run.slot_id).update(n_trials=1)
    Trial.objects.filter(pk=trial.pk).update(state=TrialState.COMPLETED, ended_at=timezone.now())
    silent(run, 60)
    assert (written_down(study), state_of(run)) == (0, "active")


@pytest.mark.parametrize("kind", [RunKind.PILOT, RunKind.SIMULATED])
def test_only_real_runs_are_asked_back(kind: str) -> None:
    study, run = silent_study()
    Enrolment.objects.filter(pk=run.pk).update(run_kind=kind)
    assert (written_down(study), state_of(run)) == (0, "consented")


def test_a_run_whose_submission_has_ended_is_not_asked_back() -> None:
    study, run = silent_study()
    link_sessions(study, timezone.now())
    tell(study, "s1", "p1", "awaiting_review")
    assert (written_down(study), state_of(run)) == (0, "consented")


# ---- killed workers, lost answers, servers that are away -----------------------------------------


@pytest.mark.parametrize("fault", [Fault(500), Fault(cuts=True), Fault(200, b"no JSON")])
def test_a_lost_answer_does_not_ask_twice(fault: Fault) -> None:
    """The request was carried out and its answer never came: the next try looks first."""
    study, _ = silent_study()
    fault.works_first = True
    with ProlificServer() as server, connected(server):
        server.add("s1", "p1")
        server.fault_of = lambda asked: fault if asked.method == "POST" else None
        written_down(study)
        assert run_due(study) == 0
        call = the_call()
        assert (call.state, call.due_at > timezone.now()) == ("queued", True)
        assert run_due(study) == 0  # its pause is not over
        all_due()
        assert run_due(study) == 1
        assert len(server.sent("request-return")) == 1
    assert (the_call().answer, the_call().error) == ("was asked to return before", "")


def test_a_worker_killed_between_answer_and_row_neither_loses_nor_doubles_the_call() -> None:
    study, _ = silent_study()
    with ProlificServer() as server, connected(server):
        server.add("s1", "p1")
        written_down(study)
        lease = leases.take(RecruiterCall, the_call().pk)
        server.submissions["s1"]["return_requested"] = "2026-11-30T12:00:00Z"
        assert run_due(study) == 0  # it is still leased
        RecruiterCall.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
        assert run_due(study) == 1
        assert server.sent("request-return") == []
        assert lease is not None
        assert not leases.finish(lease, JobState.DONE)


def test_a_server_that_is_away_is_asked_later_and_given_up_in_the_end() -> None:
    study, _ = silent_study()
    with connected():
        written_down(study)
        for n_tries in range(1, leases.MAX_ATTEMPTS):
            assert run_due(study) == 0
            call = the_call()
            assert (call.state, call.n_attempts) == ("queued", n_tries)
            assert "is away" in call.error
            all_due()
        run_due(study)
    assert (the_call().state, the_call().n_attempts) == ("failed", leases.MAX_ATTEMPTS)


def test_a_pause_that_prolific_asks_for_is_kept() -> None:
    study, _ = silent_study()
    with ProlificServer() as server, connected(server):
        server.fault_of = lambda asked: Fault(429, {}, {"Retry-After": "3600"})
        written_down(study)
        run_due(study)
    assert the_call().due_at > timezone.now() + timedelta(minutes=59)


def test_a_call_whose_person_withdraws_meanwhile_leaves_nothing() -> None:
    study, run = silent_study()
    with ProlificServer() as server, connected(server):
        server.add("s1", "p1")
        written_down(study)
        call_id = the_call().pk
        withdraw(run.token)
        assert run_call(call_id) is False
        assert server.asked == []
    assert RecruiterCall.objects.count() == RecruiterSubmission.objects.count() == 0


def test_only_a_refused_call_of_the_study_is_repeated() -> None:
    study, _ = silent_study()
    written_down(study)
    call = the_call()
    with pytest.raises(StudyError, match="no refused call"):
        ask_again(study, call.pk)
    RecruiterCall.objects.update(state=JobState.FAILED)
    with pytest.raises(StudyError, match="no refused call"):
        ask_again(connected_study(), call.pk)
    assert calls_of(study).get().kind == CallKind.REQUEST_RETURN


def test_two_workers_at_once_ask_once(committed_db: None) -> None:
    study = connected_study()
    screened_out(study, "p1", "s1")
    with ProlificServer() as server, connected(server):
        server.add("s1", "p1")
        server.fault_of = lambda asked: Fault(seconds=0.2)
        written_down(study)
        done: list[int] = []

        def work() -> None:
            done.append(run_due(study))
            connection.close()

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(done) == [0, 1]
        assert len(server.sent("transition")) == 1


# ---- who does it, and when -----------------------------------------------------------------------


@pytest.fixture
def bells(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The studies that the bell was rung for."""
    rung: list[int] = []
    monkeypatch.setattr(tend_prolific, "delay", rung.append)
    return rung


def minutes_later(minutes: float) -> None:
    ProlificLink.objects.update(rung_at=timezone.now() - timedelta(minutes=minutes))


def test_an_open_study_is_looked_after_once_a_minute(bells: list[int]) -> None:
    study = connected_study()
    with connected():
        assert [ring_due(), ring_due()] == [1, 0]
        minutes_later(1.1)
        assert ring_due() == 1
    assert bells == [study.prolific.pk] * 2


@pytest.mark.parametrize(
    ("state", "closed_days", "minutes", "n"),
    [
        ("paused", None, 2, 1),
        ("closed", 1, 2, 0),
        ("closed", 1, 61, 1),
        ("closed", 31, 10_000, 0),
        ("draft", None, 10_000, 0),
    ],
)
def test_a_study_that_is_not_open_is_looked_after_as_it_needs(
    bells: list[int], state: str, closed_days: int | None, minutes: int, n: int
) -> None:
    study = connected_study()
    closed_at = timezone.now() - timedelta(days=closed_days) if closed_days else None
    Study.objects.filter(pk=study.pk).update(state=state, closed_at=closed_at)
    minutes_later(minutes)
    with connected():
        assert ring_due() == len(bells) == n


def test_without_a_token_no_bell_rings(bells: list[int]) -> None:
    connected_study()
    assert (ring_due(), bells) == (0, [])


def test_a_broker_that_is_away_keeps_the_study_due(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(link_id: int) -> None:
        raise OSError("no broker")

    monkeypatch.setattr(tend_prolific, "delay", away)
    connected_study()
    with connected(), pytest.raises(BrokerAway, match="cannot be reached"):
        ring_due()
    assert ProlificLink.objects.get().rung_at is None


def test_looking_after_a_study_reads_writes_down_and_asks() -> None:
    study, run = silent_study()
    other = screened_out(study, "p2", "s2")
    with ProlificServer() as server, connected(server):
        server.add("s1", "p1")
        server.add("s2", "p2")
        assert tend_prolific(study.prolific.pk) is True
        assert len(server.sent("request-return")) == len(server.sent("transition")) == 1
        assert tend_prolific(study.prolific.pk) is True
        assert len(server.sent("")) == 2
    assert (state_of(run), state_of(other)) == ("returned", "screened_out")


def test_calls_are_carried_out_also_when_the_list_cannot_be_read() -> None:
    study, _ = silent_study()
    with ProlificServer() as server, connected(server):
        server.add("s1", "p1")
        server.fault_of = lambda asked: Fault(404) if asked.path.startswith("studies") else None
        assert tend(study.prolific.pk) is False
        assert len(server.sent("request-return")) == 1
    assert "does not know this id" in ProlificLink.objects.get().sync_error


def test_a_study_that_is_gone_or_not_tied_is_left_alone() -> None:
    study = connected_study()
    assert tend(study.prolific.pk) is False
    assert tend(10**6) is False
