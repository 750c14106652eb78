"""A token is shown once, and can be replaced."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from rest_framework.authtoken.models import Token

from tests.studyapp.api.asking import Api, researcher

pytestmark = pytest.mark.django_db


def made(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    call_command("api_token", *arguments)
    return capsys.readouterr().out.strip()


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        call_command("api_token", *arguments)
    assert ended.value.code == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def test_a_token_opens_the_api_and_is_stored_nowhere(capsys: pytest.CaptureFixture[str]) -> None:
    researcher("ann")
    token = made(capsys, "ann")
    assert len(token) == 40
    assert Api(token=token).get("studies/").json() == {"results": [], "next": None}
    [row] = Token.objects.all()
    assert token not in (row.key, row.user.username)
    assert Api(token=row.key).get("studies/").status_code == 401


def test_a_second_token_must_be_asked_for_and_ends_the_first(
    capsys: pytest.CaptureFixture[str],
) -> None:
    researcher("ann")
    first = made(capsys, "ann")
    assert "--new" in refused(capsys, "ann")
    assert Api(token=first).get("studies/").status_code == 200
    second = made(capsys, "ann", "--new")
    assert Api(token=first).get("studies/").status_code == 401
    assert Api(token=second).get("studies/").status_code == 200
    assert Token.objects.count() == 1


def test_new_works_for_the_first_token_too(capsys: pytest.CaptureFixture[str]) -> None:
    researcher("ann")
    assert Api(token=made(capsys, "ann", "--new")).get("studies/").status_code == 200


@pytest.mark.parametrize("name", ["nobody", "a\0b", "\ud800"])
def test_a_user_that_is_none_gets_no_token(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no user" in refused(capsys, name)


def test_a_user_who_is_switched_off_gets_no_token(capsys: pytest.CaptureFixture[str]) -> None:
    researcher("ann", is_active=False)
    assert "switched off" in refused(capsys, "ann")
    assert not Token.objects.exists()
