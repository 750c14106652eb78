"""A participant's sitting in a real browser: what is shown, what arrives, what survives."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Route, expect

from studyapp.enums import TrialState
from studyapp.models import Candidate, Event, Trial, VerificationAnswer
from tests import factories
from tests.flows.visits import NEXT, Visit, incremental, visit

__all__ = ["incremental", "visit"]

pytestmark = pytest.mark.browser

TRYING = "Not saved yet. Trying again"
OFFLINE = "Not saved yet: you seem to be offline."


def test_a_whole_sitting_by_clicks_receives_each_sentence_when_asked_and_no_secret(
    visit: Callable[..., Visit],
) -> None:
    study = factories.open_study()
    me = visit()
    enrolment = me.join(study)
    me.page.get_by_role("button", name="Begin").click()
    texts = set(Candidate.objects.values_list("text", flat=True))
    due: set[str] = set()
    interfaces = []
    for number in range(1, 5):
        expect(me.page.get_by_text(f"Trial {number} of 4")).to_be_visible()
        expect(me.page.get_by_role("heading", level=1)).to_be_focused()
        assert me.page.locator("input:checked").count() == 0
        trial = Trial.objects.get(enrolment=enrolment, state=TrialState.OPEN)
        interfaces.append(trial.condition.interface)
        order = trial.stimulus["order"]
        candidates = dict(trial.claim.candidates.values_list("position", "text"))
        n_first = 1 if trial.condition.is_incremental else len(order)
        expect(me.sentences).to_have_count(n_first)
        due |= {candidates[position] for position in order[:n_first]}
        assert {text for text in texts if text in me.arrived()} == due
        for rank in range(n_first + 1, len(order) + 1):
            me.next_button.click()
            expect(me.sentences).to_have_count(rank)
            due.add(candidates[order[rank - 1]])
            assert {text for text in texts if text in me.arrived()} == due
        assert me.next_button.count() == 0
        me.decide("Supported")
    expect(me.page.get_by_text(study.completion_code)).to_be_visible()

    assert sorted(interfaces) == ["all_at_once"] * 2 + ["incremental"] * 2
    received = me.arrived().lower()
    pages = re.sub(r"class=\"label\"|<label[^>]*>|</label>", "", received)
    for secret in ("gold", "msr", "document_order", "top_k", "incremental", "all_at_once"):
        assert secret not in pages, secret
    for condition in study.conditions.all():
        assert f'"{condition.name}"' not in pages
    assert me.complaints == []
    assert VerificationAnswer.objects.filter(decision="supported").count() == 4
    for trial in Trial.objects.all():
        clocks = list(trial.events.order_by("seq").values_list("client_ms", flat=True))
        known = [clock for clock in clocks if clock is not None]
        assert known == sorted(known)
        assert clocks[-1] is not None


@pytest.mark.parametrize("latency_ms", [0, 300])
def test_a_double_click_adds_one_sentence(
    incremental: tuple[Visit, Trial], latency_ms: int
) -> None:
    me, trial = incremental

    def late(route: Route) -> None:
        me.page.wait_for_timeout(latency_ms)
        route.continue_()

    me.page.route("**/reveal", late)
    me.next_button.dblclick()
    expect(me.sentences).to_have_count(2)
    me.page.wait_for_timeout(400)
    expect(me.sentences).to_have_count(2)
    trial.refresh_from_db()
    assert trial.n_steps == 2
    # A slower second press is a wish of its own.
    me.page.wait_for_timeout(300)
    me.next_button.click()
    expect(me.sentences).to_have_count(3)


def test_the_button_is_disabled_while_waiting_and_the_server_ignores_a_second_request(
    incremental: tuple[Visit, Trial],
) -> None:
    me, trial = incremental
    held: list[Route] = []
    me.page.route("**/reveal", lambda route: held.append(route))
    me.next_button.click()
    expect(me.next_button).to_be_disabled()
    expect(me.page.locator("#decide button")).to_be_disabled()
    form = {"rank": "2", "n_shown": "1"}
    for _ in range(2):
        me.context.request.post(
            f"{me.page.url}t/{trial.code}/reveal", form=form, headers={"HX-Request": "true"}
        )
    held[0].continue_()
    expect(me.sentences).to_have_count(2)
    expect(me.next_button).to_be_enabled()
    expect(me.next_button).to_be_focused()
    trial.refresh_from_db()
    assert (trial.n_steps, trial.events.filter(kind="reveal").count()) == (2, 2)


def test_offline_in_mid_trial_says_so_loses_nothing_and_recovers(
    incremental: tuple[Visit, Trial],
) -> None:
    me, trial = incremental
    me.next_button.click()
    expect(me.sentences).to_have_count(2)
    me.context.set_offline(True)
    me.next_button.click()
    # Beside the button that was pressed.
    expect(me.page.locator("#reveal .unsaved")).to_contain_text(OFFLINE)
    expect(me.page.locator("#decide .unsaved")).to_be_empty()
    expect(me.sentences).to_have_count(2)
    me.context.set_offline(False)
    expect(me.sentences).to_have_count(3)
    expect(me.page.locator("#reveal .unsaved")).to_be_empty()
    me.context.set_offline(True)
    me.decide("Refuted")
    expect(me.page.locator("#decide .unsaved")).to_contain_text(OFFLINE)
    expect(me.page.get_by_role("radio", name="Refuted")).to_be_checked()
    assert VerificationAnswer.objects.count() == 0
    me.context.set_offline(False)
    expect(me.page.get_by_text("Trial 2 of 4")).to_be_visible()
    steps = list(trial.events.filter(kind="reveal").order_by("seq").values_list("step", flat=True))
    assert steps == [1, 2, 3]
    assert VerificationAnswer.objects.get().n_shown == 3


def test_an_answer_lost_on_its_way_back_is_found_stored_at_the_retry(
    incremental: tuple[Visit, Trial],
) -> None:
    me, trial = incremental

    def lose(route: Route) -> None:
        route.fetch()
        route.abort()

    me.page.route("**/reveal", lose, times=1)
    me.next_button.click()
    expect(me.page.get_by_text(TRYING)).to_be_visible()
    expect(me.sentences).to_have_count(2)
    me.page.route("**/decide", lose, times=1)
    me.decide("Supported")
    expect(me.page.get_by_text(TRYING)).to_be_visible()
    expect(me.page.get_by_text("Trial 2 of 4")).to_be_visible()
    expect(me.page.get_by_text("had arrived before and is stored")).to_be_visible()
    trial.refresh_from_db()
    assert (trial.n_steps, VerificationAnswer.objects.count()) == (2, 1)


def test_a_failing_server_leaves_the_page_usable(incremental: tuple[Visit, Trial]) -> None:
    me, _ = incremental
    me.page.route("**/reveal", lambda route: route.fulfill(status=502, body="<h1>x</h1>"), times=1)
    me.next_button.click()
    expect(me.page.get_by_text(TRYING)).to_be_visible()
    me.page.get_by_role("button", name="Try now").click()
    expect(me.sentences).to_have_count(2)


def test_reload_and_another_browser_show_the_stored_state(
    incremental: tuple[Visit, Trial], visit: Callable[..., Visit]
) -> None:
    me, trial = incremental
    me.next_button.click()
    expect(me.sentences).to_have_count(2)
    me.page.get_by_role("radio", name="Refuted").check()
    me.page.reload()
    expect(me.sentences).to_have_count(2)
    assert me.page.locator("input:checked").count() == 0
    other = visit()
    other.open_run(trial.enrolment)
    expect(other.sentences).to_have_count(2)
    trial.refresh_from_db()
    assert trial.n_steps == 2
    # Leaving the page hid it, loading it showed it again; both without a clock of their own.
    expect(me.next_button).to_be_visible()
    kinds = set(trial.events.values_list("kind", flat=True))
    assert {"page_hidden", "page_visible"} <= kinds


def test_a_second_tab_is_brought_to_the_true_state_before_it_decides(
    incremental: tuple[Visit, Trial],
) -> None:
    me, trial = incremental
    second = Visit(me.context, me.server)
    second.open_run(trial.enrolment)
    for count in (2, 3):
        me.next_button.click()
        expect(me.sentences).to_have_count(count)
    second.decide("Supported")
    expect(second.page.get_by_text("shown in another tab")).to_be_visible()
    expect(second.sentences).to_have_count(3)
    assert VerificationAnswer.objects.count() == 0
    second.decide("Refuted")
    expect(second.page.get_by_text("Trial 2 of 4")).to_be_visible()
    assert VerificationAnswer.objects.get().n_shown == 3
    # The first tab is a trial behind now.
    me.decide("Supported")
    expect(me.page.get_by_text("the first answer stays")).to_be_visible()
    expect(me.page.get_by_text("Trial 2 of 4")).to_be_visible()
    assert VerificationAnswer.objects.get().decision == "refuted"


def test_a_trial_by_keyboard_alone_never_loses_the_focus(
    incremental: tuple[Visit, Trial],
) -> None:
    me, _ = incremental
    keys = me.page.keyboard
    for _ in range(12):
        keys.press("Tab")
        if me.page.evaluate("document.activeElement.textContent.trim()") == NEXT:
            break
    expect(me.next_button).to_be_focused()
    outline = "getComputedStyle(document.activeElement).outlineWidth"
    assert me.page.evaluate(outline) == "3px"
    for count in (2, 3, 4):
        keys.press("Enter")
        expect(me.sentences).to_have_count(count)
        expect(me.next_button).to_be_focused()
    keys.press("Enter")
    expect(me.sentences).to_have_count(5)
    expect(me.page.get_by_text("All the evidence has been shown.")).to_be_focused()
    keys.press("Tab")
    keys.press("Space")
    expect(me.page.get_by_role("radio", name="Supported")).to_be_checked()
    keys.press("ArrowRight")
    expect(me.page.get_by_role("radio", name="Refuted")).to_be_checked()
    assert VerificationAnswer.objects.count() == 0
    keys.press("Tab")
    expect(me.page.get_by_role("button", name="Confirm: Refuted")).to_be_focused()
    keys.press("Enter")
    expect(me.page.get_by_text("Trial 2 of 4")).to_be_visible()
    expect(me.page.get_by_role("heading", level=1)).to_be_focused()
    assert VerificationAnswer.objects.get().decision == "refuted"


def test_a_key_held_down_is_one_press(incremental: tuple[Visit, Trial]) -> None:
    me, trial = incremental
    me.next_button.focus()
    # The second and later "down" without an "up" between arrive as repetitions.
    for _ in range(4):
        me.page.keyboard.down("Enter")
        me.page.wait_for_timeout(60)
    me.page.keyboard.up("Enter")
    me.page.wait_for_timeout(200)
    trial.refresh_from_db()
    assert trial.n_steps == 2
    expect(me.sentences).to_have_count(2)


def test_hiding_and_showing_the_page_is_recorded(incremental: tuple[Visit, Trial]) -> None:
    me, trial = incremental
    hide = """state => {
        Object.defineProperty(document, "visibilityState", {value: state, configurable: true});
        document.dispatchEvent(new Event("visibilitychange"));
    }"""
    me.decide("Supported")
    expect(me.page.get_by_text("Trial 2 of 4")).to_be_visible()
    trial = Trial.objects.get(state=TrialState.OPEN)
    for state, kind in (("hidden", "page_hidden"), ("visible", "page_visible")):
        with me.page.expect_response("**/seen") as seen:
            me.page.evaluate(hide, state)
        assert seen.value.status == 204
        event = Event.objects.filter(trial=trial).order_by("-seq")[0]
        assert event.kind == kind
        assert event.client_ms is not None


def test_back_after_the_end_leads_to_the_code(visit: Callable[..., Visit]) -> None:
    study = factories.open_study()
    me = visit()
    me.join(study)
    me.page.get_by_role("button", name="Begin").click()
    for number in range(1, 5):
        expect(me.page.get_by_text(f"Trial {number} of 4")).to_be_visible()
        me.decide("Can't decide")
    expect(me.page.get_by_text(study.completion_code)).to_be_visible()
    me.page.go_back()
    expect(me.page.get_by_text(study.completion_code)).to_be_visible()
    assert VerificationAnswer.objects.count() == 4


def test_help_and_back_show_the_current_state(incremental: tuple[Visit, Trial]) -> None:
    me, _ = incremental
    me.next_button.click()
    expect(me.sentences).to_have_count(2)
    me.page.get_by_role("link", name="Help").click()
    expect(me.page.get_by_role("heading", name="What to do")).to_be_visible()
    me.page.go_back()
    expect(me.sentences).to_have_count(2)
    me.page.go_forward()
    me.page.get_by_role("link", name="Back to the study").first.click()
    expect(me.sentences).to_have_count(2)


def test_without_javascript_a_whole_sitting_works(visit: Callable[..., Visit]) -> None:
    study = factories.open_study()
    me = visit(java_script_enabled=False)
    me.join(study)
    me.page.get_by_role("button", name="Begin").click()
    for number in range(1, 5):
        expect(me.page.get_by_text(f"Trial {number} of 4")).to_be_visible()
        if me.next_button.count():
            me.next_button.click()
            expect(me.sentences).to_have_count(2)
        me.page.get_by_role("radio", name="Refuted").check()
        me.page.get_by_role("button", name="Submit").click()
    expect(me.page.get_by_text(study.completion_code)).to_be_visible()
    assert VerificationAnswer.objects.filter(decision="refuted").count() == 4


def test_without_confirmation_one_press_decides(visit: Callable[..., Visit]) -> None:
    enrolment, _ = factories.started(factories.open_study(confirms_decision=False))
    me = visit()
    me.open_run(enrolment)
    me.page.get_by_role("button", name="Can't decide").click()
    expect(me.page.get_by_text("Trial 2 of 4")).to_be_visible()
    assert VerificationAnswer.objects.get().decision == "cant_decide"
    assert me.complaints == []
