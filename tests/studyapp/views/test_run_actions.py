"""What a researcher can do to a run: the page that asks, the act, and the same act again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.utils import timezone

from studyapp.domain import run_ends
from studyapp.enums import EnrolmentState, TrialState
from studyapp.models import AuditEntry, Enrolment, Study, Trial
from tests import factories
from tests.prolific_cast import arrive, connected_study, tell
from tests.studyapp.views.console import finished, played, read, url, words

pytestmark = pytest.mark.django_db

ENDS = {
    "release": ("timed_out", "released", "run_released"),
    "return": ("returned", "returned", "run_returned"),
    "pay-partial": ("paid_partial", "paid_partial", "run_paid_partial"),
    "reject": ("rejected", "rejected", "run_rejected"),
}


@pytest.fixture
def client() -> Client:
    client = Client()
    client.force_login(get_user_model().objects.create_superuser("ann"))
    return client


@pytest.fixture
def study() -> Study:
    return factories.open_study(n_replications=2)


def address(study: Study, run: Enrolment, action: str) -> str:
    return url("participant-action", study, run.participant.code, action)


def post(client: Client, study: Study, run: Enrolment, action: str, /, **more: Any) -> Any:
    form = {"note": "too fast", "minutes": "90"} | more
    return client.post(address(study, run, action), form)


@pytest.mark.parametrize("action", ENDS)
def test_the_page_says_in_numbers_what_will_happen_and_does_nothing(
    client: Client, study: Study, action: str
) -> None:
    run = played(study, 2)
    n_shown = sum(Trial.objects.filter(enrolment=run).values_list("n_steps", flat=True))
    told = words(read(client, address(study, run, action)))
    marked = EnrolmentState(ENDS[action][0]).label.lower()
    assert f"2 finished trials of 4 and {n_shown} sentences shown stay stored" in told
    assert f"marked as {marked}." in told
    assert "1 open trial becomes incomplete and gets no decision." in told
    assert "1 place, in slot 1.1, is free at once for the next arrival." in told
    assert Enrolment.objects.get(pk=run.pk).state == EnrolmentState.ACTIVE


@pytest.mark.parametrize("action", ENDS)
def test_an_action_is_done_once_however_often_it_is_sent(
    client: Client, study: Study, action: str
) -> None:
    state, reason, logged = ENDS[action]
    run = played(study, 2)
    first, second = (post(client, study, run, action) for _ in range(2))
    page = url("study-participant", study, run.participant.code)
    assert (first.url, second.url) == (page, page)
    ended = Enrolment.objects.get(pk=run.pk)
    assert (ended.state, ended.end_reason) == (state, reason)
    assert Trial.objects.filter(enrolment=run, state=TrialState.INCOMPLETE).count() == 1
    [entry] = AuditEntry.objects.filter(action=logged)
    assert (entry.who, entry.details) == ("ann", {"slot": "1.1", "old_state": "active"})
    html = read(client, page)
    assert html.count("It was so before: nothing was changed.") == 1


@pytest.mark.parametrize("action", ENDS)
def test_the_same_act_again_leaves_an_earlier_run_of_the_person_alone(
    client: Client, study: Study, action: str
) -> None:
    earlier, last = played(study, 1), played(study, 1)
    run_ends.release_run(study, earlier.participant.code)
    Enrolment.objects.filter(pk=earlier.pk).update(participant=last.participant)
    for _ in range(2):
        post(client, study, last, action)
    assert Enrolment.objects.get(pk=last.pk).state == ENDS[action][0]
    assert Enrolment.objects.get(pk=earlier.pk).end_reason == "released"


def test_a_place_is_held_longer_once(client: Client, study: Study) -> None:
    run = played(study, 1)
    soon = timezone.now() + timedelta(minutes=5)
    Enrolment.objects.filter(pk=run.pk).update(lease_until=soon)
    told = words(read(client, address(study, run, "extend")))
    assert "Slot 1.1 is held until" in told
    post(client, study, run, "extend", back="monitor")
    held = Enrolment.objects.get(pk=run.pk).lease_until
    assert abs(held - timezone.now() - timedelta(minutes=90)) < timedelta(minutes=1)
    again = post(client, study, run, "extend", back="monitor")
    assert again.url == url("study-monitor", study) + "#held"
    assert Enrolment.objects.get(pk=run.pk).lease_until == held
    assert AuditEntry.objects.filter(action="run_extended").count() == 1


@pytest.mark.parametrize(
    ("action", "more", "says"),
    [
        ("reject", {"note": " "}, "write what was wrong with the run"),
        ("reject", {"note": "x" * 501}, "the note may have 500 characters"),
        ("pay-partial", {"note": "x" * 501}, "the note may have 500 characters"),
        ("extend", {"minutes": ""}, "minutes must be a number from 1 to 10,080"),
        ("extend", {"minutes": "0"}, "minutes must be a number from 1 to 10,080"),
        ("extend", {"minutes": "soon"}, "minutes must be a number from 1 to 10,080"),
    ],
)
def test_a_form_that_will_not_do_says_why_and_changes_nothing(
    client: Client, study: Study, action: str, more: dict[str, str], says: str
) -> None:
    run = played(study, 1)
    response = post(client, study, run, action, **more)
    assert response.status_code == 422
    assert says in response.content.decode()
    assert Enrolment.objects.get(pk=run.pk).state == EnrolmentState.ACTIVE


@pytest.mark.parametrize("action", ["release", "return", "pay-partial", "extend"])
def test_a_finished_run_can_only_be_rejected(client: Client, study: Study, action: str) -> None:
    run = finished(study)
    page = read(client, address(study, run, action))
    assert "This run cannot be changed so: it is completed." in words(page)
    assert "card ask" not in page
    response = post(client, study, run, action)
    assert response.status_code == 409
    assert "the run is completed." in response.content.decode()
    assert Enrolment.objects.get(pk=run.pk).state == EnrolmentState.COMPLETED
    assert "Reject" in read(client, url("study-participant", study, run.participant.code))
    assert post(client, study, run, "reject").status_code == 302


def test_a_note_is_kept_for_researchers(client: Client, study: Study) -> None:
    run = played(study, 1)
    post(client, study, run, "pay-partial", note="half an hour of work")
    html = read(client, url("study-participant", study, run.participant.code))
    assert "half an hour of work" in html


def test_an_end_is_undone_once(client: Client, study: Study) -> None:
    run = played(study, 2)
    post(client, study, run, "release")
    told = words(read(client, address(study, run, "restore")))
    assert "The run goes on after 2 of 4 trials, with a new lease." in told
    assert "1 incomplete trial is open again" in told
    assert "1 place, in slot 1.1, is taken again" in told
    for _ in range(2):
        assert post(client, study, run, "restore").status_code == 302
    assert Enrolment.objects.get(pk=run.pk).state == EnrolmentState.ACTIVE
    assert Trial.objects.filter(enrolment=run, state=TrialState.OPEN).count() == 1
    assert AuditEntry.objects.filter(action="run_restored").count() == 1


def test_a_rejection_of_a_finished_run_is_undone(client: Client, study: Study) -> None:
    run = finished(study)
    post(client, study, run, "reject")
    told = words(read(client, address(study, run, "restore")))
    assert "The run counts as completed again, with 4 trials." in told
    post(client, study, run, "restore")
    assert Enrolment.objects.get(pk=run.pk).state == EnrolmentState.COMPLETED


@pytest.mark.parametrize("is_finished", [False, True])
def test_undoing_an_end_that_prolific_told_says_that_it_will_not_last(
    client: Client, is_finished: bool
) -> None:
    study = connected_study()
    run = arrive(study, "p1", "s1")
    if is_finished:
        Enrolment.objects.filter(pk=run.pk).update(
            state="completed", started_at=run.consented_at, ended_at=run.consented_at
        )
    said = "Prolific says REJECTED of the submission."
    for _ in range(2):
        assert tell(study, "s1", "p1", "rejected") == "ended"
        told = words(read(client, address(study, run, "restore")))
        assert said in told
        assert "the run is ended again: undoing its end lasts only if Prolific changes" in told
        assert post(client, study, run, "restore").status_code == 302
        shown = words(read(client, url("study-participant", study, run.participant.code)))
        assert "The end is undone." in shown
        assert said in shown


def test_undoing_an_end_that_prolific_knows_nothing_of_says_nothing_of_it(client: Client) -> None:
    study = connected_study()
    run = arrive(study, "p1", "s1")
    tell(study, "s1", "p1", "active")
    post(client, study, run, "return")
    assert "Prolific says" not in words(read(client, address(study, run, "restore")))
    post(client, study, run, "restore")
    shown = words(read(client, url("study-participant", study, run.participant.code)))
    assert "The end is undone." in shown
    assert "Prolific says" not in shown


def test_an_end_whose_place_is_taken_cannot_be_undone(client: Client) -> None:
    study = factories.open_study()
    run = played(study, 1)
    post(client, study, run, "release")
    for _ in range(2):
        factories.joined(study)
    response = post(client, study, run, "restore")
    assert response.status_code == 400
    assert "is taken by now" in response.content.decode()
    assert Enrolment.objects.get(pk=run.pk).end_reason == "released"


def two_runs(study: Study) -> tuple[Enrolment, Enrolment]:
    """A person's finished run and the one they begin after ``study``'s researcher looked."""
    return finished(study), played(study, 1)


def test_a_form_about_an_earlier_run_does_not_reach_the_one_begun_since(
    client: Client, study: Study
) -> None:
    earlier, last = two_runs(study)
    shown = read(client, address(study, earlier, "reject"))
    assert f'name="run" value="{earlier.pk}"' in shown
    assert earlier.token not in shown
    Enrolment.objects.filter(pk=last.pk).update(participant=earlier.participant)
    refused = post(client, study, earlier, "reject", run=str(earlier.pk))
    assert refused.status_code == 409
    told = words(refused.content.decode())
    assert "has begun another run since, which is in the trials: nothing was changed" in told
    assert f'name="run" value="{last.pk}"' in refused.content.decode()
    states = Enrolment.objects.filter(pk__in=[earlier.pk, last.pk]).order_by("pk")
    assert list(states.values_list("state", flat=True)) == ["completed", "active"]
    assert post(client, study, earlier, "reject", run=str(last.pk)).status_code == 302
    assert Enrolment.objects.get(pk=last.pk).state == EnrolmentState.REJECTED


def test_a_form_that_lacks_its_note_stays_about_its_run(client: Client, study: Study) -> None:
    earlier, last = two_runs(study)
    Enrolment.objects.filter(pk=last.pk).update(participant=earlier.participant)
    again = post(client, study, earlier, "reject", note=" ", run=str(earlier.pk))
    assert again.status_code == 422
    assert f'name="run" value="{earlier.pk}"' in again.content.decode()
