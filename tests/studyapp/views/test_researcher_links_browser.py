"""The recruiting page in a real browser: strict policy, axe, no script."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse

from studyapp.domain.link_lists import make_links, revoke_link
from studyapp.domain.link_names import NewLink
from studyapp.enums import RunKind
from studyapp.models import PersonalLink, Study
from tests import factories
from tests.flows.test_browser_accessibility import AXE, RUN_AXE, TAGS, faults_of, views
from tests.studyapp.views.accounts import researcher
from tests.studyapp.views.test_access_browser import log_in, overflow

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("committed_db")]


@pytest.fixture
def owned() -> Study:
    study = factories.open_study(owner=researcher("ann"), recruiting={"source": "mturk"})
    names = ("Karla Voss", "Jonas Lindholm", "A person with a name that is a good deal longer")
    make_links(study, [NewLink(n, name, RunKind.REAL) for n, name in enumerate(names)])
    revoke_link(study, PersonalLink.objects.earliest("pk").pk)
    return study


def test_axe_finds_no_fault_in_the_recruiting_page(
    browser: Any, live_server: Any, owned: Study
) -> None:
    page = browser.new_context(bypass_csp=True).new_page()
    log_in(page, live_server.url)
    page.goto(live_server.url + reverse("study-recruiting", args=[owned.slug]))
    page.locator("summary").click()
    page.get_by_role("button", name="Make a pilot link").click()
    page.locator("summary").click()
    page.add_script_tag(path=str(AXE))
    found = []
    for view in views(page):
        found += [f"{view}: {fault}" for fault in faults_of(page.evaluate(RUN_AXE, TAGS), set())]
        assert overflow(page) == 0, view
    assert found == []
    page.context.close()


def test_links_are_made_and_renewed_without_a_script(
    browser: Any, live_server: Any, owned: Study
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda line: complaints.append(line.text))
    log_in(page, live_server.url)
    page.goto(live_server.url + reverse("study-recruiting", args=[owned.slug]))
    page.locator("summary").click()
    page.fill("#names", "Ann Lee\nBo")
    page.get_by_role("button", name="Make links").click()
    assert page.inner_text(".notice.good") == "2 links made."
    before = page.get_by_label("Link of Bo", exact=True).input_value()
    page.get_by_role("button", name="Renew the link of Bo").click()
    assert page.get_by_label("Link of Bo", exact=True).input_value() != before
    assert complaints == []
    context.close()
