"""The way in: welcome, consent, declining, invitations, cookies."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from studyapp.domain import lifecycle
from studyapp.domain.join_forms import invite
from studyapp.enums import EnrolmentState, RunKind, StudyState
from studyapp.models import Enrolment, Event, Participant, Study, Trial
from tests import factories
from tests.studyapp.views.pages import counts, field_of, join, welcome_url


def test_the_welcome_page_stores_nothing_by_get_or_head(study: Study, client: Client) -> None:
    before = counts()
    for method in (client.get, client.head):
        response = method(welcome_url(study))
        assert response.status_code == 200
        assert not response.cookies
    assert counts() == before


def test_the_pages_are_never_stored_and_may_be_framed(study: Study, client: Client) -> None:
    response = client.get(welcome_url(study))
    assert response.headers["Cache-Control"] == "no-store"
    assert "X-Frame-Options" not in response.headers
    assert "unsafe" not in response.headers["Content-Security-Policy"]


def test_consent_creates_one_run_and_leads_to_it(study: Study, client: Client) -> None:
    response = join(client, study)
    enrolment = Enrolment.objects.get()
    assert response.status_code == 303
    assert response.headers["Location"] == f"/p/{study.code}/r/{enrolment.token}/"
    assert enrolment.state == EnrolmentState.CONSENTED
    assert Trial.objects.count() == 0


def test_without_the_tick_the_page_comes_back_with_a_message_and_the_form(
    study: Study, client: Client
) -> None:
    form = field_of(client.get(welcome_url(study)), "form")
    refused = client.post(f"/p/{study.code}/join", {"form": form})
    assert refused.status_code == 422
    assert "tick the box" in refused.content.decode()
    assert Participant.objects.count() == 0
    # The form on the refused page works.
    again = field_of(refused, "form")
    assert (
        client.post(f"/p/{study.code}/join", {"form": again, "consent": "yes"}).status_code == 303
    )


def test_a_form_posted_twice_joins_once(study: Study, client: Client) -> None:
    form = field_of(client.get(welcome_url(study)), "form")
    addresses = {
        client.post(f"/p/{study.code}/join", {"form": form, "consent": "yes"}).headers["Location"]
        for _ in range(3)
    }
    assert len(addresses) == 1
    assert Participant.objects.count() == 1


@pytest.mark.parametrize("form", ["", "forged:1:2", "\x00"])
def test_a_form_that_was_not_handed_out_is_refused(study: Study, client: Client, form: str) -> None:
    response = client.post(f"/p/{study.code}/join", {"form": form, "consent": "yes"})
    assert response.status_code == 404
    assert "Open the study" in response.content.decode()
    assert Participant.objects.count() == 0


def test_a_form_of_another_study_is_refused(study: Study, client: Client) -> None:
    other = factories.open_study()
    form = field_of(client.get(welcome_url(other)), "form")
    response = client.post(f"/p/{study.code}/join", {"form": form, "consent": "yes"})
    assert response.status_code == 404
    assert Participant.objects.count() == 0


def test_when_every_slot_is_held_the_next_arrival_sees_a_friendly_page(
    study: Study, client: Client
) -> None:
    for _ in range(study.slots.count()):
        assert join(Client(), study).status_code == 303
    response = join(client, study)
    assert response.status_code == 409
    assert "Every place is taken" in response.content.decode()
    assert Participant.objects.count() == study.slots.count()


def test_the_plain_link_leads_the_same_browser_back_to_its_run(
    study: Study, client: Client
) -> None:
    address = join(client, study).headers["Location"]
    cookie = client.cookies[f"run-{study.code}"]
    assert cookie["httponly"] is True
    assert cookie["samesite"] == "Lax"
    assert cookie["path"] == f"/p/{study.code}/"
    back = client.get(welcome_url(study))
    assert (back.status_code, back.headers["Location"]) == (302, address)


def test_the_cookie_is_never_required(study: Study, client: Client) -> None:
    address = join(client, study).headers["Location"]
    stranger = Client()
    assert stranger.get(address).status_code == 200
    assert stranger.post(address + "begin").status_code == 303
    assert Trial.objects.count() == 1


@pytest.mark.parametrize("value", ["", "unknown", '"a\\000b"', "x" * 500])
def test_a_strange_cookie_is_ignored(study: Study, client: Client, value: str) -> None:
    response = client.get(welcome_url(study), headers={"cookie": f"run-{study.code}={value}"})
    assert response.status_code == 200
    assert field_of(response, "form")


def test_an_invitation_starts_one_run_of_its_kind_and_no_second(
    study: Study, client: Client
) -> None:
    link = f"{welcome_url(study)}?run={invite(study, RunKind.SIMULATED)}"
    assert join(client, study, link).status_code == 303
    assert Enrolment.objects.get().run_kind == RunKind.SIMULATED
    # The same browser is led back; another one is told that the link was used.
    assert client.get(link).status_code == 302
    second = join(Client(), study, link)
    assert second.status_code == 404
    assert "used before" in second.content.decode()
    assert Enrolment.objects.count() == 1


def test_a_new_invitation_is_not_led_back_to_the_old_run(study: Study, client: Client) -> None:
    join(client, study)
    response = client.get(f"{welcome_url(study)}?run={invite(study, RunKind.PILOT)}")
    assert response.status_code == 200
    assert field_of(response, "form")


def test_a_forged_invitation_gets_help_and_no_form(study: Study, client: Client) -> None:
    response = client.get(f"{welcome_url(study)}?run=simulated")
    assert response.status_code == 404
    assert 'name="form"' not in response.content.decode()


@pytest.mark.parametrize("method", ["get", "head"])
def test_a_recruiters_preview_shows_the_study_without_a_form(
    study: Study, client: Client, method: str
) -> None:
    before = counts()
    url = f"{welcome_url(study)}?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE"
    response = getattr(client, method)(url)
    assert response.status_code == 200
    assert counts() == before
    page = client.get(url).content.decode()
    assert "preview" in page
    assert 'name="form"' not in page


@pytest.mark.parametrize(
    ("state", "words"),
    [(StudyState.PAUSED, "is paused"), (StudyState.CLOSED, "has ended")],
)
def test_a_study_that_is_not_open_says_so(
    study: Study, client: Client, state: str, words: str
) -> None:
    form = field_of(client.get(welcome_url(study)), "form")
    lifecycle.set_state(study, state, allowed_from=[StudyState.OPEN])
    looked = client.get(welcome_url(study))
    assert looked.status_code == 200
    assert words in looked.content.decode()
    posted = client.post(f"/p/{study.code}/join", {"form": form, "consent": "yes"})
    assert posted.status_code == 409
    assert "takes no participants" in posted.content.decode()
    assert Participant.objects.count() == 0


def test_a_draft_says_that_it_has_not_opened(db: None, client: Client) -> None:
    draft = factories.ready_study()
    response = client.get(welcome_url(draft))
    assert response.status_code == 200
    assert "not opened yet" in response.content.decode()


def test_an_unknown_study_is_a_helpful_404(db: None, client: Client) -> None:
    for url in ("/p/nosuchstudy/", "/p/nosuchstudy/declined", "/p/nosuchstudy/r/abc/"):
        response = client.get(url)
        assert response.status_code == 404
        assert "link" in response.content.decode()


def test_declining_stores_nothing(study: Study, client: Client) -> None:
    before = counts()
    response = client.get(f"/p/{study.code}/declined")
    assert response.status_code == 200
    assert "Nothing about you was stored" in response.content.decode()
    assert counts() == before


def test_texts_of_a_study_are_shown_as_text(db: None, client: Client) -> None:
    study = factories.open_study(
        texts={"consent": "First.\n\n<b>Second</b>", "contact": "<script>alert(1)</script>"},
        title="A <i>title</i>",
    )
    page = client.get(welcome_url(study)).content.decode()
    assert "<p>First.</p>" in page
    assert "<p>&lt;b&gt;Second&lt;/b&gt;</p>" in page
    assert "<script>alert" not in page
    assert "A &lt;i&gt;title&lt;/i&gt;" in page


@pytest.mark.parametrize(
    ("headers", "is_refused"),
    [
        ({}, False),
        ({"origin": "http://testserver"}, False),
        ({"origin": "http://testserver", "sec-fetch-site": "same-origin"}, False),
        ({"origin": "null"}, False),
        ({"origin": "null", "sec-fetch-site": "same-origin"}, False),
        ({"origin": "null", "sec-fetch-site": "cross-site"}, True),
        ({"origin": "null", "sec-fetch-site": "same-site"}, True),
        ({"origin": "http://elsewhere.example"}, True),
        ({"origin": "http://testserver.elsewhere.example"}, True),
        ({"sec-fetch-site": "cross-site"}, True),
    ],
)
def test_posts_from_other_sites_are_refused(
    study: Study, client: Client, headers: dict[str, Any], is_refused: bool
) -> None:
    form = field_of(client.get(welcome_url(study)), "form")
    response = client.post(
        f"/p/{study.code}/join", {"form": form, "consent": "yes"}, headers=headers
    )
    if is_refused:
        assert response.status_code == 403
        assert "another site" in response.content.decode()
    else:
        assert response.status_code == 303
    assert Participant.objects.count() == (0 if is_refused else 1)


def test_a_wrong_method_is_answered_readably(study: Study, client: Client) -> None:
    response = client.put(welcome_url(study))
    assert response.status_code == 405
    assert response.headers["Allow"] == "GET, HEAD"
    assert "Nothing was stored" in response.content.decode()
    assert Event.objects.count() == 0
