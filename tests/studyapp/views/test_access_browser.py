"""Accounts, members, log and consent records in a real browser: strict policy, axe, no script."""

from __future__ import annotations

from base64 import b32decode
from typing import Any

import pytest
from django.urls import reverse
from django_otp.oath import totp
from django_otp.plugins.otp_totp.models import TOTPDevice

from studyapp.domain import invitations
from studyapp.enums import Role
from studyapp.models import Study
from tests import factories
from tests.flows.test_browser_accessibility import AXE, RUN_AXE, TAGS, faults_of, views
from tests.studyapp.views.accounts import PASSWORD, researcher

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("committed_db")]


@pytest.fixture
def owned() -> Study:
    study = factories.open_study(owner=researcher("ann"))
    factories.joined(study)
    invitations.invite(study, Role.VIEWER)
    return study


def log_in(page: Any, server: str) -> None:
    page.goto(server + reverse("login"))
    page.fill("#id_username", "ann")
    page.fill("#id_password", PASSWORD)
    page.click("button.primary")


def overflow(page: Any) -> int:
    return page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )


def test_the_second_factor_is_set_up_and_used_without_a_script(
    browser: Any, live_server: Any, owned: Study
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda line: complaints.append(line.text))
    log_in(page, live_server.url)
    page.goto(live_server.url + reverse("two_factor:setup"))
    page.click("button.primary")
    picture = page.locator(".qr img")
    assert picture.bounding_box()["width"] == 220
    key = b32decode(page.inner_text("code.key"))
    page.fill("#id_code", f"{totp(key):06d}")
    page.click("button.primary")
    assert page.inner_text("h1") == "The second factor is on"
    page.goto(live_server.url)
    page.click("text=Log out")
    log_in(page, live_server.url)
    TOTPDevice.objects.update(last_t=-1)  # the same half minute, so the same digits
    page.fill("#id_code", f"{totp(key):06d}")
    page.click("button.primary")
    assert page.inner_text("h1") == "Studies"
    assert complaints == []
    context.close()


def test_axe_finds_no_fault_in_the_pages_of_accounts_and_members(
    browser: Any, live_server: Any, owned: Study
) -> None:
    link = invitations.invite(owned, Role.EDITOR)
    path = link[link.index("/invitations/") :]
    study_pages = ("study-members", "study-log", "study-consent")
    inside = [
        *(reverse(name, args=[owned.slug]) for name in study_pages),
        reverse("two_factor:profile"),
        reverse("two_factor:setup"),
        reverse("password-change"),
    ]
    page = browser.new_context(bypass_csp=True).new_page()
    found = []
    for address in (reverse("login"), path, None, *inside):
        if address is None:
            log_in(page, live_server.url)
            continue
        page.goto(live_server.url + address)
        page.add_script_tag(path=str(AXE))
        for view in views(page):
            faults = faults_of(page.evaluate(RUN_AXE, TAGS), set())
            found += [f"{address}, {view}: {fault}" for fault in faults]
            assert overflow(page) == 0, (address, view)
    assert found == []
    page.context.close()
