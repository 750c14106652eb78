"""What a study of the planned size can detect, on the schedule card."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from analysis.power import detectable_difference, sentence
from studyapp.domain import lifecycle, schedule
from studyapp.enums import ConditionPolicy, Interface
from studyapp.models import Study
from tests import factories

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture(autouse=True)
def empty_cache() -> None:
    cache.clear()


@pytest.fixture
def ann() -> Any:
    return get_user_model().objects.create_user("ann")


@pytest.fixture
def client(ann: Any) -> Client:
    client = Client()
    client.force_login(ann)
    return client


def card(client: Client, study: Study) -> str:
    html = client.get(reverse("study", args=[study.slug])).content.decode()
    return html[html.index('id="schedule"') : html.index('id="opening"')]


def test_the_card_asks_for_the_sentence_once_and_keeps_it(
    client: Client, ann: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = factories.ready_study(8, owner=ann)
    address = reverse("study-power", args=[study.slug])
    wanted = sentence(2, 8, detectable_difference(2, 8, subsets=2), subsets=2)
    before = card(client, study)
    assert f'hx-get="{address}"' in before
    assert wanted not in before
    fragment = client.get(address, headers=HTMX)
    assert (
        f"<p>{wanted} Assumed: 74 % success in the other condition.</p>"
        in fragment.content.decode()
    )
    assert "<html" not in fragment.content.decode()
    assert "HX-Request" in fragment.headers["Vary"]
    monkeypatch.setattr("analysis.power.detectable_difference", lambda *_, **__: 1 / 0)
    after = card(client, study)
    assert wanted in after
    assert "hx-get" not in after
    page = client.get(address).content.decode()
    assert "<html" in page
    assert wanted in page


def test_another_size_is_another_question(client: Client, ann: Any) -> None:
    study = factories.ready_study(8, owner=ann)
    client.get(reverse("study-power", args=[study.slug]))
    schedule.lay_out(study, 2, 2, 7)
    assert "hx-get" in card(client, Study.objects.get(pk=study.pk))


def test_a_size_that_cannot_be_simulated_says_why(
    client: Client, ann: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = factories.ready_study(8, owner=ann)
    monkeypatch.setattr("analysis.power.layout.MAX_TRIALS", 4)
    html = client.get(reverse("study-power", args=[study.slug])).content.decode()
    assert "Not estimated: " in html


def test_designs_that_the_simulation_does_not_know_are_not_judged(client: Client, ann: Any) -> None:
    between = factories.draft_study(owner=ann, condition_policy=ConditionPolicy.BETWEEN)
    factories.add_claims(between, 4)
    factories.add_conditions(between)
    single = factories.draft_study(owner=ann)
    factories.add_claims(single, 4)
    lifecycle.add_condition(single, "ranking", Interface.INCREMENTAL, "document_order")
    for study in (between, single):
        schedule.lay_out(study, 2, 2, 1)
        assert "can detect" not in card(client, study)
        assert client.get(reverse("study-power", args=[study.slug])).status_code == 404


def test_a_study_of_somebody_else_stays_hidden(client: Client) -> None:
    study = factories.ready_study()
    assert client.get(reverse("study-power", args=[study.slug])).status_code == 404
