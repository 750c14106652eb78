"""The page of a study at Prolific, and the commands that do the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from studyapp.domain.export import export_study
from studyapp.domain.prolific_calls import fill_outbox, run_due
from studyapp.domain.prolific_setup import set_up
from studyapp.domain.prolific_submissions import link_sessions
from studyapp.enums import JobState
from studyapp.models import (
    AuditEntry,
    Enrolment,
    ProlificLink,
    RecruiterCall,
    RecruiterSubmission,
    Study,
)
from tests import factories
from tests.prolific_cast import (
    SECRET,
    arrive,
    connected,
    connected_study,
    screened_out,
    state_of,
    tell,
)
from tests.prolific_server import STUDY_ID, TOKEN, Fault, ProlificServer
from tests.studyapp.views.pages import run_url

pytestmark = pytest.mark.django_db


@pytest.fixture
def server() -> Iterator[ProlificServer]:
    with ProlificServer() as running, connected(running):
        yield running


@pytest.fixture
def me(client: Client) -> Client:
    client.force_login(get_user_model().objects.create_user("ann", is_superuser=True))
    return client


def address(study: Study, name: str = "study-prolific", *more: Any) -> str:
    return reverse(name, args=[study.slug, *more])


def words(response: Any) -> str:
    """What a page says, in one line."""
    text = re.sub(r"<[^>]+>", " ", response.content.decode())
    return " ".join(unescape(text).split())


def refused_screen_out(study: Study, server: ProlificServer) -> tuple[Enrolment, RecruiterCall]:
    """A run that Prolific would not screen out, its code being mistyped."""
    set_up(study, screen_out_code="MISTYPED")
    run = screened_out(study, "p1", "s1")
    server.add("s1", "p1")
    link_sessions(study, timezone.now())
    fill_outbox(study, timezone.now())
    run_due(study)
    return run, RecruiterCall.objects.get()


def test_r039_a_refused_screen_out_is_shown_with_its_reason_and_repeated_by_a_button(
    server: ProlificServer, me: Client
) -> None:
    study = connected_study()
    run, call = refused_screen_out(study, server)
    page = me.get(address(study))
    assert f"Screen-out refused {run.participant.code} 1.1" in words(page)
    assert "1 Prolific refused this (status 400). It said: " in words(page)
    assert "completion_code: Not a valid code." in words(page)
    participant = Client().get(run_url(run))
    assert participant.status_code == 200
    assert "Thank you for your time." in words(participant)
    again = me.post(address(study, "prolific-call-retry", call.pk))
    assert (again.status_code, "Prolific did not do this." in words(again)) == (422, True)
    set_up(study, screen_out_code="SCREENED1")
    done = me.post(address(study, "prolific-call-retry", call.pk), follow=True)
    assert "Screen-out: screened out; status SCREENED OUT." in words(done)
    assert server.submissions["s1"]["status"] == "SCREENED OUT"


def test_r039_a_refused_screen_out_is_repeated_by_a_command(
    server: ProlificServer, capsys: Any
) -> None:
    study = connected_study()
    _, call = refused_screen_out(study, server)
    with pytest.raises(SystemExit):
        call_command("prolific", study.slug, retry=call.pk)
    assert "completion_code: Not a valid code." in capsys.readouterr().err
    call_command("prolific", study.slug)
    assert f"refused call {call.pk}: screen-out; Prolific refused this" in capsys.readouterr().out
    call_command("prolific", study.slug, screen_out_code="SCREENED1", retry=call.pk)
    assert f"call {call.pk}: screened out" in capsys.readouterr().out
    assert RecruiterCall.objects.get().state == JobState.DONE


def test_r033_a_return_at_prolific_frees_the_place_when_the_list_is_read(
    server: ProlificServer, me: Client
) -> None:
    study = connected_study()
    first, second = arrive(study, "p1", "s1"), arrive(study, "p2", "s2")
    server.add("s1", "p1", "RETURNED")
    server.add("s2", "p2")
    page = me.post(address(study, "prolific-sync"), follow=True)
    assert "2 submissions read, 0 without a run here; 1 run ended." in words(page)
    assert (state_of(first), state_of(second)) == ("returned", "consented")
    assert arrive(study, "p3", "s3").slot == first.slot


def test_the_connection_is_saved_on_a_draft_and_on_an_open_study(me: Client) -> None:
    for study in (factories.draft_study(), factories.open_study()):
        form = {
            "study_ids": f"{STUDY_ID}, 60d9aadeb86739de712faee1",
            "screen_out_code": "X1",
            "return_after_minutes": "45",
        }
        response = me.post(address(study), form)
        assert (response.status_code, response.url) == (302, address(study))
        link = ProlificLink.objects.get(study=study)
        assert link.study_ids == [STUDY_ID, "60d9aadeb86739de712faee1"]
        assert link.screen_out_code == "X1"
        page = words(me.get(address(study)))
        assert "after 165 minutes without a sign" in page
        assert AuditEntry.objects.latest("pk").who == "ann"


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"study_ids": "short", "return_after_minutes": "0"}, "This was refused."),
        ({"study_ids": "", "return_after_minutes": "-1"}, "Nothing was saved yet."),
        ({"study_ids": "", "return_after_minutes": ""}, "Fill this in."),
    ],
)
def test_what_cannot_be_saved_is_said_and_what_was_typed_stays(
    me: Client, form: dict[str, str], said: str
) -> None:
    study = factories.draft_study()
    response = me.post(address(study), form)
    assert response.status_code == (400 if "refused" in said else 422)
    assert said in words(response)
    assert f'value="{form["study_ids"]}"' in response.content.decode() or not form["study_ids"]
    assert ProlificLink.objects.count() == 0


def test_the_connection_is_tested(server: ProlificServer, me: Client) -> None:
    study = connected_study()
    page = me.post(address(study, "prolific-test"), follow=True)
    assert "Prolific answers. It knows: Reading evidence (ACTIVE)." in words(page)
    server.faults = [Fault(401, {})]
    refused = me.post(address(study, "prolific-test"))
    assert refused.status_code == 422
    assert "Prolific does not accept the token: set PROLIFIC_API_TOKEN" in words(refused)
    assert f'value="{STUDY_ID}"' in refused.content.decode()


def test_what_is_missing_is_named_and_secrets_are_shown_nowhere(
    server: ProlificServer, me: Client, settings: Any
) -> None:
    bare = factories.draft_study()
    page = words(me.get(address(bare)))
    assert "does not carry PROLIFIC_PID" in page
    assert "id of the study is not given yet" in page
    content = me.get(address(connected_study())).content.decode()
    assert "Still missing" not in content
    assert TOKEN not in content
    assert SECRET not in content
    settings.PROLIFIC_API_TOKENS = settings.PROLIFIC_WEBHOOK_SECRETS = {}
    page = words(me.get(address(bare)))
    assert "sets PROLIFIC_API_TOKEN." in page
    assert "sets PROLIFIC_WEBHOOK_SECRET." in page


def test_the_page_shows_what_differs_and_what_it_means(me: Client) -> None:
    study = connected_study()
    run = arrive(study, "p1", "s1")
    arrive(study, "p2", "s2")
    tell(study, "s1", "p1", "awaiting_review")
    tell(study, "s2", "p2", "active")
    page = words(me.get(address(study)))
    assert f"{run.participant.code} 1.1 Reading the instructions AWAITING REVIEW" in page
    assert "Handed in at Prolific without being finished here: review it there." in page
    # Neither the id of a person nor that of a submission is shown.
    content = me.get(address(study)).content.decode()
    assert not re.search(r"\b(p1|p2|s1|s2)\b", content)


def test_the_page_costs_the_same_queries_for_any_number_of_people(
    me: Client, django_assert_num_queries: Any
) -> None:
    study = connected_study(12, n_subsets=6)
    at = timezone.now()
    for number in range(1, 7):
        screened_out(study, f"p{number}", f"s{number}")
        link_sessions(study, at)
        tell(study, f"s{number}", f"p{number}", "active")
        fill_outbox(study, at)
        if number in (1, 6):
            assert RecruiterCall.objects.count() == number
            with django_assert_num_queries(6):
                me.get(address(study))


def test_a_viewer_sees_the_page_without_anything_to_press(client: Client) -> None:
    from studyapp.domain.access import add_member

    study = connected_study()
    viewer = get_user_model().objects.create_user("vi")
    add_member(study, viewer, "viewer")
    client.force_login(viewer)
    with connected():
        content = client.get(address(study)).content.decode()
    assert '<fieldset class="plain" disabled>' in content
    assert "Save" not in content
    assert "Read the list now" not in content


def test_the_command_sets_up_tests_and_reads(server: ProlificServer, capsys: Any) -> None:
    study = factories.open_study(recruiting={"id_parameter": "PROLIFIC_PID"})
    arrive(study, "p1")
    server.add("s1", "p1", "RETURNED")
    call_command("prolific", study.slug, study_id=[STUDY_ID], return_after=30, test=True)
    out = capsys.readouterr().out
    assert f"Prolific answers: {STUDY_ID}, 'Reading evidence', ACTIVE\n" in out
    assert f"studies at Prolific: {STUDY_ID}\nscreen-out code: none\n" in out
    assert "asked to return after: 30 minutes\n" in out
    assert f"webhook: http://127.0.0.1:8000/hooks/prolific/{study.code}/\nnot read\n" in out
    call_command("prolific_sync", study.slug)
    assert capsys.readouterr().out == (
        "1 submission read, 0 without a run here; 1 run ended\n0 calls written down, 0 done\n"
    )


def test_the_command_says_what_prolific_said(capsys: Any) -> None:
    study = connected_study()
    with pytest.raises(SystemExit) as ended:
        call_command("prolific_sync", study.slug)
    assert ended.value.code == 1
    assert "set PROLIFIC_API_TOKEN" in capsys.readouterr().err
    call_command("prolific", study.slug)
    assert "reading failed: This server has no token" in capsys.readouterr().out


def test_nothing_of_prolific_is_exported(server: ProlificServer, tmp_path: Any) -> None:
    import zipfile

    study = connected_study()
    arrive(study, "person-of-prolific", "session-of-prolific")
    server.add("session-of-prolific", "person-of-prolific")
    link_sessions(study, timezone.now())
    assert RecruiterSubmission.objects.count() == 1
    export_study(study, tmp_path / "e.zip")
    with zipfile.ZipFile(tmp_path / "e.zip") as archive:
        content = b"".join(archive.read(name) for name in archive.namelist())
    for secret in ("person-of-prolific", "session-of-prolific", STUDY_ID, "SCREENED1", TOKEN):
        assert secret.encode() not in content
