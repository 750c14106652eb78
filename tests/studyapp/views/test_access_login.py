"""Logging in: second factor, throttle, sessions; and that participants notice nothing of it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

from studyapp.domain.accounts import password_link
from studyapp.enums import AuditAction
from studyapp.models import AuditEntry, Study
from studyapp.throttle import client_address
from tests import factories
from tests.studyapp.views.accounts import (
    PASSWORD,
    QUICK_HASHERS,
    client_of,
    code_of,
    device_of,
    is_logged_in,
    researcher,
    send_code,
    send_login,
)
from tests.studyapp.views.pages import join, run_url, welcome_url

pytestmark = pytest.mark.django_db

#: The heads of a participant's page, before there were logins with more layers and since.
HEADERS = {
    "Cache-Control",
    "Content-Security-Policy",
    "Content-Type",
    "Cross-Origin-Opener-Policy",
    "Referrer-Policy",
    "Vary",
    "X-Content-Type-Options",
}


@pytest.fixture(autouse=True)
def quick_hashes(settings: Any) -> None:
    settings.PASSWORD_HASHERS = QUICK_HASHERS


@pytest.fixture
def ann() -> Any:
    return researcher("ann")


# ---- the second factor ---------------------------------------------------------------------------


def test_without_a_second_factor_name_and_password_suffice(ann: Any) -> None:
    client = Client()
    assert send_login(client, "ann").url == reverse("study-list")
    assert is_logged_in(client)


def test_with_a_second_factor_the_password_alone_opens_nothing(ann: Any) -> None:
    device = device_of(ann)
    client = Client()
    page = send_login(client, "ann", next="/account/")
    assert page.status_code == 200
    assert 'name="token-otp_token"' in page.content.decode()
    assert not is_logged_in(client)
    assert client.get(reverse("login")).status_code == 200  # asked for the password again
    send_login(client, "ann")
    assert "<h1>Log in" in send_code(client, "000000").content.decode()
    assert not is_logged_in(client)
    TOTPDevice.objects.update(throttling_failure_count=0, throttling_failure_timestamp=None)
    assert send_code(client, code_of(device)).url == reverse("study-list")
    assert is_logged_in(client)


def test_a_code_works_once(ann: Any) -> None:
    device = device_of(ann)
    code = code_of(device)
    for client, works in ((Client(), True), (Client(), False)):
        send_login(client, "ann")
        send_code(client, code)
        assert is_logged_in(client) is works


def test_wrong_codes_are_slowed_down(ann: Any) -> None:
    device = device_of(ann)
    client = Client()
    send_login(client, "ann")
    for _ in range(3):
        send_code(client, "000000")
    send_code(client, code_of(device))
    assert not is_logged_in(client)
    device.refresh_from_db()
    assert device.throttling_failure_count >= 1


def test_a_backup_code_stands_in_for_the_phone_once(ann: Any) -> None:
    device_of(ann)
    backup = StaticDevice.objects.create(user=ann, name="backup")
    backup.token_set.create(token="kept4bad")
    for client, works in ((Client(), True), (Client(), False)):
        send_login(client, "ann")
        client.post(reverse("login"), {"wizard_goto_step": "backup"})
        send_code(client, "kept4bad", "backup")
        assert is_logged_in(client) is works
    assert backup.token_set.count() == 0


def test_setting_up_shows_a_picture_and_a_key_and_wants_the_digits(ann: Any) -> None:
    client = client_of(ann)
    setup = reverse("two_factor:setup")
    client.get(setup)
    prefix = "second_factor_setup-current_step"
    page = client.post(setup, {prefix: "welcome"})
    key = page.context["secret_key"]
    picture = client.get(reverse("two_factor:qr"))
    assert picture.headers["Content-Type"].startswith("image/svg+xml")
    assert b"<svg" in picture.content
    assert b"style=" not in picture.content
    wrong = client.post(setup, {prefix: "generator", "generator-token": "000000"})
    assert "These digits do not fit" in wrong.content.decode()
    assert not TOTPDevice.objects.exists()
    from base64 import b32decode

    from django_otp.oath import totp

    right = client.post(setup, {prefix: "generator", "generator-token": totp(b32decode(key))})
    assert right.url == reverse("two_factor:setup_complete")
    assert TOTPDevice.objects.get().user == ann
    assert AuditEntry.objects.get().action == AuditAction.SECOND_FACTOR_ON
    assert "is on" in client.get(right.url).content.decode()
    client.post(reverse("two_factor:backup_tokens"))
    codes = client.get(reverse("two_factor:backup_tokens")).content.decode()
    assert codes.count("<li><code>") == 10


def test_turning_it_off_takes_the_device_and_the_backup_codes(ann: Any) -> None:
    device = device_of(ann)
    StaticDevice.objects.create(user=ann, name="backup")
    client = Client()
    send_login(client, "ann")
    send_code(client, code_of(device))
    client.post(reverse("two_factor:disable"), {"understand": "on"})
    assert AuditEntry.objects.get().action == AuditAction.SECOND_FACTOR_OFF
    assert not TOTPDevice.objects.exists()
    assert not StaticDevice.objects.exists()


def test_a_server_that_requires_it_shows_nothing_before_it_is_set_up(
    ann: Any, settings: Any
) -> None:
    settings.REQUIRE_2FA = True
    study = factories.open_study(owner=ann)
    client = client_of(ann)
    for name, arguments in (
        ("study-list", []),
        ("study", [study.slug]),
        ("study-export", [study.slug]),
    ):
        assert client.get(reverse(name, args=arguments)).url == reverse("two_factor:setup")
    assert client.post(reverse("study-pause", args=[study.slug])).url == reverse("two_factor:setup")
    study.refresh_from_db()
    assert study.is_open
    fragment = client.get(
        reverse("study-precompute", args=[study.slug]), headers={"HX-Request": "true"}
    )
    assert (fragment.status_code, fragment.headers["HX-Redirect"]) == (
        401,
        reverse("two_factor:setup"),
    )
    device = device_of(ann)
    # The old login goes back to the login page, and round in no circle.
    at_setup = client.get(reverse("two_factor:setup"), follow=True)
    assert at_setup.redirect_chain[-1][0].startswith(reverse("login"))
    assert at_setup.status_code == 200
    verified = Client()
    send_login(verified, "ann")
    send_code(verified, code_of(device))
    assert is_logged_in(verified)


# ---- the throttle --------------------------------------------------------------------------------


def lock(client: Client, name: str, **headers: str) -> Any:
    for _ in range(settings.LOGIN_FAILURES):
        response = send_login(client, name, "wrong", headers=headers)
    return response


def test_too_many_wrong_passwords_lock_the_name_for_a_stated_time(ann: Any) -> None:
    response = lock(Client(REMOTE_ADDR="192.0.2.1"), "ann")
    assert response.status_code == 429
    assert response.headers["Retry-After"] == "900"
    html = response.content.decode()
    assert "<strong>15 minutes</strong>" in html
    assert not AccessAttempt.objects.filter(post_data__contains="wrong").exists()
    elsewhere = Client(REMOTE_ADDR="192.0.2.2")
    assert send_login(elsewhere, "ann").status_code == 429
    assert not is_logged_in(elsewhere)
    AccessAttempt.objects.update(attempt_time=timezone.now() - timedelta(minutes=14, seconds=30))
    assert "<strong>1 minute</strong>" in send_login(elsewhere, "ann").content.decode()
    AccessAttempt.objects.update(attempt_time=timezone.now() - timedelta(minutes=16))
    send_login(elsewhere, "ann")
    assert is_logged_in(elsewhere)


def test_trying_many_names_locks_the_address_and_no_other_one(ann: Any) -> None:
    guessing = Client(REMOTE_ADDR="192.0.2.1")
    for number in range(settings.LOGIN_FAILURES):
        send_login(guessing, f"guess-{number}", "wrong", headers={"User-Agent": f"agent {number}"})
    assert send_login(guessing, "ann").status_code == 429
    other = Client(REMOTE_ADDR="192.0.2.2")
    send_login(other, "ann")
    assert is_logged_in(other)


def test_logging_in_as_oneself_does_not_buy_more_guesses(ann: Any) -> None:
    researcher("eve")
    client = Client(REMOTE_ADDR="192.0.2.1")
    for _ in range(settings.LOGIN_FAILURES - 1):
        send_login(client, "ann", "wrong")
    send_login(client, "eve")
    client.post(reverse("logout"))
    assert send_login(client, "ann", "wrong").status_code == 429


def test_who_is_logged_in_stays_so_while_the_name_is_locked(ann: Any) -> None:
    inside = client_of(ann)
    lock(Client(), "ann")
    assert is_logged_in(inside)


@pytest.mark.parametrize(
    ("proxies", "forwarded", "address"),
    [
        (0, "203.0.113.9", "10.0.0.1"),
        (1, "203.0.113.9", "203.0.113.9"),
        (1, "198.51.100.7, 203.0.113.9", "203.0.113.9"),
        (2, "198.51.100.7, 203.0.113.9, 10.0.0.2", "203.0.113.9"),
        (2, "203.0.113.9", "10.0.0.1"),
        (1, "", "10.0.0.1"),
        (1, "2001:db8::1", "2001:db8::1"),
        (1, "<script>", "10.0.0.1"),
    ],
)
def test_only_the_addresses_that_our_own_proxies_wrote_are_believed(
    proxies: int, forwarded: str, address: str, settings: Any
) -> None:
    settings.TRUSTED_PROXIES = proxies
    request = RequestFactory().get("/", REMOTE_ADDR="10.0.0.1")
    if forwarded:
        request.META["HTTP_X_FORWARDED_FOR"] = forwarded
    assert client_address(request) == address


# ---- sessions and passwords ----------------------------------------------------------------------


def test_the_session_is_a_new_one_after_the_login_and_says_how_long_it_lasts(ann: Any) -> None:
    client = Client()
    page = client.get(reverse("login"))
    assert "for 12 hours" in page.content.decode()
    before = client.cookies[settings.SESSION_COOKIE_NAME].value
    response = send_login(client, "ann")
    cookie = response.cookies[settings.SESSION_COOKIE_NAME]
    assert cookie.value != before
    assert not Session.objects.filter(session_key=before).exists()
    assert (cookie["max-age"], cookie["httponly"], cookie["samesite"]) == (12 * 3600, True, "Lax")
    assert response.headers["Cache-Control"].startswith("max-age=0, no-cache, no-store")


def test_a_cut_login_form_begins_anew(ann: Any) -> None:
    response = Client().post(reverse("login"), {"username": "ann", "password": PASSWORD})
    assert response.status_code == 200
    assert 'name="auth-username"' in response.content.decode()


@pytest.mark.parametrize(
    ("password", "complaint"),
    [
        ("short-one", "at least 12 characters"),
        ("qwertyuiop123", "too common"),
        ("739182645093817", "entirely numeric"),
        ("annabella-smith", "too similar"),
    ],
)
def test_a_weak_password_is_refused_with_the_reason(password: str, complaint: str) -> None:
    client = client_of(researcher("annabella-smith"))
    fields = {"old_password": PASSWORD, "new_password1": password, "new_password2": password}
    response = client.post(reverse("password-change"), fields)
    assert response.status_code == 200
    assert complaint in response.content.decode()
    assert is_logged_in(client)


def test_another_password_ends_logins_elsewhere(ann: Any) -> None:
    here, elsewhere = client_of(ann), client_of(ann)
    fields = {
        "old_password": PASSWORD,
        "new_password1": "seven blue herons",
        "new_password2": "seven blue herons",
    }
    assert here.post(reverse("password-change"), fields).status_code == 302
    assert is_logged_in(here)
    assert not is_logged_in(elsewhere)


# ---- participants --------------------------------------------------------------------------------


def test_participants_pages_know_no_login_no_cookie_and_no_further_query(study: Study) -> None:
    client = client_of(researcher("root", is_superuser=True))
    with CaptureQueriesContext(connection) as captured:
        response = client.get(welcome_url(study))
    assert len(captured) == 1
    joined = join(Client(), study)
    run = Client().get(joined.headers["Location"])
    for answer in (response, joined, run, Client().get(run_url(factories.joined(study)))):
        assert not answer.cookies or set(answer.cookies) == {f"run-{study.code}"}
        assert answer.headers["Cache-Control"] == "no-store"
        assert "Cookie" not in answer.headers.get("Vary", "")
    assert set(response.headers) == HEADERS


# ---- messages ------------------------------------------------------------------------------------


def test_the_login_page_says_that_the_password_is_set_and_says_it_once(ann: Any) -> None:
    client = Client()
    form = client.get(password_link(ann), follow=True)
    chosen = {"new_password1": "seven blue herons", "new_password2": "seven blue herons"}
    login_page = client.post(form.redirect_chain[-1][0], chosen, follow=True)
    assert login_page.redirect_chain == [(reverse("login"), 302)]
    assert "Your password is set. Log in with it." in login_page.content.decode()
    send_login(client, "ann", "seven blue herons")
    assert "Your password is set" not in client.get(reverse("study-list")).content.decode()


def test_the_account_page_says_that_the_password_is_changed(ann: Any) -> None:
    client = client_of(ann)
    fields = {
        "old_password": PASSWORD,
        "new_password1": "seven blue herons",
        "new_password2": "seven blue herons",
    }
    page = client.post(reverse("password-change"), fields, follow=True)
    assert page.redirect_chain == [(reverse("two_factor:profile"), 302)]
    assert "Your password is changed. Logins in other browsers have ended." in page.content.decode()
