"""The page on which a researcher makes and ends a token for the REST API."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import Client
from rest_framework.authtoken.models import Token

from studyapp.enums import AuditAction
from studyapp.models import AuditEntry

pytestmark = pytest.mark.django_db

ADDRESS = "/account/api-token/"


@pytest.fixture
def client() -> Client:
    client = Client()
    client.force_login(get_user_model().objects.create_user("ann"))
    return client


def made(client: Client) -> str:
    page = client.post(ADDRESS).content.decode()
    found = re.search(r'id="api-token" readonly value="(\w+)"', page)
    assert found
    return found[1]


def opens_the_api(token: str) -> bool:
    response = Client().get("/api/v1/studies/", headers={"Authorization": f"Token {token}"})
    return response.status_code == 200


def test_a_token_is_shown_once_and_opens_the_api(client: Client) -> None:
    assert "You have no token." in client.get(ADDRESS).content.decode()
    token = made(client)
    assert opens_the_api(token)
    again = client.get(ADDRESS).content.decode()
    assert "You have a token, made " in again
    assert token not in again


def test_a_new_token_ends_the_one_before(client: Client) -> None:
    first, second = made(client), made(client)
    assert (opens_the_api(first), opens_the_api(second)) == (False, True)


def test_a_token_is_ended(client: Client) -> None:
    token = made(client)
    page = client.post(ADDRESS, {"end": "yes"}, follow=True).content.decode()
    assert "The token is ended" in page
    assert not opens_the_api(token)
    actions = AuditEntry.objects.order_by("pk").values_list("action", flat=True)
    assert list(actions) == [AuditAction.API_TOKEN_MADE, AuditAction.API_TOKEN_ENDED]


def test_ending_no_token_is_no_entry(client: Client) -> None:
    client.post(ADDRESS, {"end": "yes"})
    assert not AuditEntry.objects.exists()


def test_the_command_ends_a_token_too(client: Client, capsys: Any) -> None:
    token = made(client)
    call_command("api_token", "ann", "--end")
    assert capsys.readouterr().out == "the token is ended\n"
    assert not opens_the_api(token)
    assert not Token.objects.exists()
    call_command("api_token", "ann", "--end")
    assert capsys.readouterr().out == "there was no token\n"


def test_the_page_is_kept_by_no_cache(client: Client) -> None:
    assert "no-store" in client.post(ADDRESS).headers["Cache-Control"]
