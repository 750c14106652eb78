"""Who may see which study, held against every researcher's address there is."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.http import Http404
from django.test import Client
from django.urls import reverse

from studyapp.access import studies_for, study_or_404
from studyapp.enums import JobState, StudyState
from studyapp.models import PrecomputeJob, Study
from studyapp.urls_researcher import urlpatterns
from tests import factories

pytestmark = pytest.mark.django_db

#: Addresses of the study pages that change something: they answer POST alone.
POST_ONLY = {"job-retry", "study-open", "study-pause", "study-resume", "study-close"}
#: Addresses without a study, open to everybody.
PUBLIC = {"login", "logout", "healthz"}
STUDY_PAGES = sorted(
    pattern.name for pattern in urlpatterns if pattern.name not in PUBLIC | {"study-list"}
)


def researcher(name: str, **fields: Any) -> Any:
    return get_user_model().objects.create_user(name, **fields)


def client_of(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def address(name: str, study: Study) -> str:
    """The address of one of a study's pages."""
    if name in ("job-retry", "job-reply"):
        job = PrecomputeJob.objects.filter(condition__study=study).earliest("pk")
        return reverse(name, args=[study.slug, job.pk])
    return reverse(name, args=[study.slug])


def ask(client: Client, name: str, study: Study, **headers: str) -> Any:
    """A request by the method the address answers; closing types the right name."""
    send = client.post if name in POST_ONLY else client.get
    return send(address(name, study), {"slug": study.slug}, headers=headers)


@pytest.fixture
def owned() -> Study:
    """An open study of the researcher ``ann``, with one failed job."""
    study = factories.open_study(owner=researcher("ann"))
    job = PrecomputeJob.objects.filter(condition__study=study).earliest("pk")
    PrecomputeJob.objects.filter(pk=job.pk).update(state=JobState.FAILED, raw_reply="raw")
    return study


def test_a_researcher_sees_own_studies_only(owned: Study) -> None:
    other = factories.draft_study(owner=researcher("bob"))
    unowned = factories.draft_study()
    assert list(studies_for(owned.owner)) == [owned]
    assert list(studies_for(other.owner)) == [other]
    assert set(studies_for(researcher("root", is_superuser=True))) == {owned, other, unowned}
    assert not studies_for(AnonymousUser()).exists()


def test_a_study_of_somebody_else_does_not_exist_for_a_researcher(owned: Study) -> None:
    assert study_or_404(owned.owner, owned.slug) == owned
    with pytest.raises(Http404):
        study_or_404(researcher("bob"), owned.slug)
    with pytest.raises(Http404):
        study_or_404(owned.owner, "no-such-study")


def test_every_study_page_has_a_name_in_the_list_of_this_test() -> None:
    assert len(STUDY_PAGES) == 13
    assert set(STUDY_PAGES) >= POST_ONLY


@pytest.mark.parametrize("name", STUDY_PAGES)
def test_an_anonymous_visitor_is_sent_to_the_login_page(name: str, owned: Study) -> None:
    response = ask(Client(), name, owned)
    assert response.status_code == 302
    assert response.url == f"{reverse('login')}?next={address(name, owned)}" + (
        f"%3Fslug%3D{owned.slug}" if name not in POST_ONLY else ""
    )
    assert Study.objects.get(pk=owned.pk).state == StudyState.OPEN


@pytest.mark.parametrize("name", STUDY_PAGES)
def test_another_researchers_study_is_not_found(name: str, owned: Study) -> None:
    response = ask(client_of(researcher("bob")), name, owned)
    assert response.status_code == 404
    assert owned.title not in response.content.decode()
    assert Study.objects.get(pk=owned.pk).state == StudyState.OPEN
    assert PrecomputeJob.objects.filter(state=JobState.FAILED).count() == 1


@pytest.mark.parametrize("name", STUDY_PAGES)
def test_a_participants_cookie_opens_no_researchers_page(name: str, owned: Study) -> None:
    enrolment = factories.joined(owned)
    client = Client()
    client.cookies[f"run-{owned.code}"] = enrolment.token
    assert ask(client, name, owned).status_code == 302


#: A report that nobody has built is not found; test_researcher_results.py downloads one.
@pytest.mark.parametrize("name", [name for name in STUDY_PAGES if name != "report-download"])
def test_the_owner_and_a_superuser_reach_the_page(
    name: str, owned: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studyapp.tasks.prepare.delay", lambda job_id: None)
    for user in (owned.owner, researcher("root", is_superuser=True)):
        response = ask(client_of(user), name, owned)
        assert response.status_code not in (403, 404, 405, 500)
        assert not response.headers.get("Location", "").startswith(reverse("login"))


@pytest.mark.parametrize("name", sorted(POST_ONLY))
def test_a_link_changes_nothing(name: str, owned: Study) -> None:
    response = client_of(owned.owner).get(address(name, owned))
    assert response.status_code == 405
    assert Study.objects.get(pk=owned.pk).state == StudyState.OPEN


@pytest.mark.parametrize("name", [*sorted(POST_ONLY), "study-precompute"])
def test_a_post_without_the_csrf_token_is_refused(name: str, owned: Study) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(owned.owner)
    response = client.post(address(name, owned), {"slug": owned.slug})
    assert response.status_code == 403
    assert Study.objects.get(pk=owned.pk).state == StudyState.OPEN
    assert PrecomputeJob.objects.filter(state=JobState.FAILED).count() == 1


def test_a_fragment_for_an_ended_session_takes_the_whole_page_to_the_login(owned: Study) -> None:
    response = ask(Client(), "study-precompute", owned, **{"HX-Request": "true"})
    assert response.status_code == 401
    assert response.headers["HX-Redirect"] == reverse("login")
    assert response.content == b""


def test_a_job_of_another_study_is_not_found(owned: Study) -> None:
    other = factories.open_study(owner=researcher("bob"))
    job = PrecomputeJob.objects.filter(condition__study=other).earliest("pk")
    client = client_of(owned.owner)
    assert client.get(reverse("job-reply", args=[owned.slug, job.pk])).status_code == 404
    assert client.post(reverse("job-retry", args=[owned.slug, job.pk])).status_code == 404


def test_the_list_asks_for_a_login() -> None:
    response = Client().get(reverse("study-list"))
    assert response.status_code == 302
    assert response.url == f"{reverse('login')}?next=/"


def test_a_form_older_than_the_login_is_told_readably(db):
    from django.test import Client

    answer = Client(enforce_csrf_checks=True).post("/login/", {"username": "a", "password": "b"})
    assert answer.status_code == 403
    assert "Nothing was stored" in answer.content.decode()
