"""Precompute over the API: queue, watch, retry."""

from __future__ import annotations

from typing import Any

import pytest

from studyapp.domain import precompute, spending
from studyapp.domain.lifecycle import add_condition
from studyapp.enums import JobState
from studyapp.models import PrecomputeJob, Study
from tests import factories
from tests.studyapp.api.asking import Api, error_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def rung(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The jobs that a bell was rung for."""
    bells: list[int] = []
    monkeypatch.setattr("studyapp.tasks.prepare.delay", bells.append)
    return bells


@pytest.fixture
def study(ann: Any) -> Study:
    """A draft with 2 claims and 2 conditions, and nothing ranked."""
    study = factories.draft_study(owner=ann)
    factories.add_claims(study, 2)
    factories.add_conditions(study)
    return study


def row(condition: str, **counts: int) -> dict[str, Any]:
    """A condition's progress: zeros but for what is given."""
    names = ("done", "queued", "running", "failed", "waiting", "fallback", "calls")
    tokens = ("prompt_tokens", "cached_prompt_tokens", "completion_tokens")
    return {"condition": condition, "claims": 2} | dict.fromkeys((*names, *tokens), 0) | counts


def spent(**changes: Any) -> dict[str, Any]:
    """A study's spending: no limit, nothing spent, but for what is given."""
    limits = ("max_calls", "max_tokens", "max_cost", "prices", "cost", "reached")
    counts = ("calls", "prompt_tokens", "cached_prompt_tokens", "completion_tokens")
    return dict.fromkeys(limits) | dict.fromkeys(counts, 0) | changes


def test_work_is_queued_done_and_watched(api: Api, study: Study, rung: list[int]) -> None:
    address = f"studies/{study.slug}/precompute/"
    assert api.get(address).json() == {
        "is_settled": True,
        "worker_answers": False,
        "conditions": [row("ranking", waiting=2), row("selection", waiting=2)],
        "spending": spent(),
        "notices": [],
    }
    queued = api.post(address)
    assert queued.status_code == 202
    assert queued.json()["is_settled"] is False
    assert queued.json()["conditions"][0] == row("ranking", waiting=2, queued=2)
    assert sorted(rung) == sorted(PrecomputeJob.objects.values_list("pk", flat=True))
    for job_id in rung:
        assert precompute.run_job(job_id)
    told = api.get(address).json()
    assert told["is_settled"] is True
    assert told["conditions"] == [row("ranking", done=2), row("selection", done=2)]


def test_what_failed_is_told_and_queued_again_only_when_asked(
    api: Api, study: Study, rung: list[int]
) -> None:
    address = f"studies/{study.slug}/precompute/"
    api.post(address)
    PrecomputeJob.objects.filter(claim__claim_id="c1").update(
        state=JobState.FAILED, error="no answer", raw_reply="8/10", n_attempts=3
    )
    pages = api.pages(f"{address}failures/?limit=1")
    assert [len(page) for page in pages] == [1, 1]
    told = {"claim_id": "c1", "attempts": 3, "error": "no answer", "raw_reply": "8/10"}
    assert pages[0] == [{"condition": "ranking", **told}]
    assert api.post(address).json()["conditions"][0]["failed"] == 1
    again = api.post(f"{address}retry/")
    assert again.status_code == 202
    assert [one["failed"] for one in again.json()["conditions"]] == [0, 0]
    assert api.rows(f"{address}failures/") == []


def test_a_broker_that_is_away_is_a_notice_and_the_work_is_kept(
    api: Api, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(job_id: int) -> None:
        raise ConnectionError("refused")

    monkeypatch.setattr("studyapp.tasks.prepare.delay", away)
    answer = api.post(f"studies/{study.slug}/precompute/")
    assert answer.status_code == 202
    assert "cannot be reached" in answer.json()["notices"][0]
    assert PrecomputeJob.objects.filter(state=JobState.QUEUED).count() == 4


def test_nothing_to_rank_is_refused(api: Api, ann: Any) -> None:
    empty = factories.draft_study(owner=ann)
    answer = api.post(f"studies/{empty.slug}/precompute/")
    assert (answer.status_code, error_of(answer)["code"]) == (409, "not_ready")


@pytest.mark.parametrize("n_more", [0, 5])
def test_progress_needs_the_same_queries_for_any_number_of_claims(
    api: Api, study: Study, n_more: int, rung: list[int], django_assert_num_queries: Any
) -> None:
    factories.add_claims(study, n_more)
    factories.add_evidence(study)
    with django_assert_num_queries(12):
        api.get(f"studies/{study.slug}/precompute/")


def test_limits_are_set_one_by_one_and_taken_away_by_null(api: Api, study: Study) -> None:
    address = f"studies/{study.slug}/precompute/spending/"
    prices = {"input": 1.0, "cached": 0.5, "output": 2.0}
    assert api.get(address).json() == spent()
    told = api.patch(address, {"max_calls": 5, "max_cost": 2, "prices": prices}).json()
    assert told == spent(max_calls=5, max_cost=2.0, prices=prices, cost=0.0)
    told = api.patch(address, {"max_calls": None, "max_tokens": 0}).json()
    assert told == spent(max_tokens=0, max_cost=2.0, prices=prices, cost=0.0, reached="0 tokens")
    assert api.get(f"studies/{study.slug}/precompute/").json()["spending"] == told


@pytest.mark.parametrize(
    "body",
    [
        {"max_calls": -1},
        {"max_calls": 2**63},
        {"max_cost": 1},
        {"max_tokens": "many"},
        {"prices": {"input": 1}},
        {"max_call": 1},
    ],
)
def test_odd_limits_are_refused_and_nothing_is_kept(
    api: Api, study: Study, body: dict[str, Any]
) -> None:
    address = f"studies/{study.slug}/precompute/spending/"
    assert api.patch(address, body).status_code == 400
    assert api.get(address).json() == spent()


def test_a_raised_limit_rings_for_what_waited(api: Api, study: Study, rung: list[int]) -> None:
    add_condition(study, "asked", "incremental", "llm", model="m")
    spending.set_limits(study, max_calls=0)
    api.post(f"studies/{study.slug}/precompute/")
    assert len(rung) == 4
    api.patch(f"studies/{study.slug}/precompute/spending/", {"max_calls": 9})
    assert len(rung) == 6


def test_the_estimate_lists_conditions_that_ask_a_server(api: Api, study: Study) -> None:
    address = f"studies/{study.slug}/precompute/estimate/"
    assert api.get(address).json() == {"conditions": []}
    add_condition(study, "asked", "incremental", "incremental_llm", model="m", params={"depth": 3})
    (told,) = api.get(address).json()["conditions"]
    assert (told["condition"], told["claims"], told["sampled"], told["calls"]) == ("asked", 2, 2, 6)
    assert told["prompt_tokens"] > told["cached_prompt_tokens"] > 0
    assert (told["cost"], told["reason"]) == (None, None)
