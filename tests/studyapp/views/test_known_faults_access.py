"""Faults that other platforms had with logins, roles and forms, each held against our pages."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import get_resolver, reverse

from studyapp.domain.consent import consent_records, consent_version, keep_consent_text
from studyapp.models import AuditEntry, Enrolment, Study
from tests import factories
from tests.studyapp.test_access import RULES, address, names_of
from tests.studyapp.views.accounts import QUICK_HASHERS, researcher
from tests.studyapp.views.pages import form_ending, join, run_url

pytestmark = pytest.mark.django_db
SITE = "http://testserver"


@pytest.fixture
def ann() -> Any:
    return researcher("ann")


def old_form(client: Client, url: str, fields: dict[str, str], **headers: str) -> Any:
    """Send a form whose token is older than the login, as the browser in tab A would."""
    stale = {"csrfmiddlewaretoken": "a" * 64}
    return client.post(url, fields | stale, headers={"Origin": SITE} | headers)


@pytest.fixture
def browser(ann: Any) -> Client:
    """The browser after the login in tab B."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(ann)
    return client


def test_r025_a_form_older_than_the_login_comes_back_with_its_content(
    browser: Client, ann: Any
) -> None:
    """A login in another tab made the open form worthless, and what was typed was gone."""
    study = factories.open_study(owner=ann)
    url = reverse("study-close", args=[study.slug])
    answer = old_form(browser, url, {"slug": study.slug, "note": "a <long>\ntext"})
    assert answer.status_code == 403
    html = answer.content.decode()
    assert "Nothing was stored" in html
    assert "a &lt;long&gt;<br>text" in html
    study.refresh_from_db()
    assert study.is_open
    action, fields = form_ending(answer, "/close/")
    assert fields.pop("csrfmiddlewaretoken") != "a" * 64
    assert fields == {"slug": study.slug, "note": "a <long>\ntext"}
    again = form_ending(answer, "/close/")[1]
    assert browser.post(action, again, headers={"Origin": SITE}).status_code == 302
    study.refresh_from_db()
    assert study.state == "closed"


@pytest.mark.parametrize("origin", ["https://evil.example", "null", ""])
def test_r025_a_form_of_another_site_does_not_come_back(
    origin: str, browser: Client, ann: Any
) -> None:
    study = factories.open_study(owner=ann)
    url = reverse("study-close", args=[study.slug])
    answer = old_form(browser, url, {"slug": study.slug}, Origin=origin)
    assert answer.status_code == 403
    assert "<form" not in answer.content.decode()


def test_r025_passwords_do_not_come_back(browser: Client) -> None:
    secrets = {"old_password": "hunter2", "new_password1": "hunter3"}
    before = f"{SITE}/account/password/"
    answer = old_form(browser, reverse("password-change"), secrets, Referer=before)
    html = answer.content.decode()
    assert "hunter" not in html
    assert "<form" not in html
    assert 'href="/account/password/"' in html


def test_r025_a_fragment_reloads_its_page(browser: Client, ann: Any) -> None:
    study = factories.open_study(owner=ann)
    url = reverse("study-precompute", args=[study.slug])
    answer = old_form(browser, url, {}, **{"HX-Request": "true"})
    assert (answer.status_code, answer.headers["HX-Refresh"], answer.content) == (403, "true", b"")


def test_r025_an_old_login_form_is_told_readably(db: None) -> None:
    answer = Client(enforce_csrf_checks=True).post("/login/", {"auth-username": "a"})
    assert answer.status_code == 403
    assert "Nothing was stored" in answer.content.decode()


def test_r113_no_page_makes_an_account_without_an_invitation(study: Study, settings: Any) -> None:
    """A fresh installation let anybody sign up."""
    settings.PASSWORD_HASHERS = QUICK_HASHERS
    form = {"username": "new", "password": "nine green bottles", "repeated": "nine green bottles"}
    more = {"password1": form["password"], "password2": form["password"], "email": "a@b.example"}
    for name in sorted(names_of(get_resolver().url_patterns)):
        client = Client()
        client.get(address(name, study))
        client.post(address(name, study), form | more)
        assert client.get(reverse("study-list")).status_code == 302
    for guess in ("/signup/", "/register/", "/accounts/signup/", "/admin/", "/account/new/"):
        assert Client().post(guess, form | more).status_code == 404
    assert not get_user_model().objects.exists()


def test_r113_a_participant_can_change_nothing_of_the_study(study: Study) -> None:
    """A participant's session could call what deletes."""
    client = Client()
    client.cookies[f"run-{study.code}"] = factories.joined(study).token
    before = AuditEntry.objects.count()
    for name, rules in RULES.items():
        if name not in ("login", "logout", "password-set", "invitation") and "POST" in rules:
            response = client.post(address(name, study), {"slug": study.slug})
            assert response.url.startswith(reverse("login"))
    study.refresh_from_db()
    assert study.is_open
    assert AuditEntry.objects.count() == before


def test_r117_the_audit_log_holds_nothing_of_participants(study: Study) -> None:
    """Ids, addresses or browsers of participants turned up in logs."""
    client = Client(REMOTE_ADDR="203.0.113.77", headers={"User-Agent": "Rare-Browser/7"})
    join(client, study, f"/p/{study.code}/?PROLIFIC_PID=5f0c0ffee")
    enrolment = Enrolment.objects.select_related("participant").get()
    client.get(run_url(enrolment))
    text = str(list(AuditEntry.objects.values()))
    for secret in (
        "203.0.113.77",
        "Rare-Browser",
        "5f0c0ffee",
        enrolment.participant.code,
        enrolment.token,
    ):
        assert secret not in text


def test_r135_who_consented_before_a_text_changed_is_shown_with_the_text_they_saw(
    ann: Any,
) -> None:
    """A changed text was shown as what earlier participants had agreed to."""
    study = factories.open_study(owner=ann, n_replications=3)
    old_version, old_text = consent_version(study), study.texts["consent"]
    for _ in range(5):
        factories.joined(study)
    study.texts["consent"] = "Another text."
    study.save(update_fields=["texts"])
    keep_consent_text(study)
    factories.joined(study)
    found = consent_records(study)
    assert [each.text for each in found.texts] == [old_text, "Another text."]
    assert [each.number for each in found.records] == [1, 1, 1, 1, 1, 2]
    assert {each.version for each in found.records[:5]} == {old_version}
