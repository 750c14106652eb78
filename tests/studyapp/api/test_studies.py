"""Studies over the API: create, read, change, open, pause, resume, close; conditions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from studyapp.domain.recruiting import study_link
from studyapp.enums import StudyState
from studyapp.models import Condition, Study
from tests import factories
from tests.shared_data import ROOT
from tests.studyapp.api.asking import Api, error_of, researcher

pytestmark = pytest.mark.django_db

RANKING = {"name": "ranking", "interface": "incremental", "method": "coverage"}


def state_of(study: Study) -> str:
    return Study.objects.get(pk=study.pk).state


def test_a_study_is_made_from_the_schema_of_the_config_file(api: Api, ann: Any) -> None:
    config = json.loads((ROOT / "fixtures" / "demo_study.json").read_text(encoding="utf-8"))
    answer = api.post("studies/", config | {"slug": "mine", "title": "Mine"})
    assert answer.status_code == 201
    told = answer.json()
    study = Study.objects.get(slug="mine")
    assert study.owner == ann
    assert told["title"] == study.title == "Mine"
    assert told["state"] == "draft"
    assert told["link"].endswith(f"/p/{study.code}/")
    assert told["n_conditions"] == study.conditions.count() == len(config["conditions"])
    assert told["settings"]["texts"] == config["texts"]
    assert any("no claims" in problem for problem in told["missing"])
    assert api.get("studies/mine/").json() == told


def test_what_an_export_says_of_a_study_makes_another_one(api: Api, ann: Any) -> None:
    study = factories.open_study(owner=ann)
    settings = api.get(f"studies/{study.slug}/").json()["settings"]
    answer = api.post("studies/", settings | {"slug": "again"})
    assert answer.status_code == 201
    assert answer.json()["settings"]["conditions"] == settings["conditions"]


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["slug"]),
        ({"slug": 3}, ["slug"]),
        ({"slug": "a", "titel": "x", "lease_minutes": 0}, ["titel", "lease_minutes"]),
        ({"slug": "a", "title": ""}, ["title"]),
        ({"slug": "a", "conditions": [{"name": "x"}]}, ["conditions, number 1"] * 2),
        ({"slug": "a", "sitting": {"practice_tries": 0}}, ["sitting.practice_tries"]),
    ],
)
def test_a_wrong_configuration_is_refused_whole(
    api: Api, body: dict[str, Any], fields: list[str]
) -> None:
    answer = api.post("studies/", body)
    assert answer.status_code == 400
    assert [problem["field"] for problem in error_of(answer)["problems"]] == fields
    assert not Study.objects.exists()


@pytest.mark.parametrize("slug", ["", "a b", "é", "a" * 61])
def test_a_slug_that_is_none_is_refused(api: Api, slug: str) -> None:
    answer = api.post("studies/", {"slug": slug})
    assert (answer.status_code, error_of(answer)["code"]) == (400, "refused")


def test_a_slug_is_taken_once_also_by_somebody_else(api: Api) -> None:
    factories.draft_study("taken", owner=researcher("bob"))
    answer = api.post("studies/", {"slug": "taken"})
    assert answer.status_code == 400
    assert "exists already" in error_of(answer)["message"]


def test_the_list_holds_own_studies_the_newest_first(api: Api, ann: Any) -> None:
    first = factories.ready_study(owner=ann)
    second = factories.draft_study(owner=ann)
    factories.draft_study(owner=researcher("bob"))
    rows = api.rows("studies/")
    assert [row["slug"] for row in rows] == [second.slug, first.slug]
    assert [(row["n_claims"], row["n_conditions"]) for row in rows] == [(0, 0), (4, 2)]


@pytest.mark.parametrize("n_studies", [1, 3])
def test_the_list_needs_the_same_queries_for_any_number(
    api: Api, ann: Any, n_studies: int, django_assert_num_queries: Any
) -> None:
    for _ in range(n_studies):
        factories.draft_study(owner=ann)
    with django_assert_num_queries(3):  # the token, the keys, the rows
        assert len(api.get("studies/").json()["results"]) == n_studies


def test_pages_stay_the_same_while_studies_are_added(api: Api, ann: Any) -> None:
    slugs = [factories.draft_study(owner=ann).slug for _ in range(5)][::-1]
    page = api.get("studies/?limit=2").json()
    factories.draft_study(owner=ann)
    rest = api.rows(page["next"])
    assert [row["slug"] for row in page["results"] + rest] == slugs


@pytest.mark.parametrize("n_claims", [4, 12])
def test_one_study_needs_the_same_queries_for_any_number_of_claims(
    api: Api, ann: Any, n_claims: int, django_assert_max_num_queries: Any
) -> None:
    study = factories.open_study(n_claims, owner=ann)
    with django_assert_max_num_queries(9):
        assert api.get(f"studies/{study.slug}/").json()["n_claims"] == n_claims


def test_a_draft_says_what_it_lacks_and_an_open_study_nothing(api: Api, ann: Any) -> None:
    draft = factories.draft_study(owner=ann)
    lacking = api.get(f"studies/{draft.slug}/").json()
    assert [line.split(":")[0] for line in lacking["missing"]] == [
        "no claims",
        "no condition",
        "no schedule",
    ]
    running = factories.open_study(owner=ann)
    assert api.get(f"studies/{running.slug}/").json()["missing"] == []


def test_no_answer_tells_the_codes_that_are_worth_money(api: Api, ann: Any) -> None:
    study = factories.open_study(
        owner=ann, completion_code="PAID-1", sitting={"declined_code": "NO-1"}
    )
    text = api.get(f"studies/{study.slug}/").content.decode()
    assert "PAID-1" not in text
    assert "NO-1" not in text


# ---- changes -------------------------------------------------------------------------------------


def test_a_drafts_settings_are_changed_and_the_others_stay(api: Api, ann: Any) -> None:
    study = factories.draft_study(owner=ann, lang="de")
    answer = api.ask(
        "PATCH", f"studies/{study.slug}/", {"title": "New", "sitting": {"break_every": 5}}
    )
    assert answer.status_code == 200
    assert answer.json()["title"] == "New"
    study.refresh_from_db()
    assert (study.title, study.sitting, study.lang) == ("New", {"break_every": 5}, "de")


def test_a_wrong_change_changes_nothing(api: Api, ann: Any) -> None:
    study = factories.draft_study(owner=ann)
    answer = api.ask("PATCH", f"studies/{study.slug}/", {"title": "New", "lease_minutes": -1})
    assert answer.status_code == 400
    assert [problem["field"] for problem in error_of(answer)["problems"]] == ["lease_minutes"]
    assert Study.objects.get(pk=study.pk).title == study.title


def test_an_open_study_is_not_changed(api: Api, ann: Any) -> None:
    study = factories.open_study(owner=ann)
    answer = api.ask("PATCH", f"studies/{study.slug}/", {"title": "New"})
    assert (answer.status_code, error_of(answer)["code"]) == (409, "not_editable")
    assert Study.objects.get(pk=study.pk).title == study.title


# ---- states --------------------------------------------------------------------------------------


def test_a_study_is_opened_paused_resumed_and_closed(api: Api, ann: Any) -> None:
    study = factories.ready_study(owner=ann)
    for action, state in (("open", "open"), ("pause", "paused"), ("resume", "open")):
        answer = api.post(f"studies/{study.slug}/{action}/")
        assert (answer.status_code, answer.json()["state"]) == (200, state)
        assert state_of(study) == state
    answer = api.post(f"studies/{study.slug}/close/", {"slug": study.slug})
    assert answer.json()["state"] == state_of(study) == StudyState.CLOSED
    assert answer.json()["closed_at"].endswith("Z")


def test_opening_is_refused_with_everything_that_is_missing(api: Api, ann: Any) -> None:
    study = factories.draft_study(owner=ann)
    answer = api.post(f"studies/{study.slug}/open/")
    assert answer.status_code == 409
    error = error_of(answer)
    assert error["code"] == "not_ready"
    assert len(error["problems"]) == 3
    assert state_of(study) == StudyState.DRAFT


@pytest.mark.parametrize(
    ("action", "body"), [("open", None), ("resume", None), ("pause", {"slug": "x"})]
)
def test_a_step_from_the_wrong_state_or_with_a_body_is_refused(
    api: Api, ann: Any, action: str, body: dict[str, str] | None
) -> None:
    study = factories.open_study(owner=ann)
    answer = api.post(f"studies/{study.slug}/{action}/", body)
    assert answer.status_code == (400 if body else 409)
    error_of(answer)
    assert state_of(study) == StudyState.OPEN


@pytest.mark.parametrize(
    ("body", "status"), [(None, 400), ({}, 400), ({"slug": "other"}, 422), ({"slug": []}, 400)]
)
def test_closing_asks_for_the_slug(api: Api, ann: Any, body: Any, status: int) -> None:
    study = factories.open_study(owner=ann)
    answer = api.post(f"studies/{study.slug}/close/", body)
    assert answer.status_code == status
    assert error_of(answer)["problems"][0]["field"] == "slug"
    assert state_of(study) == StudyState.OPEN


# ---- conditions ----------------------------------------------------------------------------------


def test_conditions_are_added_and_listed_in_order(api: Api, ann: Any) -> None:
    study = factories.draft_study(owner=ann)
    address = f"studies/{study.slug}/conditions/"
    shuffled = {"name": "ranking", "interface": "incremental", "method": "random"}
    answer = api.post(address, shuffled | {"params": {"seed": "4"}})
    assert answer.status_code == 201
    assert answer.json()["params"]["seed"] == 4
    selection = RANKING | {
        "name": "selection",
        "interface": "all_at_once",
        "method": "coverage_selection",
    }
    assert api.post(address, selection).status_code == 201
    pages = api.pages(address + "?limit=1")
    assert [[row["name"] for row in page] for page in pages] == [["ranking"], ["selection"]]
    assert pages[0][0] == answer.json()
    assert pages[0][0]["model"] is None


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"method": None}, "method"),
        ({"method": "none_such"}, "none_such"),
        ({"interface": "all_at_once"}, "selector"),
        ({"name": "a b"}, "hyphens"),
        ({"colour": "red"}, "colour"),
        ({"params": {"nothing": 1}}, "nothing"),
    ],
)
def test_a_wrong_condition_is_refused(
    api: Api, ann: Any, change: dict[str, Any], part: str
) -> None:
    study = factories.draft_study(owner=ann)
    answer = api.post(f"studies/{study.slug}/conditions/", RANKING | change)
    assert answer.status_code == 400
    assert part in json.dumps(error_of(answer))
    assert not Condition.objects.exists()


def test_a_condition_is_refused_twice_and_once_there_is_a_schedule(api: Api, ann: Any) -> None:
    study = factories.draft_study(owner=ann)
    assert api.post(f"studies/{study.slug}/conditions/", RANKING).status_code == 201
    assert api.post(f"studies/{study.slug}/conditions/", RANKING).status_code == 400
    ready = factories.ready_study(owner=ann)
    answer = api.post(f"studies/{ready.slug}/conditions/", RANKING | {"name": "third"})
    assert (answer.status_code, error_of(answer)["code"]) == (409, "not_editable")


@pytest.mark.parametrize(
    ("source", "ending"),
    [
        (
            "prolific",
            "?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}",
        ),
        ("sona", "?survey_code=%SURVEY_CODE%"),
        ("plain", ""),
    ],
)
def test_the_link_is_the_one_to_give_out_with_the_sites_parameters(
    api: Api, ann: Any, source: str, ending: str
) -> None:
    study = factories.open_study(owner=ann, recruiting={"source": source})
    told = api.get(f"studies/{study.slug}/").json()
    assert told["link"] == study_link(study)
    assert told["link"].endswith(f"/p/{study.code}/{ending}")
    [row] = api.rows("studies/")
    assert row["link"] == told["link"]
