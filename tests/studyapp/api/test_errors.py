"""Every refusal below /api/ has one shape."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.db import IntegrityError
from django.test import Client, override_settings

from studyapp.api.errors import listed_problems, problem_of
from studyapp.models import Study
from tests import factories
from tests.studyapp.api.asking import Api, a_claim, error_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def draft(api: Api) -> Study:
    from django.contrib.auth import get_user_model

    return factories.draft_study(owner=get_user_model().objects.get(username="ann"))


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("path", ["/api/", "/api/v1/", "/api/v1/studies", "/api/v2/x/?a=1"])
def test_an_address_that_is_none_says_where_to_look(method: str, path: str) -> None:
    answer = Client().generic(method, path)
    assert answer.status_code == 404
    error = error_of(answer)
    assert error["code"] == "not_found"
    assert "/api/v1/docs/" in error["message"]


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "studies/", "GET, POST, HEAD"),
        ("PUT", "studies/{slug}/", "GET, PATCH, HEAD"),
        ("GET", "studies/{slug}/open/", "POST"),
        ("OPTIONS", "studies/{slug}/claims/", "GET, POST, HEAD"),
        ("TRACE", "studies/{slug}/events/", "GET, HEAD"),
    ],
)
def test_a_method_that_does_nothing_says_which_do(
    api: Api, draft: Study, method: str, path: str, allowed: str
) -> None:
    answer = api.ask(method, path.format(slug=draft.slug))
    assert answer.status_code == 405
    assert set(answer.headers["Allow"].split(", ")) == set(allowed.split(", "))
    error = error_of(answer)
    assert error["code"] == "method_not_allowed"
    assert answer.headers["Allow"] in error["message"]


@pytest.mark.parametrize(
    ("body", "part"),
    [
        (b"{", "not JSON"),
        (b"[1]", "one JSON object"),
        (b'{"slug": "a", "slug": "b"}', "occurs twice"),
        (b'{"slug": NaN}', "NaN"),
        (b'{"slug": "\xff"}', "not UTF-8"),
        (b'{"slug": "a\\u0000"}', "U+0000"),
        (b'{"slug": "\\ud800"}', "half a character"),
        (b'{"a":' * 200 + b"1" + b"}" * 200, "nested"),
        (b'{"a":' * 100_000, "nested"),
    ],
)
def test_a_body_that_cannot_be_kept_is_refused(api: Api, body: bytes, part: str) -> None:
    answer = api.ask("POST", "studies/", data=body, content_type="application/json")
    assert answer.status_code == 400
    error = error_of(answer)
    assert error["code"] == "bad_request"
    assert part in error["message"]


@pytest.mark.parametrize("kind", ["text/plain", "application/xml", "multipart/form-data; b", "x"])
def test_another_kind_of_body_is_refused_with_those_that_are_taken(api: Api, kind: str) -> None:
    answer = api.ask("POST", "studies/", data=b"slug=a", content_type=kind)
    assert answer.status_code == 415
    error = error_of(answer)
    assert error["code"] == "unsupported_media_type"
    assert "application/json" in error["message"]


def test_a_claims_file_of_an_unknown_kind_is_refused_with_those_that_are_taken(
    api: Api, draft: Study
) -> None:
    answer = api.upload(draft, [a_claim()], content_type="application/x-www-form-urlencoded")
    assert answer.status_code == 415
    assert "application/x-ndjson" in error_of(answer)["message"]


def test_a_body_above_the_limit_is_refused_before_it_is_read(api: Api, draft: Study) -> None:
    with override_settings(API_JSON_BYTES=100, API_UPLOAD_BYTES=300):
        long = api.post("studies/", {"slug": "a", "title": "t" * 100})
        larger = api.upload(draft, [a_claim(claim="c" * 300)])
        fits = api.upload(draft, [a_claim(claim="c" * 50)])
    assert (long.status_code, error_of(long)["code"]) == (413, "too_large")
    assert "limit here is 100" in error_of(long)["message"]
    assert larger.status_code == 413
    assert "limit here is 300" in error_of(larger)["message"]
    assert fits.status_code == 201


def test_R077_a_huge_upload_is_refused_by_its_announced_length(api: Api, draft: Study) -> None:
    answer = api.upload(draft, [a_claim()], headers={"Content-Length": "600000000"})
    assert answer.status_code == 413
    assert "100,000,000" in error_of(answer)["message"]


def test_a_body_in_chunks_is_refused(api: Api) -> None:
    answer = api.get("studies/", headers={"Transfer-Encoding": "chunked"}, CONTENT_LENGTH="")
    assert (answer.status_code, error_of(answer)["code"]) == (411, "length_required")


def test_unknown_names_in_a_query_are_told_with_the_known_ones(api: Api) -> None:
    answer = api.get("studies/?limt=3")
    assert answer.status_code == 400
    [problem] = error_of(answer)["problems"]
    assert problem["field"] == "limt"
    assert "limit" in problem["message"]


@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "limit=x", "cursor=%00", "cursor=zz"])
def test_a_strange_page_is_refused(api: Api, query: str) -> None:
    answer = api.get(f"studies/?{query}")
    assert answer.status_code == 400
    [problem] = error_of(answer)["problems"]
    assert problem["field"] == query.split("=")[0]


def test_a_failure_of_the_server_says_nothing_of_its_insides(
    api: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("the secret inside")

    monkeypatch.setattr("studyapp.api.views_studies.page_of", fail)
    with caplog.at_level(logging.ERROR):
        answer = api.get("studies/")
    assert (answer.status_code, error_of(answer)["code"]) == (500, "server_error")
    assert "secret" not in answer.content.decode()
    assert "the secret inside" in caplog.text


def test_a_failure_before_the_view_has_the_shape_too(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr("studyapp.middleware.ResearcherSession.process_request", fail)
    assert error_of(api.get("studies/"))["code"] == "server_error"
    page = Client(raise_request_exception=False).get("/")
    assert page.status_code == 500
    assert page.headers["Content-Type"].startswith("text/html")


def test_a_host_that_is_not_ours_is_refused_in_the_shape_too(api: Api) -> None:
    answer = api.get("studies/", headers={"Host": "evil.example.org"})
    assert (answer.status_code, error_of(answer)["code"]) == (400, "bad_request")


def test_two_who_do_the_same_at_once_get_a_conflict(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def collide(*_: Any, **__: Any) -> None:
        raise IntegrityError("UNIQUE constraint failed")

    monkeypatch.setattr("studyapp.api.views_studies.create_study", collide)
    answer = api.post("studies/", {"slug": "a"})
    assert (answer.status_code, error_of(answer)["code"]) == (409, "conflict")
    assert "UNIQUE" not in answer.content.decode()


@pytest.mark.parametrize(
    ("text", "line", "field", "message"),
    [
        ("claims.jsonl, line 3, label: not known", 3, "label", "not known"),
        ("claims.jsonl, line 3, field id: 'x': twice", 3, "id", "'x': twice"),
        ("claims.jsonl, line 12: not JSON: at column 3", 12, None, "not JSON: at column 3"),
        ("field title: must be a text", None, "title", "must be a text"),
        ("field conditions, number 2: name is missing", None, "conditions, number 2", None),
        ("schedule: 2 times a slot", None, None, "schedule: 2 times a slot"),
    ],
)
def test_a_readable_line_is_taken_apart(
    text: str, line: int | None, field: str | None, message: str | None
) -> None:
    wanted = {"line": line, "field": field, "message": message or "name is missing"}
    assert problem_of(text) == wanted


def test_problems_that_are_only_counted_are_counted() -> None:
    problems, n_problems = listed_problems(["a", "… and 30 more problems", "no claim to import"])
    assert [problem["message"] for problem in problems] == ["a", "no claim to import"]
    assert n_problems == 32
