"""Setting up: a new study, title, texts, review; who may come in, and what a frozen study says."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from studyapp.domain import schedule
from studyapp.domain.assignment import withdraw
from studyapp.models import Claim, Condition, Enrolment, Ranking, Study
from studyapp.views.researcher_setup_pages import STEPS
from tests import factories
from tests.studyapp.views.pages import join, run_url, welcome_url
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


# ---- a new study ---------------------------------------------------------------------------------


def test_a_title_is_enough_for_a_new_study(client: Client) -> None:
    response = client.post(reverse("setup-new"), {"title": "Bridges & harbours"})
    study = Study.objects.get()
    assert (study.slug, study.title, study.lang, study.owner) == (
        "bridges-harbours",
        "Bridges & harbours",
        "en",
        researcher(),
    )
    assert (response.status_code, response["Location"]) == (303, url(study, "texts"))
    assert study.is_draft


def test_the_short_name_made_from_a_title_is_a_free_one(client: Client, draft: Study) -> None:
    for _ in range(2):
        client.post(reverse("setup-new"), {"title": "Bridges"})
    assert sorted(Study.objects.values_list("slug", flat=True)) == [
        "bridges",
        "bridges-2",
        "bridges-3",
    ]


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"title": ""}, "Write a title."),
        ({"title": "T", "slug": "two words"}, "Use letters, digits, hyphens and underscores only."),
        ({"title": "T", "slug": "bridges"}, "There is a study bridges already"),
        ({"title": "T", "lang": "English!"}, "Write a language tag, such as en, de or pt-BR."),
        ({"title": "x" * 201}, "at most 200 characters"),
    ],
)
def test_a_wrong_field_is_said_beside_it_and_what_was_typed_is_kept(
    client: Client, draft: Study, sent: dict[str, str], said: str
) -> None:
    response = client.post(reverse("setup-new"), sent)
    assert response.status_code == 422
    assert said in words(response)
    assert fields_of(response)["title"] == sent["title"]
    assert Study.objects.count() == 1


def test_a_study_json_brings_title_texts_settings_and_conditions(client: Client) -> None:
    configuration = {
        "title": "From a file",
        "lang": "de",
        "texts": {"contact": "ann@example.org"},
        "sitting": {"break_every": 5},
        "conditions": [{"name": "a", "interface": "incremental", "method": "coverage"}],
    }
    file = SimpleUploadedFile("study.json", json.dumps(configuration).encode())
    client.post(reverse("setup-new"), {"configuration": file})
    study = Study.objects.get()
    assert (study.slug, study.title, study.lang) == ("from-a-file", "From a file", "de")
    assert (study.texts, study.sitting) == ({"contact": "ann@example.org"}, {"break_every": 5})
    assert [condition.name for condition in study.conditions.all()] == ["a"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "study.json: "),
        (b"\xff\xfe", "study.json: not UTF-8; save the file as UTF-8."),
        (b"[]", "study.json: the file must hold one JSON object."),
        (b'{"colour": "red"}', "field colour: not known"),
        (
            b'{"conditions": [{"name": "a", "interface": "incremental", "method": "magic"}]}',
            "unknown method 'magic'",
        ),
    ],
)
def test_a_wrong_study_json_makes_no_study(client: Client, content: bytes, said: str) -> None:
    file = SimpleUploadedFile("study.json", content)
    response = client.post(reverse("setup-new"), {"title": "T", "configuration": file})
    assert response.status_code == 422
    assert said in words(response)
    assert Study.objects.count() == 0


# ---- title and texts -----------------------------------------------------------------------------


def test_saving_stays_or_goes_on_as_the_button_says(client: Client, draft: Study) -> None:
    sent = {"title": "Harbours", "lang": "pt-BR"}
    stays = client.post(url(draft, "basics"), sent | {"then": "stay"})
    goes_on = client.post(url(draft, "basics"), sent | {"then": "next"})
    assert (stays["Location"], goes_on["Location"]) == (url(draft, "basics"), url(draft, "texts"))
    assert (stored(draft).title, stored(draft).lang) == ("Harbours", "pt-BR")


def test_a_text_is_stored_and_one_left_standard_follows_the_language(
    client: Client, draft: Study
) -> None:
    sent = fields_of(client.get(url(draft, "texts")))
    assert sent["welcome"].startswith("Thank you for your interest.")
    client.post(url(draft, "texts"), sent | {"contact": "Ask **Ann**\r\nin room 3"})
    assert stored(draft).texts == {"contact": "Ask **Ann**\nin room 3"}
    client.post(url(draft, "basics"), {"title": "T", "lang": "de"})
    assert fields_of(client.get(url(draft, "texts")))["welcome"].startswith("Vielen Dank")


def test_a_preview_shows_the_text_as_html_and_stores_nothing(client: Client, draft: Study) -> None:
    sent = fields_of(client.get(url(draft, "texts")))
    response = client.post(
        url(draft, "texts"), sent | {"debriefing": "# About\n\n<i>x</i>", "preview": "yes"}
    )
    page = response.content.decode()
    assert response.status_code == 200
    assert "<h3>About</h3>\n<p>&lt;i&gt;x&lt;/i&gt;</p>" in page
    assert fields_of(response)["debriefing"] == "# About\n\n<i>x</i>"
    assert "Nothing is saved yet" in words(response)
    assert stored(draft).texts == {}


def test_a_single_text_is_previewed_while_it_is_typed(client: Client, draft: Study) -> None:
    address = url(draft, "text-preview")
    shown = client.post(f"{address}?name=welcome", {"welcome": "- one"})
    assert shown.content.decode().strip() == "<ul>\n<li>one</li>\n</ul>"
    assert words(client.post(f"{address}?name=owner", {"owner": "x"})) == "Nothing is shown."


def test_a_text_that_no_database_takes_is_refused_beside_its_field(
    client: Client, draft: Study
) -> None:
    response = client.post(url(draft, "texts"), {"welcome": "a\0b"})
    assert response.status_code == 422
    assert "Null characters are not allowed." in words(response)
    too_long = client.post(url(draft, "texts"), {"welcome": "x" * 40_001})
    assert "at most 40000 characters" in words(too_long)
    assert stored(draft).texts == {}


def test_participants_read_the_texts_as_markdown() -> None:
    study = factories.open_study(
        texts={
            "welcome": "Welcome to **us**",
            "instructions": "1. Read\n2. Decide",
            "contact": "<b>Ann</b>",
        }
    )
    browser = Client()
    assert (
        "<p>Welcome to <strong>us</strong></p>" in browser.get(welcome_url(study)).content.decode()
    )
    join(browser, study)
    page = browser.get(run_url(Enrolment.objects.get())).content.decode()
    assert "<ol>\n<li>Read</li>\n<li>Decide</li>\n</ol>" in page
    assert "&lt;b&gt;Ann&lt;/b&gt;" in page


# ---- resuming ------------------------------------------------------------------------------------


def test_the_study_page_leads_to_the_step_that_is_due(client: Client, draft: Study) -> None:
    page = client.get(reverse("study", args=["bridges"])).content.decode()
    assert [
        name for name in ("claims", "conditions", "schedule", "review") if url(draft, name) in page
    ] == [
        "claims",
        "conditions",
        "schedule",
        "review",
    ]
    assert url(draft, "basics") in page
    assert "Upload or change claims" in page


@pytest.mark.parametrize("step", [step.name for step in STEPS])
def test_every_step_opens_at_any_time_and_lists_the_others(
    client: Client, draft: Study, step: str
) -> None:
    response = client.get(url(draft, step))
    page = response.content.decode()
    assert response.status_code == 200
    assert all(url(draft, other.name) in page for other in STEPS)
    assert page.count('aria-current="step"') == 1
    assert "style=" not in page
    assert "<script>" not in page


# ---- who may come in -----------------------------------------------------------------------------


def setup_addresses(study: Study) -> list[str]:
    condition = Condition.objects.filter(study=study).first()
    return [
        *(url(study, step.name) for step in STEPS),
        url(study, "condition-new", "coverage"),
        url(study, "condition", condition.pk if condition else 1),
        url(study, "condition-remove", condition.pk if condition else 1),
    ]


def read_only_pages(study: Study) -> list[str]:
    return [url(study, "conditions"), url(study, "review")]


def test_visitors_are_led_to_the_login_page(draft: Study) -> None:
    factories.add_conditions(draft)
    for address in [*setup_addresses(draft), reverse("setup-new")]:
        for method in ("get", "post"):
            response = getattr(Client(), method)(address)
            if method == "post" and address in read_only_pages(draft):
                assert response.status_code == 405
                continue
            # After the login a page is read again, but a form that was sent is not sent again.
            readable = f"/studies/{draft.slug}/" if draft.slug in address else "/"
            back = address if method == "get" else readable
            assert (response.status_code, response["Location"]) == (302, f"/login/?next={back}")
    assert Study.objects.count() == 1


def test_another_researcher_finds_no_such_study(draft: Study) -> None:
    factories.add_conditions(draft)
    other = client_of("bob")
    for address in setup_addresses(draft):
        assert other.get(address).status_code == 404
        status = 405 if address in read_only_pages(draft) else 404
        assert other.post(address, {"title": "Mine"}).status_code == status
    assert stored(draft).title == draft.title


def test_a_form_without_its_token_is_refused_readably(draft: Study) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(researcher())
    response = strict.post(url(draft, "basics"), {"title": "Forged", "lang": "en"})
    assert response.status_code == 403
    assert "This form had grown old" in words(response)
    assert stored(draft).title != "Forged"


def picture(study: Study) -> dict[str, Any]:
    """Everything that setting up can change."""
    study = stored(study)
    return {
        "study": {
            name: getattr(study, name)
            for name in (
                "title", "lang", "texts", "sitting", "recruiting",
                "preregistered", "completion_code",
                "response_options", "n_subsets", "n_replications", "seed", "order_policy", "frozen",
            )
        },
        "claims": list(Claim.objects.filter(study=study).values_list("claim_id", "role")),
        "conditions": list(study.conditions.values_list("name", "position", "params")),
        "slots": study.slots.count(),
    }  # fmt: skip


@pytest.mark.parametrize("state", ["open", "paused", "closed"])
def test_R135_forged_posts_to_a_study_that_has_opened_change_nothing(state: str) -> None:
    study = factories.open_study(owner=researcher())
    study.state = state
    study.save(update_fields=["state"])
    client = client_of()
    before = picture(study)
    condition = study.conditions.first()
    forged = [
        (url(study, "basics"), {"title": "Forged", "lang": "de"}),
        (url(study, "texts"), {"instructions": "Forged"}),
        (url(study, "claims-remove"), {"slug": study.slug}),
        (url(study, "condition-new", "bm25"), {"name": "forged"}),
        (url(study, "condition", condition.pk), {"name": "forged"}),
        (url(study, "condition-move", condition.pk), {"to": "down"}),
        (url(study, "condition-remove", condition.pk), {}),
        (url(study, "schedule"), {"subsets": 1, "replications": 2, "seed": 3,
                                  "order_policy": "blocked", "condition_policy": "within"}),
        (url(study, "schedule-remove"), {}),
        (url(study, "sitting"), {"break_every": 3}),
        (url(study, "questionnaire"), {"do": "save"}),
        (url(study, "recruiting"), {"repeats": 1, "id_parameter": "FORGED"}),
        (url(study, "ending"), {"completion_code": "FORGED"}),
        (url(study, "analysis"), {"non_inferiority_margin": "0.5"}),
    ]  # fmt: skip
    for address, sent in forged:
        response = client.post(address, sent)
        assert response.status_code == 409, address
        assert "Nothing was changed" in words(response)
        assert "frozen" in words(response)
    assert picture(study) == before


def test_R135_open_runs_finish_on_the_texts_they_began_with() -> None:
    study = factories.open_study(owner=researcher(), texts={"instructions": "Read slowly."})
    browser = Client()
    join(browser, study)
    client_of().post(url(study, "texts"), {"instructions": "Read fast."})
    page = browser.get(run_url(Enrolment.objects.get())).content.decode()
    assert "Read slowly." in page
    assert "Read fast." not in page


@pytest.mark.parametrize("step", [step.name for step in STEPS])
def test_the_pages_of_a_study_that_has_opened_are_read_only_and_say_why(step: str) -> None:
    study = factories.open_study(owner=researcher())
    response = client_of().get(url(study, step))
    assert "and was frozen then: claims, conditions, schedule, texts and settings stay" in words(
        response
    )
    buttons = response.content.decode().split("setup-page")[1].count("<button")
    assert buttons == 0


# ---- review --------------------------------------------------------------------------------------


def test_the_review_names_what_is_missing_with_the_page_that_mends_it(
    client: Client, draft: Study
) -> None:
    response = client.get(url(draft, "review"))
    said = words(response)
    assert "No claims: import them with import_claims. Claims" in said
    assert "No condition: add one with add_condition. Conditions" in said
    assert "No schedule: make one with schedule. Schedule" in said
    assert "Open the study" not in said


def test_the_review_shows_the_first_trial_of_each_condition_with_its_gold_sets() -> None:
    study = factories.ready_study(owner=researcher())
    said = words(client_of().get(url(study, "review")))
    first = study.slots.get(number=1).planned.get(position=1)
    assert f"Claim {first.claim.claim_id} , label: {first.claim.get_label_display()}." in said
    number = first.claim.claim_id.removeprefix("c")
    assert (
        f"Sentence 3 about claim {number}. (Page {number}) "
        f"Sentence 0 about claim {number}. gold set 2 "
    ) in said
    assert "Sufficient after 3 sentences." in said
    assert "Open the study" in said


def test_R073_claims_without_a_ranking_are_counted_and_keep_the_study_from_opening() -> None:
    study = factories.draft_study(owner=researcher())
    factories.add_claims(study, 50)
    factories.add_conditions(study)
    factories.add_evidence(study)
    schedule.lay_out(study, 5, 1, 1)
    Ranking.objects.filter(claim__claim_id__in=["c3", "c14", "c15"]).delete()
    client = client_of()
    said = words(client.get(url(study, "review")))
    assert "Not ready yet" in said
    assert "Open the study" not in said
    assert "3 of 50" in said
    assert client.post(reverse("study-open", args=[study.slug])).status_code == 409
    assert stored(study).is_draft


def test_a_ready_study_is_opened_from_its_review() -> None:
    study = factories.ready_study(owner=researcher())
    client_of().post(reverse("study-open", args=[study.slug]))
    assert stored(study).is_open


def test_the_pages_take_the_same_queries_however_many_claims_there_are() -> None:
    counts = []
    for n_claims in (4, 12):
        study = factories.ready_study(n_claims, owner=researcher())
        client = client_of()
        row = {}
        for step in STEPS:
            with CaptureQueriesContext(connection) as captured:
                client.get(url(study, step.name))
            row[step.name] = len(captured)
        counts.append(row)
    assert counts[0] == counts[1]
    # Session, user and study; claims, conditions and slots for the list of steps.
    assert counts[0] == dict.fromkeys(counts[0], 6) | {
        "claims": 11,
        "conditions": 9,
        "schedule": 10,
        "analysis": 7,
        "review": 16,
    }


def test_a_schedule_with_somebody_in_it_is_never_removed() -> None:
    study = factories.open_study(owner=researcher())
    enrolment = factories.joined(study)
    client_of().post(url(study, "schedule-remove"))
    assert stored(study).slots.count() == 2
    withdraw(enrolment.token)
    with pytest.raises(Exception, match="frozen"):
        schedule.remove_schedule(study)
