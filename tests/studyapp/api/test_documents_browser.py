"""The API's page in a browser: it works under our policy and asks nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.flows.site import Site

pytestmark = [pytest.mark.browser]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server."""
    site = Site(tmp_path_factory.mktemp("site"))
    _, address = site.start_web()
    yield address
    site.close()


@pytest.mark.parametrize("width", [1280, 375])
def test_the_page_lists_operations_and_asks_only_our_server(
    base: str, browser: Any, width: int
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    complaints: list[str] = []
    addresses: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: addresses.append(request.url))
    page.goto(f"{base}/api/v1/docs/")
    page.locator(".opblock").first.wait_for()
    assert page.locator(".opblock").count() == 40
    page.locator(".opblock-summary-control").first.click()
    page.locator(".opblock .execute").first.click()
    page.get_by_text("not_authenticated").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert [one for one in addresses if not one.startswith((base, "data:"))] == []
    # The one thing the browser notes is the refusal we asked for.
    assert [text for text in complaints if "401" not in text] == []
    context.close()
