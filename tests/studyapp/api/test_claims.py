"""Claims over the API: upload with a report of problems, and read page by page."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from studyapp.domain.export_evidence import claim_records
from studyapp.models import Claim, Study
from tests import factories
from tests.shared_data import ROOT
from tests.studyapp.api.asking import Api, a_claim, error_of

pytestmark = pytest.mark.django_db

REPORT = {
    "imported": 0,
    "repeated": 0,
    "n_skipped": 0,
    "skipped": [],
    "n_notices": 0,
    "notices": [],
    "left_out": {},
}


@pytest.fixture
def draft(ann: Any) -> Study:
    return factories.draft_study(owner=ann)


def test_json_lines_are_imported_as_the_command_does(api: Api, draft: Study) -> None:
    text = (ROOT / "fixtures" / "demo_claims.jsonl").read_text(encoding="utf-8")
    answer = api.upload(draft, text.splitlines())
    assert (answer.status_code, answer.json()) == (201, REPORT | {"imported": 30})
    again = api.upload(draft, text.splitlines())
    assert (again.status_code, again.json()) == (201, REPORT | {"repeated": 30})
    assert [json.loads(line) for line in text.splitlines()] == list(claim_records(draft))


@pytest.mark.parametrize(
    "kind", ["application/jsonl", "application/json", "application/octet-stream"]
)
def test_other_names_for_the_same_body_are_taken(api: Api, draft: Study, kind: str) -> None:
    answer = api.upload(draft, [a_claim("a"), a_claim("b")], content_type=kind)
    assert answer.json()["imported"] == 2


CSV = (
    "claim_id,claim,label,candidate,gold_sets\r\n"
    "001,A claim.,supported,A sentence.,1\r\n"
    "001,A claim.,supported,Another one.,\r\n"
)


def test_R067_csv_is_known_by_its_kind_and_ids_stay_texts(api: Api, draft: Study) -> None:
    answer = api.upload(draft, [CSV], content_type="text/csv; charset=utf-8")
    assert answer.json()["imported"] == 1
    assert Claim.objects.get(study=draft).claim_id == "001"


@pytest.mark.parametrize(("name", "text"), [("c.jsonl", json.dumps(a_claim())), ("C.CSV", CSV)])
def test_a_file_in_a_form_is_known_by_its_name(
    api: Api, draft: Study, name: str, text: str
) -> None:
    file = io.BytesIO(text.encode())
    file.name = name
    answer = api.client.post(
        f"/api/v1/studies/{draft.slug}/claims/?limit=1",
        {"file": file},
        headers={"Authorization": f"Token {api.token}"},
    )
    assert (answer.status_code, answer.json()["imported"]) == (201, 1)


def test_a_form_without_a_file_and_an_empty_body_are_refused(api: Api, draft: Study) -> None:
    headers = {"Authorization": f"Token {api.token}"}
    address = f"/api/v1/studies/{draft.slug}/claims/"
    form = api.client.post(address, {"fil": "x"}, headers=headers)
    empty = api.upload(draft, [])
    for answer in (form, empty):
        assert answer.status_code == 400
        assert [problem["field"] for problem in error_of(answer)["problems"]] == ["file"]


BAD = [
    a_claim("a"),
    a_claim("b", label="maybe"),
    "{",
    a_claim("d", gold_sets=[[7]]),
    a_claim("e", claim="text\0more"),
    a_claim("a", claim="Other."),
]


def test_R071_R075_every_problem_is_told_with_line_and_field(api: Api, draft: Study) -> None:
    answer = api.upload(draft, BAD)
    assert answer.status_code == 400
    error = error_of(answer)
    assert error["code"] == "bad_upload"
    places = [(problem["line"], problem["field"]) for problem in error["problems"]]
    assert places == [(2, "label"), (3, None), (4, "gold_sets[0]"), (5, "claim"), (6, "id")]
    assert error["message"] == "5 problems."
    assert not Claim.objects.exists()


def test_the_good_claims_are_imported_when_asked_and_the_bad_ones_told(
    api: Api, draft: Study
) -> None:
    answer = api.upload(draft, BAD, "?skip_invalid=true")
    assert answer.status_code == 201
    told = answer.json()
    assert (told["imported"], told["n_skipped"]) == (1, 5)
    assert [problem["line"] for problem in told["skipped"]] == [2, 3, 4, 5, 6]
    assert Claim.objects.get(study=draft).claim_id == "a"


def test_the_first_200_problems_are_listed_and_all_are_counted(api: Api, draft: Study) -> None:
    bad = [a_claim(str(number), label="maybe") for number in range(250)]
    error = error_of(api.upload(draft, bad))
    assert len(error["problems"]) == 200
    assert error["message"] == "250 problems, of which the first 200 are listed."
    told = api.upload(draft, [a_claim("good"), *bad], "?skip_invalid=true").json()
    assert (told["n_skipped"], len(told["skipped"])) == (250, 200)


def test_R069_the_same_id_with_another_text_is_refused_with_its_line(
    api: Api, draft: Study
) -> None:
    assert api.upload(draft, [a_claim("a")]).status_code == 201
    answer = api.upload(draft, [a_claim("b"), a_claim("a", claim="Other.")])
    assert answer.status_code == 400
    assert [problem["line"] for problem in error_of(answer)["problems"]] == [2]
    assert Claim.objects.count() == 1


def test_R063_another_encoding_is_told_with_its_line(api: Api, draft: Study) -> None:
    body = json.dumps(a_claim()).encode() + b"\n\n" + '{"id": "中"}'.encode("gb2312")
    answer = api.post(
        f"studies/{draft.slug}/claims/", data=body, content_type="application/x-ndjson"
    )
    [problem] = error_of(answer)["problems"]
    assert problem["line"] == 3
    assert "UTF-8" in problem["message"]


def test_R073_notices_are_told(api: Api, draft: Study) -> None:
    told = api.upload(draft, [a_claim("a", gold_sets=[[1], [1, 2]])]).json()
    assert (told["imported"], told["n_notices"]) == (1, 1)
    assert told["notices"][0]["line"] == 1


def test_a_role_and_a_limit_are_kept(api: Api, draft: Study) -> None:
    told = api.upload(draft, [a_claim("a"), a_claim("b")], "?role=practice&limit=1").json()
    assert told["imported"] == 1
    assert api.rows(f"studies/{draft.slug}/claims/")[0]["role"] == "practice"


@pytest.mark.parametrize("query", ["role=x", "format=xml", "limit=0", "skip_invalid=perhaps"])
def test_a_strange_query_is_refused(api: Api, draft: Study, query: str) -> None:
    answer = api.upload(draft, [a_claim()], f"?{query}")
    assert answer.status_code == 400
    assert [p["field"] for p in error_of(answer)["problems"]] == [query.split("=")[0]]


def test_claims_of_an_open_study_are_frozen(api: Api, ann: Any) -> None:
    study = factories.open_study(owner=ann)
    answer = api.upload(study, [a_claim()])
    assert (answer.status_code, error_of(answer)["code"]) == (409, "not_editable")


def test_claims_are_read_in_the_interchange_format_with_their_place(api: Api, ann: Any) -> None:
    study = factories.ready_study(5, owner=ann)
    records = list(claim_records(study))
    pages = api.pages(f"studies/{study.slug}/claims/?limit=2")
    assert [len(page) for page in pages] == [2, 2, 1]
    rows = [row for page in pages for row in page]
    subsets = list(study.claims.order_by("position").values_list("subset__number", flat=True))
    assert rows == [
        record | {"role": "main", "subset": subset}
        for record, subset in zip(records, subsets, strict=True)
    ]


@pytest.mark.parametrize("n_claims", [1, 9])
def test_a_page_needs_the_same_queries_for_any_number(
    api: Api, draft: Study, n_claims: int, django_assert_num_queries: Any
) -> None:
    factories.add_claims(draft, n_claims)
    with django_assert_num_queries(7):  # token, study, keys, places, claims, sentences, gold sets
        answer = api.get(f"studies/{draft.slug}/claims/")
    assert len(answer.json()["results"]) == n_claims


def test_pages_stay_the_same_while_claims_are_added(api: Api, draft: Study) -> None:
    factories.add_claims(draft, 3)
    page = api.get(f"studies/{draft.slug}/claims/?limit=2").json()
    factories.add_claims(draft, 2)
    ids = [row["id"] for row in page["results"] + api.rows(page["next"])]
    assert ids == ["c1", "c2", "c3", "c4", "c5"]
