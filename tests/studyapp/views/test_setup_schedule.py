"""Setting up: the schedule's balance before it is laid out, laying out, and removing it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from studyapp.domain.balance import balance_of
from studyapp.domain.schedule_preview import plan_schedule
from studyapp.models import PlannedTrial, Ranking, Study
from tests import factories
from tests.studyapp.views.setup_pages import client_of, fields_of, researcher, url, words

pytestmark = pytest.mark.django_db

NUMBERS = {
    "subsets": "3",
    "replications": "2",
    "seed": "7",
    "order_policy": "blocked",
    "condition_policy": "within",
}


@pytest.fixture
def client() -> Client:
    return client_of()


@pytest.fixture
def draft() -> Study:
    study = factories.draft_study("bridges", owner=researcher())
    factories.add_claims(study, 7)
    factories.add_conditions(study)
    return study


def stored(study: Study) -> Study:
    return Study.objects.get(pk=study.pk)


def rows_of(response: Any) -> list[list[str]]:
    page = response.content.decode()
    return [
        [
            re.sub(r"<[^>]+>", "", cell).strip()
            for cell in re.findall(r"<t[hd][ >].*?</t[hd]>", row, flags=re.S)
        ]
        for row in re.findall(r"<tr.*?</tr>", page, flags=re.S)
    ]


def test_a_schedule_waits_for_claims_and_conditions(client: Client) -> None:
    study = factories.draft_study(owner=researcher())
    assert "it needs both first: Claims Conditions" in words(client.get(url(study, "schedule")))
    response = client.post(url(study, "schedule"), NUMBERS)
    assert (response.status_code, study.slots.count()) == (422, 0)


def test_the_balance_is_shown_before_anything_is_stored(client: Client, draft: Study) -> None:
    response = client.post(url(draft, "schedule"), NUMBERS | {"preview": "yes"})
    assert response.status_code == 200
    assert "6 participants, 28 trials" in words(response)
    rows = rows_of(response)
    strata = [row for row in rows if row[0] in ("Refuted", "Supported")]
    assert [row[0] for row in strata] == ["Refuted", "Supported"]
    assert [sum(map(int, row[2:-1])) for row in strata] == [3, 4]
    assert sorted(rows[3][1:-1]) == ["2", "2", "3"]
    assert rows[3][-1] == "7"
    assert [row[0] for row in rows if re.match(r"\d\.\d", row[0])] == [
        "1.1", "1.2", "1.3", "2.1", "2.2", "2.3",
    ]  # fmt: skip
    assert (draft.slots.count(), stored(draft).seed) == (0, 0)


@pytest.mark.parametrize("order", ["blocked", "interleaved"])
@pytest.mark.parametrize("policy", ["within", "between"])
def test_the_preview_is_what_is_laid_out(
    client: Client, draft: Study, order: str, policy: str
) -> None:
    sent = NUMBERS | {"order_policy": order, "condition_policy": policy}
    client.post(url(draft, "schedule"), sent)
    study = stored(draft)
    plan = plan_schedule(study, 3, 2, 7)
    balance = balance_of(study)
    assert balance.is_balanced
    assert (plan.n_slots, plan.n_trials) == (balance.n_slots, balance.n_trials)
    assert plan.sizes == list(balance.subset_sizes.values())
    assert [slot.subsets for slot in plan.slots] == [
        [row["subsets"][name] for name in plan.conditions] for row in balance.rows
    ]
    laid_out = [
        list(
            PlannedTrial.objects.filter(slot=slot)
            .order_by("position")
            .values_list("condition__position", flat=True)
        )
        for slot in study.slots.order_by("replication", "number")
    ]
    assert [slot.order for slot in plan.slots] == laid_out
    assert (study.order_policy, study.condition_policy, study.seed) == (order, policy, 7)


def test_laying_out_goes_on_to_the_next_step(client: Client, draft: Study) -> None:
    response = client.post(url(draft, "schedule"), NUMBERS | {"then": "next"})
    assert (response.status_code, response["Location"]) == (303, url(draft, "sitting"))
    assert "Laid out: 6 slots." in words(client.get(response["Location"]))


def test_laying_out_again_says_what_it_changes_and_replaces_the_slots(
    client: Client, draft: Study
) -> None:
    factories.add_evidence(draft)
    client.post(url(draft, "schedule"), NUMBERS)
    page = client.get(url(draft, "schedule"))
    assert "Laying it out again deals the claims anew and replaces every slot" in words(page)
    assert fields_of(page) == fields_of(page) | NUMBERS
    client.post(url(draft, "schedule"), NUMBERS | {"subsets": "2", "replications": "1"})
    assert (stored(draft).slots.count(), stored(draft).n_subsets) == (2, 2)
    assert Ranking.objects.count() == 7


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"subsets": "1"}, "2 conditions need at least 2 subsets"),
        ({"subsets": "8"}, "8 subsets need at least 8 claims; the study has 7"),
        ({"subsets": "0"}, "greater than or equal to 1"),
        ({"subsets": ""}, "Fill this in."),
        ({"replications": "0"}, "greater than or equal to 1"),
        ({"seed": "-1"}, "greater than or equal to 0"),
        ({"seed": str(2**63)}, "less than or equal to"),
        ({"order_policy": "odd"}, "odd is not one of"),
    ],
)
@pytest.mark.parametrize("button", [{"then": "next"}, {"preview": "yes"}])
def test_R051_numbers_that_do_not_fit_are_said_beside_their_field(
    client: Client, draft: Study, changes: dict[str, str], said: str, button: dict[str, str]
) -> None:
    response = client.post(url(draft, "schedule"), NUMBERS | changes | button)
    assert response.status_code == 422
    assert said in words(response)
    assert draft.slots.count() == 0


def test_R051_a_study_that_has_opened_keeps_its_subsets() -> None:
    study = factories.open_study(8, n_subsets=4, owner=researcher())
    client = client_of()
    client.post(f"/studies/{study.slug}/pause/")
    response = client.post(url(study, "schedule"), NUMBERS | {"subsets": "2"})
    assert response.status_code == 409
    assert "was frozen then" in words(response)
    assert (stored(study).n_subsets, study.slots.count()) == (4, 4)


def test_a_removed_schedule_frees_claims_and_conditions(client: Client) -> None:
    study = factories.ready_study(owner=researcher())
    response = client.post(url(study, "schedule-remove"))
    assert response["Location"] == url(study, "schedule")
    study = stored(study)
    assert (study.slots.count(), study.subsets.count(), study.n_replications) == (0, 0, 0)
    assert study.claims.count() == 4
    assert Ranking.objects.count() == 4
    assert "Choose a method" not in words(client.get(url(study, "conditions")))
    client.post(url(study, "condition-new", "bm25"), {"name": "third"})
    assert study.conditions.count() == 3


def test_a_schedule_of_a_thousand_slots_is_drawn_in_part(client: Client, draft: Study) -> None:
    sent = NUMBERS | {"replications": "500", "preview": "yes"}
    said = words(client.post(url(draft, "schedule"), sent))
    assert "1,500 participants, 7,000 trials" in said
    assert "1,460 further slots are not drawn." in said
