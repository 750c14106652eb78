"""The monitor in a real browser: it renews itself, stops, and fits a phone."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import get_user_model

from studyapp.domain import changing
from studyapp.models import Study
from tests import factories
from tests.studyapp.views.console import finished, played, url

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("committed_db")]


@pytest.fixture
def study() -> Study:
    """A study in which one person has finished and one is under way."""
    owner = get_user_model().objects.create_user("ann", password="a long password")
    study = factories.open_study(slug="monitored", n_replications=2, owner=owner)
    finished(study)
    played(study, 1)
    return study


def log_in(page: Any, base: str, address: str) -> None:
    page.goto(f"{base}{address}")
    page.fill("#id_username", "ann")
    page.fill("#id_password", "a long password")
    page.click("button.primary")
    page.wait_for_selector("h1")


def test_the_monitor_renews_itself_keeps_the_focus_and_stops_when_the_study_is_closed(
    browser: Any, live_server: Any, study: Study
) -> None:
    page = browser.new_page()
    complaints: list[str] = []
    page.on("console", lambda m: m.type == "error" and complaints.append(m.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    log_in(page, live_server.url, url("study-monitor", study))
    assert page.locator("#held tbody tr").count() == 1
    link = page.locator("#held .row-actions a").first
    name = link.get_attribute("id")
    link.focus()
    played(study, 2)
    # What the timer does every 15 seconds, now.
    renew = """htmx.ajax("GET", document.getElementById("monitor").getAttribute("hx-get"),
                         {target: "#monitor", swap: "outerHTML"})"""
    page.evaluate(renew)
    page.wait_for_function("document.querySelectorAll('#held tbody tr').length === 2")
    assert page.evaluate("document.activeElement.id") == name
    changing.close_study(study)
    page.evaluate(renew)
    page.wait_for_selector("#monitor:not([hx-get])")
    assert complaints == []
    page.close()


def test_a_place_is_released_from_the_monitor_without_a_script(
    browser: Any, live_server: Any, study: Study
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    log_in(page, live_server.url, url("study-monitor", study))
    page.locator("#held .row-actions a", has_text="Release").click()
    assert "1 place, in slot 1.2, is free at once" in page.locator(".consequence").inner_text()
    page.locator(".ask button").click()
    assert page.url.endswith("/monitor/#held")
    assert "The place is released" in page.locator(".notice").inner_text()
    assert "Nobody is under way." in page.locator("#held").inner_text()
    context.close()


@pytest.mark.parametrize("width", [1280, 375])
def test_no_page_is_wider_than_the_window(
    browser: Any, live_server: Any, study: Study, width: int
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    complaints: list[str] = []
    page.on("console", lambda m: m.type == "error" and complaints.append(m.text))
    code = study.slots.get(replication=1, number=2).enrolments.get().participant.code
    log_in(page, live_server.url, url("study-monitor", study))
    for address in (
        url("study-monitor", study),
        url("monitor-claims", study),
        url("study-participants", study),
        url("study-participant", study, code),
        url("participant-action", study, code, "reject"),
    ):
        page.goto(f"{live_server.url}{address}")
        assert page.evaluate("document.documentElement.scrollWidth") == width
    assert complaints == []
    page.close()
