"""The trial page on small and large screens, with long and hostile texts, in a real browser."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from studyapp.domain import lifecycle
from studyapp.enums import Interface
from studyapp.models import Candidate, Claim, Study, Trial
from tests import factories
from tests.flows.visits import Visit, incremental, visit

__all__ = ["incremental", "visit"]

pytestmark = pytest.mark.browser


def _long_study() -> Study:
    study = factories.ready_study()
    Claim.objects.update(text="A claim of many words that wants to be read in full. " * 17)
    Candidate.objects.update(text="One sentence of nine hundred characters goes on. " * 18)
    Candidate.objects.filter(position=3).update(text="x" * 900)
    return lifecycle.open_study(study)


@pytest.mark.parametrize(
    ("width", "height"),
    [(1280, 800), (375, 667), (320, 568), (160, 284)],
    ids=["desk", "phone", "small phone", "small phone at 200 %"],
)
def test_nothing_scrolls_sideways_and_every_button_can_be_reached(
    visit: Callable[..., Visit], width: int, height: int
) -> None:
    enrolment, _ = factories.started_in(_long_study(), Interface.INCREMENTAL)
    me = visit(viewport={"width": width, "height": height})
    me.open_run(enrolment)
    expect(me.sentences).to_have_count(1)
    assert me.width_beyond_the_window() <= 0
    for count in (2, 3):
        me.next_button.click()
        expect(me.sentences).to_have_count(count)
    assert me.width_beyond_the_window() <= 0
    for choice in me.page.locator(".choice").all():
        box = choice.bounding_box()
        assert box is not None
        assert box["height"] >= 44
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    me.decide("Can't decide")
    expect(me.page.get_by_text("Trial 2 of 4")).to_be_visible()
    assert me.complaints == []


def test_a_long_claim_shrinks_to_two_lines_and_opens_on_demand(
    visit: Callable[..., Visit],
) -> None:
    enrolment, _ = factories.started(_long_study())
    me = visit(viewport={"width": 375, "height": 667})
    me.open_run(enrolment)
    claim = me.page.locator(".claim-text")
    more = me.page.get_by_role("button", name="Show the whole claim")
    expect(more).to_have_attribute("aria-expanded", "false")
    shrunk = claim.bounding_box()
    more.click()
    opened = claim.bounding_box()
    assert shrunk is not None
    assert opened is not None
    assert shrunk["height"] < 667 / 3 < opened["height"]


def test_a_new_sentence_is_in_view_and_not_under_the_bars(
    incremental: tuple[Visit, Trial],
) -> None:
    me, _ = incremental
    me.page.set_viewport_size({"width": 375, "height": 500})
    for count in (2, 3, 4):
        me.next_button.click()
        expect(me.sentences).to_have_count(count)
        me.page.wait_for_timeout(600)
        newest = me.sentences.last.bounding_box()
        claim = me.page.locator(".claim").bounding_box()
        bar = me.page.locator(".decide").bounding_box()
        assert newest is not None
        assert claim is not None
        assert bar is not None
        assert newest["y"] >= claim["y"] + claim["height"] - 1
        assert newest["y"] + newest["height"] <= bar["y"] + 1


def test_markup_in_a_claim_does_not_run(visit: Callable[..., Visit]) -> None:
    study = factories.ready_study()
    claim_text = "</script><script>document.title='ran'</script> <b>bold</b> &amp; \"x < y\""
    Claim.objects.update(text=claim_text)
    Candidate.objects.update(text="One.\n\n<img src=x onerror=\"document.title='ran'\">")
    enrolment, _ = factories.started(lifecycle.open_study(study))
    me = visit()
    me.open_run(enrolment)
    expect(me.page.locator(".claim-text")).to_have_text(claim_text)
    assert me.page.locator(".claim-text").inner_text() == claim_text
    assert "One.\n\n<img" in me.sentences.first.inner_text()
    assert me.page.title() == study.title
    assert me.complaints == []
