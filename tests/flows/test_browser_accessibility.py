"""Accessibility of every participant page in a real browser: axe-core, keyboard, zoom, spacing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from studyapp.models import VerificationAnswer
from tests import backends, factories
from tests.flows.participant_states import SENTENCES, STATES
from tests.flows.visits import Visit, visit

__all__ = ["visit"]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        backends.BACKEND != "sqlite", reason="how pages look does not depend on the database"
    ),
]

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
    "failed checks and leading back": {"meta-refresh"},
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


# ---- the keyboard --------------------------------------------------------------------------------

#: What has the focus: its name, its ring, and which of its middle points (centre and edges) are
#: seen or covered. A point outside the window is neither.
FOCUSED = """() => {
    const element = document.activeElement;
    if (element === document.body || element.id === "main") return null;
    const isChoice = element.matches(".choice input");
    const target = isChoice ? element.nextElementSibling : element;
    const ring = getComputedStyle(target);
    const box = target.getClientRects()[0];
    const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
    const points = [
        [x, y], [x, box.top + 2], [x, box.bottom - 2], [box.left + 2, y], [box.right - 2, y],
    ];
    const hits = points.map(point => document.elementFromPoint(...point)).filter(hit => hit);
    const isOurs = hit => target.contains(hit) || hit === element;
    return {
        name: element.outerHTML.slice(0, 120),
        ring: `${ring.outlineStyle} ${ring.outlineWidth} ${ring.outlineOffset}`,
        n_seen: hits.filter(isOurs).length,
        n_covered: hits.filter(hit => !isOurs(hit)).length,
    };
}"""

ZOOMED = {"width": 640, "height": 400}  # 1280 by 800 at 200 %


def focus_stops(page: Page, key: str) -> list[dict[str, Any]]:
    """What ``key`` (Tab or Shift+Tab) leads to, once round the page."""
    stops: list[dict[str, Any]] = []
    for _ in range(40):
        page.keyboard.press(key)
        page.evaluate(DRAWN)
        stop = page.evaluate(FOCUSED)
        if stops and (stop is None or stop["name"] == stops[0]["name"]):
            return stops
        if stop is not None:
            stops.append(stop)
    raise AssertionError(f"{key} does not come round: {stops}")


@pytest.mark.parametrize("name", STATES)
def test_the_focus_shows_its_ring_and_is_never_covered_in(
    visit: Callable[..., Visit], name: str
) -> None:
    me = visit(viewport=DESK, reduced_motion="reduce")
    STATES[name](me)
    found = []
    for size, key in product((ZOOMED, PHONE), ("Tab", "Shift+Tab")):
        me.page.set_viewport_size(size)
        me.page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
        me.page.evaluate(DRAWN)
        found += [
            f"{size['width']} px, {key}: {stop}"
            for stop in focus_stops(me.page, key)
            if stop["ring"] != "solid 3px 2px" or stop["n_covered"] or not stop["n_seen"]
        ]
    assert not found, "\n".join(found)


def test_a_whole_sitting_needs_no_mouse(visit: Callable[..., Visit]) -> None:
    study = factories.open_study()
    me = visit()
    page, keys = me.page, me.page.keyboard

    def tab_to(name: str) -> None:
        for _ in range(15):
            keys.press("Tab")
            if page.evaluate("document.activeElement.closest('label, a, button')?.textContent") in (
                name,
                f"{name} ",
            ):
                return
        raise AssertionError(f"Tab does not lead to {name}")

    page.goto(f"{me.server}/p/{study.code}/")
    tab_to("I have read this, and I agree to take part.")
    keys.press("Space")
    tab_to("Take part")
    keys.press("Enter")
    expect(page.get_by_role("heading", name="Before you begin")).to_be_visible()
    tab_to("Begin")
    keys.press("Enter")
    for number in range(1, 5):
        expect(page.get_by_text(f"Trial {number} of 4")).to_be_visible()
        expect(page.get_by_role("heading", level=1)).to_be_focused()
        tab_to("Supported")
        keys.press("ArrowRight")
        tab_to("Confirm: Refuted")
        keys.press("Enter")
    expect(page.get_by_text(study.completion_code)).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    assert set(VerificationAnswer.objects.values_list("decision", flat=True)) == {"refuted"}


KEYS = [
    "Enter",
    "Space",
    "Escape",
    "Backspace",
    "1",
    "2",
    "3",
    "s",
    "r",
    "c",
    "y",
    "n",
    "ArrowDown",
]


@pytest.mark.parametrize(
    "name", [name for name in STATES if name.startswith("trial") and "chosen" not in name]
)
def test_no_single_key_away_from_the_answers_ends_a(visit: Callable[..., Visit], name: str) -> None:
    me = visit()
    STATES[name](me)
    asked: list[str] = []
    me.page.on("request", lambda request: asked.append(request.url))
    for start in ("document.activeElement.blur()", "document.querySelector('h1').focus()"):
        for key in KEYS:
            me.page.evaluate(start)
            me.page.keyboard.press(key)
    me.page.wait_for_timeout(200)
    assert [url for url in asked if not url.endswith("/seen")] == []
    assert VerificationAnswer.objects.count() == 0


def test_enter_on_an_answer_that_is_not_chosen_sends_nothing(visit: Callable[..., Visit]) -> None:
    me = visit()
    STATES["trial with its first sentence"](me)
    me.page.get_by_role("radio", name="Supported").focus()
    me.page.keyboard.press("Enter")
    me.page.wait_for_timeout(200)
    assert VerificationAnswer.objects.count() == 0


@pytest.mark.parametrize("script", [True, False])
def test_enter_on_the_confidence_decides_nothing_where_the_answers_are_the_buttons(
    visit: Callable[..., Visit], script: bool
) -> None:
    me = visit(java_script_enabled=script)
    STATES["trial with confidence and without confirmation"](me)
    me.page.get_by_role("radio", name="4").check()
    me.page.keyboard.press("Enter")
    expect(me.page.get_by_text("Choose")).to_be_visible()
    expect(me.page.get_by_role("radio", name="4")).to_be_checked()
    assert VerificationAnswer.objects.count() == 0


# ---- what is announced and what moves ------------------------------------------------------------

#: Collects what appears inside live regions, as a screen reader is told.
LISTEN = """() => {
    window.heard = [];
    new MutationObserver(changes => {
        for (const change of changes) {
            if (!change.target.closest("[aria-live], [role=status], [role=alert]")) continue;
            for (const node of change.addedNodes)
                if (node.textContent.trim()) window.heard.push(node.textContent.trim());
        }
    }).observe(document.body, {childList: true, subtree: true});
}"""


def test_each_new_sentence_is_announced_once_and_nothing_else_is(
    visit: Callable[..., Visit],
) -> None:
    me = visit()
    STATES["trial with its first sentence"](me)
    me.page.evaluate(LISTEN)
    for count in (2, 3, 4, 5):
        me.next_button.click()
        expect(me.sentences).to_have_count(count)
    assert me.page.evaluate("window.heard") == [
        f"{sentence}from: Lindholm" for sentence in SENTENCES[1:]
    ]


def test_what_is_not_saved_is_announced(visit: Callable[..., Visit]) -> None:
    me = visit()
    STATES["trial with its first sentence"](me)
    me.page.evaluate(LISTEN)
    me.page.route("**/reveal", lambda route: route.abort())
    me.next_button.click()
    expect(me.page.get_by_text("Not saved yet.")).to_be_visible()
    assert me.page.evaluate("window.heard[0]").startswith("Not saved yet. Trying again …")


@pytest.mark.parametrize(("motion", "n_moving"), [("reduce", 0), ("no-preference", 1)])
def test_the_new_sentence_fades_in_only_for_who_has_not_asked_for_less_motion(
    visit: Callable[..., Visit], motion: str, n_moving: int
) -> None:
    me = visit(reduced_motion=motion)
    STATES["trial with its first sentence"](me)
    me.next_button.click()
    expect(me.sentences).to_have_count(2)
    running = "document.querySelector('#sentences li:last-child').getAnimations().length"
    assert me.page.evaluate(running) == n_moving


# ---- room: zoom, spacing, targets ----------------------------------------------------------------

#: The spacing of WCAG 1.4.12, as a reader's own style would set it.
SPACED = """() => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(`* {
        line-height: 1.5 !important; letter-spacing: 0.12em !important;
        word-spacing: 0.16em !important;
    }
    p { margin-block-end: 2em !important; }`);
    document.adoptedStyleSheets = [sheet];
}"""

#: Elements whose text does not fit into them.
CLIPPED = """() => [...document.querySelectorAll(".choice > span, button, .button, p, li, h1")]
    .filter(element => element.checkVisibility() && !element.closest(".visually-hidden"))
    .filter(element => element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0
        && getComputedStyle(element).display !== "inline")
    .map(element => element.outerHTML.slice(0, 120))"""

#: Visible targets smaller than the given size, apart from links inside a sentence.
SMALL = """([width, height]) => [...document.querySelectorAll("a, button, input, textarea")]
    .filter(element => element.checkVisibility() && element.type !== "hidden")
    .map(element => element.closest("label:has(input)") ?? element)
    .filter(element => !element.matches(".skip-link"))
    .filter(element => getComputedStyle(element).display !== "inline")
    .filter(element => {
        const box = element.getBoundingClientRect();
        return box.width < width || box.height < height;
    })
    .map(element => element.outerHTML.slice(0, 120))"""


@pytest.mark.parametrize("name", STATES)
def test_there_is_room_for_everything_at_any_zoom_and_spacing_in(
    visit: Callable[..., Visit], name: str
) -> None:
    me = visit(viewport=DESK, reduced_motion="reduce")
    STATES[name](me)
    reflowed = {"width": 320, "height": 256}  # 1280 by 1024 at 400 %
    found = []
    for spacing in ("plain", "spaced"):
        for size in (DESK, ZOOMED, PHONE, reflowed):
            me.page.set_viewport_size(size)
            me.page.evaluate(DRAWN)
            view = f"{size['width']} by {size['height']}, {spacing}"
            if (beyond := me.width_beyond_the_window()) > 0:
                found.append(f"{view}: {beyond} px wider than the window")
            found += [f"{view}: clipped {element}" for element in me.page.evaluate(CLIPPED)]
            # A point of a scale is a little narrower, so that the scale stays in one line.
            smallest = [24, 44] if size is PHONE else [24, 24]
            found += [f"{view}: small {one}" for one in me.page.evaluate(SMALL, smallest)]
        me.page.evaluate(SPACED)
    assert not found, "\n".join(found)
