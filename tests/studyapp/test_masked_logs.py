"""No log of the server holds the key to a run, whatever goes wrong."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from studyapp.masked_logs import MaskedKeys, masked_keys
from studyapp.models import Study
from studyapp.views import participant
from tests import factories
from tests.studyapp.views.pages import decide, run_url


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What the server's own handler writes, set up as in the settings."""
    [handler] = [
        handler
        for handler in logging.getLogger().handlers
        if any(isinstance(one, MaskedKeys) for one in handler.filters)
    ]
    assert isinstance(handler, logging.StreamHandler)
    written = io.StringIO()
    usual = handler.setStream(written)
    yield written
    handler.setStream(usual)


@pytest.fixture
def client() -> Client:
    return Client(raise_request_exception=False)


def no_key_in(log: io.StringIO, *keys: str) -> str:
    text = log.getvalue()
    assert [key for key in keys if key in text] == []
    return text


def test_refusals_are_logged_without_the_keys(
    study: Study, client: Client, log: io.StringIO
) -> None:
    enrolment, trial = factories.started_in(study, "incremental")
    address = run_url(enrolment)
    for wrong in ("nowhere/", "t/missing/reveal", f"t/{trial.code}/nowhere"):
        assert client.post(address + wrong, {"rank": 2}).status_code == 404
    assert client.post(f"{address}t/{trial.code}/reveal", {"rank": 0}).status_code == 422
    decide(client, trial)
    late = {"decision": "refuted", "n_shown": 1}
    answer = client.post(f"{address}t/{trial.code}/decide", late, headers={"HX-Request": "true"})
    assert answer.status_code == 409
    client.post(address + "withdraw")
    assert client.get(address).status_code == 410
    text = no_key_in(log, enrolment.token)
    place = f"/p/{study.code}/r/***/"
    for line in (
        f"django.request: Not Found: {place}***",
        f"django.request: Not Found: {place}t/***/reveal",
        f"django.request: Unprocessable Entity: {place}t/***/reveal",
        f"django.request: Conflict: {place}t/***/decide",
        f"django.request: Gone: {place}",
    ):
        assert line in text


def test_a_fault_of_ours_is_logged_with_its_traceback_and_without_the_keys(
    study: Study, client: Client, log: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    enrolment, trial = factories.started(study)
    address = f"{run_url(enrolment)}t/{trial.code}/decide"
    asked = f"{address}?run=secret"

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError(f"could not answer {asked}")

    monkeypatch.setattr(participant, "record_decision", fail)
    answer = client.post(address, {"decision": "supported", "n_shown": 1})
    assert answer.status_code == 500
    text = no_key_in(log, enrolment.token, trial.code, "secret")
    assert "Traceback" in text
    place = f"/p/{study.code}/r/***/t/***/decide"
    assert f"Internal Server Error: {place}" in text
    assert f"RuntimeError: could not answer {place}?***" in text


def test_djangos_own_handlers_write_nothing_beside(db: None) -> None:
    for name in ("django", "django.request", "django.security", "django.server"):
        assert logging.getLogger(name).handlers == []
        assert logging.getLogger(name).propagate


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Not Found: /p/abc/r/token1/t/t234/decide", "Not Found: /p/abc/r/***/t/***/decide"),
        ("Not Found: /p/abc/token1/", "Not Found: /p/abc/***/"),
        ("Not Found: /p/abc/r/token1", "Not Found: /p/abc/r/***"),
        ("Not Found: /p//abc//r//token1", "Not Found: /p//abc//r//***"),
        ('"GET /p/abc/?PID=5a9d HTTP/1.1" 200 12', '"GET /p/abc/?*** HTTP/1.1" 200 12'),
        (
            "from https://host.example/p/abc/r/token1/ on",
            "from https://host.example/p/abc/r/***/ on",
        ),
        ("Not Found: /studies/abc/r/token1/", "Not Found: /studies/abc/r/token1/"),
    ],
)
def test_what_is_masked(text: str, masked: str) -> None:
    assert masked_keys(text) == masked


def test_a_record_without_an_address_stays_as_it_is() -> None:
    record = logging.LogRecord("x", logging.INFO, "f.py", 1, "%s of %d", ("one", 2), None)
    assert MaskedKeys().filter(record)
    assert (record.msg, record.args) == ("%s of %d", ("one", 2))


def test_submissions_at_prolific_and_its_secrets_are_masked(settings: Any) -> None:
    settings.PROLIFIC_API_TOKENS = {"": ("token-of-ann",)}
    settings.PROLIFIC_WEBHOOK_SECRETS = {"study-a": ("secret-of-ann",)}
    said = "GET https://api.prolific.com/api/v1/submissions/60d9aadeb86739de712faee0/ token-of-ann"
    assert masked_keys(f"{said} secret-of-ann") == (
        "GET https://api.prolific.com/api/v1/submissions/***/ *** ***"
    )
