"""The rankings card in a real browser: it refreshes itself, keeps what was opened, and stops."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from studyapp.domain import precompute, progress, schedule
from studyapp.enums import JobState
from studyapp.models import PrecomputeJob, Study
from tests import factories

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("committed_db")]


@pytest.fixture
def draft(monkeypatch: pytest.MonkeyPatch) -> Study:
    """A scheduled draft whose jobs are queued, two of them failed; a worker answers."""
    monkeypatch.setattr("studyapp.tasks.prepare.delay", lambda job_id: None)
    owner = get_user_model().objects.create_user("ann", password="a long password")
    study = factories.draft_study("polled", owner=owner)
    factories.add_claims(study, 2)
    factories.add_conditions(study)
    schedule.lay_out(study, 2, 1, 1)
    precompute.queue_jobs(study)
    for job in PrecomputeJob.objects.filter(condition__name="ranking"):
        PrecomputeJob.objects.filter(pk=job.pk).update(
            state=JobState.FAILED,
            error="the reply holds no order",
            raw_reply="<b>I cannot rank these</b>",
            finished_at=timezone.now(),
        )
    progress.note_presence("worker")
    return study


def log_in(page: Any, live_server: Any, study: Study) -> None:
    page.goto(f"{live_server.url}{reverse('study', args=[study.slug])}")
    page.fill("#id_username", "ann")
    page.fill("#id_password", "a long password")
    page.click("button.primary")
    page.wait_for_selector("#precompute")


def test_the_page_polls_keeps_an_open_reply_and_the_focus(
    browser: Any, live_server: Any, draft: Study
) -> None:
    page = browser.new_page()
    complaints: list[str] = []
    polls: list[str] = []
    page.on("console", lambda m: m.type == "error" and complaints.append(m.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda r: r.url.endswith("/rankings/?state=failed") and polls.append(r.url))
    log_in(page, live_server, draft)
    page.click("text=Every claim, its cost and its preview")
    page.click("#state-failed")
    assert page.inner_text("#rankings-state") == "Running: 0 of 4 done, 2 failed"

    page.locator("details.reply summary").first.click()
    page.wait_for_selector("details.reply[open] pre")
    assert page.inner_text("details.reply pre") == "<b>I cannot rank these</b>"
    page.focus("#rankings-queue")
    polls.clear()
    page.wait_for_timeout(4_500)
    assert len(polls) == 2
    assert page.locator("details.reply[open]").count() == 1
    assert page.evaluate("document.activeElement.id") == "rankings-queue"

    page.keyboard.press("Enter")
    page.wait_for_selector("details.reply", state="detached")
    assert page.evaluate("document.activeElement.id") == "rankings"
    assert page.inner_text(".nothing") == "No claim is in this state."
    with transaction.atomic():
        PrecomputeJob.objects.all().delete()
        factories.add_evidence(draft)
    page.wait_for_selector("#rankings-state:text('All 4 are stored')")
    polls.clear()
    page.wait_for_timeout(2_500)
    assert polls == []

    page.click("#state-done")
    page.locator(".claim-states a").first.click()
    assert page.inner_text("h1") == "Preview of c1"
    page.keyboard.press("Tab")
    page.get_by_role("link", name="Next claim").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:text('Preview of c2')")
    assert complaints == []
    page.close()


def test_the_card_polls_and_stops_when_all_is_settled(
    browser: Any, live_server: Any, draft: Study
) -> None:
    page = browser.new_page()
    complaints: list[str] = []
    polls: list[str] = []
    page.on("console", lambda m: m.type == "error" and complaints.append(m.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda r: r.url.endswith("/precompute/") and polls.append(r.url))
    log_in(page, live_server, draft)
    assert page.inner_text("#rankings-state") == "Running: 0 of 4 done, 2 failed"
    page.focus("#precompute-queue")
    page.wait_for_timeout(4_500)
    assert len(polls) == 2
    assert page.evaluate("document.activeElement.id") == "precompute-queue"

    page.keyboard.press("Enter")
    page.wait_for_selector("#precompute-queue", state="detached")
    assert page.evaluate("document.activeElement.id") == "precompute"
    with transaction.atomic():
        PrecomputeJob.objects.all().delete()
        factories.add_evidence(draft)
    page.wait_for_selector("#rankings-state:text('All 4 are stored')")
    assert page.inner_text("#opening-state") == "Ready to open"
    polls.clear()
    page.wait_for_timeout(2_500)
    assert polls == []

    page.click("text=Open the study")
    page.wait_for_selector("#study-link")
    address = page.input_value("#study-link")
    assert re.fullmatch(rf".*/p/{draft.code}/", address)
    assert complaints == []
    page.close()
