"""The schedule over the API: lay out, read whole, prove."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from studyapp.domain import changing
from studyapp.models import PlannedTrial, Slot, Study
from tests import factories
from tests.studyapp.api.asking import Api, error_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def draft(ann: Any) -> Study:
    """A draft with 4 claims and 2 conditions, and no schedule."""
    study = factories.draft_study(owner=ann)
    factories.add_claims(study, 4)
    factories.add_conditions(study)
    return study


def test_a_schedule_is_laid_out_and_proved(api: Api, draft: Study) -> None:
    address = f"studies/{draft.slug}/schedule/"
    answer = api.post(address, {"subsets": 2, "replications": 2, "seed": 7})
    assert answer.status_code == 200
    balance = answer.json()
    assert balance["is_balanced"] is True
    assert (balance["problems"], balance["n_slots"], balance["n_trials"]) == ([], 4, 16)
    assert balance["subset_sizes"] == {"1": 2, "2": 2}
    assert balance["claims_once"] == [
        {"replication": replication, "condition": condition, "claims": 4}
        for replication in (1, 2)
        for condition in ("ranking", "selection")
    ]
    assert [(one["replication"], one["slot"]) for one in balance["slots"]] == [
        (1, 1),
        (1, 2),
        (2, 1),
        (2, 2),
    ]
    assert api.get(f"{address}balance/").json() == balance
    draft.refresh_from_db()
    assert (draft.n_subsets, draft.n_replications, draft.seed) == (2, 2, 7)


def test_the_whole_table_is_read_slot_by_slot(api: Api, draft: Study) -> None:
    address = f"studies/{draft.slug}/schedule/"
    api.post(address, {"subsets": 2, "replications": 2, "seed": 7})
    rows = api.rows(f"{address}?limit=5")
    places = [(row["replication"], row["slot"], row["position"]) for row in rows]
    assert places == sorted(places)
    assert len(places) == PlannedTrial.objects.count() == 16
    seen = Counter((row["replication"], row["claim_id"], row["condition"]) for row in rows)
    assert set(seen.values()) == {1}
    subsets = dict(draft.claims.values_list("claim_id", "subset__number"))
    assert all(row["subset"] == subsets[row["claim_id"]] for row in rows)
    assert set(rows[0]) == {
        *("replication", "slot", "position", "block", "subset", "claim_id", "condition")
    }


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["subsets"]),
        ({"subsets": 0, "seed": -1}, ["subsets", "seed"]),
        ({"subsets": 2, "replications": 0}, ["replications"]),
        ({"subsets": 2, "sede": 3}, ["sede"]),
        ({"subsets": "two"}, ["subsets"]),
    ],
)
def test_odd_numbers_are_refused(
    api: Api, draft: Study, body: dict[str, Any], fields: list[str]
) -> None:
    answer = api.post(f"studies/{draft.slug}/schedule/", body)
    assert answer.status_code == 400
    assert [problem["field"] for problem in error_of(answer)["problems"]] == fields
    assert not Slot.objects.exists()


@pytest.mark.parametrize(
    "body",
    [
        {"subsets": 1},
        {"subsets": 5},
        {"subsets": 2**31 - 1},
        {"subsets": 2, "replications": 2**31 - 1},
    ],
)
def test_a_schedule_that_is_not_possible_is_refused_at_once(
    api: Api, draft: Study, body: dict[str, int]
) -> None:
    answer = api.post(f"studies/{draft.slug}/schedule/", body)
    assert (answer.status_code, error_of(answer)["code"]) == (409, "not_ready")
    assert not Slot.objects.exists()


def test_R051_an_open_study_takes_more_cycles_and_no_other_design(api: Api, ann: Any) -> None:
    study = factories.open_study(owner=ann)
    address = f"studies/{study.slug}/schedule/"
    changed = api.post(address, {"subsets": 4, "replications": 2, "seed": 7})
    assert (changed.status_code, error_of(changed)["code"]) == (409, "not_editable")
    more = api.post(address, {"subsets": 2, "replications": 2, "seed": 7})
    assert (more.status_code, more.json()["n_slots"]) == (200, 4)


@pytest.mark.parametrize("n_replications", [1, 3])
def test_a_page_needs_the_same_queries_for_any_number(
    api: Api, ann: Any, n_replications: int, django_assert_num_queries: Any
) -> None:
    study = factories.ready_study(owner=ann, n_replications=n_replications)
    with django_assert_num_queries(4):  # token, study, keys, rows
        answer = api.get(f"studies/{study.slug}/schedule/")
    assert len(answer.json()["results"]) == 8 * n_replications


def test_cycles_are_added_to_an_open_study_once_however_often_they_are_asked_for(
    api: Api, ann: Any
) -> None:
    study = factories.open_study(owner=ann)
    address = f"studies/{study.slug}/schedule/cycles/"
    for _ in range(2):
        answer = api.post(address, {"further": 2, "before": 1})
        assert (answer.status_code, answer.json()["n_slots"]) == (200, 6)
    assert answer.json()["is_balanced"] is True
    late = api.post(address, {"further": 1, "before": 1})
    assert (late.status_code, error_of(late)["code"]) == (409, "not_editable")
    assert "has 3 cycles by now" in error_of(late)["message"]
    assert api.post(address, {"further": 1}).json()["n_slots"] == 8


@pytest.mark.parametrize("body", [{}, {"further": 0}, {"further": 1, "cycles": 2}])
def test_odd_numbers_of_cycles_are_refused(api: Api, ann: Any, body: dict[str, int]) -> None:
    study = factories.open_study(owner=ann)
    answer = api.post(f"studies/{study.slug}/schedule/cycles/", body)
    assert (answer.status_code, error_of(answer)["code"]) == (400, "bad_request")
    assert study.slots.count() == 2


def test_cycles_are_added_to_a_schedule_alone_and_never_to_a_closed_study(
    api: Api, draft: Study, ann: Any
) -> None:
    answer = api.post(f"studies/{draft.slug}/schedule/cycles/", {"further": 1})
    assert (answer.status_code, error_of(answer)["code"]) == (409, "not_ready")
    closed = factories.open_study(owner=ann)
    changing.close_study(closed)
    answer = api.post(f"studies/{closed.slug}/schedule/cycles/", {"further": 1})
    assert (answer.status_code, error_of(answer)["code"]) == (409, "not_editable")
    assert closed.slots.count() == 2


def test_slots_and_subsets_are_closed_and_opened_again(api: Api, ann: Any) -> None:
    study = factories.open_study(owner=ann)
    root = f"studies/{study.slug}/"
    slot = {"replication": 1, "slot": 2}
    assert api.post(f"{root}slots/1.2/close/").json() == slot | {"closed": True}
    balance = api.get(f"{root}schedule/balance/").json()
    assert [row["closed"] for row in balance["slots"]] == [False, True]
    again = api.post(f"{root}slots/1.2/close/")
    assert again.status_code == 400
    assert "closed already" in error_of(again)["message"]
    assert api.post(f"{root}slots/1.2/reopen/").json() == slot | {"closed": False}
    assert api.post(f"{root}subsets/1/close/").json() == {"subset": 1, "closed": True}
    balance = api.get(f"{root}schedule/balance/").json()
    assert [row["closed"] for row in balance["slots"]] == [True, True]
    assert api.post(f"{root}subsets/1/reopen/").json() == {"subset": 1, "closed": False}


@pytest.mark.parametrize(
    "part",
    ["slots/1.3", "slots/2.1", "slots/1.99999999999999999999", "subsets/3", f"subsets/{9**30}"],
)
@pytest.mark.parametrize("do", ["close", "reopen"])
def test_a_part_that_the_schedule_does_not_have_is_not_found(
    api: Api, ann: Any, part: str, do: str
) -> None:
    study = factories.open_study(owner=ann)
    answer = api.post(f"studies/{study.slug}/{part}/{do}/")
    assert (answer.status_code, error_of(answer)["code"]) == (404, "not_found")
