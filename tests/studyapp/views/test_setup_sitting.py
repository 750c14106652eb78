"""Setting up: the sitting, the questionnaire's editor, codes and return, preregistration."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from studyapp.domain import lifecycle
from studyapp.domain.sitting_settings import is_known_host
from studyapp.models import Study
from tests import factories
from tests.studyapp.views.setup_pages import client_of, fields_of, researcher, url, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> Client:
    return client_of()


@pytest.fixture
def draft() -> Study:
    return factories.draft_study("bridges", owner=researcher())


def stored(study: Study) -> Study:
    return Study.objects.get(pk=study.pk)


def save(client: Client, study: Study, page: str, **changes: str) -> Any:
    """Change some fields of a page and save."""
    sent = fields_of(client.get(url(study, page))) | changes
    return client.post(url(study, page), sent)


# ---- the sitting ---------------------------------------------------------------------------------


def test_a_sitting_is_saved_and_shown_again(client: Client, draft: Study) -> None:
    response = save(
        client, draft, "sitting",
        answers="four", practice_tries="3", break_every="10", confidence="required",
        reason="optional", lease_minutes="60", allows_translation="on", shows_total="on",
    )  # fmt: skip
    assert response.status_code == 303
    study = stored(draft)
    assert study.sitting == {
        "practice_tries": 3, "break_every": 10, "confidence": "required", "reason": "optional",
        "allows_translation": True,
    }  # fmt: skip
    assert study.response_options == ["supported", "refuted", "partially_supported", "cant_decide"]
    assert (study.shows_total, study.confirms_decision, study.lease_minutes) == (True, True, 60)
    again = fields_of(client.get(url(draft, "sitting")))
    assert (again["answers"], again["confidence"], again["break_every"]) == (
        "four",
        "required",
        "10",
    )
    save(client, draft, "sitting", answers="auto")
    assert stored(draft).response_options == []


def test_saving_the_sitting_keeps_what_other_pages_have_set(client: Client, draft: Study) -> None:
    draft.sitting = {"return_url": "https://app.prolific.com/x?cc={code}", "declined_code": "NO"}
    draft.save()
    save(client, draft, "sitting", break_every="4")
    assert stored(draft).sitting["return_url"] == "https://app.prolific.com/x?cc={code}"
    assert stored(draft).sitting["declined_code"] == "NO"


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("practice_tries", "0", "greater than or equal to 1"),
        ("practice_tries", "21", "less than or equal to 20"),
        ("break_every", "-1", "greater than or equal to 0"),
        ("confidence", "maybe", "maybe is not one of"),
        ("answers", "five", "five is not one of"),
        ("lease_minutes", "", "Fill this in."),
    ],
)
def test_a_wrong_setting_is_said_beside_its_field(
    client: Client, draft: Study, field: str, value: str, said: str
) -> None:
    response = save(client, draft, "sitting", **{field: value})
    assert response.status_code == 422
    assert said in words(response)
    assert stored(draft).sitting == {}


# ---- the questionnaire ---------------------------------------------------------------------------

SCALE = {"name": "ease", "text": "How easy was it?", "kind": "scale", "required": True, "min": 1,
         "max": 7}  # fmt: skip
CHOICE = {"name": "lang", "text": "First language?", "kind": "choice", "required": False,
          "options": ["English", "Another"]}  # fmt: skip
TEXT = {"name": "other", "text": "Anything else?", "kind": "text", "required": False}
NUMBER = {"name": "age", "text": "Age?", "kind": "number", "required": False, "min": 18}


def with_questions(study: Study, *questions: dict[str, Any]) -> Study:
    study.sitting = {"questionnaire": list(questions)}
    study.save()
    return study


def shown_names(response: Any) -> list[str]:
    fields = fields_of(response)
    return [fields[f"q-{n}-name"] for n in range(1, 100) if f"q-{n}-name" in fields]


def test_a_questionnaire_is_built_without_javascript(client: Client, draft: Study) -> None:
    address = url(draft, "questionnaire")
    page = client.get(address)
    for kind in ("scale", "choice", "number", "text"):
        page = client.post(address, fields_of(page) | {"do": "add", "new_kind": kind})
        assert "It is not saved yet." in words(page)
    typed = {
        "q-1-name": "ease", "q-1-text": "How easy was it?", "q-1-required": "yes",
        "q-2-name": "lang", "q-2-text": "First language?", "q-2-options": "English\r\n\n Another ",
        "q-3-name": "age", "q-3-text": "Age?", "q-3-min": "18",
        "q-4-name": "other", "q-4-text": "Anything else?",
    }  # fmt: skip
    assert stored(draft).sitting == {}
    response = client.post(address, fields_of(page) | typed | {"do": "save"})
    assert response.status_code == 303
    assert stored(draft).sitting == {"questionnaire": [SCALE, CHOICE, NUMBER, TEXT]}


def test_a_stored_questionnaire_is_saved_again_unchanged(client: Client, draft: Study) -> None:
    questions = [SCALE, CHOICE, TEXT, NUMBER | {"max": 99.5}]
    with_questions(draft, *questions)
    address = url(draft, "questionnaire")
    client.post(address, fields_of(client.get(address)))
    assert stored(draft).sitting == {"questionnaire": questions}


@pytest.mark.parametrize(
    ("do", "names"),
    [
        ("up-2", ["lang", "ease", "other"]),
        ("down-2", ["ease", "other", "lang"]),
        ("up-1", ["ease", "lang", "other"]),
        ("down-3", ["ease", "lang", "other"]),
        ("remove-1", ["lang", "other"]),
        ("remove-9", ["ease", "lang", "other"]),
        ("odd", ["ease", "lang", "other"]),
    ],
)
def test_rows_are_moved_and_removed_in_what_was_typed(
    client: Client, draft: Study, do: str, names: list[str]
) -> None:
    with_questions(draft, SCALE, CHOICE, TEXT)
    address = url(draft, "questionnaire")
    sent = fields_of(client.get(address)) | {"q-2-text": "Typed just now"}
    page = client.post(address, sent | {"do": do})
    assert shown_names(page) == names
    assert ("Typed just now" in page.content.decode()) == ("lang" in names)
    assert stored(draft).sitting == {"questionnaire": [SCALE, CHOICE, TEXT]}


def test_what_is_wrong_with_a_question_is_said_in_its_row(client: Client, draft: Study) -> None:
    with_questions(draft, SCALE, CHOICE, NUMBER)
    address = url(draft, "questionnaire")
    sent = fields_of(client.get(address)) | {
        "q-1-max": "1",
        "q-2-options": "One",
        "q-2-name": "2nd",
        "q-3-min": "many",
        "q-3-name": "ease",
    }
    page = client.post(address, sent)
    assert page.status_code == 422
    rows = page.content.decode().split('id="question-')[1:]
    assert "Min and max must be whole numbers that make a scale of 2 to 11." in rows[0]
    assert "Options must be a list of 2 to 100 different texts" in rows[1]
    assert "Name must begin with a letter" in rows[1]
    assert "Min and max must be numbers" in rows[2]
    assert "is there twice" in rows[2]
    assert "is there twice" not in rows[0]
    assert fields_of(page)["q-3-min"] == "many"
    assert stored(draft).sitting == {"questionnaire": [SCALE, CHOICE, NUMBER]}


def test_too_many_texts_are_said_above_the_list(client: Client, draft: Study) -> None:
    sent = {}
    for n in range(1, 12):
        sent |= {f"q-{n}-kind": "text", f"q-{n}-name": f"t{n}", f"q-{n}-text": "?"}
    page = client.post(url(draft, "questionnaire"), sent)
    assert "At most 10 questions may be of kind text." in words(page)


# ---- recruiting ----------------------------------------------------------------------------------


def test_recruiting_is_saved_and_shown_again(client: Client, draft: Study) -> None:
    save(client, draft, "recruiting", id_parameter="PROLIFIC_PID",
         other_parameters="STUDY_ID, SESSION_ID", repeats="2", extra_places="3")  # fmt: skip
    assert stored(draft).recruiting == {
        "id_parameter": "PROLIFIC_PID",
        "other_parameters": ["STUDY_ID", "SESSION_ID"],
        "repeats": 2,
        "extra_places": 3,
    }
    again = fields_of(client.get(url(draft, "recruiting")))
    assert again["other_parameters"] == "STUDY_ID SESSION_ID"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"id_parameter": "run"}, "This must be empty or up to 40 letters"),
        ({"id_parameter": "a b"}, "This must be empty or up to 40 letters"),
        ({"repeats": "2"}, "This must be set where there are other_parameters or repeats."),
        (
            {"other_parameters": "A"},
            "This must be set where there are other_parameters or repeats.",
        ),
        ({"id_parameter": "A", "other_parameters": "A"}, "A is the id_parameter already."),
        ({"id_parameter": "A", "other_parameters": "B B"}, "This must be a list of at most 10"),
        ({"repeats": "0"}, "greater than or equal to 1"),
        ({"repeats": ""}, "Fill this in."),
        ({"extra_places": "101"}, "less than or equal to 100"),
    ],
)
def test_recruiting_that_does_not_fit_is_said_beside_its_field(
    client: Client, draft: Study, changes: dict[str, str], said: str
) -> None:
    response = save(client, draft, "recruiting", **changes)
    assert response.status_code == 422
    assert said in words(response)
    assert stored(draft).recruiting == {}


# ---- codes and return ----------------------------------------------------------------------------


def test_R035_the_return_link_is_tested_with_the_address_participants_get(
    client: Client, draft: Study
) -> None:
    save(client, draft, "ending", completion_code="A B/1&x",
         return_url="https://app.prolific.com/submissions/complete?cc={code}")  # fmt: skip
    page = client.get(url(draft, "ending")).content.decode()
    address = "https://app.prolific.com/submissions/complete?cc=A%20B%2F1%26x"
    assert re.findall(r'href="(https://[^"]+)"', page) == [address]
    assert f"<code>{address}</code>" in page
    assert "none of the recruiting sites we know" not in page


def test_R035_an_unknown_host_is_warned_about_here_and_before_opening(
    client: Client, draft: Study
) -> None:
    save(client, draft, "ending", return_url="https://app.prolfic.com/complete?cc={code}")
    page = client.get(url(draft, "ending"))
    assert "app.prolfic.com is none of the recruiting sites we know" in words(page)
    assert "https://app.prolfic.com/complete?cc=SAMPLE-CODE" in page.content.decode()
    assert (
        "the return address: app.prolfic.com is none of the recruiting sites we know, so look "
        "for a typing error"
    ) in lifecycle.opening_warnings(stored(draft))


@pytest.mark.parametrize(
    ("host", "is_known"),
    [
        ("app.prolific.com", True),
        ("prolific.com", True),
        ("www.mturk.com", True),
        ("workersandbox.mturk.com", True),
        ("uni.sona-systems.com", True),
        ("connect.cloudresearch.com", True),
        ("survey.eu.qualtrics.com", True),
        ("prolific.com.evil.example", False),
        ("myprolific.com", False),
        ("app.prolfic.com", False),
        ("", False),
    ],
)
def test_R035_known_hosts_are_those_and_their_parts(host: str, is_known: bool) -> None:
    assert is_known_host(host) is is_known


@pytest.mark.parametrize(
    "address",
    [
        "http://app.prolific.com/?cc={code}",
        "https://app.prolific.com/",
        "https://{code}.example.org/",
        "javascript:alert('{code}')",
        "https://user@app.prolific.com/?cc={code}",
    ],
)
def test_a_return_address_that_cannot_be_used_is_refused_and_kept_in_its_field(
    client: Client, draft: Study, address: str
) -> None:
    response = save(client, draft, "ending", return_url=address)
    assert response.status_code == 422
    assert "This must be an https address with {code} where the completion code goes." in words(
        response
    )
    assert fields_of(response)["return_url"] == address
    assert stored(draft).sitting == {}


# ---- preregistration -----------------------------------------------------------------------------


def test_what_is_preregistered_is_saved_shown_and_taken_back(client: Client, draft: Study) -> None:
    factories.add_conditions(draft)
    response = client.post(
        url(draft, "analysis"),
        {
            "reference_condition": "selection",
            "non_inferiority_margin": "0.05",
            "family": ["success", "read"],
            "time_cap_s": "90",
            "exclusion_rule": "Faster than 5 minutes.\r\nFailed checks.",
        },
    )
    assert response.status_code == 303
    assert stored(draft).preregistered == {
        "reference_condition": "selection",
        "family": ["success", "read"],
        "time_cap_s": 90.0,
        "exclusion_rule": "Faster than 5 minutes.\nFailed checks.",
    }
    assert stored(draft).non_inferiority_margin == 0.05
    page = client.get(url(draft, "analysis"))
    assert page.content.decode().count(" checked") == 2
    assert fields_of(page)["reference_condition"] == "selection"
    client.post(url(draft, "analysis"), {"non_inferiority_margin": "0.1"})
    assert stored(draft).preregistered == {}


def test_statements_that_the_page_does_not_know_stay(client: Client, draft: Study) -> None:
    factories.add_conditions(draft)
    draft.preregistered = {"reference": "ranking", "osf": "https://osf.io/abc"}
    draft.save()
    page = client.get(url(draft, "analysis"))
    assert fields_of(page)["reference_condition"] == "ranking"
    client.post(url(draft, "analysis"), fields_of(page))
    assert stored(draft).preregistered == {
        "reference_condition": "ranking",
        "osf": "https://osf.io/abc",
    }


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"non_inferiority_margin": "1.5"}, "This must be between 0 and 1."),
        ({"non_inferiority_margin": ""}, "Fill this in."),
        ({"non_inferiority_margin": "0.1", "time_cap_s": "0"}, "a number of seconds above 0"),
        ({"non_inferiority_margin": "0.1", "family": ["odd"]}, "odd is not one of"),
        ({"non_inferiority_margin": "0.1", "reference_condition": "odd"}, "odd is not one of"),
    ],
)
def test_a_wrong_statement_is_said_beside_its_field(
    client: Client, draft: Study, sent: dict[str, Any], said: str
) -> None:
    response = client.post(url(draft, "analysis"), sent)
    assert response.status_code == 422
    assert said in words(response)
    assert stored(draft).preregistered == {}


def test_a_reference_condition_that_was_removed_is_spoken_of(client: Client, draft: Study) -> None:
    draft.preregistered = {"reference_condition": "gone"}
    draft.save()
    assert "The reference condition was gone, which the study does not have any more." in words(
        client.get(url(draft, "analysis"))
    )
