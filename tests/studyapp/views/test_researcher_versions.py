"""The pages of versions: a form, old beside new, a reason, and the list."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from studyapp.domain import changing
from studyapp.domain.access import add_member
from studyapp.domain.import_archive import import_study
from studyapp.domain.version_changes import Change
from studyapp.domain.versions import publish
from studyapp.enums import Role
from studyapp.models import AuditEntry, Study, StudyVersion
from studyapp.views.version_words import Piece, change_rows, shown
from tests import factories
from tests.studyapp.views.setup_pages import client_of, fields_of, researcher, url, words

pytestmark = pytest.mark.django_db

QUESTIONS = [
    {"name": "age", "text": "How old are you?", "kind": "number", "min": 18},
    {"name": "mood", "text": "How was it?", "kind": "choice", "options": ["Good", "Bad"]},
]


@pytest.fixture
def study(db: None) -> Study:
    return factories.open_study(
        owner=researcher(),
        texts={"instructions": "Read slowly and\nwith care.\n"},
        sitting={"questionnaire": QUESTIONS},
    )


@pytest.fixture
def client(study: Study) -> Client:
    return client_of()


def page_of(study: Study) -> str:
    return reverse("version-new", args=[study.slug])


def compared(client: Client, study: Study, **changes: str) -> Any:
    """Open the form, change fields, ask for the comparison."""
    sent = fields_of(client.get(page_of(study))) | {"do": "check"} | changes
    return client.post(page_of(study), sent)


def test_a_form_left_as_it_is_changes_nothing(client: Client, study: Study) -> None:
    response = compared(client, study)
    assert response.status_code == 422
    assert "Nothing is different from the newest version yet." in words(response)


def test_old_stands_beside_new_before_anything_is_published(client: Client, study: Study) -> None:
    for _ in range(2):
        factories.joined(study)
    response = compared(client, study, instructions="Read fast and\nwith care.", break_every="5")
    said = words(response)
    assert "What version 2 changes Nothing is published yet. 2 people are under way" in said
    assert "Offer a break after every … trials" in said
    assert "Text: Instructions" in said
    html = response.content.decode()
    assert "<del>slowly</del>" in html
    assert "<ins>fast</ins>" in html
    assert "Title" not in said.split("What version 2 changes")[1].split("Reason")[0]
    assert StudyVersion.objects.count() == 1


def test_a_version_is_published_with_its_reason(client: Client, study: Study) -> None:
    response = compared(client, study, title="Better", completion_code="C2")
    assert "keep them valid where you recruit" in words(response)
    sent = fields_of(response) | {"do": "publish"}
    assert json.loads(sent["changes"]) == {"title": "Better", "completion_code": "C2"}
    missing = client.post(page_of(study), sent)
    assert missing.status_code == 422
    assert "Fill this in." in words(missing)
    assert StudyVersion.objects.count() == 1
    done = client.post(page_of(study), sent | {"reason": "The first one gave it away."})
    assert done.status_code == 303
    stored = Study.objects.get(pk=study.pk)
    assert (stored.title, stored.completion_code, stored.version) == ("Better", "C2", 2)
    version = stored.versions.get(number=2)
    assert (version.who, version.reason) == ("ann", "The first one gave it away.")
    assert AuditEntry.objects.get(action="version_published").who == "ann"
    said = words(client.get(done.headers["Location"]))
    assert "Version 2 is published: who joins from now on gets it." in said
    assert "Reason The first one gave it away. Changed Completion code and Title" in said


def test_the_form_can_be_gone_back_to_with_what_was_changed(client: Client, study: Study) -> None:
    response = compared(client, study, title="Better", welcome="Hello.")
    back = client.post(page_of(study), fields_of(response) | {"do": "edit"})
    again = fields_of(back)
    assert (again["title"], again["welcome"]) == ("Better", "Hello.")
    assert Study.objects.get(pk=study.pk).title == study.title


def test_questions_are_edited_in_place_and_compared(client: Client, study: Study) -> None:
    sent = fields_of(client.get(page_of(study))) | {"title": "Kept"}
    added = client.post(page_of(study), sent | {"do": "add", "new_kind": "text"})
    again = fields_of(added)
    assert (added.status_code, again["title"]) == (200, "Kept")
    assert "It is not published yet." in words(added)
    wrong = client.post(page_of(study), again | {"do": "check"})
    assert wrong.status_code == 422
    assert "Name must begin with a letter" in words(wrong)
    again |= {"q-3-name": "more", "q-3-text": "Anything else?", "do": "check"}
    response = client.post(page_of(study), again)
    sent = fields_of(response)
    assert [q["name"] for q in json.loads(sent["changes"])["sitting"]["questionnaire"]] == [
        "age",
        "mood",
        "more",
    ]


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("title", "", "Fill this in."),
        ("completion_code", "", "Fill this in."),
        ("return_url", "http://x", "This must be an https address"),
        ("break_every", "-1", "greater than or equal to 0"),
        ("repeats", "2", "must be set where there are other_parameters or repeats"),
    ],
)
def test_what_cannot_be_kept_is_said_beside_its_field(
    client: Client, study: Study, field: str, value: str, said: str
) -> None:
    response = compared(client, study, **{field: value, "welcome": "Kept as typed."})
    assert response.status_code == 422
    assert said in words(response)
    assert fields_of(response)["welcome"] == "Kept as typed."


def test_two_researchers_do_not_undo_each_other_unseen(client: Client, study: Study) -> None:
    first = compared(client, study, title="Mine")
    open_form = fields_of(client.get(page_of(study)))
    publish(study, {"title": "Theirs"}, "They were faster.")
    late = client.post(
        page_of(study), fields_of(first) | {"do": "publish", "reason": "Mine is better."}
    )
    assert late.status_code == 409
    assert "Version 2 was published meanwhile" in words(late)
    look = client.post(page_of(study), open_form | {"do": "check", "welcome": "Hello."})
    assert "Version 2 was published while you were writing" in words(look)
    assert Study.objects.get(pk=study.pk).title == "Theirs"


@pytest.mark.parametrize(
    "changes", ["", "[]", "{", '{"seed": 1}', '{"subsets": 1}', '{"texts": {"a": 1}}', '{"x": 1}']
)
def test_forged_changes_change_nothing(client: Client, study: Study, changes: str) -> None:
    for do in ("publish", "edit"):
        sent = {"do": do, "changes": changes, "reason": "Forged.", "base": "1"}
        response = client.post(page_of(study), sent)
        assert 400 <= response.status_code < 500
        assert "Nothing was changed" in words(response)
    assert StudyVersion.objects.count() == 1


def test_a_draft_and_a_closed_study_say_why_there_is_no_new_version(study: Study) -> None:
    draft = factories.draft_study(owner=researcher())
    client = client_of()
    assert "opening the study makes the first one" in words(
        client.get(reverse("study-versions", args=[draft.slug]))
    )
    changing.close_study(study)
    for one, said in ((draft, "is a draft"), (study, "is closed")):
        for response in (client.get(page_of(one)), client.post(page_of(one), {"do": "check"})):
            assert response.status_code == 409
            assert said in words(response)


def test_a_viewer_reads_the_versions_and_makes_none(study: Study) -> None:
    add_member(study, researcher("vi"), Role.VIEWER)
    client = client_of("vi")
    listed = client.get(reverse("study-versions", args=[study.slug]))
    assert page_of(study) not in listed.content.decode()
    assert "You are a viewer" in words(client.get(page_of(study)))
    assert client.post(page_of(study), {"do": "check"}).status_code == 403


def test_the_pages_of_setting_up_lead_to_a_new_version_where_one_can_change_them(
    client: Client, study: Study
) -> None:
    offers = {
        step: page_of(study) in client.get(url(study, step)).content.decode()
        for step in ("basics", "texts", "sitting", "questionnaire", "recruiting", "ending",
                     "claims", "conditions", "schedule", "analysis", "review")
    }  # fmt: skip
    assert {step for step, is_there in offers.items() if not is_there} == {
        "claims", "conditions", "schedule", "analysis", "review",
    }  # fmt: skip


def test_the_list_takes_the_same_queries_for_any_number_of_versions(
    client: Client, study: Study
) -> None:
    found = []
    for number in range(1, 4):
        with CaptureQueriesContext(connection) as captured:
            client.get(reverse("study-versions", args=[study.slug]))
        found.append(len(captured))
        publish(study, {"title": f"Title {number}"}, "Once more.")
    assert found == [5, 5, 5]  # session, user, study, versions, their runs


def test_a_copy_says_what_the_original_was(client: Client, study: Study, tmp_path: Any) -> None:
    from studyapp.domain.export import export_study

    publish(study, {"title": "Second"}, "Because of <b>this</b>.")
    export_study(study, tmp_path / "e.zip")
    copy = import_study(tmp_path / "e.zip", "copy", owner_name="ann").study
    said = words(client.get(reverse("study-versions", args=[copy.slug])))
    assert f"made from an export of {study.slug} , which had these versions" in said
    assert ": Title. Because of <b>this</b>." in said


def test_what_differs_in_a_text_is_marked_in_whole_stretches() -> None:
    [row] = change_rows([Change("texts.welcome", "One two three four.", "One 2 three 4.\n\nEnd.")])
    assert row.label == "Text: Welcome"
    assert row.old == [Piece("One ", False), Piece("two three four.", True)]
    assert row.new == [Piece("One ", False), Piece("2 three 4.\n\nEnd.", True)]
    [row] = change_rows([Change("texts.welcome", "a b c d e f", "a b c d e g")])
    assert row.new == [Piece("a b c d e ", False), Piece("g", True)]
    [row] = change_rows([Change("title", None, "T")])
    assert (row.old, row.new) == ([], [Piece("T", True)])


def test_long_texts_are_compared_by_line() -> None:
    old = "".join(f"line {n} of the text\n" for n in range(1000))
    [row] = change_rows([Change("texts.consent", old, old.replace("line 500 ", "LINE 500 "))])
    assert [piece.text for piece in row.new if piece.is_changed] == ["LINE 500 of the text\n"]


def test_values_are_printed_as_people_read_them() -> None:
    assert [shown(value) for value in (True, False, None, 0, [], ["A", "B"])] == [
        "Yes", "No", "", "0", "", "A\nB",
    ]  # fmt: skip
    assert shown([QUESTIONS[1] | {"required": True}, QUESTIONS[0]]) == (
        "mood: How was it? (choice; Good | Bad; must be answered)\n"
        "age: How old are you? (number; from 18)"
    )


@pytest.mark.parametrize("source", ["prolific", "mturk", "sona"])
def test_the_form_lists_no_parameter_that_the_source_fills_in(source: str) -> None:
    study = factories.open_study(owner=researcher(), recruiting={"source": source})
    client = client_of()
    response = compared(client, study)
    assert "Nothing is different from the newest version yet." in words(response)
    response = compared(client, study, title="Better")
    assert json.loads(fields_of(response)["changes"]) == {"title": "Better"}


def test_only_texts_that_are_not_the_standard_ones_count_as_own(
    client: Client, study: Study
) -> None:
    assert len([text for text in study.texts.values() if text]) > 1
    assert "1 own text " in words(client.get(url(study, "review")))
