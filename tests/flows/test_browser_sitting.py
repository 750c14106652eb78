"""A whole sitting in a real browser: practice, a break, further questions, the way back."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from studyapp.enums import EnrolmentState
from studyapp.models import Enrolment, QuestionnaireAnswer, VerificationAnswer
from tests import factories
from tests.flows.visits import Visit, visit  # noqa: F401

SITTING = {
    "break_every": 2,
    "confidence": "required",
    "reason": "optional",
    "return_url": "https://127.0.0.1:1/done?cc={code}",
    "questionnaire": [
        {"name": "ease", "text": "How easy was it?", "kind": "scale", "min": 1, "max": 11},
        {"name": "age", "text": "How old are you?", "kind": "number", "min": 16},
        {"name": "on", "text": "What did you read on?", "kind": "choice", "options": ["A", "B"]},
    ],
}
WIDTHS = [(1280, 800), (375, 667), (320, 568)]


def decide(opened: Visit, answer: str) -> None:
    opened.page.get_by_role("radio", name=answer).check()
    opened.page.get_by_role("radio", name="4", exact=True).check()
    opened.page.get_by_role("button", name="Confirm").click()


@pytest.mark.parametrize(("width", "height"), WIDTHS)
def test_a_whole_sitting_needs_no_sideways_scrolling_and_meets_no_fault(
    visit: Callable[..., Visit],  # noqa: F811
    width: int,
    height: int,
) -> None:
    study = factories.sitting_study(4, n_practice=1, n_attention=1, sitting=SITTING)
    opened = visit(viewport={"width": width, "height": height})
    page = opened.page

    def at(heading: str) -> None:
        expect(page.get_by_role("heading", name=heading)).to_be_focused()
        assert opened.width_beyond_the_window() <= 0

    def in_trial(where: str) -> None:
        expect(page.get_by_text(where)).to_be_visible()
        assert opened.width_beyond_the_window() <= 0

    opened.join(study)
    page.get_by_role("button", name="Begin").click()
    in_trial("Practice 1 of 1")
    decide(opened, "Refuted")
    at("That is not what the evidence says")
    page.get_by_role("button", name="Try again").click()
    in_trial("Practice 1 of 1")
    page.get_by_label("Why?").fill("The second sentence.")
    decide(opened, "Supported")
    at("Right, but the sentences you had read did not show it yet")
    page.get_by_role("button", name="Begin the trials").click()
    for number in (1, 2, 3):
        in_trial(f"Trial {number} of 5")
        decide(opened, "Refuted")
    at("Time for a break")
    page.reload()
    assert opened.width_beyond_the_window() <= 0
    page.get_by_role("button", name="Continue").click()
    for number in (4, 5):
        in_trial(f"Trial {number} of 5")
        decide(opened, "Refuted")
    at("A few last questions")
    page.get_by_role("radio", name="11", exact=True).check()
    page.get_by_label("How old are you?").fill("42")
    page.get_by_role("button", name="Send and finish").click()
    expect(page.get_by_text(study.completion_code)).to_be_visible()
    assert opened.width_beyond_the_window() <= 0
    assert page.locator("head meta[http-equiv=refresh]").count() == 1
    assert opened.complaints == []

    assert Enrolment.objects.get().state == EnrolmentState.COMPLETED
    answers = dict(QuestionnaireAnswer.objects.values_list("name", "value"))
    assert answers == {"ease": "11", "age": "42"}
    kept = VerificationAnswer.objects.order_by("trial").values_list("confidence", "reason")
    assert list(kept) == [(4, ""), (4, "The second sentence."), *[(4, "")] * 5]


def test_a_refused_questionnaire_keeps_its_answers_and_takes_the_focus_to_its_head(
    visit: Callable[..., Visit],  # noqa: F811
) -> None:
    questionnaire = SITTING["questionnaire"]
    study = factories.sitting_study(
        2, n_subsets=2, sitting={"break_every": 0, "questionnaire": questionnaire}
    )
    enrolment, _ = factories.started(study)
    opened = visit()
    opened.open_run(enrolment)
    for number in (1, 2):
        expect(opened.page.get_by_text(f"Trial {number} of 2")).to_be_visible()
        opened.decide("Refuted")
    expect(opened.page.get_by_role("heading", name="A few last questions")).to_be_focused()
    opened.page.get_by_label("How old are you?").fill("twelve")
    opened.page.get_by_role("radio", name="B", exact=True).check()
    opened.page.get_by_role("button", name="Send and finish").click()
    expect(opened.page.get_by_text("Write a number in digits.")).to_be_visible()
    expect(opened.page.get_by_label("How old are you?")).to_have_value("twelve")
    expect(opened.page.get_by_role("radio", name="B", exact=True)).to_be_checked()
    opened.page.get_by_role("link", name="How old are you?").click()
    expect(opened.page.locator("#q-age")).to_be_focused()
    assert not QuestionnaireAnswer.objects.exists()
