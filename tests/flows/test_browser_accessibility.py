"""Accessibility of every participant page in a real browser: axe-core, keyboard, zoom, spacing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.flows.participant_states import STATES
from tests.flows.visits import Visit, visit

__all__ = ["visit"]

pytestmark = pytest.mark.browser

AXE = Path(__file__).parent.parent / "vendor" / "axe-core" / "axe.min.js"
#: The success criteria up to WCAG 2.2 AA, and what axe calls best practice.
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
#: With forced colours the contrast is the system's, and axe sees colours that are not drawn
#: (``-webkit-text-fill-color``, which Chromium computes from the page's own).
RUN_AXE = """tags => axe.run(document, {
    runOnly: tags,
    resultTypes: ["violations"],
    rules: {"color-contrast": {enabled: !matchMedia("(forced-colors: active)").matches}},
}).then(result => result.violations)"""

#: What a state is allowed, and why.
ALLOWED = {
    # The page says so, waits 20 seconds and more, and has a link that keeps it.
    "finished and leading back": {"meta-refresh"},
}
#: Until a change of the window or of the colours is drawn; before, axe reads old colours.
DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))"

DESK, PHONE = {"width": 1280, "height": 800}, {"width": 320, "height": 568}


def views(page: Page) -> Iterator[str]:
    """The page light and dark, wide and narrow, with and without forced colours; yields a name."""
    looks = product((DESK, PHONE), ("light", "dark"), ("none", "active"))
    for size, scheme, forced in looks:
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=scheme, forced_colors=forced, reduced_motion="reduce")
        page.evaluate(DRAWN)
        yield f"{size['width']} px, {scheme}, forced colours {forced}"


def faults_of(violations: list[dict[str, Any]], allowed: set[str]) -> list[str]:
    """One line a node: rule, element, and what axe says about it."""
    return [
        f"{violation['id']}: {node['html'][:160]} :: {node['failureSummary']}"
        for violation in violations
        for node in violation["nodes"]
        if violation["id"] not in allowed
    ]


@pytest.mark.parametrize("name", STATES)
def test_axe_finds_no_fault_in_any_view_of(visit: Callable[..., Visit], name: str) -> None:
    me = visit(viewport=DESK)
    STATES[name](me)
    me.page.evaluate(AXE.read_text(encoding="utf-8"))
    found = [
        f"{view}: {fault}"
        for view in views(me.page)
        for fault in faults_of(me.page.evaluate(RUN_AXE, TAGS), ALLOWED.get(name, set()))
    ]
    assert not found, "\n".join(found)
