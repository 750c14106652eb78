"""Pages on a phone and after a click, as a newcomer met them."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import get_user_model

from studyapp.models import Study
from tests import factories
from tests.studyapp.views.console import played, url
from tests.studyapp.views.test_monitor_browser import log_in

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("committed_db")]

PHONE = {"width": 375, "height": 800}


@pytest.fixture
def study() -> Study:
    owner = get_user_model().objects.create_user("ann", password="a long password")
    study = factories.open_study(8, slug="narrow", n_replications=2, owner=owner)
    played(study, 1)
    return study


@pytest.fixture
def page(browser: Any, live_server: Any, study: Study) -> Any:
    page = browser.new_page(viewport=PHONE)
    log_in(page, live_server.url, url("study-monitor", study))
    yield page
    page.close()


def test_what_to_do_with_a_held_slot_is_in_sight_on_a_phone(page: Any) -> None:
    actions = page.locator("#held .row-actions a")
    assert actions.count() >= 1
    for n in range(actions.count()):
        box = actions.nth(n).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= PHONE["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_claims_use_the_whole_width_of_a_phone(page: Any, live_server: Any, study: Study) -> None:
    page.goto(live_server.url + url("study-rankings", study))
    heads = page.locator(".claim-states tbody th")
    assert heads.count() == 16
    assert heads.first.bounding_box()["width"] > 0.8 * PHONE["width"]
    # One line for the claim's id, one or two for its words, one for condition and state.
    tallest = max(heads.nth(n).locator("xpath=..").bounding_box()["height"] for n in range(16))
    assert tallest < 110
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_a_list_that_gets_the_focus_unasked_has_no_frame(
    page: Any, live_server: Any, study: Study
) -> None:
    page.goto(live_server.url + url("study-exports", study))
    page.keyboard.press("Tab")  # as after a key, where a frame would be drawn
    page.evaluate("document.getElementById('exports').focus()")
    assert page.evaluate("document.activeElement.id") == "exports"
    style = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(style) == "none"


def test_the_line_below_a_name_leaves_its_underscores_to_be_seen(page: Any) -> None:
    link = "document.querySelector('#held th a')"
    offset, size = page.evaluate(
        f"[parseFloat(getComputedStyle({link}).textUnderlineOffset),"
        f" parseFloat(getComputedStyle({link}).fontSize)]"
    )
    assert offset / size >= 0.35
