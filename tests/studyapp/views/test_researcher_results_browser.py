"""The results page in a real browser: it refreshes itself, keeps what was opened, and stops."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import transaction
from django.urls import reverse
from playwright.sync_api import Page, expect

from studyapp.domain import progress, results_jobs
from studyapp.enums import ResultsKind
from studyapp.models import ResultsJob, Study
from tests import bulk, factories
from tests.flows.test_browser_accessibility import AXE, RUN_AXE, TAGS, faults_of, views

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("committed_db")]


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Study:
    """A study with results of its first run, and one that has finished since; a worker answers."""
    monkeypatch.setattr("studyapp.tasks.compute_results.delay", lambda job_id: None)
    owner = get_user_model().objects.create_user("ann", password="a long password")
    study = factories.open_study(slug="watched", owner=owner)
    first, second = study.slots.all()
    with transaction.atomic():
        bulk.sit_all(study, [first])
    progress.note_presence("worker")
    asked = results_jobs.ask(study, ResultsKind.MEASURES)
    assert asked.job is not None
    assert results_jobs.run_job(asked.job.pk)
    with transaction.atomic():
        bulk.sit_all(study, [second])
    progress.note_presence("worker")
    return study


@pytest.fixture
def page(browser: Any, live_server: Any, study: Study) -> Any:
    """Its results page; nothing may be complained of in the console."""
    page = browser.new_page()
    complaints: list[str] = []
    page.on("console", lambda m: m.type == "error" and complaints.append(m.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"{live_server.url}{reverse('study-measures', args=[study.slug])}")
    page.fill("#id_username", "ann")
    page.fill("#id_password", "a long password")
    page.click("button.primary")
    page.wait_for_selector("#results")
    yield page
    page.close()
    assert complaints == []


def test_the_page_says_what_is_old_keeps_what_was_opened_and_stops_when_done(page: Page) -> None:
    polls: list[str] = []
    page.on("request", lambda r: "watch=on" in r.url and polls.append(r.url))
    status = page.locator("#results-status")
    expect(status).to_contain_text("Computed from 4 completed trials")
    expect(status).to_contain_text("4 trials have finished since.")
    expect(status).to_contain_text("Waiting for a worker")
    page.click("text=Exact stop")
    with page.expect_response(lambda r: "watch=on" in r.url):
        pass
    expect(page.locator("details.definition[open]")).to_have_count(1)
    assert results_jobs.run_job(ResultsJob.objects.get().pk)
    expect(status).to_contain_text("Computed from 8 completed trials")
    expect(page.locator(".measures tbody tr").first).to_contain_text("4")
    expect(status).not_to_contain_text("since")
    n_polls = len(polls)
    page.wait_for_timeout(2500)
    assert len(polls) == n_polls


def test_the_report_is_built_and_downloaded_from_the_page(
    page: Page, settings: Any, tmp_path: Any
) -> None:
    settings.DATA_DIR = tmp_path
    page.click("text=Build the report")
    expect(page.locator("#report")).to_contain_text("Waiting for a worker")
    job = ResultsJob.objects.get(kind=ResultsKind.REPORT)
    assert results_jobs.run_job(job.pk)
    link = page.locator("#report a.button")
    expect(link).to_have_text("Download watched-report.zip")
    with page.expect_download() as download:
        link.click()
    assert download.value.suggested_filename == "watched-report.zip"


def test_the_page_is_accessible_and_never_wider_than_the_window(page: Page) -> None:
    page.click("text=Other methods and what the columns mean")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = []
    for view in views(page):
        found += [f"{view}: {one}" for one in faults_of(page.evaluate(RUN_AXE, TAGS), set())]
        wider = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        found += [f"{view}: {wider} px wider than the window"] * (wider > 0)
    assert not found, "\n".join(found)
