"""Opening, pausing, resuming and closing from the study page."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

from studyapp.domain import lifecycle
from studyapp.enums import StudyState
from studyapp.models import Study
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


def post(client: Client, name: str, study: Study, **data: str) -> Any:
    return client.post(reverse(name, args=[study.slug]), data)


def state(study: Study) -> str:
    return Study.objects.get(pk=study.pk).state


def test_opening_a_ready_study_lets_participants_in(client: Client, ann: Any) -> None:
    study = factories.ready_study(owner=ann)
    response = post(client, "study-open", study)
    assert response.status_code == 302
    assert response.url == f"{reverse('study', args=[study.slug])}#participants"
    assert state(study) == StudyState.OPEN
    html = client.get(response.url).content.decode()
    assert "The study is open." in html
    assert "The study is open." not in client.get(response.url).content.decode()


def test_opening_is_refused_with_every_problem(client: Client, ann: Any) -> None:
    study = factories.draft_study(owner=ann)
    factories.add_claims(study, 2)
    factories.add_conditions(study)
    response = post(client, "study-open", study)
    assert response.status_code == 409
    html = response.content.decode()
    alert = html[html.index('role="alert"') : html.index("</ul>")]
    problems = lifecycle.opening_problems(study)
    assert len(problems) == 3
    for problem in problems:
        assert f"<li>{problem}</li>" in alert
    assert state(study) == StudyState.DRAFT


def test_opening_twice_is_refused_and_says_the_true_state(client: Client, ann: Any) -> None:
    study = factories.open_study(owner=ann)
    response = post(client, "study-open", study)
    assert response.status_code == 409
    assert "The study is open already." in response.content.decode()


def test_pause_and_resume(client: Client, ann: Any) -> None:
    study = factories.open_study(owner=ann)
    assert post(client, "study-pause", study).status_code == 302
    assert state(study) == StudyState.PAUSED
    html = client.get(reverse("study", args=[study.slug])).content.decode()
    assert "Resume the study</button>" in html
    assert "Pause the study</button>" not in html
    assert post(client, "study-resume", study).status_code == 302
    assert state(study) == StudyState.OPEN


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("study-pause", StudyState.DRAFT),
        ("study-pause", StudyState.CLOSED),
        ("study-resume", StudyState.OPEN),
        ("study-resume", StudyState.CLOSED),
        ("study-close", StudyState.DRAFT),
        ("study-close", StudyState.CLOSED),
    ],
)
def test_a_change_from_the_wrong_state_is_refused(
    name: str, start: str, client: Client, ann: Any
) -> None:
    study = factories.ready_study(owner=ann)
    if start != StudyState.DRAFT:
        study = lifecycle.open_study(study)
        Study.objects.filter(pk=study.pk).update(state=start)
    response = post(client, name, study, slug=study.slug)
    assert response.status_code == 409
    assert "cannot become" in response.content.decode()
    assert state(study) == start


def test_closing_asks_for_the_name_and_says_whom_it_touches(client: Client, ann: Any) -> None:
    study = factories.open_study(owner=ann)
    factories.started(study)
    html = client.get(reverse("study", args=[study.slug])).content.decode()
    assert "1 person under way will get no further trial" in html
    for typed in ("", "another"):
        response = post(client, "study-close", study, slug=typed)
        assert response.status_code == 422
        assert f"type its short name, {study.slug}, to close it" in response.content.decode()
        assert state(study) == StudyState.OPEN
    assert post(client, "study-close", study, slug=f" {study.slug} ").status_code == 302
    assert state(study) == StudyState.CLOSED
    assert Study.objects.get(pk=study.pk).closed_at is not None


def test_a_closed_study_offers_no_change_of_state(client: Client, ann: Any) -> None:
    study = factories.open_study(owner=ann)
    post(client, "study-close", study, slug=study.slug)
    html = client.get(reverse("study", args=[study.slug])).content.decode()
    for button in ("Open the study", "Pause the study", "Resume the study", "Close the study"):
        assert f"{button}</button>" not in html
    assert "nobody can join" in html


def test_the_frozen_hashes_are_on_the_page_of_an_open_study(client: Client, ann: Any) -> None:
    study = factories.open_study(owner=ann)
    html = client.get(reverse("study", args=[study.slug])).content.decode()
    assert study.frozen["claims"] in html
    assert study.frozen["software"] in html
