"""The list of studies and the study page: what each card says at each stage of the work."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from studyapp.domain import lifecycle, schedule
from studyapp.domain.assignment import withdraw
from studyapp.domain.trials import record_decision, start_next_trial
from studyapp.enums import Interface, RunKind
from studyapp.models import Enrolment, PlannedTrial, Study
from studyapp.views.researcher_words import ago, counted, duration, listed
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def ann() -> Any:
    return get_user_model().objects.create_user("ann")


@pytest.fixture
def client(ann: Any) -> Client:
    client = Client()
    client.force_login(ann)
    return client


def login_form(name: str, password: str, **more: str) -> dict[str, str]:
    """What the login page sends."""
    fields = {"auth-username": name, "auth-password": password}
    return {"login-current_step": "auth", **fields, **more}


def page(client: Client, study: Study) -> str:
    response = client.get(reverse("study", args=[study.slug]))
    assert response.status_code == 200
    return response.content.decode()


def card(html: str, anchor: str) -> str:
    """The HTML of one card, up to the next one."""
    start = html.index(f'<details class="card step" id="{anchor}"')
    end = html.find('<details class="card step"', start + 1)
    return html[start : end if end > 0 else len(html)]


def words(html: str) -> str:
    """The text of a piece of HTML, with single spaces."""
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def state_of(html: str, anchor: str) -> str:
    found = re.search(rf'id="{anchor}-state">([^<]*)<', html)
    assert found
    return found.group(1)


def is_folded(html: str, anchor: str) -> bool:
    return re.search(rf'id="{anchor}" open', html) is None


def rows_of(html: str) -> list[list[str]]:
    """The cells of every table row, as text."""
    return [
        [words(cell) for cell in re.findall(r"<t[hd][ >].*?</t[hd]>", row, flags=re.S)]
        for row in re.findall(r"<tr.*?</tr>", html, flags=re.S)
    ]


def queries_of(client: Client, url: str) -> int:
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert client.get(url).status_code == 200
    return len([q for q in captured.captured_queries if "SAVEPOINT" not in q["sql"]])


# ---- the list ------------------------------------------------------------------------------------


def test_an_empty_list_says_how_to_create_a_study(client: Client) -> None:
    html = client.get(reverse("study-list")).content.decode()
    assert "No study yet" in html
    assert "python manage.py create_study SLUG --owner ann" in html
    assert "<table" not in html


def test_the_list_counts_claims_conditions_rankings_and_completed_participants(
    client: Client, ann: Any
) -> None:
    study = factories.open_study(owner=ann, title="Counting <sentences>")
    finish(factories.joined(study))
    factories.joined(study)
    finish(factories.joined(study, RunKind.SIMULATED))
    factories.draft_study(owner=ann, slug="empty", title="Empty")
    factories.draft_study(slug="foreign", title="Foreign study")
    html = client.get(reverse("study-list")).content.decode()
    rows = rows_of(html)
    assert [row[:-1] for row in rows[1:]] == [
        ["Empty empty", "Draft", "0", "0", "–", "–"],
        [f"Counting &lt;sentences&gt; {study.slug}", "Open", "4", "2", "8 of 8", "1 of 2"],
    ]
    assert "Foreign" not in html


def test_the_list_asks_as_often_for_three_studies_as_for_one(client: Client, ann: Any) -> None:
    factories.draft_study(owner=ann)
    once = queries_of(client, reverse("study-list"))
    for _ in range(2):
        study = factories.open_study(owner=ann)
        factories.joined(study)
    assert queries_of(client, reverse("study-list")) == once
    assert once <= 4


# ---- a draft -------------------------------------------------------------------------------------


def test_an_empty_draft_says_what_is_missing_and_the_next_command(client: Client, ann: Any) -> None:
    study = factories.draft_study("wolf", owner=ann)
    html = page(client, study)
    assert "python manage.py import_claims wolf CLAIMS.jsonl" in card(html, "claims")
    assert "python manage.py add_condition wolf ranking" in card(html, "conditions")
    assert state_of(html, "rankings") == "Waits for claims and conditions"
    assert state_of(html, "schedule") == "Waits for claims and conditions"
    assert state_of(html, "opening") == "Not ready: 3 things missing"
    assert 'Next: <a href="#claims">' in html
    opening = card(html, "opening")
    for problem in lifecycle.opening_problems(study):
        assert problem in words(opening)
    assert "<button" not in opening.replace('<button type="button"', "")
    assert state_of(html, "export") == "Nothing to export yet"


def test_claims_are_counted_by_label_size_and_licence(client: Client, ann: Any) -> None:
    study = factories.draft_study(owner=ann)
    factories.add_claims(study, 3)
    factories.add_claims(study, 2, license="CC BY-SA 4.0")
    html = card(page(client, study), "claims")
    assert "5 claims" in html
    text = words(html)
    assert "Supported: 3, Refuted: 2" in text
    assert "1 sentence: 5" in text
    assert "5.0 on average" in text
    assert "CC BY-SA 4.0: 2" in text
    assert "not said: 3" in text
    assert is_folded(page(client, study), "claims")


def test_conditions_are_listed_with_method_and_contrast(client: Client, ann: Any) -> None:
    study = factories.draft_study(owner=ann)
    factories.add_conditions(study)
    html = card(page(client, study), "conditions")
    rows = rows_of(html)
    assert [row[:3] for row in rows[1:]] == [
        ["ranking", "Incremental", "document_order"],
        ["selection", "All at once", "top_k"],
    ]
    assert "ranking minus selection" in html


def test_the_schedule_card_shows_sums_and_the_proof_and_leads_to_the_whole(
    client: Client, ann: Any
) -> None:
    study = factories.ready_study(owner=ann)
    html = page(client, study)
    assert state_of(html, "schedule") == "2 slots, 8 trials, balanced"
    assert is_folded(html, "schedule")
    text = card(html, "schedule")
    assert "each claim once per condition and cycle" in text
    assert rows_of(text)[1:] == [
        ["ranking", "4", "4 claims once each in 1 of 1 cycle", "1", "2.5"],
        ["selection", "4", "4 claims once each in 1 of 1 cycle", "1", "2.5"],
        ["Sum", "8", ""],
    ]
    assert f'href="{reverse("study-schedule", args=[study.slug])}"' in text


def test_a_schedule_that_lost_its_balance_is_said_and_keeps_the_study_shut(
    client: Client, ann: Any
) -> None:
    study = factories.ready_study(owner=ann)
    PlannedTrial.objects.filter(slot__study=study).order_by("pk")[:1].get().delete()
    html = page(client, study)
    assert state_of(html, "schedule") == "2 slots, 7 trials, not balanced"
    assert not is_folded(html, "schedule")
    assert "1 of 4 claims are not seen exactly once" in card(html, "schedule")
    assert "Open the study" not in html


def test_a_ready_draft_offers_the_one_button_and_names_the_warnings(
    client: Client, ann: Any
) -> None:
    study = factories.ready_study(owner=ann)
    html = page(client, study)
    opening = card(html, "opening")
    assert state_of(html, "opening") == "Ready to open"
    assert 'Next: <a href="#opening">' in html
    assert html.count('class="primary"') == 1
    assert "Open the study</button>" in opening
    assert "no completion code set: one will be made" in opening
    assert f"/p/{study.code}/" not in html


# ---- an open study -------------------------------------------------------------------------------


def finish(enrolment: Enrolment, decision: str = "supported") -> None:
    """Do every trial of a run."""
    from studyapp.domain.trials import start_next_trial

    trial = start_next_trial(enrolment.token)
    while trial is not None:
        trial = record_decision(enrolment.token, trial.code, {"decision": decision})


def test_an_open_study_shows_the_link_to_give_out_and_folds_what_is_done(
    client: Client, ann: Any
) -> None:
    study = factories.open_study(owner=ann)
    html = page(client, study)
    assert f'value="{settings.PUBLIC_URL}/p/{study.code}/"' in html
    for anchor in ("claims", "conditions", "rankings", "schedule", "opening"):
        assert is_folded(html, anchor)
    assert not is_folded(html, "participants")
    assert state_of(html, "participants") == "0 of 2 places taken, 0 completed"
    assert "Nobody has joined yet" in html


def test_participants_are_counted_by_state_and_kind_and_the_sums_agree(
    client: Client, ann: Any
) -> None:
    study = factories.open_study(12, n_subsets=4, owner=ann)
    finish(factories.joined(study))
    factories.started(study)
    gone, _ = factories.started(study)
    pseudonym = gone.participant.code
    withdraw(gone.token)
    factories.joined(study, RunKind.SIMULATED)
    html = card(page(client, study), "participants")
    assert rows_of(html) == [
        ["State", "Real", "Simulated"],
        ["Reading the instructions", "0", "1"],
        ["In the trials", "1", "0"],
        ["Completed", "1", "0"],
        ["Withdrawn", "1", "0"],
        ["All who joined", "3", "1"],
    ]
    assert "2 of 4 places taken, 1 completed" in html
    assert f'href="{reverse("study-monitor", args=[study.slug])}"' in html
    assert pseudonym not in html


def test_the_participants_card_reads_no_run(client: Client, ann: Any) -> None:
    study = factories.open_study(12, n_subsets=4, owner=ann)
    url = reverse("study", args=[study.slug])
    alone = queries_of(client, url)
    for kind in (RunKind.REAL, RunKind.REAL, RunKind.PILOT, RunKind.SIMULATED):
        factories.started(study, kind)
    assert queries_of(client, url) == alone


def test_where_only_simulated_runs_are_the_cards_speak_of_them(client: Client, ann: Any) -> None:
    study = factories.ready_study(owner=ann)
    factories.add_claims(study, 1, role="practice")
    study = lifecycle.open_study(study)
    for _ in range(2):
        run, trial = factories.started(study, RunKind.SIMULATED)
        record_decision(run.token, trial.code, {"decision": trial.claim.label})
        trial = start_next_trial(run.token)
        while trial is not None:
            trial = record_decision(run.token, trial.code, {"decision": "cant_decide"})
    html = page(client, study)
    assert state_of(html, "participants") == "2 simulated runs finished"
    # Practice is not counted, as on the page of results.
    assert state_of(html, "measures") == "8 simulated trials"
    assert state_of(html, "export") == "8 simulated trials"
    results = reverse("study-measures", args=[study.slug])
    assert f'hx-get="{results}?simulated=on&amp;part=table"' in html
    assert f'href="{results}?simulated=on"' in html
    assert ">2 simulated<" in client.get(reverse("study-list")).content.decode()
    factories.joined(study)
    html = page(client, study)
    assert state_of(html, "participants") == "1 of 2 places taken, 0 completed"
    assert ">0 of 2<" in client.get(reverse("study-list")).content.decode()


def test_pilot_runs_take_no_place_of_real_ones(client: Client, ann: Any) -> None:
    study = factories.open_study(owner=ann)
    factories.joined(study, RunKind.PILOT)
    html = card(page(client, study), "participants")
    assert rows_of(html)[0] == ["State", "Real", "Pilot"]
    assert "0 of 2 places taken" in html


def test_claims_and_names_are_shown_as_text(client: Client, ann: Any) -> None:
    study = factories.draft_study(owner=ann, title="<script>alert(1)</script>")
    factories.add_claims(study, 1, license="<b>bold</b>")
    html = page(client, study)
    assert "<script>alert" not in html
    assert "&lt;b&gt;bold&lt;/b&gt;" in html


# ---- cost of a page ------------------------------------------------------------------------------


def test_the_study_page_asks_as_often_whatever_the_study_holds(client: Client, ann: Any) -> None:
    small = factories.draft_study(owner=ann)
    factories.add_claims(small, 3)
    lifecycle.add_condition(small, "ranking", Interface.INCREMENTAL, "document_order")
    factories.add_evidence(small)
    schedule.lay_out(small, 1, 1, 1)
    large = factories.draft_study(owner=ann)
    factories.add_claims(large, 9)
    factories.add_conditions(large)
    lifecycle.add_condition(large, "third", Interface.INCREMENTAL, "document_order")
    factories.add_evidence(large)
    schedule.lay_out(large, 3, 2, 1)
    draft = [queries_of(client, reverse("study", args=[s.slug])) for s in (small, large)]
    assert draft[0] == draft[1]
    for study in (small, large):
        lifecycle.open_study(study)
    finish(factories.joined(Study.objects.get(pk=small.pk)))
    for _ in range(3):
        finish(factories.joined(Study.objects.get(pk=large.pk)))
        factories.joined(Study.objects.get(pk=large.pk), RunKind.SIMULATED)
    is_open = [queries_of(client, reverse("study", args=[s.slug])) for s in (small, large)]
    assert is_open[0] == is_open[1]
    # The participants' card has its own share.
    assert max(draft + is_open) <= 25


# ---- page, login, health -------------------------------------------------------------------------


def test_tables_have_scoped_headers_and_fields_have_labels(client: Client, ann: Any) -> None:
    study = factories.open_study(owner=ann)
    factories.joined(study)
    html = page(client, study)
    headers = re.findall(r"<th[ >][^>]*", html)
    assert headers
    assert all("scope=" in header for header in headers)
    for field in re.findall(r"<input(?![^>]*hidden)[^>]*>", html):
        name = re.search(r'id="([^"]+)"', field)
        assert name
        assert f'<label for="{name.group(1)}"' in html
    ids = re.findall(r' id="([^"]+)"', html)
    assert len(ids) == len(set(ids))


def test_the_page_names_no_inline_style_or_script(client: Client, ann: Any) -> None:
    html = page(client, factories.open_study(owner=ann))
    assert not re.search(r"<style|<script(?![^>]*src=)| style=| on[a-z]+=\"", html)


def test_login_leads_back_and_says_nothing_about_which_part_was_wrong(ann: Any) -> None:
    ann.set_password("a long password")
    ann.save()
    client = Client()
    wrong = client.post(reverse("login"), login_form("ann", "no"))
    unknown = client.post(reverse("login"), login_form("nobody", "no"))
    for response in (wrong, unknown):
        assert "Name and password do not belong together" in response.content.decode()
    right = client.post(reverse("login"), login_form("ann", "a long password", next="/studies/x/"))
    assert right.status_code == 302
    assert right.url == "/studies/x/"
    away = Client().post(
        reverse("login"),
        login_form("ann", "a long password", next="https://evil.example/"),
    )
    assert away.url == reverse("study-list")


def test_logout_is_a_post_and_ends_the_session(client: Client) -> None:
    assert client.get(reverse("logout")).status_code == 405
    assert client.post(reverse("logout")).url == reverse("login")
    assert client.get(reverse("study-list")).status_code == 302


def test_the_health_check_asks_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    from django.db import DatabaseError

    client = Client()
    with CaptureQueriesContext(connection) as captured:
        response = client.get(reverse("healthz"))
    assert (response.status_code, response.content) == (200, b"ok")
    assert len(captured) == 1

    def broken(*args: Any) -> None:
        raise DatabaseError("gone")

    monkeypatch.setattr(connection, "cursor", broken)
    assert client.get(reverse("healthz")).status_code == 503


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.42, "0.4 s"),
        (34, "34 s"),
        (125, "2 min 5 s"),
        (3600, "1 h"),
        (3605, "1 h"),
        (90061, "1 d 1 h"),
    ],
)
def test_durations_name_the_two_largest_units(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_words_for_counts_and_times() -> None:
    now = timezone.now()
    assert counted(1, "claim") == "1 claim"
    assert counted(1200, "person", "people") == "1,200 people"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert ago(now - timedelta(seconds=3), now) == "just now"
    assert ago(now - timedelta(minutes=5, seconds=20), now) == "5 min ago"


def test_practice_and_attention_are_counted_apart_from_what_the_study_is(
    client: Client, ann: Any
) -> None:
    question = {"name": "age", "text": "How old?", "kind": "number"}
    study = factories.sitting_study(
        4, n_practice=2, n_attention=1, owner=ann, sitting={"questionnaire": [question]}
    )
    enrolment, trial = factories.started(study)
    participants = reverse("study-participants", args=[study.slug])
    for _ in range(2):  # in practice, and after its first claim
        assert "0 of 4" in words(client.get(participants).content.decode())
        record_decision(enrolment.token, trial.code, {"decision": trial.claim.label})
        trial = start_next_trial(enrolment.token)
    while trial is not None:
        trial = record_decision(enrolment.token, trial.code, {"decision": trial.claim.label})
    html = page(client, study)
    assert state_of(html, "claims") == "4 claims"
    assert "2 for practice, 1 for attention checks" in words(card(html, "claims"))
    told = words(client.get(participants).content.decode())
    assert "4 of 4" in told
    assert "all trials done, at the last questions" in told
    listed = words(client.get(reverse("study-list")).content.decode())
    assert "8 of 8" in listed  # rankings of main claims, all there
