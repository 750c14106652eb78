"""Setting up in a real browser: from nothing to a study that is ready to open."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model

from studyapp.enums import JobState
from studyapp.models import Claim, PlannedTrial, PrecomputeJob, Study
from tests import factories
from tests.studyapp.views.setup_pages import claim

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("committed_db")]

SIZES = ({"width": 1280, "height": 900}, {"width": 375, "height": 800})


@pytest.fixture
def page(browser: Any, live_server: Any, tmp_path: Path, settings: Any) -> Any:
    """A browser at the list of studies; complaints of the browser are in ``page.complaints``."""
    settings.DATA_DIR = tmp_path / "data"
    get_user_model().objects.create_user("ann", password="a long password")
    page = browser.new_page(viewport=SIZES[0])
    page.complaints = []
    page.on(
        "console",
        lambda m: m.type == "error" and "422" not in m.text and page.complaints.append(m.text),
    )
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.goto(f"{live_server.url}/")
    page.fill("#id_username", "ann")
    page.fill("#id_password", "a long password")
    page.click("button.primary")
    page.wait_for_selector("text=No study yet")
    yield page
    page.close()


def fits(page: Any) -> None:
    """No page is wider than its window, wide or narrow."""
    for size in SIZES[::-1]:
        page.set_viewport_size(size)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], page.url


def go_on(page: Any) -> None:
    page.click('button:text-is("Save and go on")')


def test_from_nothing_to_a_study_that_is_ready_to_open(page: Any, tmp_path: Path) -> None:
    file = tmp_path / "wice-like.jsonl"
    rows = [*(claim(n) for n in range(1, 11)), claim(11, label="maybe")]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    page.click("text=New study")
    page.click("text=Create the study")
    assert page.inner_text(".field-error") == "Write a title."
    page.fill("#id_title", "Lighthouses")
    page.click("text=Create the study")

    assert page.inner_text("h1") == "Texts"
    page.wait_for_load_state()
    page.fill("#id_contact", "Ask **Ann**.")
    page.wait_for_selector("#preview-contact strong")
    assert page.inner_text("#preview-contact") == "Ask Ann."
    fits(page)
    go_on(page)

    assert page.inner_text("h1") == "Claims"
    page.set_input_files("#id_file", str(file))
    fits(page)
    page.click("text=Upload and check")
    assert page.inner_text("h1") == "wice-like.jsonl was not imported"
    assert page.inner_text(".problem-table tbody td >> nth=0") == "11"
    fits(page)
    page.click("text=Import the good claims only")
    assert "10 claims imported." in page.inner_text(".notice.good")
    page.click("text=Next: Conditions")

    for method in ("coverage", "coverage_selection"):
        page.click(f'a:has(code:text-is("{method}"))')
        fits(page)
        page.click("text=Add the condition")
    assert "ranking minus selection" in page.inner_text(".setup-page")
    fits(page)
    page.click("text=Next: Schedule")

    page.fill("#id_subsets", "1")
    page.click("text=Show the balance")
    assert "2 conditions need at least 2 subsets" in page.inner_text(".field-error")
    page.fill("#id_subsets", "5")
    page.click("text=Show the balance")
    assert "5 participants, 20 trials" in page.inner_text(".setup-page")
    fits(page)
    page.click("text=Lay out and go on")

    assert page.inner_text("h1") == "Sitting"
    fits(page)
    go_on(page)
    page.select_option("#new-kind", "scale")
    page.click("text=Add it")
    page.fill("#q-1-name", "ease")
    page.fill("#q-1-text", "How easy was it?")
    fits(page)
    go_on(page)
    assert page.inner_text("h1") == "Recruiting"
    page.fill("#id_id_parameter", "PROLIFIC_PID")
    fits(page)
    go_on(page)
    page.fill("#id_return_url", "https://app.prolific.com/submissions/complete?cc={code}")
    page.click('button:text-is("Save")')
    assert page.get_attribute("text=Open it in a new tab", "href") == (
        "https://app.prolific.com/submissions/complete?cc=SAMPLE-CODE"
    )
    fits(page)
    go_on(page)
    page.fill("#id_exclusion_rule", "Faster than five minutes.")
    fits(page)
    go_on(page)

    assert page.inner_text("h1") == "Review and open"
    assert "Not ready yet" in page.inner_text(".setup-page")
    study = Study.objects.get(slug="lighthouses")
    factories.add_evidence(study, order=(1, 0, 2), selected=(0, 1))
    page.reload()
    assert "Ready to open" in page.inner_text(".setup-page")
    assert "Sufficient after" in page.inner_text(".previews")
    fits(page)
    page.click("text=Open the study")
    assert page.inner_text(".chip") == "Open"

    study.refresh_from_db()
    assert study.is_open
    assert study.texts["contact"] == "Ask **Ann**."
    assert study.sitting_setting("questionnaire")[0]["name"] == "ease"
    assert study.preregistered == {"exclusion_rule": "Faster than five minutes."}
    assert Claim.objects.filter(study=study).count() == 10
    assert PlannedTrial.objects.filter(slot__study=study).count() == 20
    assert set(PrecomputeJob.objects.values_list("state", flat=True)) == {JobState.DONE}
    page.goto(page.url.split("#")[0] + "setup/sitting/")
    assert page.is_disabled("#id_break_every")
    assert page.complaints == []


def test_a_file_over_the_limit_is_refused_before_it_is_sent(
    page: Any, tmp_path: Path, settings: Any
) -> None:
    settings.MAX_UPLOAD_MB = 1
    study = factories.draft_study("large", owner=get_user_model().objects.get())
    file = tmp_path / "large.jsonl"
    file.write_bytes(b"x" * 1_000_001)
    page.goto(page.url + f"studies/{study.slug}/setup/claims/")
    page.set_input_files("#id_file", str(file))
    assert "This file has more than 1 MB, the limit." in page.inner_text("[data-too-large]")
    assert page.is_disabled("text=Upload and check")
    small = tmp_path / "small.jsonl"
    small.write_text(json.dumps(claim(1)) + "\n", encoding="utf-8")
    page.set_input_files("#id_file", str(small))
    assert page.is_enabled("text=Upload and check")
    assert page.complaints == []
