"""The page of exports in a real browser: it watches the work, keeps what was opened, and stops."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.urls import reverse
from playwright.sync_api import Page, expect

from studyapp.domain import export_jobs, progress
from studyapp.domain.export_jobs import Wanted
from studyapp.models import ExportJob, Study
from tests import factories
from tests.flows.test_browser_accessibility import AXE, RUN_AXE, TAGS, faults_of, views

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("committed_db")]


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path) -> Study:
    """A study with a finished export and one that failed; a worker answers."""
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr("studyapp.tasks.make_export.delay", lambda job_id: None)
    owner = get_user_model().objects.create_user("ann", password="a long password")
    study = factories.open_study(slug="watched", owner=owner)
    export_jobs.ask(study, Wanted(), owner)
    with monkeypatch.context() as patch:
        patch.setattr(export_jobs, "export_study", lambda *_, **__: 1 / 0)
        export_jobs.ask(study, Wanted(), owner)
    progress.note_presence("worker")
    return study


@pytest.fixture
def page(browser: Any, live_server: Any, study: Study) -> Any:
    """Its page of exports; nothing may be complained of in the console."""
    page = browser.new_page()
    complaints: list[str] = []
    page.on("console", lambda m: m.type == "error" and complaints.append(m.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"{live_server.url}{reverse('study-exports', args=[study.slug])}")
    page.fill("#id_username", "ann")
    page.fill("#id_password", "a long password")
    page.click("button.primary")
    page.wait_for_selector("#exports")
    yield page
    page.close()
    assert complaints == []


def test_an_export_is_asked_for_watched_and_downloaded(page: Page, study: Study) -> None:
    page.check("#variant-deidentified")
    page.select_option("#export-spreadsheet", "with_bom")
    page.click("#export-make")
    card = page.locator("article").first
    expect(card).to_contain_text("De-identified, with spreadsheet copies")
    expect(card).to_contain_text("Waiting for a worker")
    page.locator("article").last.get_by_text("rows in all").click()
    with page.expect_response(lambda r: r.url.endswith("/exports/")):
        pass
    expect(page.locator("details[open]")).to_have_count(1)
    job = ExportJob.objects.latest("pk")
    assert export_jobs.run_job(job.pk)
    job.refresh_from_db()
    expect(card).to_contain_text(job.sha256)
    expect(page.locator("#exports")).not_to_have_attribute("hx-trigger", "every 2s")
    with page.expect_download() as download:
        card.get_by_role("link", name="Download").click()
    assert download.value.suggested_filename == export_jobs.download_name(job)
    content = Path(download.value.path()).read_bytes()
    assert hashlib.sha256(content).hexdigest() == job.sha256


def test_the_page_is_accessible_and_never_wider_than_the_window(page: Page) -> None:
    page.locator("article").last.get_by_text("rows in all").click()
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = []
    for view in views(page):
        found += [f"{view}: {one}" for one in faults_of(page.evaluate(RUN_AXE, TAGS), set())]
        wider = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        found += [f"{view}: {wider} px wider than the window"] * (wider > 0)
    assert not found, "\n".join(found)
