"""What was left out is said by the page, beside it and in its language; addresses to take along."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.conf import settings
from playwright.sync_api import expect

from studyapp.domain.trials import record_decision
from studyapp.models import Enrolment, VerificationAnswer
from tests import factories
from tests.flows.visits import Visit, visit

__all__ = ["visit"]

pytestmark = pytest.mark.browser

SITTING = {"break_every": 0, "confidence": "required", "reason": "optional"}
SAYS = {
    "en": ("Say how sure you are.", "Choose one of the answers."),
    "de": ("Geben Sie an, wie sicher Sie sind.", "Wählen Sie eine der Antworten."),
}


@pytest.mark.parametrize("lang", SAYS)
def test_a_decision_without_its_confidence_is_not_sent_and_says_what_is_missing(
    visit: Callable[..., Visit], lang: str
) -> None:
    sure, choose = SAYS[lang]
    enrolment, _ = factories.started(factories.sitting_study(lang=lang, sitting=SITTING))
    me = visit()
    me.open_run(enrolment)
    points = me.page.locator("input[name=confidence]")
    # Enter in a radio sends the form although its button is not there yet.
    points.nth(3).check()
    points.nth(3).press("Enter")
    expect(me.page.locator("#answer-fault")).to_have_text(choose)
    me.page.reload()
    answer = me.page.locator("input[name=decision]").first
    answer.check()
    me.page.locator("#decide .confirm button").click()
    expect(me.page.locator("#sure-fault")).to_have_text(sure)
    expect(points.first).to_be_focused()
    expect(points.first).to_have_attribute("aria-describedby", "sure-low sure-fault")
    expect(answer).to_be_checked()
    assert not VerificationAnswer.objects.exists()
    points.nth(3).check()
    expect(me.page.locator("#sure-fault")).to_be_empty()
    expect(points.first).to_have_attribute("aria-describedby", "sure-low")
    me.page.locator("#decide .confirm button").click()
    expect(answer).not_to_be_checked()
    assert VerificationAnswer.objects.get().confidence == 4
    assert me.complaints == []


def test_where_the_answers_are_the_buttons_the_confidence_is_asked_for_as_well(
    visit: Callable[..., Visit],
) -> None:
    study = factories.sitting_study(confirms_decision=False, sitting=SITTING)
    enrolment, _ = factories.started(study)
    me = visit()
    me.open_run(enrolment)
    me.page.get_by_role("button", name="Refuted").click()
    expect(me.page.get_by_text(SAYS["en"][0])).to_be_visible()
    me.page.get_by_role("radio", name="2").check()
    me.page.get_by_role("button", name="Refuted").click()
    expect(me.page.get_by_text("Trial 2 of")).to_be_visible()
    answers = VerificationAnswer.objects.values_list("decision", "confidence")
    assert list(answers) == [("refuted", 2)]


def test_a_question_left_out_is_named_and_what_was_typed_stays(
    visit: Callable[..., Visit],
) -> None:
    questions = [
        {
            "name": "ease",
            "text": "How easy?",
            "kind": "scale",
            "min": 1,
            "max": 3,
            "required": True,
        },
        {"name": "note", "text": "What else?", "kind": "text", "required": True},
        {"name": "more", "text": "And more?", "kind": "text"},
    ]
    study = factories.sitting_study(sitting={"break_every": 0, "questionnaire": questions})
    enrolment, trial = factories.started(study)
    while trial is not None:
        trial = record_decision(enrolment.token, trial.code, {"decision": "refuted"})
    me = visit()
    me.open_run(enrolment)
    me.page.get_by_label("And more?").fill("Yes.")
    me.page.get_by_role("button", name="Send and finish").click()
    expect(me.page.locator("#q-ease-fault")).to_have_text("Choose one of the numbers.")
    expect(me.page.locator("#q-note-fault")).to_have_text("Write an answer.")
    expect(me.page.get_by_label("What else?")).to_have_attribute("aria-invalid", "true")
    expect(me.page.get_by_role("radio", name="1")).to_be_focused()
    me.page.get_by_role("radio", name="3").check()
    me.page.get_by_label("What else?").fill("No.")
    expect(me.page.locator(".fault:not(:empty)")).to_have_count(0)
    expect(me.page.get_by_label("What else?")).not_to_have_attribute("aria-invalid", "true")
    me.page.get_by_role("button", name="Send and finish").click()
    expect(me.page.get_by_text(study.completion_code)).to_be_visible()
    assert enrolment.questionnaire_answers.count() == 3


@pytest.mark.parametrize("scripted", [True, False])
def test_consent_left_out_is_asked_for_in_the_study_s_language(
    visit: Callable[..., Visit], scripted: bool
) -> None:
    study = factories.open_study(lang="de")
    me = visit(java_script_enabled=scripted)
    me.page.goto(f"{me.server}/p/{study.code}/")
    me.page.get_by_role("button", name="Teilnehmen", exact=True).click()
    expect(me.page.get_by_text("setzen Sie das Häkchen")).to_be_visible()
    assert not Enrolment.objects.exists()
    me.page.get_by_role("checkbox").check()
    me.page.get_by_role("button", name="Teilnehmen", exact=True).click()
    expect(me.page.get_by_role("heading", name="Bevor Sie beginnen")).to_be_visible()


def test_the_address_of_a_run_can_be_copied_and_leads_back_in_another_browser(
    visit: Callable[..., Visit],
) -> None:
    me = visit(permissions=["clipboard-read", "clipboard-write"])
    enrolment = me.join(factories.open_study())
    me.page.get_by_role("button", name="Copy").click()
    expect(me.page.get_by_role("button", name="Copied")).to_be_visible()
    address = me.page.evaluate("navigator.clipboard.readText()")
    assert address == me.page.get_by_label("Your address in this study").input_value()
    assert address.startswith(settings.PUBLIC_URL + "/")
    other = visit(java_script_enabled=False)
    other.page.goto(address.replace(settings.PUBLIC_URL, other.server))
    expect(other.page.get_by_role("heading", name="Before you begin")).to_be_visible()
    expect(other.page.get_by_role("button", name="Copy")).to_have_count(0)
    assert enrolment.token in other.page.url
