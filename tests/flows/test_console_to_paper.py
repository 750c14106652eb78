"""As a new lab would: from an empty installation to the same measures on another server.

Everything a page can do is done in Chromium; the sittings of four of the five participants are
played through the same pages without JavaScript.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from studyapp.simulation.pages import Visitor
from tests.flows.site import Site
from tests.shared_data import DATA, needs_data

pytestmark = [pytest.mark.browser, needs_data]

N_CLAIMS = 100
PASSWORD = "paper, ink and one accent"
ANSWERS = ("supported", "refuted", "cant_decide")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    site = Site(tmp_path / "lab")
    yield site
    site.close()


@pytest.fixture
def claims(tmp_path: Path) -> Path:
    """The first claims of the open WiCE file that say supported or refuted, as they are."""
    lines = (DATA / "wice_open.jsonl").read_text(encoding="utf-8").splitlines()[:N_CLAIMS]
    file = tmp_path / "wice.jsonl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def log_in(site: Site, page: Page, server: str) -> None:
    """The first account comes from the command line; its link sets the password."""
    link = site.manage("create_researcher", "ann").stdout.strip()
    page.goto(server + link[link.index("/", len("https://")) :])
    page.fill("#id_new_password1", PASSWORD)
    page.fill("#id_new_password2", PASSWORD)
    page.click("button.primary")
    page.goto(f"{server}/")
    if page.locator("#id_username").count():
        page.fill("#id_username", "ann")
        page.fill("#id_password", PASSWORD)
        page.click("button.primary")
    expect(page.get_by_text("No study yet")).to_be_visible()


def set_up(page: Page, claims: Path) -> None:
    """Every step of the set-up, up to the review."""
    page.click("text=New study")
    page.fill("#id_title", "WiCE pilot")
    page.click("text=Create the study")
    page.fill("#id_contact", "ann@example.org")
    go_on(page)
    page.set_input_files("#id_file", str(claims))
    page.click("text=Upload and check")
    expect(page.locator(".notice.good")).to_contain_text(f"{N_CLAIMS} claims imported")
    page.click("text=Next: Conditions")
    for method in ("coverage", "coverage_selection"):
        page.click(f'a:has(code:text-is("{method}"))')
        page.click("text=Add the condition")
    page.click("text=Next: Schedule")
    page.fill("#id_subsets", "5")
    page.click("text=Show the balance")
    expect(page.locator(".setup-page")).to_contain_text("5 participants, 200 trials")
    page.click("text=Lay out and go on")
    go_on(page)  # sitting
    go_on(page)  # questionnaire
    page.fill("#id_id_parameter", "PROLIFIC_PID")
    go_on(page)
    page.fill("#id_return_url", "https://app.prolific.com/submissions/complete?cc={code}")
    page.click('button:text-is("Save")')
    go_on(page)
    page.fill("#id_exclusion_rule", "Nobody is left out.")
    go_on(page)


def go_on(page: Page) -> None:
    page.click('button:text-is("Save and go on")')


def precompute_and_open(page: Page, server: str) -> None:
    page.goto(f"{server}/studies/wice-pilot/")
    page.click("text=/^Prepare/")
    expect(page.locator("#rankings")).to_contain_text("All 200 are stored", timeout=60_000)
    page.goto(f"{server}/studies/wice-pilot/setup/review/")
    page.click("text=Open the study")
    expect(page.locator(".chip").first).to_have_text("Open")


def play(link: str, number: int, *, most: int = 99) -> str:
    """One participant's trials without JavaScript, answers told by the number alone.

    Returns the text of the last page.
    """
    visitor = Visitor(link.partition("/p/")[0])
    try:
        page = visitor.get(link)
        page = visitor.submit(page, "join", consent="yes")
        page = visitor.submit(page, "begin")
        for trial in range(most):
            if "decide" not in page.forms:
                break
            for _ in range((trial * number) % 3):
                if "reveal" in page.forms:
                    page = visitor.submit(page, "reveal")
            answer = ANSWERS[(trial + number) % 7 % 3]
            page = visitor.submit(page, "decide", decision=answer)
        return page.text
    finally:
        visitor.close()


def play_in_browser(page: Page, link: str) -> None:
    """One participant's forty trials as a person does them, to the code."""
    page.goto(link)
    page.get_by_label("I agree to take part").check()
    page.get_by_role("button", name="Take part").click()
    page.get_by_role("button", name="Begin").click()
    for trial in range(1, 41):
        expect(page.locator("body")).to_contain_text(f"Trial {trial} of 40")
        if trial % 4 == 0 and page.get_by_role("button", name="Show next sentence").count():
            shown = page.locator("#sentences li").count()
            page.get_by_role("button", name="Show next sentence").click()
            expect(page.locator("#sentences li")).to_have_count(shown + 1)
        page.get_by_role("radio", name=["Supported", "Refuted"][trial % 2], exact=True).check()
        page.get_by_role("button", name="Confirm").click()


def document(site: Site, archive: Path, folder: Path) -> dict[str, Any]:
    with zipfile.ZipFile(archive) as export:
        export.extractall(folder)
    measured = site.run(
        "-m", "analysis", "measures", folder / "trials.csv", "--study", folder / "study.json",
        "--events", folder / "events.csv", "--json",
    )  # fmt: skip
    return json.loads(measured.stdout)


def given_back(page: Page, server: str, pseudonym: str) -> None:
    """The researcher marks a run as returned at the monitor, and is told what that does."""
    page.goto(f"{server}/studies/wice-pilot/monitor/")
    page.click(f"#return-{pseudonym}")
    page.click("main button.primary, main button.danger")
    expect(page.locator(".notice.good")).to_contain_text(pseudonym)


def downloaded(page: Page, server: str, folder: Path) -> Path:
    """An export made by a worker and downloaded."""
    page.goto(f"{server}/studies/wice-pilot/exports/")
    page.click("#export-make")
    link = page.locator('#exports a:has-text("Download")').first
    expect(link).to_be_visible(timeout=60_000)
    with page.expect_download() as download:
        link.click()
    archive = folder / "wice-pilot.zip"
    download.value.save_as(archive)
    return archive


def imported(page: Page, server: str, archive: Path) -> None:
    """The study again, with its data, through the page that takes exports."""
    page.goto(f"{server}/new/from-export/")
    page.set_input_files("#id_file", str(archive))
    page.check("#id_with_data")
    page.click("text=Import the study")
    expect(page.locator(".notice.good").first).to_contain_text("6 participants and 203 trials")


def test_from_an_empty_installation_to_the_same_measures_elsewhere(
    site: Site, claims: Path, browser: Any, tmp_path: Path
) -> None:
    site.start_worker()
    _, server = site.start_web()
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.set_default_timeout(15_000)
    log_in(site, page, server)
    set_up(page, claims)
    precompute_and_open(page, server)
    link = page.input_value("#study-link")
    assert "PROLIFIC_PID={{%PROLIFIC_PID%}}" in link
    link = server + link[link.index("/p/") :].replace("{{%PROLIFIC_PID%}}", "{}")

    assert "Show next sentence" in play(link.format("5f0000000000000000000001"), 1, most=2)
    first = site.ask("print(Participant.objects.get().code)")
    given_back(page, server, first)
    gone = Visitor(server).get(link.format("5f0000000000000000000001")).text
    assert "This study was returned" in gone

    sitter = browser.new_context().new_page()
    play_in_browser(sitter, link.format("5f0000000000000000000002"))
    code = site.ask("print(Study.objects.get().completion_code)")
    expect(sitter.locator("body")).to_contain_text(code)
    for number in range(3, 7):
        assert code in play(link.format(f"5f000000000000000000000{number}"), number)
    full = Visitor(server).get(link.format("5f0000000000000000000007"))
    assert "Every place is taken" in Visitor(server).submit(full, "join", consent="yes").text

    page.goto(f"{server}/studies/wice-pilot/monitor/")
    states = page.inner_text("table.states")
    assert "Completed\t5" in states
    assert "Returned\t1" in states

    archive = downloaded(page, server, tmp_path)
    before = document(site, archive, tmp_path / "before")
    cells = before["balance"]
    assert (cells["cells_with_one_trial"], cells["cells_empty"]) == (200, 0)
    assert b"5f00000000000000" not in b"".join(
        path.read_bytes() for path in (tmp_path / "before").iterdir()
    )

    other = Site(tmp_path / "elsewhere")
    try:
        _, elsewhere = other.start_web()
        log_in(other, page, elsewhere)
        imported(page, elsewhere, archive)
        again = tmp_path / "again.zip"
        other.manage("export_study", "wice-pilot", "-o", again)
        assert document(other, again, tmp_path / "after") == before
    finally:
        other.close()
