"""How a run stops: withdrawn, paused, closed, expired."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from studyapp.domain import lifecycle
from studyapp.enums import EnrolmentState, StudyState
from studyapp.models import Enrolment, Study, Trial
from tests import factories
from tests.studyapp.views.pages import HTMX, counts, decide, form_ending, join, run_url, trial_url
from tests.studyapp.views.test_languages import words_of


def test_withdrawing_says_what_it_deletes_deletes_it_and_says_so_afterwards(
    study: Study, client: Client
) -> None:
    url = join(client, study).headers["Location"]
    client.post(url + "begin")
    decide(client, Trial.objects.get())
    page = client.get(url + "withdraw")
    assert "your answer to 1 trial," in page.content.decode()
    assert Enrolment.objects.count() == 1
    response = client.post(*form_ending(page, "withdraw"))
    assert response.status_code == 303
    assert client.cookies[f"run-{study.code}"].value == ""
    assert counts() == {
        "Participant": 0,
        "Enrolment": 0,
        "Trial": 0,
        "Event": 0,
        "VerificationAnswer": 0,
        "QuestionnaireAnswer": 0,
        "Withdrawal": 1,
    }
    for old in ("", "help", "withdraw"):
        gone = client.get(url + old)
        assert gone.status_code == 410
        assert "Everything recorded in your run is deleted" in gone.content.decode()
    assert client.post(url + "withdraw").status_code == 303
    assert client.post(url + "begin", headers=HTMX).status_code == 410


def test_a_paused_study_lets_the_open_trial_be_finished_and_then_waits(
    study: Study, client: Client
) -> None:
    enrolment, trial = factories.started(study)
    lifecycle.set_state(study, StudyState.PAUSED, allowed_from=[StudyState.OPEN])
    assert "Trial 1 of 4" in client.get(run_url(enrolment)).content.decode()
    response = client.post(
        trial_url(trial) + "decide",
        {"decision": "supported", "n_shown": trial.n_steps},
        headers=HTMX,
    )
    assert response.status_code == 200
    assert "This study is paused" in response.content.decode()
    assert client.post(run_url(enrolment) + "begin", headers=HTMX).status_code == 409
    assert Trial.objects.count() == 1
    lifecycle.set_state(study, StudyState.OPEN, allowed_from=[StudyState.PAUSED])
    page = client.get(run_url(enrolment))
    assert "Welcome back" in page.content.decode()
    page = client.get(client.post(*form_ending(page, "begin")).headers["Location"])
    assert "Trial 2 of 4" in page.content.decode()


def test_a_closed_study_says_so_to_a_run_without_an_open_trial(
    study: Study, client: Client
) -> None:
    enrolment = factories.joined(study)
    lifecycle.set_state(study, StudyState.CLOSED, allowed_from=[StudyState.OPEN])
    assert "This study has ended" in client.get(run_url(enrolment)).content.decode()
    response = client.post(run_url(enrolment) + "begin")
    assert response.status_code == 303
    assert Trial.objects.count() == 0


def _expire(enrolment: Enrolment) -> None:
    past = timezone.now() - timedelta(minutes=1)
    Enrolment.objects.filter(pk=enrolment.pk).update(lease_until=past)


def test_a_place_that_went_to_somebody_else_before_the_first_trial_is_replaced(
    db: None, client: Client
) -> None:
    study = factories.open_study(n_replications=1)
    late = factories.joined(study)
    others = [factories.joined(study) for _ in range(study.slots.count() - 1)]
    _expire(late)
    thief = factories.joined(study)
    assert thief.slot_id == late.slot_id
    page = client.get(run_url(late))
    assert "place kept for you has expired" in page.content.decode()
    full = client.post(run_url(late) + "begin")
    assert full.status_code == 409
    assert "Every place is taken" in full.content.decode()
    assert Trial.objects.count() == 0

    _expire(others[0])
    moved = client.post(run_url(late) + "begin", headers=HTMX)
    assert moved.status_code == 200
    assert "Trial 1 of 4" in moved.content.decode()
    assert "given another one" in moved.content.decode()
    late.refresh_from_db()
    others[0].refresh_from_db()
    assert late.slot_id == others[0].slot_id
    assert others[0].state == EnrolmentState.TIMED_OUT


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("lang", "command", "says"),
    [
        ("en", "release_run", "The researchers have given your place to somebody else."),
        ("en", "return_run", "This study was returned, so your place was given to somebody else."),
        ("de", "release_run", "Die Forschenden haben Ihren Platz an jemand anderen vergeben."),
        ("de", "return_run", "Diese Studie wurde zurückgegeben; deshalb hat jemand anders"),
    ],
)
def test_whose_place_was_taken_back_reads_what_is_true(
    client: Client, lang: str, command: str, says: str
) -> None:
    """A released run was told that nothing had happened for too long."""
    study = factories.open_study(lang=lang)
    enrolment, _ = factories.started(study)
    call_command(command, study.slug, enrolment.participant.code)
    page = words_of(client.get(run_url(enrolment)))
    assert says in page
    untrue = ("expired", "verfallen", "Nothing happened", "ist nichts geschehen", "You have ret")
    assert not any(words in page for words in untrue)
    headings = {
        "en": "Your part in this study has ended",
        "de": "Ihre Teilnahme an dieser Studie ist beendet",
    }
    assert headings[lang] in page
    call_command("restore_run", study.slug, enrolment.participant.code)
    assert says not in words_of(client.get(run_url(enrolment)))


@pytest.mark.django_db
@pytest.mark.parametrize("lang", ["en", "de"])
def test_a_place_released_before_the_first_trial_has_not_expired(client: Client, lang: str) -> None:
    study = factories.open_study(lang=lang)
    enrolment = factories.joined(study)
    call_command("release_run", study.slug, enrolment.participant.code)
    page = words_of(client.get(run_url(enrolment)))
    says = {
        "en": "given your place to somebody else. If another one is free",
        "de": "an jemand anderen vergeben. Ist ein anderer frei",
    }
    assert says[lang] in page
    client.post(run_url(enrolment) + "begin")
    moved = words_of(client.get(run_url(enrolment) + "?notice=moved"))
    assert {"en": "Trial 1 of 4", "de": "Aufgabe 1 von 4"}[lang] in moved
    assert {"en": "went to somebody else", "de": "ging an jemand anderen"}[lang] in moved
    assert not any(words in page + moved for words in ("expired", "verfallen"))


def test_a_run_that_expired_in_the_middle_says_so_and_takes_no_more(
    study: Study, client: Client
) -> None:
    enrolment, trial = factories.started(study)
    for _ in range(study.slots.count() - 1):
        factories.joined(study)
    _expire(enrolment)
    factories.joined(study)
    page = client.get(run_url(enrolment)).content.decode()
    assert "Your place in this study has expired" in page
    before = counts()
    for headers in ({}, HTMX):
        data = {"decision": "supported", "n_shown": trial.n_steps, "rank": 2}
        for action in ("decide", "reveal"):
            response = client.post(trial_url(trial) + action, data, headers=headers)
            assert response.status_code == (409 if headers else 303)
        begun = client.post(run_url(enrolment) + "begin", headers=headers)
        assert begun.status_code == 303 or "has expired" in begun.content.decode()
    assert counts() == before
