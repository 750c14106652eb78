"""A run by plain forms and by htmx: every action, every repetition, every stale page."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from studyapp.enums import EnrolmentState, EventKind, Interface, TrialState
from studyapp.models import Enrolment, Event, Study, Trial, VerificationAnswer
from tests import factories
from tests.studyapp.views.pages import (
    HTMX,
    counts,
    decide,
    form_ending,
    forms_of,
    has_form,
    join,
    run_url,
    trial_url,
)


def kinds_of(trial: Trial) -> list[str]:
    return list(trial.events.order_by("seq").values_list("kind", flat=True))


def test_a_whole_sitting_by_plain_forms(study: Study, client: Client) -> None:
    page = client.get(join(client, study).headers["Location"])
    assert "Before you begin" in page.content.decode()
    for number in range(1, 5):
        ending = "begin" if number == 1 else "decide"
        action, values = form_ending(page, ending)
        if number > 1:
            values["decision"] = "refuted"
        answer = client.post(action, values)
        assert answer.status_code == 303
        page = client.get(answer.headers["Location"])
        assert f"Trial {number} of 4" in page.content.decode()
        while has_form(page, "/reveal"):
            shown = page.content.decode().count("<li ")
            answer = client.post(*form_ending(page, "/reveal"))
            assert answer.status_code == 303
            page = client.get(answer.headers["Location"])
            assert page.content.decode().count("<li ") == shown + 1
    action, values = form_ending(page, "decide")
    page = client.get(client.post(action, values | {"decision": "cant_decide"}).headers["Location"])
    assert study.completion_code in page.content.decode()

    enrolment = Enrolment.objects.get()
    assert enrolment.state == EnrolmentState.COMPLETED
    trials = list(Trial.objects.order_by("position"))
    assert [trial.state for trial in trials] == [TrialState.COMPLETED] * 4
    assert [trial.verification_answer.decision for trial in trials] == [
        "refuted",
        "refuted",
        "refuted",
        "cant_decide",
    ]
    for trial in trials:
        n_shown = len(trial.stimulus["order"])
        assert trial.verification_answer.n_shown == n_shown
        assert kinds_of(trial) == ["trial_started", *["reveal"] * n_shown, "decision_submitted"]


@pytest.mark.parametrize("method", ["get", "head"])
def test_looking_at_any_page_of_a_run_stores_nothing(
    study: Study, client: Client, method: str
) -> None:
    _, trial = factories.started(study)
    before = counts()
    look = getattr(client, method)
    for page in ("", "begin", "help", "withdraw"):
        assert look(run_url(trial.enrolment) + page).status_code in (200, 303)
    for page in ("reveal", "decide"):
        response = look(trial_url(trial) + page)
        assert (response.status_code, response.headers["Location"]) == (
            303,
            run_url(trial.enrolment),
        )
    assert look(trial_url(trial) + "seen").status_code == 405
    assert counts() == before


def test_beginning_twice_starts_one_trial(study: Study, client: Client) -> None:
    url = run_url(factories.joined(study))
    assert [client.post(url + "begin").status_code for _ in range(3)] == [303, 303, 303]
    assert Trial.objects.count() == 1
    assert client.post(url + "begin", headers=HTMX).content.decode().count("Trial 1 of 4") == 1
    assert Trial.objects.count() == 1


def test_a_reveal_by_htmx_answers_the_new_sentence_alone(study: Study, client: Client) -> None:
    _, trial = factories.started_in(study, Interface.INCREMENTAL)
    response = client.post(
        trial_url(trial) + "reveal", {"rank": 2, "client_ms": 1234}, headers=HTMX
    )
    page = response.content.decode()
    assert response.status_code == 200
    assert "HX-Request" in response.headers["Vary"]
    assert page.count("<li ") == 1
    assert 'id="sentence-2"' in page
    assert 'name="rank" value="3"' in page
    assert 'name="n_shown" value="2"' in page
    assert "<html" not in page
    assert trial.events.get(step=2).client_ms == 1234


def test_the_last_sentence_brings_a_note_in_place_of_the_button(
    study: Study, client: Client
) -> None:
    _, trial = factories.started_in(study, Interface.INCREMENTAL)
    for rank in range(2, factories.N_CANDIDATES + 1):
        response = client.post(trial_url(trial) + "reveal", {"rank": rank}, headers=HTMX)
    assert response.headers["HX-Retarget"] == "#reveal"
    page = response.content.decode()
    assert "All the evidence has been shown." in page
    assert "<button" not in page
    full = client.get(run_url(trial.enrolment))
    assert "All the evidence has been shown." in full.content.decode()
    assert not has_form(full, "/reveal")


def test_a_repeated_reveal_adds_nothing_and_answers_what_is_missing(
    study: Study, client: Client
) -> None:
    _, trial = factories.started_in(study, Interface.INCREMENTAL)
    first = client.post(trial_url(trial) + "reveal", {"rank": 2}, headers=HTMX)
    again = client.post(trial_url(trial) + "reveal", {"rank": 2}, headers=HTMX)
    assert again.content == first.content
    assert client.post(trial_url(trial) + "reveal", {"rank": 2}).status_code == 303
    trial.refresh_from_db()
    assert (trial.n_steps, trial.events.count()) == (2, 3)
    # A second tab is two sentences behind: it gets both.
    client.post(trial_url(trial) + "reveal", {"rank": 3})
    behind = client.post(trial_url(trial) + "reveal", {"rank": 2}, headers=HTMX).content.decode()
    assert behind.count("<li ") == 2


@pytest.mark.parametrize("rank", [4, 99])
def test_a_reveal_that_skips_or_goes_beyond_the_end_is_stale(
    study: Study, client: Client, rank: int
) -> None:
    _, trial = factories.started_in(study, Interface.INCREMENTAL)
    plain = client.post(trial_url(trial) + "reveal", {"rank": rank})
    assert plain.headers["Location"] == run_url(trial.enrolment) + "?notice=stale"
    assert "older than what is stored" in client.get(plain.headers["Location"]).content.decode()
    swapped = client.post(trial_url(trial) + "reveal", {"rank": rank}, headers=HTMX)
    assert swapped.status_code == 409
    assert swapped.headers["HX-Retarget"] == "#run"
    assert "older than what is stored" in swapped.content.decode()
    assert swapped.content.decode().count("<li ") == 1
    trial.refresh_from_db()
    assert trial.n_steps == 1


def test_an_all_at_once_trial_has_nothing_to_reveal(study: Study, client: Client) -> None:
    _, trial = factories.started_in(study, Interface.ALL_AT_ONCE)
    page = client.get(run_url(trial.enrolment))
    assert page.content.decode().count("<li ") == 3
    assert not has_form(page, "/reveal")
    assert client.post(trial_url(trial) + "reveal", {"rank": 4}).status_code == 303
    trial.refresh_from_db()
    assert trial.n_steps == 3


@pytest.mark.parametrize("rank", ["", "0", "-1", "x", "²", "1" * 400])
def test_a_rank_that_is_none_is_refused(study: Study, client: Client, rank: str) -> None:
    _, trial = factories.started_in(study, Interface.INCREMENTAL)
    response = client.post(trial_url(trial) + "reveal", {"rank": rank})
    assert response.status_code == 422
    trial.refresh_from_db()
    assert trial.n_steps == 1


def test_a_decision_by_htmx_answers_the_next_trial(study: Study, client: Client) -> None:
    _, trial = factories.started(study)
    data = {"decision": "refuted", "n_shown": trial.n_steps, "client_ms": 4321}
    response = client.post(trial_url(trial) + "decide", data, headers=HTMX)
    assert response.status_code == 200
    assert "Trial 2 of 4" in response.content.decode()
    assert "checked" not in response.content.decode()
    assert trial.events.get(kind=EventKind.DECISION_SUBMITTED).client_ms == 4321


def test_the_first_decision_stays(study: Study, client: Client, caplog: Any) -> None:
    _, trial = factories.started(study)
    decide(client, trial, "supported")
    plain = decide(client, trial, "refuted")
    assert plain.headers["Location"].endswith("?notice=answered")
    page = client.get(plain.headers["Location"]).content.decode()
    assert "the first answer stays" in page
    assert "Trial 2 of 4" in page
    swapped = client.post(
        trial_url(trial) + "decide", {"decision": "refuted", "n_shown": 1}, headers=HTMX
    )
    assert swapped.status_code == 409
    assert "the first answer stays" in swapped.content.decode()
    assert VerificationAnswer.objects.get().decision == "supported"
    assert trial.code in caplog.text


def test_a_tab_that_shows_fewer_sentences_is_brought_to_the_true_state_first(
    study: Study, client: Client
) -> None:
    _, trial = factories.started_in(study, Interface.INCREMENTAL)
    client.post(trial_url(trial) + "reveal", {"rank": 2})
    client.post(trial_url(trial) + "reveal", {"rank": 3})
    plain = client.post(trial_url(trial) + "decide", {"decision": "supported", "n_shown": 1})
    assert plain.headers["Location"].endswith("?notice=elsewhere")
    swapped = client.post(
        trial_url(trial) + "decide", {"decision": "supported", "n_shown": 1}, headers=HTMX
    )
    assert swapped.content.decode().count("<li ") == 3
    assert "another tab" in swapped.content.decode()
    assert VerificationAnswer.objects.count() == 0


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_an_answer_that_is_none_is_refused_and_the_page_kept(
    study: Study, client: Client, headers: dict[str, str]
) -> None:
    _, trial = factories.started(study)
    for data in (
        {"n_shown": trial.n_steps},
        {"decision": "maybe\x00", "n_shown": trial.n_steps},
        {"decision": "supported", "n_shown": "many"},
        {"decision": "supported"},
    ):
        response = client.post(trial_url(trial) + "decide", data, headers=headers)
        assert response.status_code == 422
        assert "Nothing was stored" in response.content.decode()
        assert "Trial 1 of 4" in response.content.decode()
        # The page stands at another address than the run's: its forms still work.
        assert form_ending(response, "decide")[0] == trial_url(trial) + "decide"
        chosen = [value for value, is_checked in forms_of(response).radios if is_checked]
        assert chosen == (["supported"] if data.get("decision") == "supported" else [])
    trial.refresh_from_db()
    assert trial.state == TrialState.OPEN
    assert trial.events.count() == 1 + trial.n_steps


def test_an_option_of_another_study_is_refused_and_marked_nowhere(
    study: Study, client: Client
) -> None:
    _, trial = factories.started(study)
    response = decide(client, trial, "partially_supported")
    assert response.status_code == 422
    assert VerificationAnswer.objects.count() == 0


@pytest.mark.parametrize("action", ["reveal", "decide", "seen"])
def test_the_trial_of_another_run_is_a_404_and_stores_nothing(
    study: Study, client: Client, action: str
) -> None:
    _, theirs = factories.started(study)
    mine, _ = factories.started(study)
    before = counts()
    data = {"rank": 2, "decision": "supported", "n_shown": 1, "kind": "page_hidden"}
    response = client.post(f"{run_url(mine)}t/{theirs.code}/{action}", data)
    assert response.status_code == 404
    assert theirs.claim.text not in response.content.decode()
    assert counts() == before


def test_a_wrong_token_or_study_is_a_404(study: Study, client: Client) -> None:
    enrolment, trial = factories.started(study)
    other = factories.open_study()
    before = counts()
    for url in (
        f"/p/{study.code}/r/{'b' * 32}/",
        f"/p/{other.code}/r/{enrolment.token}/",
        f"/p/{study.code}/r/{'b' * 32}/help",
        f"/p/{study.code}/r/{'b' * 32}/withdraw",
    ):
        response = client.get(url)
        assert response.status_code == 404
        assert "link" in response.content.decode()
    for action in ("begin", "withdraw", f"t/{trial.code}/reveal", f"t/{trial.code}/decide"):
        data = {"rank": 2, "decision": "supported", "n_shown": 1}
        response = client.post(f"/p/{study.code}/r/{'b' * 32}/{action}", data)
        assert response.status_code == 404
    assert counts() == before


def test_a_notice_in_the_address_is_never_echoed(study: Study, client: Client) -> None:
    _, trial = factories.started(study)
    page = client.get(run_url(trial.enrolment) + "?notice=<b>free text").content.decode()
    assert "free text" not in page


def test_after_the_end_every_old_page_leads_to_the_code(study: Study, client: Client) -> None:
    enrolment, trial = factories.started(study)
    first = trial
    for _ in range(4):
        decide(client, trial)
        trial = Trial.objects.filter(enrolment=enrolment).order_by("-position").first()
        assert trial is not None
    before = counts()
    for url, data in (
        (run_url(enrolment) + "begin", {}),
        (trial_url(first) + "decide", {"decision": "refuted", "n_shown": 1}),
        (trial_url(first) + "reveal", {"rank": 2}),
        (trial_url(trial) + "decide", {"decision": "refuted", "n_shown": 1}),
    ):
        response = client.post(url, data)
        assert response.status_code == 303
        assert study.completion_code in client.get(response.headers["Location"]).content.decode()
        swapped = client.post(url, data, headers=HTMX)
        assert swapped.status_code in (200, 409)
        assert study.completion_code in swapped.content.decode()
    assert counts() == before


def test_visibility_is_recorded_while_the_trial_is_open(study: Study, client: Client) -> None:
    _, trial = factories.started(study)
    n_first = trial.n_events
    for kind, client_ms in (("page_hidden", "500"), ("page_visible", "")):
        response = client.post(trial_url(trial) + "seen", {"kind": kind, "client_ms": client_ms})
        assert (response.status_code, response.content) == (204, b"")
    events = trial.events.filter(seq__gte=n_first).order_by("seq")
    assert list(events.values_list("kind", "client_ms")) == [
        ("page_hidden", 500),
        ("page_visible", None),
    ]
    decide(client, trial)
    before = Event.objects.filter(trial=trial).count()
    assert client.post(trial_url(trial) + "seen", {"kind": "page_hidden"}).status_code == 204
    assert Event.objects.filter(trial=trial).count() == before


def test_what_is_told_late_stands_at_its_own_time_and_in_the_order_of_times(
    study: Study, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, trial = factories.started(study)
    start = trial.events.latest("seq").server_at
    now = start + timedelta(minutes=2)
    monkeypatch.setattr(timezone, "now", lambda: now)
    # An hour ago there was no trial yet; half a minute before what is stored is not told later.
    told = [("page_hidden", "3600000"), ("page_visible", "30000"), ("page_hidden", "60000")]
    told += [("page_visible", "9" * 16), ("page_hidden", "-5"), ("page_visible", "")]
    for kind, late_ms in told:
        client.post(trial_url(trial) + "seen", {"kind": kind, "late_ms": late_ms})
    half = now - timedelta(seconds=30)
    events = trial.events.filter(kind__startswith="page_").order_by("seq")
    assert list(events.values_list("server_at", flat=True)) == [start, half, half, now, now, now]
    assert list(events.values_list("kind", flat=True)) == [kind for kind, _ in told]


@pytest.mark.parametrize("kind", ["", "decision_submitted", "reveal", "nonsense"])
def test_no_other_kind_of_event_can_be_sent(study: Study, client: Client, kind: str) -> None:
    _, trial = factories.started(study)
    before = counts()
    assert client.post(trial_url(trial) + "seen", {"kind": kind}).status_code == 422
    assert counts() == before
