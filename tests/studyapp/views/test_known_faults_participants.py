"""Faults that people met in other study platforms, each tried on a participant's pages.

What needs a browser is in tests/flows/test_browser_faults.py, under the same names.
"""

from __future__ import annotations

import csv
import io
import socket
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx
import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import OperationalError, connection
from django.test import Client
from django.utils import timezone

from studyapp.domain import lifecycle
from studyapp.domain.assignment import withdraw
from studyapp.domain.configuration import create_study
from studyapp.domain.export import export_study
from studyapp.domain.recruiting import arrivals_of
from studyapp.domain.run_ends import return_run
from studyapp.enums import EnrolmentState, Interface, TrialState
from studyapp.errors import StudyError
from studyapp.models import (
    Candidate,
    Claim,
    Enrolment,
    Event,
    Participant,
    Ranking,
    Study,
    Trial,
    VerificationAnswer,
)
from studyapp.simulation.server import running_web
from studyapp.views import participant
from tests import backends, factories
from tests.flows.site import wait_for
from tests.studyapp.views import test_recruiting
from tests.studyapp.views.pages import (
    HTMX,
    counts,
    decide,
    field_of,
    form_ending,
    forms_of,
    has_form,
    join,
    run_url,
    trial_url,
    welcome_url,
)
from tests.studyapp.views.test_languages import words_of
from tests.studyapp.views.test_participant_load import at_the_same_moment


def finish(client: Client, enrolment: Enrolment) -> list[Any]:
    """Answer every open trial of a run; the answers of the server."""
    answers = []
    while True:
        trial = Trial.objects.filter(enrolment=enrolment, state=TrialState.OPEN).first()
        if trial is None:
            return answers
        answers.append(decide(client, trial))


def exported_trials(study: Study, folder: Path, name: str = "export.zip") -> list[dict[str, str]]:
    export_study(study, folder / name)
    with zipfile.ZipFile(folder / name) as archive:
        text = archive.read("trials.csv").decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_r003_the_code_is_shown_only_after_the_last_answer_is_stored(
    study: Study, client: Client
) -> None:
    """The code came before the last answer was written, and the answer was lost."""
    enrolment, trial = factories.started(study)
    for _ in range(4):
        page = client.get(run_url(enrolment)).content.decode()
        assert study.completion_code not in page
        answer = client.post(
            trial_url(trial) + "decide",
            {"decision": "supported", "n_shown": trial.n_steps},
            headers=HTMX,
        )
        trial = Trial.objects.filter(enrolment=enrolment).latest("position")
    assert study.completion_code in answer.content.decode()
    enrolment.refresh_from_db()
    assert enrolment.state == EnrolmentState.COMPLETED
    assert VerificationAnswer.objects.count() == 4


def test_r003_a_page_closed_before_the_answer_came_loses_nothing(
    committed_db: None, live_server: Any
) -> None:
    """The tab is closed while the last decision is on its way."""
    enrolment, trial = factories.started(factories.open_study())
    body = urlencode({"decision": "supported", "n_shown": trial.n_steps})
    address = urlsplit(live_server.url)
    with socket.create_connection((address.hostname, address.port)) as line:
        line.sendall(
            f"POST {trial_url(trial)}decide HTTP/1.1\r\nHost: {address.netloc}\r\n"
            "Content-Type: application/x-www-form-urlencoded\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
        )
    wait_for(lambda: VerificationAnswer.objects.filter(trial=trial).exists(), 10)
    page = httpx.get(live_server.url + run_url(enrolment)).text
    assert "Trial 2 of 4" in page


def test_r005_the_same_link_in_another_browser_goes_on_where_it_was(
    study: Study, client: Client
) -> None:
    """A reload or a second device began the trial anew."""
    _, trial = factories.started_in(study, Interface.INCREMENTAL)
    client.post(trial_url(trial) + "reveal", {"rank": 2})
    before = counts()
    for browser in (client, Client()):
        page = browser.get(run_url(trial.enrolment)).content.decode()
        assert page.count("<li ") == 2
        assert "Trial 1 of 4" in page
    assert counts() == before
    # What lies between leaving and coming back is known.
    for kind in ("page_hidden", "page_visible"):
        client.post(trial_url(trial) + "seen", {"kind": kind})
    kinds = trial.events.order_by("seq").values_list("kind", flat=True)
    assert list(kinds)[-2:] == ["page_hidden", "page_visible"]


def test_r005_the_same_recruiter_id_in_another_browser_goes_on_where_it_was(db: None) -> None:
    """A second device began anew, because only the first browser's cookie knew the run."""
    study = test_recruiting.recruiting_study()
    test_recruiting.consent(Client(), study)
    enrolment = Enrolment.objects.get()
    Client().post(run_url(enrolment) + "begin")
    trial = Trial.objects.get()
    if trial.condition.is_incremental:
        Client().post(trial_url(trial) + "reveal", {"rank": 2})
        trial.refresh_from_db()
    before = counts()
    page = Client().get(test_recruiting.link(study), follow=True).content.decode()
    assert "Trial 1 of 4" in page
    assert page.count("<li ") == trial.n_steps
    assert counts() == before


def test_r007_an_answer_sent_again_from_the_page_before_changes_nothing(
    study: Study, client: Client, caplog: Any
) -> None:
    """Going back and answering again overwrote the first answer."""
    _, trial = factories.started(study)
    decide(client, trial, "supported")
    before = counts()
    late = decide(client, trial, "refuted")
    assert "the first answer stays" in client.get(late.headers["Location"]).content.decode()
    assert VerificationAnswer.objects.get().decision == "supported"
    assert counts() == before
    assert trial.code in caplog.text


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_r007_the_same_answer_sent_again_is_called_stored(
    study: Study, client: Client, headers: dict[str, str]
) -> None:
    """Somebody whose answer was lost on the way back reads that it is there."""
    _, trial = factories.started(study)
    decide(client, trial, "refuted")
    data = {"decision": "refuted", "n_shown": trial.n_steps}
    again = client.post(trial_url(trial) + "decide", data, headers=headers)
    page = again if headers else client.get(again.headers["Location"])
    assert "had arrived before and is stored" in page.content.decode()
    assert VerificationAnswer.objects.count() == 1


def test_r009_a_decision_without_any_cookie_is_accepted(study: Study, client: Client) -> None:
    """A session that had ended took the answer with it."""
    page = client.get(join(client, study).headers["Location"])
    client.post(*form_ending(page, "begin"))
    trial = Trial.objects.get()
    client.cookies.clear()
    answer = decide(client, trial, "refuted")
    assert "Trial 2 of 4" in client.get(answer.headers["Location"]).content.decode()
    assert VerificationAnswer.objects.get().decision == "refuted"


def test_r011_five_identical_decisions_in_parallel_are_one(committed_db: None) -> None:
    """Parallel posts made several rows, or moved on by several trials."""
    enrolment, trial = factories.started(factories.open_study())
    data = {"decision": "supported", "n_shown": trial.n_steps}
    url = trial_url(trial) + "decide"
    answers = at_the_same_moment([lambda: Client().post(url, data, headers=HTMX)] * 5)
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409, 409]
    late = [answer.content.decode() for answer in answers if answer.status_code == 409]
    assert all("arrived before and is stored" in page for page in late)
    assert all("Trial 2 of 4" in page for page in late)
    assert VerificationAnswer.objects.count() == 1
    assert Trial.objects.filter(enrolment=enrolment).count() == 2


def test_r013_two_requests_for_one_rank_show_one_sentence(committed_db: None) -> None:
    """A double click showed two sentences and counted one, or the other way round."""
    _, trial = factories.started_in(factories.open_study(), Interface.INCREMENTAL)
    url = trial_url(trial) + "reveal"
    answers = at_the_same_moment([lambda: Client().post(url, {"rank": 2}, headers=HTMX)] * 2)
    assert [answer.content.decode().count("<li ") for answer in answers] == [1, 1]
    trial.refresh_from_db()
    assert trial.n_steps == 2
    assert Client().get(run_url(trial.enrolment)).content.decode().count("<li ") == 2


def test_r015_the_server_ignores_a_second_request_by_itself(study: Study, client: Client) -> None:
    """Only the disabled button kept a second request away."""
    _, trial = factories.started_in(study, Interface.INCREMENTAL)
    for _ in range(2):
        client.post(trial_url(trial) + "reveal", {"rank": 2}, headers=HTMX)
    trial.refresh_from_db()
    assert (trial.n_steps, trial.events.filter(kind="reveal").count()) == (2, 2)


def test_r017_no_answer_is_chosen_beforehand(study: Study, client: Client) -> None:
    """The next trial came with the last trial's answer chosen."""
    enrolment, trial = factories.started(study)
    answer = client.post(
        trial_url(trial) + "decide", {"decision": "refuted", "n_shown": trial.n_steps}, headers=HTMX
    )
    for page in (answer, client.get(run_url(enrolment))):
        assert [is_chosen for _, is_chosen in forms_of(page).radios] == [False] * 3
        # Browsers keep what was chosen over a reload unless they are told not to.
        assert page.content.decode().count('autocomplete="off"') >= 1


def test_r019_no_page_of_a_run_is_kept_by_the_browser(study: Study, client: Client) -> None:
    """Back and forward showed an old page, or a bare fragment."""
    enrolment, _ = factories.started(study)
    for page in ("", "help", "withdraw"):
        answer = client.get(run_url(enrolment) + page)
        assert answer.headers["Cache-Control"] == "no-store"
        assert "HX-Request" in answer.headers["Vary"]
        assert answer.content.decode().startswith("<!doctype html>")


def test_r021_after_the_end_a_changed_answer_meets_the_code(study: Study, client: Client) -> None:
    """Going back after the end and sending again broke, or changed the data."""
    enrolment, first = factories.started(study)
    finish(client, enrolment)
    before = counts()
    answer = decide(client, first, "refuted")
    page = client.get(answer.headers["Location"]).content.decode()
    assert study.completion_code in page
    assert VerificationAnswer.objects.get(trial=first).decision == "supported"
    assert counts() == before


def test_r023_a_tab_behind_is_brought_to_the_stored_state_before_it_decides(
    study: Study, client: Client
) -> None:
    """Two tabs, and the number of sentences read was the wrong tab's."""
    _, trial = factories.started_in(study, Interface.INCREMENTAL)
    for rank in (2, 3):
        client.post(trial_url(trial) + "reveal", {"rank": rank})
    behind = decide(client, trial, "supported", n_shown=1)
    page = client.get(behind.headers["Location"])
    assert page.content.decode().count("<li ") == 3
    assert VerificationAnswer.objects.count() == 0
    action, values = form_ending(page, "decide")
    client.post(action, values | {"decision": "refuted"})
    assert VerificationAnswer.objects.get().n_shown == 3


def test_r025_a_researcher_who_logs_in_beside_does_not_spoil_a_form(study: Study) -> None:
    """Logging in in another tab made the open form worthless."""
    browser = Client(enforce_csrf_checks=True)
    page = browser.get(welcome_url(study))
    browser.force_login(get_user_model().objects.create_user("researcher", password="x"))
    form = {"form": field_of(page, "form"), "consent": "yes"}
    page = browser.get(browser.post(f"/p/{study.code}/join", form).headers["Location"])
    browser.post(*form_ending(page, "begin"))
    trial = Trial.objects.get()
    browser.logout()
    assert decide(browser, trial).status_code == 303
    assert VerificationAnswer.objects.count() == 1


def test_r027_five_opens_of_one_id_two_of_them_at_once_are_one_participant(
    committed_db: None,
) -> None:
    """One person under one id took several places."""
    study = test_recruiting.recruiting_study(n_replications=3)
    forms = [field_of(Client().get(test_recruiting.link(study)), "form") for _ in range(2)]
    url = f"/p/{study.code}/join"
    answers = at_the_same_moment(
        [lambda form=form: Client().post(url, {"form": form, "consent": "yes"}) for form in forms]
    )
    answers += [Client().get(test_recruiting.link(study)) for _ in range(3)]
    assert len({answer.headers["Location"] for answer in answers}) == 1
    assert Participant.objects.count() == Enrolment.objects.count() == 1


def test_r029_an_id_with_three_runs_meets_no_claim_twice(db: None) -> None:
    """A second run failed, or showed the same claims again."""
    study = test_recruiting.recruiting_study(3, n_claims=12, n_subsets=6)
    for _ in range(3):
        assert test_recruiting.consent(Client(), study).status_code == 303
        test_recruiting.finish(Enrolment.objects.latest("pk"))
    claims = Trial.objects.values_list("claim_id", flat=True)
    assert len(claims) == len(set(claims)) == 12
    assert Enrolment.objects.filter(state=EnrolmentState.COMPLETED).count() == 3
    assert Participant.objects.count() == 1


def test_r031_a_preview_or_a_robot_takes_no_slot(study: Study, client: Client) -> None:
    """Link previews filled the study."""
    before = counts()
    preview = client.get(welcome_url(study) + "?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE")
    assert "This is a preview" in preview.content.decode()
    assert not has_form(preview, "join")
    robot = {"User-Agent": "Slackbot-LinkExpanding 1.0"}
    assert client.head(welcome_url(study), headers=robot).status_code == 200
    assert client.get(welcome_url(study), headers=robot).status_code == 200
    assert counts() == before


def test_r033_a_returned_place_goes_to_the_next_arrival_at_once(db: None, client: Client) -> None:
    """The place of somebody who gave the task back stayed taken, or the answers were lost."""
    study = factories.open_study(n_replications=2)
    runs = [factories.started(study) for _ in range(4)]
    mine, trial = runs[1]
    decide(client, trial)
    assert join(Client(), study).status_code == 409
    return_run(study, mine.participant.code)
    assert join(Client(), study).status_code == 303
    assert Enrolment.objects.latest("pk").slot_id == mine.slot_id
    states = Trial.objects.filter(enrolment=mine).order_by("pk").values_list("state", flat=True)
    assert list(states) == [TrialState.COMPLETED, TrialState.INCOMPLETE]


def test_r037_the_code_comes_from_the_settings_and_stays_after_the_tab_is_closed(
    db: None, client: Client
) -> None:
    """Closing the tab on the last page lost the code, or the completion."""
    study = factories.open_study(completion_code="MINE-42")
    enrolment, _ = factories.started(study)
    finish(client, enrolment)
    enrolment.refresh_from_db()
    assert enrolment.state == EnrolmentState.COMPLETED
    assert "MINE-42" in Client().get(run_url(enrolment)).content.decode()


def test_r055_no_decision_for_a_claim_that_is_not_in_the_run(study: Study, client: Client) -> None:
    """After the last trial, answers for other people's claims were taken."""
    mine, _ = factories.started(study)
    _, theirs = factories.started(study)
    finish(client, mine)
    before = counts()
    for code in (theirs.code, "z" * 12):
        answer = client.post(
            f"{run_url(mine)}t/{code}/decide", {"decision": "supported", "n_shown": 1}
        )
        assert answer.status_code == 404
    assert client.post(run_url(mine) + "begin").status_code == 303
    assert counts() == before


def test_r059_a_place_lost_after_consent_is_replaced_and_never_shared(
    db: None, client: Client
) -> None:
    """Whoever came back late shared a slot with whoever had taken it."""
    study = factories.open_study(n_replications=2)
    late = factories.joined(study)
    others = [factories.joined(study) for _ in range(study.slots.count() - 2)]
    Enrolment.objects.filter(pk=late.pk).update(lease_until=timezone.now() - timedelta(1))
    taker, last = factories.joined(study), factories.joined(study)
    full = client.post(run_url(late) + "begin")
    assert "Every place is taken" in full.content.decode()
    Enrolment.objects.filter(pk=last.pk).update(lease_until=timezone.now() - timedelta(1))
    begun = client.post(run_url(late) + "begin", headers=HTMX)
    assert "Trial 1 of 4" in begun.content.decode()
    running = Enrolment.objects.exclude(state=EnrolmentState.TIMED_OUT)
    slots = list(running.values_list("slot", flat=True))
    assert len(slots) == len(set(slots)) == len([late, taker, *others])


def test_r079_line_breaks_inside_a_sentence_arrive_as_they_are(db: None, client: Client) -> None:
    """Line breaks were swallowed or turned into markup."""
    study = factories.ready_study()
    Candidate.objects.update(text="Line A\n\n  line B\tend")
    _, trial = factories.started(lifecycle.open_study(study))
    page = client.get(run_url(trial.enrolment)).content.decode()
    assert '<span class="sentence">Line A\n\n  line B\tend</span>' in page
    css = (settings.BASE_DIR / "static" / "css" / "participant.css").read_text()
    rule = css[css.index(".sentence {") :]
    assert "white-space: pre-wrap" in rule[: rule.index("}")]


def test_r081_signs_of_markup_in_a_claim_are_shown_literally(db: None, client: Client) -> None:
    """Signs were dropped, run as markup, or escaped twice."""
    study = factories.ready_study()
    Claim.objects.update(text='x < y and <b>bold</b> & "quoted" &amp;')
    _, trial = factories.started(lifecycle.open_study(study))
    page = client.get(run_url(trial.enrolment)).content.decode()
    assert "x &lt; y and &lt;b&gt;bold&lt;/b&gt; &amp; &quot;quoted&quot; &amp;amp;" in page


def test_r101_a_run_that_expired_has_the_same_durations_an_hour_later(
    db: None, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The duration of an abandoned run grew with every export."""
    study = factories.open_study()
    enrolment, trial = factories.started(study)
    decide(client, trial)
    Enrolment.objects.filter(pk=enrolment.pk).update(lease_until=timezone.now() - timedelta(1))
    for _ in range(study.slots.count()):
        factories.joined(study)
    assert "expired" in client.get(run_url(enrolment)).content.decode()
    first = exported_trials(study, tmp_path, "first.zip")
    real_now = timezone.now
    monkeypatch.setattr(timezone, "now", lambda: real_now() + timedelta(hours=1))
    assert exported_trials(study, tmp_path, "second.zip") == first
    assert len(first) >= 1


@pytest.mark.parametrize("client_ms", ["-5", "0", "9" * 15, "1e9", ""])
def test_r103_a_browser_clock_that_jumps_moves_no_duration(
    study: Study, client: Client, tmp_path: Path, client_ms: str
) -> None:
    """Clocks of browsers made negative durations and changed the order of events."""
    enrolment, trial = factories.started_in(study, Interface.INCREMENTAL)
    client.post(trial_url(trial) + "reveal", {"rank": 2, "client_ms": "3600000"})
    client.post(trial_url(trial) + "reveal", {"rank": 3, "client_ms": client_ms})
    trial.refresh_from_db()
    began = timezone.now()
    decide(client, trial, client_ms=client_ms)
    events = list(trial.events.order_by("seq").values_list("kind", "server_at"))
    assert [kind for kind, _ in events] == ["trial_started", *["reveal"] * 3, "decision_submitted"]
    assert [at for _, at in events] == sorted(at for _, at in events)
    finish(client, enrolment)
    rows = [row for row in exported_trials(study, tmp_path) if row["active_ms"]]
    assert rows
    limit = (timezone.now() - began + timedelta(seconds=30)) / timedelta(milliseconds=1)
    assert all(0 <= int(row["active_ms"]) < limit for row in rows)


def test_r105_progress_counts_trials_and_not_presses(study: Study, client: Client) -> None:
    """Reading on moved the progress, or every press did."""
    _, trial = factories.started_in(study, Interface.INCREMENTAL)
    for rank in (2, 3, 4, 5):
        client.post(trial_url(trial) + "reveal", {"rank": rank})
        assert "Trial 1 of 4" in client.get(run_url(trial.enrolment)).content.decode()
    trial.refresh_from_db()
    decide(client, trial)
    page = client.get(run_url(trial.enrolment)).content.decode()
    assert "Trial 2 of 4" in page
    assert '<progress max="4" value="1"' in page


def test_r109_a_script_in_a_claim_or_an_id_is_text(db: None, client: Client) -> None:
    """A script in imported text ran."""
    script = "</script><script>alert(1)</script>"
    study = factories.ready_study()
    Claim.objects.update(text=script)
    for claim in Claim.objects.all():
        Claim.objects.filter(pk=claim.pk).update(claim_id=f"{script}{claim.pk}")
    Candidate.objects.update(text=script, title=script)
    _, trial = factories.started(lifecycle.open_study(study))
    answer = client.get(run_url(trial.enrolment))
    assert "<script>alert" not in answer.content.decode()
    assert "&lt;script&gt;alert(1)" in answer.content.decode()
    policy = answer.headers["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy


def test_r111_gold_labels_and_conditions_change_no_byte_of_a_page(
    study: Study, client: Client
) -> None:
    """Classes, ids or headers told the right answer."""
    _, trial = factories.started_in(study, Interface.INCREMENTAL)
    url = trial_url(trial) + "reveal"
    client.post(url, {"rank": 2})

    def received() -> list[tuple[dict[str, str], bytes]]:
        pages = [
            client.get(run_url(trial.enrolment)),
            client.get(run_url(trial.enrolment) + "help"),
            client.post(url, {"rank": 2}, headers=HTMX),
        ]
        return [(dict(page.headers), page.content) for page in pages]

    before = received()
    for claim in Claim.objects.all():
        claim.label = "refuted" if claim.label == "supported" else "supported"
        claim.gold_min_size = 3
        claim.save()
        claim.gold_sets.update(members=[4])
    assert received() == before


def test_r115_addresses_of_another_run_say_nothing(study: Study, client: Client) -> None:
    """Guessed addresses showed the first person's answers or counts."""
    theirs, trial = factories.started(study)
    decide(client, trial)
    mine, _ = factories.started(study)
    before = counts()
    for address in (
        f"{run_url(mine)}t/{trial.code}/reveal",
        f"{run_url(mine)}t/{trial.code}/decide",
        f"{run_url(mine)}t/{trial.code}/seen",
    ):
        data = {"rank": 2, "decision": "supported", "n_shown": 1, "kind": "page_hidden"}
        for headers in ({}, HTMX):
            answer = client.post(address, data, headers=headers)
            assert answer.status_code == 404
            for secret in (trial.claim.text, theirs.token, trial.code):
                assert secret not in answer.content.decode()
    assert counts() == before


@pytest.mark.parametrize("action", ["reveal", "decide", "seen"])
@pytest.mark.parametrize("headers", [{}, HTMX])
def test_a_run_under_the_address_of_another_study_is_not_found(
    study: Study, client: Client, action: str, headers: dict[str, str]
) -> None:
    _, trial = factories.started_in(study, "incremental")
    other = factories.open_study()
    before = counts()
    address = f"/p/{other.code}/r/{trial.enrolment.token}/t/{trial.code}/{action}"
    good = {"rank": 2, "decision": "supported", "n_shown": 1, "kind": "page_hidden"}
    for data in (good, good | {"decision": "odd", "rank": "odd", "n_shown": "odd"}):
        answer = client.post(address, data, headers=headers)
        assert answer.status_code == 404
        assert "It belongs to no run of this study" in words_of(answer) or action == "seen"
        assert trial.claim.text not in answer.content.decode()
    assert counts() == before


def test_a_withdrawn_run_is_unknown_to_another_study(study: Study, client: Client) -> None:
    enrolment, _ = factories.started(study)
    other = factories.open_study()
    withdraw(enrolment.token)
    assert client.get(run_url(enrolment)).status_code == 410
    address = f"/p/{other.code}/r/{enrolment.token}/"
    assert client.get(address).status_code == 404
    assert client.post(address + "withdraw").status_code == 404


def test_r119_the_pages_may_be_framed_and_need_no_cookie(study: Study, client: Client) -> None:
    """In a frame of the recruiter's site, with third-party cookies blocked, nothing worked."""
    page = client.get(welcome_url(study))
    assert "X-Frame-Options" not in page.headers
    assert "frame-ancestors" not in page.headers["Content-Security-Policy"]
    inside = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "iframe"}
    form = {"form": field_of(page, "form"), "consent": "yes"}
    address = Client().post(f"/p/{study.code}/join", form, headers=inside).headers["Location"]
    action, values = form_ending(Client().get(address), "begin")
    Client().post(action, values, headers=inside)
    page = Client().get(address)
    assert "Trial 1 of 4" in page.content.decode()
    action, values = form_ending(page, "decide")
    Client().post(action, values | {"decision": "supported"}, headers=inside)
    assert VerificationAnswer.objects.count() == 1


def test_r131_every_block_has_a_direction_of_its_own(db: None, client: Client) -> None:
    """Arabic text in an English page lost its punctuation to the wrong end."""
    study = factories.ready_study()
    Claim.objects.update(lang="ar", text="أُسِّست شركة Apple في 1976 (كاليفورنيا).")
    _, trial = factories.started(lifecycle.open_study(study))
    page = client.get(run_url(trial.enrolment)).content.decode()
    claim = page[page.index('<span class="claim-text"') :]
    assert 'dir="auto" lang="ar"' in claim[: claim.index(">")]
    items = page.split("<li ")[1:]
    assert items
    assert all('dir="auto"' in item[: item.index(">")] for item in items)


def test_r135_what_changes_behind_an_open_run_does_not_reach_it(
    study: Study, client: Client
) -> None:
    """Editing a study changed what people in the middle of a run read."""
    _, trial = factories.started_in(study, Interface.INCREMENTAL)
    pages = [run_url(trial.enrolment) + page for page in ("", "help")]
    before = [client.get(page).content for page in pages]
    with pytest.raises(StudyError):
        create_study(study.slug, configuration={"texts": {"instructions": "Something else."}})
    Ranking.objects.filter(claim=trial.claim).update(order=[4, 3, 2, 1, 0])
    assert [client.get(page).content for page in pages] == before
    revealed = client.post(trial_url(trial) + "reveal", {"rank": 2}, headers=HTMX)
    second = trial.claim.candidates.get(position=trial.stimulus["order"][1])
    assert second.text in revealed.content.decode()


def test_r137_who_stopped_at_consent_is_counted_and_can_come_back(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Researchers could not tell whether nobody came or nobody agreed."""
    study = test_recruiting.recruiting_study()
    form = field_of(Client().get(test_recruiting.link(study)), "form")
    assert arrivals_of(study).n_stopped == 1
    real_time, real_now = time.time, timezone.now
    monkeypatch.setattr(time, "time", lambda: real_time() + 7 * 24 * 3600)
    monkeypatch.setattr(timezone, "now", lambda: real_now() + timedelta(days=7))
    answer = Client().post(f"/p/{study.code}/join", {"form": form, "consent": "yes"})
    assert answer.status_code == 303
    assert arrivals_of(study).n_stopped == 0


def test_r137_a_consent_page_left_open_for_a_week_still_works(
    study: Study, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever stopped at the consent form could not come back."""
    form = field_of(client.get(welcome_url(study)), "form")
    assert not Participant.objects.exists()
    real_time, real_now = time.time, timezone.now
    monkeypatch.setattr(time, "time", lambda: real_time() + 7 * 24 * 3600)
    monkeypatch.setattr(timezone, "now", lambda: real_now() + timedelta(days=7))
    answer = client.post(f"/p/{study.code}/join", {"form": form, "consent": "yes"})
    assert answer.status_code == 303
    assert "Before you begin" in client.get(answer.headers["Location"]).content.decode()


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_a_database_that_is_away_asks_to_come_back_and_stores_nothing(
    study: Study,
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    headers: dict[str, str],
) -> None:
    """An error page of the server told nobody that another try would help."""
    _, trial = factories.started_in(study, Interface.INCREMENTAL)
    before = counts()

    def away(*_: Any, **__: Any) -> None:
        raise OperationalError("the server closed the connection unexpectedly")

    url = trial_url(trial) + "reveal"
    with monkeypatch.context() as patch:
        patch.setattr(participant, "reveal_next", away)
        answer = client.post(url, {"rank": 2}, headers=headers)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert "cannot be reached just now" in answer.content.decode()
    assert counts() == before
    assert client.post(url, {"rank": 2}, headers=HTMX).status_code == 200


# --- Many at once -------------------------------------------------------------------------------


@dataclass
class Told:
    """What one participant was told by the server."""

    address: str = ""
    #: Trial code: how many sentences the page showed last, and the decision the server took.
    trials: dict[str, tuple[int, str]] = field(default_factory=dict)
    statuses: list[int] = field(default_factory=list)


@contextmanager
def web_on_the_test_database(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The web server of a real study, in a process of its own, on the database of this test."""
    name = connection.settings_dict["NAME"]
    address = f"sqlite:///{name}" if backends.POSTGRES is None else backends.POSTGRES.url(name)
    monkeypatch.setenv("DATABASE_URL", address)
    with running_web() as base_url:
        yield base_url


def take_part(base_url: str, study_code: str, number: int, until: float) -> Told:
    """One participant by plain forms: joins, begins, reads on and decides until the time is up."""
    told = Told()
    decisions = ("supported", "refuted", "cant_decide")
    with httpx.Client(
        base_url=base_url, follow_redirects=True, timeout=20, verify=False
    ) as browser:

        def send(action: str, values: dict[str, str]) -> httpx.Response:
            answer = browser.post(action, data=values)
            told.statuses.append(answer.status_code)
            return answer

        welcome = browser.get(f"/p/{study_code}/")
        page = send(f"/p/{study_code}/join", {"form": field_of(welcome, "form"), "consent": "yes"})
        told.address = page.url.path
        page = send(*form_ending(page, "begin"))
        step = 0
        while has_form(page, "/decide") and time.monotonic() < until:
            action, values = form_ending(page, "/decide")
            code = action.split("/")[-2]
            told.trials[code] = (page.text.count("<li "), "")
            step += 1
            if has_form(page, "/reveal") and step % 3:
                page = send(*form_ending(page, "/reveal"))
                continue
            decision = decisions[(number + step) % 3]
            page = send(action, values | {"decision": decision})
            told.trials[code] = (int(values["n_shown"]), decision)
        if has_form(page, "/decide"):
            code = form_ending(page, "/decide")[0].split("/")[-2]
            told.trials[code] = (page.text.count("<li "), "")
    return told


def test_r133_fifty_at_once_are_told_what_is_stored(
    committed_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under load requests failed, and what people saw and what was stored fell apart."""
    study = factories.open_study(n_replications=25)
    with web_on_the_test_database(monkeypatch) as base_url:
        until = time.monotonic() + 20
        with ThreadPoolExecutor(50) as pool:
            everybody = list(
                pool.map(lambda n: take_part(base_url, study.code, n, until), range(50))
            )
    statuses = [status for told in everybody for status in told.statuses]
    assert set(statuses) == {200}
    assert len(statuses) >= 50 * 4
    tokens = {told.address.strip("/").split("/")[-1] for told in everybody}
    stored = Enrolment.objects.in_bulk(field_name="token")
    assert tokens == set(stored)
    assert len({enrolment.slot_id for enrolment in stored.values()}) == 50
    for told in everybody:
        trials = Trial.objects.filter(enrolment__token=told.address.strip("/").split("/")[-1])
        rows = trials.values_list("code", "n_steps", "verification_answer__decision")
        assert {code: (n, answer or "") for code, n, answer in rows} == told.trials
    for trial in Trial.objects.all():
        assert Event.objects.filter(trial=trial).count() == trial.n_events
    assert datetime.now(UTC) > Enrolment.objects.latest("pk").consented_at
