"""Every page of the researchers' part in a real browser: axe, and no page wider than its window."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from studyapp.models import Study
from tests.flows.test_browser_accessibility import AXE, RUN_AXE, TAGS, faults_of
from tests.studyapp.test_access import (  # noqa: F401 (fixtures)
    RULES,
    address,
    being_a_draft,
    no_worker,
    owned,
)

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("committed_db")]

#: Files, pictures, and pages that send who is logged in elsewhere.
NO_PAGES = {
    "export-download",
    "healthz",
    "invitation",
    "job-reply",
    "links-csv",
    "login",
    "report-download",
    "schedule-table",
    "setup",
    "setup-claims-problems",
    "study-export",
    "study-payments",
    "study-precompute",
    "study-report",
    "two_factor:backup_tokens",
    "two_factor:disable",
    "two_factor:qr",
    "two_factor:setup_complete",
}
PAGES = sorted(name for name, rules in RULES.items() if "GET" in rules and name not in NO_PAGES)
SIZES = ({"width": 1280, "height": 900}, {"width": 375, "height": 800})


@pytest.fixture
def page(browser: Any, live_server: Any, owned: Study) -> Any:  # noqa: F811
    """A browser in which the owner of the study is logged in; ``complaints`` are the console's."""
    from django.conf import settings

    client = Client()
    client.force_login(owned.owner)
    context = browser.new_context()
    key = client.cookies[settings.SESSION_COOKIE_NAME].value
    context.add_cookies(
        [{"name": settings.SESSION_COOKIE_NAME, "value": key, "url": live_server.url}]
    )
    page = context.new_page()
    page.complaints = []
    page.on("console", lambda line: line.type == "error" and page.complaints.append(line.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    yield page
    context.close()


def faults_on(page: Any, url: str) -> list[str]:
    """What axe, the console and a ruler find wrong with a page, wide and narrow."""
    faults = []
    for size in SIZES:
        page.set_viewport_size(size)
        response = page.goto(url)
        if response.status != 200:
            return [f"{url}: status {response.status}"]
        # Evaluated, not added: the page's policy lets no script in, and is tried as it is.
        page.evaluate(AXE.read_text(encoding="utf-8"))
        found = faults_of(page.evaluate(RUN_AXE, TAGS), set())
        beyond = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        found += [f"{beyond} px wider than the window"] if beyond > 0 else []
        faults += [f"{url} at {size['width']}: {fault}" for fault in found]
    faults += [f"{url}: {complaint}" for complaint in page.complaints]
    page.complaints.clear()
    return faults


def test_no_page_has_a_fault(page: Any, live_server: Any, owned: Study) -> None:  # noqa: F811
    faults = []
    for name in PAGES:
        faults += faults_on(page, live_server.url + address(name, owned))
    assert faults == []


def test_no_page_of_setting_up_has_a_fault(
    page: Any,
    live_server: Any,
    owned: Study,  # noqa: F811
) -> None:
    with being_a_draft(owned):
        faults = [
            fault
            for name in PAGES
            if name.startswith("setup-")
            for fault in faults_on(page, live_server.url + address(name, owned))
        ]
    assert faults == []
