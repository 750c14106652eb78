"""Bad networks, hasty hands and odd browsers: what the page says is what the database holds.

Tests named after a known fault of such platforms begin with the symptom; those that need no
browser are in tests/studyapp/views/test_known_faults_participants.py.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import Dialog, Page, Request, Route, expect

from studyapp.domain import lifecycle, schedule
from studyapp.domain.export_times import replay
from studyapp.enums import EnrolmentState, Interface, TrialState
from studyapp.models import (
    Candidate,
    Claim,
    Enrolment,
    QuestionnaireAnswer,
    Study,
    Trial,
    VerificationAnswer,
)
from tests import factories
from tests.flows.site import wait_for
from tests.flows.visits import NEXT, Visit, incremental, visit

__all__ = ["incremental", "visit"]

pytestmark = pytest.mark.browser

TRYING = "Not saved yet. Trying again"
OFFLINE = "Not saved yet: you seem to be offline."
FAILED = "Not saved. Something went wrong"
WRITES = re.compile(r"/(reveal|decide)$")
ANSWERS = ["Supported", "Refuted", "Can't decide", "Supported"]
STORED_AS = {"Supported": "supported", "Refuted": "refuted", "Can't decide": "cant_decide"}
#: Of the browser's developer tools: what they call slow 3G.
SLOW_3G = {
    "offline": False,
    "latency": 400,
    "downloadThroughput": 50_000,
    "uploadThroughput": 50_000,
}


def said_and_stored_agree(enrolment: Enrolment, said: list[tuple[int, str]]) -> None:
    """``said``: how many sentences stood on the page, and what was confirmed, trial by trial."""
    enrolment.refresh_from_db()
    trials = Trial.objects.filter(enrolment=enrolment).order_by("position")
    answers = trials.values_list("verification_answer__n_shown", "verification_answer__decision")
    assert list(answers) == [(n, STORED_AS[answer]) for n, answer in said]
    for trial in trials:
        kinds = list(trial.events.order_by("seq").values_list("kind", "step"))
        assert [step for kind, step in kinds if kind == "reveal"] == list(
            range(1, trial.n_steps + 1)
        )
        assert sum(kind == "decision_submitted" for kind, _ in kinds) == 1
    assert enrolment.state == EnrolmentState.COMPLETED


def tries(
    page: Page, pattern: str | re.Pattern[str], answer: Callable[[Route, int], None]
) -> list[Request]:
    """Answer requests by hand: ``answer`` gets the route and its number from 1."""
    seen: list[Request] = []

    def handle(route: Route) -> None:
        seen.append(route.request)
        answer(route, len(seen))

    page.route(pattern, handle)
    return seen


def lose_each_first(route: Route, number: int) -> None:
    """The server stores it, but its answer is lost; the repetition gets through."""
    if number % 2:
        route.fetch()
        route.abort()
    else:
        route.continue_()


def refuse_each_first(route: Route, number: int) -> None:
    if number % 2:
        route.fulfill(status=503, body="<h1>Service unavailable</h1>")
    else:
        route.continue_()


def slow_network(me: Visit) -> None:
    session = me.context.new_cdp_session(me.page)
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", SLOW_3G)


CONDITIONS: dict[str, Callable[[Visit], list[Request] | None]] = {
    "a good network": lambda me: None,
    "slow 3G": slow_network,
    "each first answer is lost": lambda me: tries(me.page, WRITES, lose_each_first),
    "each first request meets a 503": lambda me: tries(me.page, WRITES, refuse_each_first),
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_whole_sitting_agrees_with_the_database(
    visit: Callable[..., Visit], condition: str
) -> None:
    study = factories.open_study()
    me = visit()
    enrolment = me.join(study)
    seen = CONDITIONS[condition](me)
    me.page.get_by_role("button", name="Begin").click()
    said = []
    for number, answer in enumerate(ANSWERS, 1):
        expect(me.page.get_by_text(f"Trial {number} of 4")).to_be_visible()
        trial = Trial.objects.get(enrolment=enrolment, state=TrialState.OPEN)
        n_shown = trial.n_steps
        if trial.condition.is_incremental:
            for n_shown in (2, 3):
                me.next_button.click()
                expect(me.sentences).to_have_count(n_shown)
        expect(me.page.get_by_text(TRYING)).to_have_count(0)
        me.decide(answer)
        said.append((n_shown, answer))
    expect(me.page.get_by_text(study.completion_code)).to_be_visible()
    # Two incremental trials with two reveals each, four decisions, each of them twice.
    assert seen is None or len(seen) == 2 * (2 * 2 + 4)
    said_and_stored_agree(enrolment, said)


def test_r001_offline_nothing_appears_that_is_not_stored_and_coming_back_goes_on(
    incremental: tuple[Visit, Trial],
) -> None:
    """A press without a network showed a sentence that was never recorded, or lost the press."""
    me, trial = incremental
    for count in (2, 3):
        me.next_button.click()
        expect(me.sentences).to_have_count(count)
    me.context.set_offline(True)
    me.next_button.click()
    expect(me.page.get_by_text(OFFLINE)).to_be_visible()
    expect(me.next_button).to_be_disabled()
    me.page.wait_for_timeout(3500)
    expect(me.sentences).to_have_count(3)
    trial.refresh_from_db()
    assert trial.n_steps == 3
    # Tries were made at once and after 1 and 3 s; by itself the next one comes after 7 s.
    with me.page.expect_response("**/reveal", timeout=1500):
        me.context.set_offline(False)
    expect(me.sentences).to_have_count(4)
    expect(me.page.locator(".unsaved button")).to_have_count(0)
    expect(me.next_button).to_be_focused()
    trial.refresh_from_db()
    steps = trial.events.filter(kind="reveal").order_by("seq").values_list("step", flat=True)
    assert (trial.n_steps, list(steps)) == (4, [1, 2, 3, 4])


def test_tries_come_after_growing_pauses_and_are_the_same_request(
    visit: Callable[..., Visit],
) -> None:
    enrolment, _ = factories.started(factories.open_study())
    me = visit()
    me.page.clock.install()
    me.open_run(enrolment)
    seen = tries(me.page, "**/decide", lambda route, _: route.fulfill(status=503))
    me.page.clock.pause_at(me.page.evaluate("Date.now() + 1000"))
    me.decide("Refuted")
    expect(me.page.get_by_text(TRYING)).to_be_visible()
    for number, pause in enumerate([1000, 2000, 4000, 8000, 15_000, 15_000], 1):
        me.page.clock.run_for(pause - 1)
        assert len(seen) == number
        with me.page.expect_response("**/decide"):
            me.page.clock.run_for(1)
        expect(me.page.get_by_role("button", name="Confirm")).to_be_disabled()
        expect(me.page.get_by_role("button", name="Try now")).to_be_enabled()
        expect(me.page.get_by_role("radio", name="Supported")).to_be_disabled()
    assert len({request.post_data for request in seen}) == 1
    assert VerificationAnswer.objects.count() == 0
    me.page.unroute("**/decide")
    me.page.get_by_role("button", name="Try now").click()
    expect(me.page.get_by_text("Trial 2 of 4")).to_be_visible()
    assert VerificationAnswer.objects.get().decision == "refuted"


def test_a_server_that_never_answers_is_asked_again_after_twenty_seconds(
    incremental: tuple[Visit, Trial],
) -> None:
    me, trial = incremental
    # The browser's own waiting is shortened; how long the page wanted to wait is noted.
    me.page.add_init_script("""
        window.waits = [];
        const send = XMLHttpRequest.prototype.send;
        XMLHttpRequest.prototype.send = function (body) {
            window.waits.push(this.timeout);
            this.timeout = 300;
            send.call(this, body);
        };
    """)
    me.page.reload()
    held = tries(
        me.page, "**/reveal", lambda route, number: route.continue_() if number > 1 else None
    )
    me.next_button.click()
    expect(me.page.get_by_text(TRYING)).to_be_visible()
    expect(me.sentences).to_have_count(2)
    assert len(held) == 2
    assert me.page.evaluate("window.waits") == [20_000, 20_000]
    trial.refresh_from_db()
    assert trial.n_steps == 2


def test_begin_and_the_last_questions_are_sent_again_as_well(visit: Callable[..., Visit]) -> None:
    questions = [{"name": "note", "text": "Anything else?", "kind": "text"}]
    study = factories.sitting_study(
        2, n_subsets=2, sitting={"break_every": 0, "questionnaire": questions}
    )
    me = visit()
    me.join(study)
    seen = tries(me.page, re.compile(r"/(begin|questionnaire)$"), refuse_each_first)
    me.page.get_by_role("button", name="Begin").click()
    for number in (1, 2):
        expect(me.page.get_by_text(f"Trial {number} of 2")).to_be_visible()
        me.decide("Refuted")
    note = me.page.get_by_label("Anything else?")
    note.fill("All was well.")
    me.page.get_by_role("button", name="Send and finish").click()
    expect(me.page.get_by_text(TRYING)).to_be_visible()
    expect(note).to_be_disabled()
    expect(me.page.get_by_text(study.completion_code)).to_be_visible()
    assert len(seen) == 4
    assert list(QuestionnaireAnswer.objects.values_list("name", "value")) == [
        ("note", "All was well.")
    ]


@pytest.mark.parametrize("status", [400, 403, 408, 413, 429, 500, 200])
def test_an_answer_that_is_not_the_study_s_is_neither_shown_nor_asked_for_again(
    incremental: tuple[Visit, Trial], status: int
) -> None:
    """Proxies and hotspots answer with pages of their own, some of them with 200."""
    me, trial = incremental
    seen = tries(me.page, "**/reveal", lambda route, _: route.fulfill(status=status, body="<b>no"))
    me.next_button.click()
    expect(me.page.get_by_text(FAILED)).to_be_visible()
    expect(me.next_button).to_be_enabled()
    expect(me.next_button).to_be_focused()
    me.page.wait_for_timeout(1300)
    assert len(seen) == 1
    assert me.page.locator("b").count() == 0
    me.page.unroute("**/reveal")
    me.next_button.click()
    expect(me.sentences).to_have_count(2)
    expect(me.page.get_by_text(FAILED)).to_have_count(0)
    trial.refresh_from_db()
    assert trial.n_steps == 2


def test_a_server_that_fails_from_the_second_trial_on_loses_nothing(
    visit: Callable[..., Visit],
) -> None:
    enrolment, first = factories.started(factories.open_study())
    me = visit()
    me.open_run(enrolment)
    me.decide("Supported")
    expect(me.page.get_by_text("Trial 2 of 4")).to_be_visible()
    said = [(first.n_steps, "Supported")]
    tries(me.page, WRITES, lambda route, _: route.fulfill(status=503))
    n_shown = me.sentences.count()
    me.decide("Refuted")
    expect(me.page.get_by_text(TRYING)).to_be_visible()
    assert VerificationAnswer.objects.count() == 1
    # A reload shows the truth: the second trial is not decided.
    me.page.once("dialog", lambda dialog: dialog.accept())
    me.page.reload()
    expect(me.page.get_by_text("Trial 2 of 4")).to_be_visible()
    assert me.page.locator("input:checked").count() == 0
    me.decide("Refuted")
    expect(me.page.get_by_text(TRYING)).to_be_visible()
    me.page.unroute(WRITES)
    expect(me.page.get_by_text("Trial 3 of 4")).to_be_visible()
    said.append((n_shown, "Refuted"))
    for number in (3, 4):
        expect(me.page.get_by_text(f"Trial {number} of 4")).to_be_visible()
        said.append((me.sentences.count(), "Can't decide"))
        me.decide("Can't decide")
    expect(me.page.get_by_text(first.enrolment.slot.study.completion_code)).to_be_visible()
    said_and_stored_agree(enrolment, said)


def closing_asks(me: Visit) -> bool:
    """Try to close the page, and stay if it asks."""
    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    me.page.once("dialog", stay)
    me.page.close(run_before_unload=True)
    me.page.wait_for_timeout(500) if not me.page.is_closed() else None
    return asked == ["beforeunload"]


def test_r003_leaving_asks_while_an_answer_is_unsaved(incremental: tuple[Visit, Trial]) -> None:
    """The tab was closed while the last answer was on its way, and nobody had been warned."""
    me, _ = incremental
    held: list[Route] = []
    me.page.route("**/decide", lambda route: held.append(route))
    me.decide("Supported")
    expect(me.page.get_by_role("button", name="Confirm")).to_be_disabled()
    assert closing_asks(me)
    held[0].abort()
    expect(me.page.get_by_text(TRYING)).to_be_visible()
    assert closing_asks(me)
    me.page.unroute("**/decide")
    me.page.get_by_role("button", name="Try now").click()
    expect(me.page.get_by_text("Trial 2 of 4")).to_be_visible()


def test_leaving_does_not_ask_while_all_is_saved(incremental: tuple[Visit, Trial]) -> None:
    me, _ = incremental
    asked: list[str] = []
    me.page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    me.next_button.click()
    expect(me.sentences).to_have_count(2)
    me.page.get_by_role("radio", name="Refuted").check()
    me.page.get_by_role("link", name="Help").click()
    me.page.go_back()
    expect(me.sentences).to_have_count(2)
    me.page.reload()
    assert asked == []


def test_r013_a_double_click_on_confirm_decides_one_trial(
    incremental: tuple[Visit, Trial],
) -> None:
    """The second click of a double click answered the next trial."""
    me, trial = incremental
    me.page.get_by_role("radio", name="Refuted").check()
    me.page.get_by_role("button", name="Confirm").dblclick(delay=10)
    expect(me.page.get_by_text("Trial 2 of 4")).to_be_visible()
    me.page.wait_for_timeout(300)
    assert me.page.locator("input:checked").count() == 0
    assert VerificationAnswer.objects.get().trial == trial
    assert Trial.objects.filter(enrolment=trial.enrolment).count() == 2


def test_r015_a_held_key_and_scripted_posts_do_not_add_up(
    incremental: tuple[Visit, Trial],
) -> None:
    """A held Enter, or requests beside the page's, showed several sentences."""
    me, trial = incremental
    me.page.route("**/reveal", lambda route: (me.page.wait_for_timeout(300), route.continue_()))
    me.next_button.focus()
    for _ in range(6):
        me.page.keyboard.down("Enter")
    me.page.keyboard.up("Enter")
    me.context.request.post(f"{me.page.url}t/{trial.code}/reveal", form={"rank": "2"})
    expect(me.sentences).to_have_count(2)
    me.page.wait_for_timeout(400)
    trial.refresh_from_db()
    assert (trial.n_steps, me.sentences.count()) == (2, 2)


def test_r017_a_reload_keeps_no_answer_chosen(incremental: tuple[Visit, Trial]) -> None:
    """The browser filled the next trial with the last trial's answer."""
    me, _ = incremental
    me.decide("Refuted")
    expect(me.page.get_by_text("Trial 2 of 4")).to_be_visible()
    me.page.get_by_role("radio", name="Refuted").check()
    me.page.reload()
    expect(me.page.get_by_text("Trial 2 of 4")).to_be_visible()
    assert me.page.locator("input:checked").count() == 0


def test_r019_back_and_forward_show_the_full_current_page(
    incremental: tuple[Visit, Trial],
) -> None:
    """Back showed a fragment without a style sheet, or the page as it had been."""
    me, trial = incremental
    for count in (2, 3):
        me.next_button.click()
        expect(me.sentences).to_have_count(count)
    me.page.get_by_role("link", name="Help").click()
    # Meanwhile a sentence is shown in another tab.
    me.context.request.post(
        f"{me.server}/p/{trial.enrolment.slot.study.code}/r/{trial.enrolment.token}"
        f"/t/{trial.code}/reveal",
        form={"rank": "4"},
    )
    for _ in range(2):
        me.page.go_back()
        expect(me.sentences).to_have_count(4)
        expect(me.page.get_by_role("navigation", name="Study")).to_be_visible()
        me.page.go_forward()
        expect(me.page.get_by_role("heading", name="What to do")).to_be_visible()


def test_r021_back_after_the_end_changes_nothing(visit: Callable[..., Visit]) -> None:
    """Back after the end offered the last trial again."""
    study = factories.open_study()
    me = visit()
    enrolment = me.join(study)
    me.page.get_by_role("button", name="Begin").click()
    said = []
    for number, answer in enumerate(ANSWERS, 1):
        expect(me.page.get_by_text(f"Trial {number} of 4")).to_be_visible()
        said.append((me.sentences.count(), answer))
        me.decide(answer)
    expect(me.page.get_by_text(study.completion_code)).to_be_visible()
    for move in (me.page.go_back, me.page.go_forward):
        move()
        expect(me.page.get_by_text(study.completion_code)).to_be_visible()
    said_and_stored_agree(enrolment, said)


def test_r023_five_tabs_at_once_make_one_history(incremental: tuple[Visit, Trial]) -> None:
    """Several tabs lost, repeated or skipped something."""
    me, trial = incremental
    enrolment = trial.enrolment
    tabs = [me, *(Visit(me.context, me.server) for _ in range(4))]
    for tab in tabs[1:]:
        tab.open_run(enrolment)
    # Each presses without waiting for the others: all are at one sentence.
    for tab in tabs:
        tab.page.evaluate("document.querySelector('#reveal button').click()")
    for tab in tabs:
        expect(tab.sentences).to_have_count(2)
    for tab, answer in zip(tabs, [*ANSWERS, "Refuted"], strict=True):
        tab.page.get_by_role("radio", name=answer).check()
    for tab in tabs:
        tab.page.evaluate("document.querySelector('#decide .confirm button').click()")
    for tab in tabs:
        expect(tab.page.get_by_text("Trial 2 of 4")).to_be_visible()
        assert tab.page.locator("input:checked").count() == 0
    trial.refresh_from_db()
    assert (trial.n_steps, trial.events.filter(kind="reveal").count()) == (2, 2)
    assert VerificationAnswer.objects.get().n_shown == 2
    assert Trial.objects.filter(enrolment=enrolment).count() == 2


def test_r009_deleted_cookies_and_a_second_browser_go_on(
    visit: Callable[..., Visit],
) -> None:
    """Without its cookie the run began anew."""
    study = factories.open_study()
    me = visit()
    enrolment = me.join(study)
    me.page.get_by_role("button", name="Begin").click()
    expect(me.page.get_by_text("Trial 1 of 4")).to_be_visible()
    said = [(me.sentences.count(), "Supported")]
    me.context.clear_cookies()
    me.decide("Supported")
    expect(me.page.get_by_text("Trial 2 of 4")).to_be_visible()
    other = visit()
    other.page.goto(me.page.url)
    for number in (2, 3, 4):
        expect(other.page.get_by_text(f"Trial {number} of 4")).to_be_visible()
        said.append((other.sentences.count(), "Refuted"))
        other.decide("Refuted")
    expect(other.page.get_by_text(study.completion_code)).to_be_visible()
    # The first browser is three trials behind and is told so.
    me.decide("Can't decide")
    expect(me.page.get_by_text(study.completion_code)).to_be_visible()
    said_and_stored_agree(enrolment, said)


def test_r103_a_clock_that_jumps_is_noticed_by_nobody(visit: Callable[..., Visit]) -> None:
    """A client clock set back made negative durations."""
    study = factories.open_study()
    me = visit()
    me.page.add_init_script("Date.now = () => 1e12")
    enrolment = me.join(study)
    me.page.get_by_role("button", name="Begin").click()
    for number in range(1, 5):
        expect(me.page.get_by_text(f"Trial {number} of 4")).to_be_visible()
        me.page.evaluate(f"Date.now = () => {10**12 - number * 3_600_000}")
        if me.next_button.count():
            me.next_button.click()
            expect(me.sentences).to_have_count(2)
        me.decide("Supported")
    expect(me.page.get_by_text(study.completion_code)).to_be_visible()
    for trial in Trial.objects.filter(enrolment=enrolment):
        events = list(trial.events.order_by("seq").values_list("server_at", "client_ms"))
        clocks = [clock for _, clock in events if clock is not None]
        assert clocks == sorted(clocks)
        assert all(0 <= clock < 60_000 for clock in clocks)
        assert [at for at, _ in events] == sorted(at for at, _ in events)


def test_r109_scripts_in_texts_and_ids_do_not_run(visit: Callable[..., Visit]) -> None:
    """An imported text ran as a script."""
    script = (
        "</script><script>document.title='ran'</script><img src=x onerror=\"document.title=1\">"
    )
    study = factories.ready_study()
    Claim.objects.update(text=script)
    Candidate.objects.update(text=script, title=script)
    enrolment, _ = factories.started_in(lifecycle.open_study(study), Interface.INCREMENTAL)
    me = visit()
    me.open_run(enrolment)
    me.next_button.click()
    expect(me.sentences).to_have_count(2)
    assert me.page.locator(".claim-text").inner_text() == script
    assert me.page.locator(".sentence").all_inner_texts() == [script] * 2
    assert me.page.title() == study.title
    assert me.complaints == []


def test_r111_nothing_of_a_run_stays_in_the_browser(incremental: tuple[Visit, Trial]) -> None:
    """Storage and history kept claims, sentences and answers on a shared computer."""
    me, trial = incremental
    order = trial.stimulus["order"]
    texts = dict(trial.claim.candidates.values_list("position", "text"))
    for n_shown in (1, 2, 3):
        arrived = me.arrived()
        assert {p for p in order if texts[p] in arrived} == set(order[:n_shown])
        me.next_button.click()
        expect(me.sentences).to_have_count(n_shown + 1)
    me.decide("Refuted")
    expect(me.page.get_by_text("Trial 2 of 4")).to_be_visible()
    kept = me.page.evaluate(
        "async () => [localStorage.length, sessionStorage.length, history.state,"
        " (await indexedDB.databases()).length, document.cookie]"
    )
    assert kept == [0, 0, None, 0, ""]
    session = me.context.new_cdp_session(me.page)
    entries = session.send("Page.getNavigationHistory")["entries"]
    study = trial.enrolment.slot.study
    visited = [(entry["url"], entry["title"]) for entry in entries if "/p/" in entry["url"]]
    assert visited == [(me.page.url, study.title)]
    assert me.page.url == f"{me.server}/p/{study.code}/r/{trial.enrolment.token}/"


@contextmanager
def framing_site(address: str) -> Iterator[str]:
    """A site of another name and port whose only page frames ``address``."""
    page = f'<!doctype html><title>Recruiter</title><iframe src="{address}" width=900 height=700>'

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()


def test_r119_in_a_frame_of_another_site_without_cookies_a_sitting_works(
    visit: Callable[..., Visit],
) -> None:
    """In the recruiter's frame, with third-party cookies blocked, the study was a dead end."""
    study = factories.open_study()
    me = visit()
    assert "//localhost:" in me.server
    session = me.context.new_cdp_session(me.page)
    session.send("Network.enable")
    session.send(
        "Network.setCookieControls",
        {
            "enableThirdPartyCookieRestriction": True,
            "disableThirdPartyCookieMetadata": True,
            "disableThirdPartyCookieHeuristics": True,
        },
    )
    with framing_site(f"{me.server}/p/{study.code}/") as outer:
        me.page.goto(outer)
        frame = me.page.frame_locator("iframe")
        frame.get_by_label("I agree to take part").check()
        frame.get_by_role("button", name="Take part").click()
        frame.get_by_role("button", name="Begin").click()
        said = []
        for number, answer in enumerate(ANSWERS, 1):
            expect(frame.get_by_text(f"Trial {number} of 4")).to_be_visible()
            said.append((frame.locator("#sentences li").count(), answer))
            frame.get_by_role("radio", name=answer).check()
            frame.get_by_role("button", name="Confirm").click()
        expect(frame.get_by_text(study.completion_code)).to_be_visible()
        assert me.context.cookies() == []
    said_and_stored_agree(Enrolment.objects.get(), said)


def test_r119_in_the_frame_of_mechanical_turk_finished_work_is_sent_back(
    visit: Callable[..., Visit],
) -> None:
    """The last page was a dead end in the recruiter's frame, or its form was blocked."""
    study = factories.open_study(2, recruiting={"source": "mturk"}, completion_code="C-1")
    me = visit()
    sent: list[tuple[str, str | None]] = []

    def receive(route: Any) -> None:
        sent.append((route.request.url, route.request.post_data))
        route.fulfill(body="<p>Thank you for your work.</p>", content_type="text/html")

    me.context.route("https://workersandbox.mturk.com/**", receive)
    arrival = "?assignmentId=3ABC&hitId=3H&workerId=A1B2&turkSubmitTo="
    address = f"{me.server}/p/{study.code}/{arrival}https%3A%2F%2Fworkersandbox.mturk.com"
    with framing_site(address) as outer:
        me.page.goto(outer)
        frame = me.page.frame_locator("iframe")
        frame.get_by_label("I agree to take part").check()
        frame.get_by_role("button", name="Take part").click()
        frame.get_by_role("button", name="Begin").click()
        for number in (1, 2):
            expect(frame.get_by_text(f"Trial {number} of 2")).to_be_visible()
            frame.get_by_role("radio", name="Refuted").check()
            frame.get_by_role("button", name="Confirm").click()
        button = frame.get_by_role("button", name="Send to Mechanical Turk")
        expect(button).to_be_visible()
        assert sent == []
        button.click()
        expect(frame.get_by_text("Thank you for your work.")).to_be_visible()
    assert sent == [
        ("https://workersandbox.mturk.com/mturk/externalSubmit", "assignmentId=3ABC&code=C-1")
    ]
    assert me.complaints == []


def test_r125_the_focus_is_never_lost_while_tries_go_on(incremental: tuple[Visit, Trial]) -> None:
    """After a press the focus fell back to the top of the page."""
    me, _ = incremental
    seen = tries(me.page, "**/reveal", lambda route, _: route.abort())
    me.next_button.focus()
    me.page.keyboard.press("Enter")
    again = me.page.get_by_role("button", name="Try now")
    expect(again).to_be_focused()
    # A try by the keyboard and one by itself leave it there.
    me.page.keyboard.press("Enter")
    expect(again).to_be_focused()
    me.page.wait_for_timeout(2500)
    assert len(seen) >= 3
    expect(again).to_be_focused()
    me.page.unroute("**/reveal")
    me.page.keyboard.press("Enter")
    expect(me.sentences).to_have_count(2)
    expect(me.next_button).to_be_focused()
    for count in (3, 4):
        me.page.keyboard.press("Enter")
        expect(me.sentences).to_have_count(count)
        expect(me.next_button).to_be_focused()


def tab_to(page: Page, *words: str) -> None:
    """Press Tab until one of the words names what has the focus, which must be visible as such."""
    name = "(document.activeElement.labels?.[0] ?? document.activeElement).textContent.trim()"
    for _ in range(15):
        page.keyboard.press("Tab")
        if page.evaluate(name).startswith(words):
            ring = page.evaluate(
                "(document.activeElement.matches('.choice input')"
                " ? getComputedStyle(document.activeElement.nextElementSibling)"
                " : getComputedStyle(document.activeElement)).outlineWidth"
            )
            assert ring == "3px"
            return
    raise AssertionError(f"no Tab leads to {words}")


def test_r127_a_whole_study_without_a_mouse(visit: Callable[..., Visit]) -> None:
    """Something could only be clicked."""
    study = factories.open_study()
    me = visit()
    keys = me.page.keyboard
    me.page.goto(f"{me.server}/p/{study.code}/")
    tab_to(me.page, "I have read this")
    keys.press("Space")
    tab_to(me.page, "Take part")
    keys.press("Enter")
    expect(me.page.get_by_role("heading", name="Before you begin")).to_be_visible()
    tab_to(me.page, "Begin")
    keys.press("Enter")
    said = []
    for number in range(1, 5):
        expect(me.page.get_by_text(f"Trial {number} of 4")).to_be_visible()
        expect(me.page.get_by_role("heading", level=1)).to_be_focused()
        n_shown = me.sentences.count()
        if me.next_button.count():
            tab_to(me.page, NEXT)
            keys.press("Enter")
            n_shown += 1
            expect(me.sentences).to_have_count(n_shown)
        tab_to(me.page, "Supported")
        keys.press("Space")
        tab_to(me.page, "Confirm")
        keys.press("Enter")
        said.append((n_shown, "Supported"))
    expect(me.page.get_by_text(study.completion_code)).to_be_visible()
    said_and_stored_agree(Enrolment.objects.get(), said)


def study_of(n_candidates: int, text: str) -> Study:
    """An open study whose claims have many candidates of one text, numbered."""
    study = factories.draft_study()
    for claim in factories.add_claims(study, 4):
        claim.candidates.all().delete()
        Candidate.objects.bulk_create(
            Candidate(claim=claim, position=position, text=f"{position}: {text}")
            for position in range(n_candidates)
        )
        claim.n_candidates = n_candidates
        claim.save()
    factories.add_conditions(study)
    factories.add_evidence(study, order=tuple(reversed(range(n_candidates))))
    schedule.lay_out(study, 2, 1, 7)
    return lifecycle.open_study(Study.objects.get(pk=study.pk))


@pytest.mark.parametrize(
    ("width", "height", "scale"),
    [(320, 568, 1), (160, 284, 2)],
    ids=["small phone", "small phone at 200 %"],
)
def test_r129_long_sentences_and_the_line_of_a_lost_answer_fit_a_small_screen(
    visit: Callable[..., Visit], width: int, height: int, scale: int
) -> None:
    """Long sentences pushed the buttons off the screen."""
    study = study_of(5, "A sentence of nine hundred characters. " * 23)
    enrolment, _ = factories.started_in(study, Interface.INCREMENTAL)
    me = visit(viewport={"width": width, "height": height}, device_scale_factor=scale)
    me.open_run(enrolment)
    tries(me.page, "**/reveal", lambda route, _: route.abort())
    me.next_button.click()
    again = me.page.get_by_role("button", name="Try now")
    expect(again).to_be_visible()
    assert me.width_beyond_the_window() <= 0
    box = again.bounding_box()
    assert box is not None
    assert box["height"] >= 44
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    me.page.unroute("**/reveal")
    again.click()
    expect(me.sentences).to_have_count(2)
    assert me.width_beyond_the_window() <= 0
    me.decide("Refuted")
    expect(me.page.get_by_text("Trial 2 of 4")).to_be_visible()


def test_sixty_sentences_are_shown_one_by_one_and_counted(visit: Callable[..., Visit]) -> None:
    enrolment, trial = factories.started_in(study_of(60, "A sentence."), Interface.INCREMENTAL)
    me = visit(viewport={"width": 320, "height": 568})
    me.open_run(enrolment)
    for count in range(2, 61):
        me.next_button.click()
        expect(me.sentences).to_have_count(count)
    expect(me.page.get_by_text("All the evidence has been shown.")).to_be_visible()
    shown = me.page.locator(".sentence").all_inner_texts()
    assert shown == [f"{position}: A sentence." for position in reversed(range(60))]
    assert me.width_beyond_the_window() <= 0
    me.decide("Supported")
    expect(me.page.get_by_text("Trial 2 of 4")).to_be_visible()
    assert VerificationAnswer.objects.get(trial=trial).n_shown == 60


@pytest.mark.parametrize(
    ("lang", "text", "direction"),
    [
        ("ar", "أُسِّست شركة Apple في 1976 (كاليفورنيا).", "rtl"),
        ("zh", "苹果公司(Apple)于1976年在加利福尼亚州成立。", "ltr"),
    ],
)
def test_r131_each_text_has_its_own_direction(
    visit: Callable[..., Visit], lang: str, text: str, direction: str
) -> None:
    """Brackets, digits and full stops of Arabic texts stood at the wrong end."""
    study = factories.ready_study()
    Claim.objects.update(lang=lang, text=text)
    Candidate.objects.filter(position=3).update(text=text)
    Candidate.objects.filter(position=0).update(text="An English sentence.")
    enrolment, _ = factories.started_in(lifecycle.open_study(study), Interface.INCREMENTAL)
    me = visit(viewport={"width": 320, "height": 568})
    me.open_run(enrolment)
    me.next_button.click()
    expect(me.sentences).to_have_count(2)
    style = "element => getComputedStyle(element).direction"
    assert me.page.locator(".claim-text").inner_text() == text
    assert me.page.locator(".claim-text").evaluate(style) == direction
    assert [item.evaluate(style) for item in me.sentences.all()] == [direction, "ltr"]
    assert me.next_button.evaluate(style) == "ltr"
    assert me.width_beyond_the_window() <= 0


SHOW_AS = """state => {
    Object.defineProperty(document, "visibilityState", {value: state, configurable: true});
    document.dispatchEvent(new Event("visibilitychange"));
}"""


def hidden_ms(trial: Trial) -> int:
    told = trial.events.order_by("seq").values_list("kind", "step", "server_at")
    return replay(told).hidden_ms


def test_r001_looking_away_without_a_network_is_told_afterwards_in_order(
    incremental: tuple[Visit, Trial],
) -> None:
    """What the page noticed while offline was lost, and with it the time away."""
    me, trial = incremental
    me.page.wait_for_load_state("networkidle")
    n_before = trial.events.count()
    me.context.set_offline(True)
    me.next_button.click()
    expect(me.page.get_by_text(OFFLINE)).to_be_visible()
    me.page.evaluate(SHOW_AS, "hidden")
    me.page.wait_for_timeout(1500)
    me.page.evaluate(SHOW_AS, "visible")
    me.page.wait_for_timeout(1200)
    assert trial.events.count() == n_before
    sent: list[str] = []
    me.page.on("request", lambda request: sent.append(request.url.split("/")[-1]))
    me.context.set_offline(False)
    expect(me.sentences).to_have_count(2)
    assert sent == ["seen", "seen", "reveal"]
    kinds = trial.events.order_by("seq").values_list("kind", flat=True)
    assert list(kinds)[-3:] == ["page_hidden", "page_visible", "reveal"]
    # Away for 1.5 s, and not again for the time until the network came back.
    me.decide("Supported")
    expect(me.page.get_by_text("Trial 2 of 4")).to_be_visible()
    assert 1400 <= hidden_ms(trial) <= 2500
    assert me.page.evaluate("[localStorage.length, sessionStorage.length]") == [0, 0]


def test_what_a_server_that_is_away_was_told_is_told_again(
    incremental: tuple[Visit, Trial],
) -> None:
    me, trial = incremental
    me.page.wait_for_load_state("networkidle")
    n_before = trial.events.count()
    me.page.route("**/seen", lambda route: route.fulfill(status=503))
    for state in ("hidden", "visible"):
        me.page.evaluate(SHOW_AS, state)
    me.page.wait_for_timeout(300)
    assert trial.events.count() == n_before
    me.page.unroute("**/seen")
    with me.page.expect_response("**/seen"):
        me.next_button.click()
    wait_for(lambda: trial.events.count() == n_before + 3, 5)
    kinds = trial.events.order_by("seq").values_list("kind", flat=True)
    assert list(kinds)[-3:] == ["reveal", "page_hidden", "page_visible"]
