"""Messages of Prolific's webhook: genuine, forged, replayed, old, huge and malformed ones."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client

from studyapp.domain import prolific_hooks
from studyapp.domain.prolific_hooks import MAX_BYTES
from studyapp.models import AuditEntry, Enrolment, ProlificLink, RecruiterSubmission, Study
from tests import factories
from tests.prolific_cast import (
    RECRUITING,
    SECRET,
    arrive,
    connected,
    connected_study,
    signed,
    state_of,
)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def known_to_prolific() -> Any:
    with connected():
        yield


def body_of(submission: str = "s1", person: str = "p1", status: str = "RETURNED") -> bytes:
    event = {
        "resource_id": submission,
        "event_type": "submission.status.change",
        "participant_id": person,
        "status": status,
    }
    return json.dumps(event).encode()


def send(study: Study, body: bytes, headers: dict[str, str] | None = None) -> Any:
    """A POST as Prolific sends it: without a cookie, and with CSRF checks on."""
    client = Client(enforce_csrf_checks=True)
    return client.post(
        f"/hooks/prolific/{study.code}/",
        body,
        content_type="application/json",
        headers=signed(body) if headers is None else headers,
    )


def counted() -> tuple[int, int, int]:
    """Messages taken, of them not ours, and refused."""
    link = ProlificLink.objects.get()
    return link.n_messages, link.n_messages_unmatched, link.n_messages_refused


def test_a_return_is_believed_and_frees_the_place() -> None:
    study = connected_study()
    run = arrive(study, "p1", "s1")
    response = send(study, body_of())
    assert (response.status_code, response.json()) == (200, {"message": "taken"})
    assert (state_of(run), counted()) == ("returned", (1, 0, 0))
    assert AuditEntry.objects.latest("pk").who == "command"


def test_the_same_message_again_is_taken_and_changes_nothing() -> None:
    study = connected_study()
    arrive(study, "p1", "s1")
    body = body_of()
    headers = signed(body)
    send(study, body, headers)
    stored = list(RecruiterSubmission.objects.values())
    n_entries = AuditEntry.objects.count()
    assert send(study, body, headers).status_code == 200
    assert list(RecruiterSubmission.objects.values()) == stored
    assert AuditEntry.objects.count() == n_entries


def test_no_session_and_no_cookie_are_made() -> None:
    response = send(connected_study(), body_of())
    assert not response.cookies
    assert response.headers["Cache-Control"] == "no-store"


def test_a_submission_that_is_not_ours_is_counted_and_no_error() -> None:
    study = connected_study()
    assert send(study, body_of("s9", "p9")).status_code == 200
    assert counted() == (1, 1, 0)


@pytest.mark.parametrize("parameters", [{"id_parameter": "PROLIFIC_PID"}, RECRUITING])
def test_a_message_about_another_study_of_the_workspace_ends_no_run_here(parameters: Any) -> None:
    one = connected_study(slug="one", recruiting=parameters)
    other = connected_study(slug="other", recruiting=parameters)
    with_session = "other_parameters" in parameters
    here = arrive(one, "p1", "s1" if with_session else "")
    elsewhere = arrive(other, "p1", "s2" if with_session else "")
    completed_at = Enrolment.objects.get(pk=elsewhere.pk).consented_at
    Enrolment.objects.filter(pk=elsewhere.pk).update(state="completed", ended_at=completed_at)
    body = body_of("s1", "p1", "REJECTED")
    headers = signed(body)
    assert [send(study, body, headers).status_code for study in (one, other)] == [200, 200]
    assert (state_of(here), state_of(elsewhere)) == (
        "rejected" if with_session else "consented",
        "completed",
    )
    assert ProlificLink.objects.get(study=other).n_messages_unmatched == 1


FORGED = {
    "no headers": lambda body: {},
    "another secret": lambda body: signed(body, secret="guessed"),
    "another body": lambda body: signed(body + b" "),
    "another time": lambda body: signed(body) | {"X-Prolific-Request-Timestamp": "1700000000"},
    "an old message": lambda body: signed(body, at=time.time() - 301),
    "a message from the future": lambda body: signed(body, at=time.time() + 310),
    "no signature": lambda body: signed(body) | {"X-Prolific-Request-Signature": ""},
    "odd signs": lambda body: signed(body) | {"X-Prolific-Request-Signature": "\u00e9\u20ac"},
    "no time": lambda body: signed(body) | {"X-Prolific-Request-Timestamp": ""},
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_or_old_message_is_refused_counted_and_told_nothing(name: str) -> None:
    study = connected_study()
    run = arrive(study, "p1", "s1")
    body = body_of()
    response = send(study, body, FORGED[name](body))
    assert (response.status_code, response.json()) == (403, {"message": "refused"})
    assert (state_of(run), counted()) == ("consented", (0, 0, 1))


@pytest.mark.parametrize("timestamp", ["nan", "inf", "1e9", "-5", "9" * 12, "9" * 13, "١٢٣"])
def test_a_time_that_is_none_is_refused_even_when_signed(timestamp: str) -> None:
    from studyapp.recruiters.prolific_signature import sign

    study, body = connected_study(), body_of()
    headers = {
        "X-Prolific-Request-Timestamp": timestamp,
        "X-Prolific-Request-Signature": sign(SECRET, timestamp, body),
    }
    assert send(study, body, headers).status_code == 403


def test_a_replay_within_minutes_moves_nothing_back() -> None:
    study = connected_study()
    run = arrive(study, "p1", "s1")
    early = body_of(status="ACTIVE")
    headers = signed(early)
    send(study, early, headers)
    send(study, body_of(status="RETURNED"))
    assert send(study, early, headers).status_code == 200
    assert state_of(run) == "returned"
    assert RecruiterSubmission.objects.get().status == "returned"


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b"\xff",
        b"[" * 60_000,
        b'{"event_type": 5}',
        b'{"event_type": "submission.status.change"}',
        b'{"event_type": "submission.status.change", "resource_id": "s1"}',
        b'{"event_type": "submission.status.change", "resource_id": ["s1"], "status": "ACTIVE"}',
        b'{"event_type": "submission.status.change", "resource_id": "s\\u0000", "status": "A"}',
        b'{"event_type": "submission.status.change", "resource_id": "s1", "status": 4}',
    ],
)
def test_a_signed_message_that_cannot_be_read_is_refused_and_counted(body: bytes) -> None:
    study = connected_study()
    run = arrive(study, "p1", "s1")
    response = send(study, body)
    assert (response.status_code, response.json()) == (400, {"message": "cannot be read"})
    assert (state_of(run), counted()) == ("consented", (0, 0, 1))


@pytest.mark.parametrize("person", [None, 7, "", "x" * 65, "\u0000"])
def test_a_message_without_a_person_still_finds_the_submission(person: Any) -> None:
    study = connected_study()
    run = arrive(study, "p1", "s1")
    send(study, body_of(status="ACTIVE"))
    assert send(study, body_of(person=person)).status_code == 200
    assert state_of(run) == "returned"


def test_events_of_other_kinds_are_taken_and_left_alone() -> None:
    study = connected_study()
    body = json.dumps({"event_type": "study.status.change", "resource_id": "x"}).encode()
    assert send(study, body).status_code == 200
    assert counted() == (1, 0, 0)


def test_a_status_that_we_do_not_know_changes_nothing() -> None:
    study = connected_study()
    run = arrive(study, "p1", "s1")
    assert send(study, body_of(status="PROCESSING")).status_code == 200
    assert (state_of(run), RecruiterSubmission.objects.get().status) == ("consented", "unknown")


def test_a_body_beyond_the_limit_is_not_read() -> None:
    study = connected_study()
    body = body_of() + b" " * MAX_BYTES
    assert send(study, body).status_code == 413
    headers = signed(b"") | {"Content-Length": "9" * 30}
    assert send(study, b"", headers).status_code == 413
    assert counted() == (0, 0, 0)


def test_a_message_must_announce_its_length() -> None:
    assert send(connected_study(), b"").status_code == 411


def test_a_study_that_is_unknown_or_not_tied_answers_like_a_bad_signature() -> None:
    untied = factories.open_study()
    for study in (untied, Study(code="nosuchcode")):
        response = send(study, body_of())
        assert (response.status_code, response.json()) == (403, {"message": "refused"})


def test_without_a_secret_nothing_is_believed(settings: Any) -> None:
    settings.PROLIFIC_WEBHOOK_SECRETS = {}
    body = body_of()
    assert send(connected_study(), body, signed(body, secret="")).status_code == 403


def test_any_of_several_secrets_may_have_signed(settings: Any) -> None:
    study, body = connected_study(), body_of()
    settings.PROLIFIC_WEBHOOK_SECRETS = {"": ("old", "new")}
    assert send(study, body, signed(body, secret="new")).status_code == 200
    settings.PROLIFIC_WEBHOOK_SECRETS = {"": ("old",), study.slug: ("own",)}
    assert send(study, body, signed(body, secret="old")).status_code == 403
    assert send(study, body, signed(body, secret="own")).status_code == 200


def test_it_answers_only_after_the_message_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any) -> None:
        raise OperationalError("the database is away")

    study = connected_study()
    run = arrive(study, "p1", "s1")
    monkeypatch.setattr(prolific_hooks, "_count", away)
    client = Client(raise_request_exception=False)
    body = body_of()
    response = client.post(
        f"/hooks/prolific/{study.code}/", body, "application/json", headers=signed(body)
    )
    assert response.status_code in (500, 503)
    assert (state_of(run), RecruiterSubmission.objects.count()) == ("consented", 0)


def test_another_encoding_is_refused_without_looking_for_a_login() -> None:
    study, body = connected_study(), body_of()
    kind = "application/json; charset=latin-1"
    response = Client().post(
        f"/hooks/prolific/{study.code}/", body, content_type=kind, headers=signed(body)
    )
    assert (response.status_code, counted()) == (400, (0, 0, 0))


def test_other_methods_are_not_for_this_address() -> None:
    study = connected_study()
    assert Client().get(f"/hooks/prolific/{study.code}/").status_code == 405
