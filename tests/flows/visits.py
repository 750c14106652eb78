"""A participant's browser for the tests of the pages: clicks, and a record of all that arrived."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, Response, expect

from studyapp.enums import Interface
from studyapp.models import Enrolment, Study, Trial
from tests import factories

NEXT = "Show next sentence"


class Visit:
    """One page of one browser, with everything that arrived and everything it complained of."""

    def __init__(self, context: BrowserContext, server: str):
        self.context = context
        self.server = server
        self.page: Page = context.new_page()
        self.complaints: list[str] = []
        self._responses: list[Response] = []
        self._kept: list[str] = []
        self.page.on("response", lambda response: self._responses.append(response))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on(
            "console",
            lambda line: self.complaints.append(line.text) if line.type == "error" else None,
        )

    def arrived(self) -> str:
        """All text received so far: addresses, heads and bodies.

        To be called before a page is left, because the browser then forgets its bodies.
        """
        while self._responses:
            response = self._responses.pop(0)
            self._kept += [response.url, str(response.all_headers())]
            if response.status not in (204, 302, 303):
                self._kept.append(response.text())
        return "\n".join(self._kept)

    def join(self, study: Study) -> Enrolment:
        """From the study's link to the instructions."""
        self.page.goto(f"{self.server}/p/{study.code}/")
        self.page.get_by_label("I agree to take part").check()
        self.arrived()
        self.page.get_by_role("button", name="Take part").click()
        expect(self.page.get_by_role("heading", name="Before you begin")).to_be_visible()
        return Enrolment.objects.order_by("-pk")[0]

    def open_run(self, enrolment: Enrolment) -> None:
        self.page.goto(f"{self.server}/p/{enrolment.slot.study.code}/r/{enrolment.token}/")

    @property
    def sentences(self) -> Any:
        return self.page.locator("#sentences li")

    @property
    def next_button(self) -> Any:
        return self.page.get_by_role("button", name=NEXT)

    def decide(self, answer: str) -> None:
        # The radio covers its whole button and is what a finger hits.
        self.page.get_by_role("radio", name=answer).check()
        self.page.get_by_role("button", name="Confirm").click()

    def width_beyond_the_window(self) -> int:
        return self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")


@pytest.fixture
def visit(committed_db: None, live_server: Any, browser: Any) -> Iterator[Callable[..., Visit]]:
    """Opens browsers, each with its own cookies; they are closed at the end."""
    contexts: list[BrowserContext] = []

    def open_one(**options: Any) -> Visit:
        contexts.append(browser.new_context(**options))
        contexts[-1].set_default_timeout(10_000)
        return Visit(contexts[-1], live_server.url)

    yield open_one
    for context in contexts:
        context.close()


@pytest.fixture
def incremental(visit: Callable[..., Visit]) -> tuple[Visit, Trial]:
    """A browser that shows an incremental trial with one sentence."""
    enrolment, trial = factories.started_in(factories.open_study(), Interface.INCREMENTAL)
    opened = visit()
    opened.open_run(enrolment)
    expect(opened.sentences).to_have_count(1)
    return opened, trial
