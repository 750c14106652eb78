"""Pages for wrong addresses and faults of ours, in the participant's language."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import OperationalError
from django.test import Client

from studyapp.models import Study
from studyapp.views import errors, participant, participant_join
from tests import factories
from tests.studyapp.views.pages import HTMX, run_url, welcome_url
from tests.studyapp.views.test_languages import english_words_of, html_tag, words_of

ADDRESS = "/p/{code}/one/two/three"
GERMAN = {"Accept-Language": "de-CH,de;q=0.9,en;q=0.5"}
#: What may go wrong in a view, and the answer to it.
FAULTS = [(RuntimeError, 500), (PermissionDenied, 403), (SuspiciousOperation, 400)]


@pytest.fixture
def german(db: None) -> Study:
    return factories.open_study(lang="de", title="Studie")


@pytest.fixture
def client() -> Client:
    return Client(raise_request_exception=False)


def failing(fault: type[Exception]) -> Any:
    def fail(*_: Any, **__: Any) -> None:
        raise fault("The claims of the study are secret.")

    return fail


def test_an_address_that_is_not_there_speaks_the_language_of_its_study(
    german: Study, client: Client
) -> None:
    answer = client.get(ADDRESS.format(code=german.code))
    assert answer.status_code == 404
    assert html_tag(answer).startswith('<html lang="de" dir="ltr"')
    assert "Unter dieser Adresse gibt es keine Seite" in words_of(answer)
    assert english_words_of(answer) == []


@pytest.mark.parametrize("address", ["/p/nosuchstudy/", ADDRESS.format(code="nosuchstudy"), "/p/"])
def test_where_there_is_no_study_the_browsers_language_counts(
    db: None, client: Client, address: str
) -> None:
    asked = client.get(address, headers=GERMAN)
    assert asked.status_code == 404
    assert html_tag(asked).startswith('<html lang="de"')
    assert english_words_of(asked) == []
    plain = client.get(address)
    assert html_tag(plain).startswith('<html lang="en-GB"')
    assert "Open the full link" in words_of(plain)


@pytest.mark.parametrize("headers", [{}, HTMX])
@pytest.mark.parametrize(("fault", "status"), FAULTS)
def test_a_fault_in_a_run_is_said_in_its_language_and_says_nothing_else(
    german: Study,
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    fault: type[Exception],
    status: int,
    headers: dict[str, str],
) -> None:
    enrolment, _ = factories.started(german)
    monkeypatch.setattr(participant, "run_region", failing(fault))
    answer = client.get(run_url(enrolment), headers=headers)
    assert answer.status_code == status
    assert english_words_of(answer) == []
    assert "secret" not in answer.content.decode()
    assert answer.headers["Cache-Control"] == "no-store"


def test_a_fault_of_ours_needs_no_database(
    german: Study, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(participant_join, "_study", failing(RuntimeError))
    monkeypatch.setattr(errors, "values_of", failing(OperationalError))
    answer = client.get(welcome_url(german), headers=GERMAN)
    assert answer.status_code == 500
    assert "Bei uns ist etwas schiefgegangen" in words_of(answer)
    # Names that need no manifest, which may be what is missing.
    assert 'href="/static/css/participant.css"' in answer.content.decode()
    answer = client.get(welcome_url(german))
    assert "Something went wrong on our side" in words_of(answer)


def test_faults_are_shown_in_frames_as_well(
    german: Study, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(participant_join, "_study", failing(RuntimeError))
    for address in (welcome_url(german), ADDRESS.format(code=german.code)):
        assert "X-Frame-Options" not in client.get(address).headers


def test_the_language_of_a_fault_ends_with_its_page(german: Study, client: Client) -> None:
    client.get(ADDRESS.format(code=german.code))
    assert "There is no page" in words_of(client.get("/nowhere"))
    assert "There is no page" in words_of(client.get("/p/x/y/z/1/2"))


def test_researchers_pages_keep_their_own(db: None, client: Client) -> None:
    answer = client.get("/nowhere", headers=GERMAN)
    assert answer.status_code == 404
    assert html_tag(answer).startswith('<html lang="en-GB"')
    assert answer.headers["X-Frame-Options"] == "DENY"


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("", "In Ihrem Link fehlt die Teilnehmerkennung"),
        ("?id={{%id%}}", "In Ihrem Link steht ein Platzhalter"),
        ("?id=" + "x" * 101, "hat mehr als 100 Zeichen"),
        ("?id=%00", "ist nicht lesbar"),
    ],
)
def test_links_without_a_usable_id_are_refused_in_german(
    db: None, client: Client, query: str, words: str
) -> None:
    study = factories.open_study(lang="de", title="Studie", recruiting={"id_parameter": "id"})
    answer = client.get(welcome_url(study) + query)
    assert words in words_of(answer)
    assert english_words_of(answer) == []
