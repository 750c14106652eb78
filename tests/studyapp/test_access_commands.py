"""Accounts and members from the command line."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django_otp.plugins.otp_totp.models import TOTPDevice

from studyapp.domain.access import members_of
from studyapp.domain.configuration import create_study
from studyapp.domain.demo import demo_researcher
from studyapp.models import AuditEntry, Invitation, Study
from tests import factories
from tests.studyapp.views.accounts import (
    QUICK_HASHERS,
    device_of,
    is_logged_in,
    researcher,
    send_login,
)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def quick_hashes(settings: Any) -> None:
    settings.PASSWORD_HASHERS = QUICK_HASHERS


def run(capsys: Any, *words: str) -> list[str]:
    """The lines that a command prints."""
    call_command(*words)
    return capsys.readouterr().out.splitlines()


def refusal(capsys: Any, *words: str) -> str:
    """What a refused command says."""
    with pytest.raises(SystemExit) as caught:
        call_command(*words)
    assert caught.value.code == 1
    return capsys.readouterr().err.strip()


def roles(study: Study) -> dict[str, str]:
    return {each.user.username: each.role for each in members_of(study)}


def set_password(link: str, password: str) -> Any:
    client = Client()
    page = client.get(link.removeprefix("http://127.0.0.1:8000"), follow=True)
    if not page.redirect_chain:
        return page
    fields = {"new_password1": password, "new_password2": password}
    return client.post(page.redirect_chain[-1][0], fields)


def test_a_new_researcher_sets_the_password_by_a_link_that_works_once(capsys: Any) -> None:
    (link,) = run(capsys, "create_researcher", "ann")
    client = Client()
    send_login(client, "ann", "nine green bottles")
    assert not is_logged_in(client)
    assert "at least 12 characters" in set_password(link, "short").content.decode()
    assert set_password(link, "nine green bottles").url == reverse("login")
    send_login(client, "ann", "nine green bottles")
    assert is_logged_in(client)
    assert "does not work any more" in set_password(link, "ten green bottles").content.decode()
    entry = AuditEntry.objects.get()
    assert (entry.who, entry.action, entry.details) == (
        "command",
        "account_created",
        {"member": "ann"},
    )


def test_the_log_of_the_whole_server_holds_accounts_and_every_study(capsys: Any) -> None:
    call_command("create_researcher", "ann")
    call_command("create_study", "pilot", "--owner", "ann")
    capsys.readouterr()
    lines = run(capsys, "audit_log")
    assert [line.split("  ", 1)[1] for line in lines] == [
        "command  study_created  pilot  member ann",
        "command  account_created  -  member ann",
    ]


def test_a_name_that_cannot_be_used_is_refused(capsys: Any) -> None:
    researcher("ann")
    assert "already" in refusal(capsys, "create_researcher", "ANN")
    assert "name: " in refusal(capsys, "create_researcher", "two words")
    assert "name: " in refusal(capsys, "create_researcher", "nul\0")
    assert "name: " in refusal(capsys, "create_researcher", "")
    assert "no user 'bob'" in refusal(capsys, "create_researcher", "bob", "--reset")
    assert "goes with --reset" in refusal(
        capsys, "create_researcher", "bob", "--without-second-factor"
    )
    assert get_user_model().objects.count() == 1


def test_a_lost_phone_is_helped_with_by_the_command(capsys: Any) -> None:
    device_of(researcher("ann"))
    (link,) = run(capsys, "create_researcher", "ann", "--reset")
    assert TOTPDevice.objects.count() == 1
    run(capsys, "create_researcher", "ann", "--reset", "--without-second-factor")
    assert not TOTPDevice.objects.exists()
    assert set_password(link, "nine green bottles").status_code == 302


def test_members_are_listed_added_changed_and_removed(capsys: Any) -> None:
    study = create_study("pilot", owner_name=researcher("ann").username)
    researcher("bob")
    assert run(capsys, "members", "pilot") == ["ann: owner"]
    assert run(capsys, "members", "pilot", "--add", "bob", "viewer") == [
        "ann: owner",
        "bob: viewer",
    ]
    run(capsys, "members", "pilot", "--role", "bob", "owner")
    run(capsys, "members", "pilot", "--remove", "ann")
    assert roles(study) == {"bob": "owner"}
    assert "last owner" in refusal(capsys, "members", "pilot", "--remove", "bob")
    assert "no member" in refusal(capsys, "members", "pilot", "--remove", "ann")
    assert "role 'king'" in refusal(capsys, "members", "pilot", "--add", "ann", "king")
    assert "already" in refusal(capsys, "members", "pilot", "--add", "bob", "viewer")
    assert "create_researcher" in refusal(capsys, "members", "pilot", "--add", "eve", "viewer")
    actions = AuditEntry.objects.filter(study_number=study.pk).order_by("pk")
    assert [(each.who, each.action) for each in actions] == [
        ("command", "study_created"),
        ("command", "member_joined"),
        ("command", "role_changed"),
        ("command", "member_removed"),
    ]


def test_an_invitation_is_made_and_revoked(capsys: Any) -> None:
    study = factories.draft_study("pilot")
    (link,) = run(capsys, "members", "pilot", "--invite", "owner")
    path = link.removeprefix("http://127.0.0.1:8000")
    assert Client().get(path).status_code == 200
    number = Invitation.objects.get(study=study).pk
    (line,) = run(capsys, "members", "pilot")
    assert line.startswith(f"invitation {number}: owner, by command, until ")
    assert run(capsys, "members", "pilot", "--revoke", str(number)) == []
    assert Client().get(path).status_code == 404
    assert "already" in refusal(capsys, "members", "pilot", "--revoke", str(number))


def test_the_demos_login_works(settings: Any, tmp_path: Any) -> None:
    settings.DATA_DIR = tmp_path
    name, password = demo_researcher()
    client = Client()
    send_login(client, name, password)
    assert is_logged_in(client)
