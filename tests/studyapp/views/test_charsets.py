"""Requests in other encodings than UTF-8: refused readably, with the real WSGI application."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any
from wsgiref.util import setup_testing_defaults

import pytest
from django.core.signals import request_started
from django.db import close_old_connections
from django.test import Client

from studyapp.charsets import is_utf8
from studyapp.models import QuestionnaireAnswer, Study
from studyapp.wsgi import application
from tests import factories
from tests.studyapp.views.pages import counts, run_url, welcome_url

FORM = "application/x-www-form-urlencoded"
pytestmark = pytest.mark.django_db
ODD = ["hex", "unicode_escape", "utf-7", "utf-16", "idna", "undefined", "latin-1", "nonsense"]


@pytest.fixture(autouse=True)
def kept_connection() -> Iterator[None]:
    """A request begins by closing connections, which would end the transaction of the test."""
    request_started.disconnect(close_old_connections)
    yield
    request_started.connect(close_old_connections)


def ask(
    method: str, path: str, content_type: str, *, query: str = "", body: bytes = b"", **more: str
) -> tuple[int, dict[str, str], str]:
    """The answer of the application that a server runs: status, headers and text."""
    environ: dict[str, Any] = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "CONTENT_TYPE": content_type,
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": io.BytesIO(body),
        "HTTP_HOST": "localhost",
        **more,
    }
    setup_testing_defaults(environ)
    told: list[Any] = []
    chunks = application(environ, lambda status, headers, *_: told.extend((status, headers)))
    text = b"".join(chunks).decode()
    return int(told[0].split()[0]), dict(told[1]), text


@pytest.mark.parametrize("charset", ODD)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_odd_encoding_is_refused_with_a_page(study: Study, charset: str, method: str) -> None:
    before = counts()
    for path in (welcome_url(study), f"/p/{study.code}/join", f"/p/{study.code}/declined"):
        status, headers, text = ask(
            method, path, f"{FORM}; charset={charset}", query="x=%5Cud800", body=b"consent=yes"
        )
        assert status == 400
        assert "This request cannot be read" in text
        assert headers["Cache-Control"] == "no-store"
    assert counts() == before


@pytest.mark.parametrize("path", ["/login/", "/", "/healthz", "/nowhere"])
def test_researchers_get_a_page_as_well(db: None, path: str) -> None:
    status, headers, text = ask("GET", path, "text/plain; charset=hex", query="x=1")
    assert status == 400
    assert "This request cannot be read" in text
    assert headers["X-Frame-Options"] == "DENY"


def test_the_page_speaks_the_language_of_the_study(db: None) -> None:
    study = factories.open_study(lang="de", title="Studie")
    status, headers, text = ask("GET", welcome_url(study), f"{FORM}; charset=hex", query="x=1")
    assert status == 400
    assert "Diese Anfrage ist nicht lesbar" in text
    assert "X-Frame-Options" not in headers


@pytest.mark.parametrize("charset", ["", "; charset=utf-8", ';charset="UTF-8"', "; charset=utf8"])
def test_utf8_is_taken(study: Study, charset: str) -> None:
    status, _, text = ask("GET", welcome_url(study), FORM + charset, query="x=%ED%A0%80")
    assert status == 200
    assert 'name="consent"' in text


@pytest.mark.parametrize(
    "content_type",
    [
        "a/b; charset*=hex''x",
        "a/b; charset=\udcff",
        "a/b; charset=x\0y",
        "a/b; charset=" + "x" * 9000,
    ],
)
def test_no_content_type_breaks_the_reading(content_type: str) -> None:
    assert not is_utf8(content_type)


@pytest.mark.parametrize("charset", ["unicode_escape", "utf-7", "utf-16"])
def test_half_characters_reach_no_answer(client: Client, charset: str) -> None:
    study = factories.open_study(sitting={"reason": "optional"})
    enrolment, trial = factories.started(study)
    before = counts()
    for content_type, body in (
        (FORM, b"decision=supported&n_shown=1&reason=%5Cud800"),
        (
            "multipart/form-data; boundary=x",
            b'--x\r\nContent-Disposition: form-data; name="reason"\r\n\r\n\\ud800\r\n--x--\r\n',
        ),
    ):
        for action in (f"t/{trial.code}/decide", "questionnaire", "begin"):
            answer = client.generic(
                "POST",
                run_url(enrolment) + action,
                body,
                content_type=f"{content_type}; charset={charset}",
            )
            assert answer.status_code == 400
            assert "This request cannot be read" in answer.content.decode()
    assert counts() == before
    assert not QuestionnaireAnswer.objects.exists()
