"""The OpenAPI document and the page that shows it."""

from __future__ import annotations

import html
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from analysis.columns import names_of
from studyapp.api.schema import document
from studyapp.api.urls import urlpatterns
from studyapp.middleware import RESEARCHER_POLICY
from tests.studyapp.api.asking import error_of

STATUSES = {"400", "401", "403", "404", "409", "413", "415", "422", "429", "500"}


def operations() -> list[dict[str, Any]]:
    return [one for methods in document()["paths"].values() for one in methods.values()]


def test_every_address_is_in_the_document() -> None:
    paths = {path.removeprefix("/api/") for path in document()["paths"]}
    routes = {
        str(pattern.pattern).replace("<slug:", "{").replace("<int:", "{").replace(">", "}")
        for pattern in urlpatterns
        if pattern.name not in (None, "api-schema", "api-docs")
    }
    assert paths == routes


def test_every_operation_says_what_it_does_and_how_it_is_refused() -> None:
    for operation in operations():
        assert operation["summary"].endswith(".")
        assert operation["security"] == [{"token": []}]
        assert set(operation["responses"]) >= STATUSES
        refusal = operation["responses"]["400"]["content"]["application/json"]["schema"]
        assert refusal == {"$ref": "#/components/schemas/Error"}
    names = [operation["operationId"] for operation in operations()]
    assert len(set(names)) == len(names)


def test_every_list_is_read_by_cursor() -> None:
    lists = [one for one in operations() if one["operationId"].startswith("list_")]
    assert len(lists) == 10
    for operation in lists:
        names = {parameter["name"] for parameter in operation["parameters"]}
        assert names >= {"cursor", "limit"}


@pytest.mark.parametrize(
    ("schema", "table"),
    [("TrialRow", "trials"), ("EventRow", "events"), ("ParticipantRow", "participants")],
)
def test_rows_have_the_columns_of_the_codebook(schema: str, table: str) -> None:
    described = document()["components"]["schemas"][schema]
    more = ["state", "run"] if table == "participants" else []
    assert list(described["properties"]) == described["required"] == names_of(table) + more


def test_every_reference_leads_somewhere() -> None:
    def references(part: Any) -> set[str]:
        if isinstance(part, dict):
            own = {part["$ref"]} if isinstance(part.get("$ref"), str) else set()
            return own.union(*map(references, part.values()))
        if isinstance(part, list):
            return set().union(*map(references, part))
        return set()

    named = {one.removeprefix("#/components/schemas/") for one in references(document())}
    assert named <= set(document()["components"]["schemas"])
    assert named >= {"Error", "Claim", "TrialRow"}


def test_the_document_is_public_and_asks_no_database() -> None:
    answer = Client().get("/api/v1/schema/", headers={"Authorization": "Token wrong"})
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.json()["openapi"].startswith("3.")
    assert answer.json()["paths"].keys() == document()["paths"].keys()


def test_the_page_lists_every_operation_without_scripts() -> None:
    answer = Client().get("/api/v1/docs/")
    assert answer.status_code == 200
    text = html.unescape(answer.content.decode())
    for path, methods in document()["paths"].items():
        assert path in text
        for operation in methods.values():
            assert operation["summary"] in text


def test_R109_the_page_has_the_policy_of_every_page_and_nothing_inline() -> None:
    answer = Client().get("/api/v1/docs/")
    assert answer.headers["Content-Security-Policy"] == RESEARCHER_POLICY
    text = answer.content.decode()
    assert "unsafe" not in RESEARCHER_POLICY
    assert "<style" not in text
    assert "style=" not in text
    assert text.count("<script") == text.count("<script src=")
    assert "//" not in text.replace("{#", "").split("<body")[0].replace("http://", "")


def test_the_page_is_read_alone() -> None:
    answer = Client().post("/api/v1/docs/")
    assert (answer.status_code, error_of(answer)["code"]) == (405, "method_not_allowed")


def test_truth_values_of_rows_are_described_as_such() -> None:
    for schema in ("TrialRow", "ParticipantRow"):
        properties = document()["components"]["schemas"][schema]["properties"]
        assert {name for name, one in properties.items() if one["type"] == "boolean"} == {
            "simulated",
            "pilot",
        }


def test_the_page_and_a_refusal_name_both_ways_to_a_token() -> None:
    page = Client().get("/api/v1/docs/").content.decode()
    refusal = Client().get("/api/v1/studies/").json()["error"]["message"]
    assert f'<a href="{reverse("api-token")}">Your account page</a>' in page
    assert "account page" in refusal
    for said in (page, refusal):
        assert "manage.py api_token" in said
