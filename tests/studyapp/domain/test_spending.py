"""The limit of what a study may spend: over workers and restarts, and what waits once it holds."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction

from rankers.errors import SpendLimitReached
from rankers.spending import Prices
from rankers.values import Usage
from studyapp.domain import audit, precompute, progress, spending
from studyapp.domain.lifecycle import add_condition
from studyapp.enums import JobState
from studyapp.errors import StudyError
from studyapp.models import PrecomputeJob, Ranking, Selection, SpendingAccount, Study
from tests import factories
from tests.llm_server import LLMServer, prose, status
from tests.studyapp.domain.test_trials import in_threads

pytestmark = pytest.mark.django_db
PRICES = Prices(1_000_000, 500_000, 2_000_000)


@pytest.fixture(autouse=True)
def bells(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Job ids rung for, in order; nothing is sent to a broker."""
    rung: list[int] = []
    monkeypatch.setattr("studyapp.tasks.prepare.delay", rung.append)
    return rung


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LLMServer]:
    with LLMServer() as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.base_url)
        monkeypatch.setenv("OPENAI_MODEL", "overlap-1")
        monkeypatch.setenv("SUFFICE_LLM_TRIES", "1")
        yield running


def study_asking(method: str = "llm", n_claims: int = 4, **params: Any) -> Study:
    study = factories.draft_study()
    factories.add_claims(study, n_claims)
    add_condition(study, "asked", "incremental", method, params=params)
    return study


def fresh(study: Study) -> Study:
    """The study as another process reads it."""
    return Study.objects.get(pk=study.pk)


def account(study: Study) -> spending.Account:
    return spending.account_of(fresh(study))


def run_all(study: Study, bells: list[int]) -> None:
    """Answer every bell, as workers would, until none is left."""
    while bells:
        precompute.run_job(bells.pop(0))
    precompute.ring_due(fresh(study))
    assert not bells


def states(study: Study) -> list[str]:
    return sorted(
        PrecomputeJob.objects.filter(condition__study=study).values_list("state", flat=True)
    )


def test_no_call_is_sent_beyond_the_limit_and_what_is_left_waits_unharmed(
    server: LLMServer, bells: list[int]
) -> None:
    study = study_asking()
    spending.set_limits(study, max_calls=2)
    assert precompute.queue_jobs(study) == 4
    run_all(study, bells)
    assert server.n_requests == 2
    assert states(study) == [JobState.DONE] * 2 + [JobState.QUEUED] * 2
    waiting = PrecomputeJob.objects.filter(state=JobState.QUEUED)
    assert set(waiting.values_list("n_attempts", "error", "lease_token")) == {(0, "", "")}
    assert account(study).reached == "2 calls"
    assert progress.is_settled(fresh(study))
    assert progress.held_jobs(fresh(study)) == 2


def test_raising_the_limit_lets_the_waiting_jobs_go_on(server: LLMServer, bells: list[int]) -> None:
    study = study_asking()
    spending.set_limits(study, max_calls=1)
    precompute.queue_jobs(study)
    run_all(study, bells)
    spending.set_limits(study, max_calls=3)
    assert not progress.is_settled(study)
    assert precompute.ring_due(study) == 3
    run_all(study, bells)
    assert (server.n_requests, Ranking.objects.count()) == (3, 3)
    spending.set_limits(study, max_calls=None)
    precompute.ring_due(study)
    run_all(study, bells)
    assert (server.n_requests, Ranking.objects.count()) == (4, 4)
    assert not account(study).has_limit


def test_a_claim_that_the_limit_stops_half_way_pays_for_no_answer_twice(
    server: LLMServer, bells: list[int]
) -> None:
    study = study_asking("incremental_llm", n_claims=1, depth=3)
    spending.set_limits(study, max_calls=2)
    precompute.queue_jobs(study)
    run_all(study, bells)
    assert server.n_requests == 2
    assert states(study) == [JobState.QUEUED]
    spending.set_limits(study, max_calls=100)
    precompute.ring_due(study)
    run_all(study, bells)
    assert states(study) == [JobState.DONE]
    assert server.n_requests == account(study).usage.calls == Ranking.objects.get().n_calls == 3


def test_a_limit_of_tokens_is_overshot_by_no_more_than_the_request_under_way(
    server: LLMServer, bells: list[int]
) -> None:
    study = study_asking()
    spending.set_limits(study, max_tokens=1)
    precompute.queue_jobs(study)
    run_all(study, bells)
    assert server.n_requests == 1
    assert account(study).reached == "1 tokens"


def test_a_limit_of_money_counts_what_was_cached_at_its_own_price(study: Study) -> None:
    spending.set_limits(study, max_cost=8, prices=PRICES)
    shared = spending.StudySpending(study)
    shared.reserve()
    shared.count(Usage(1, 4, 2, 2), sent=9, said=9)
    assert account(study).cost == 2 * 1 + 2 * 0.5 + 2 * 2
    shared.reserve()
    shared.count(Usage(1, 1, None, 0), sent=9, said=9)
    assert account(study).cost == 8
    with pytest.raises(SpendLimitReached, match=r"limit of 8\.0 in money is reached"):
        shared.reserve()
    assert account(study).usage == Usage(2, 5, 2, 2)


def test_a_server_that_tells_no_tokens_is_counted_by_characters(study: Study) -> None:
    shared = spending.StudySpending(study)
    shared.reserve()
    shared.count(Usage(1, 0, None, 0), sent=70, said=5)
    assert account(study).usage == Usage(1, 70, 0, 5)
    assert account(study).n_estimated == 1


@pytest.mark.usefixtures("committed_db")
def test_workers_at_once_share_one_limit_and_a_restart_does_not_renew_it() -> None:
    study = factories.draft_study()
    spending.set_limits(study, max_calls=7)

    def ask(_: int) -> int:
        shared = spending.StudySpending(fresh(study))
        for n_sent in range(5):
            try:
                shared.reserve()
            except SpendLimitReached:
                return n_sent
            shared.count(Usage(1, 10, 0, 1), sent=1, said=1)
        return 5

    assert sum(in_threads(ask, 6)) == 7
    assert account(study).usage == Usage(7, 70, 0, 7)
    with pytest.raises(SpendLimitReached):
        spending.StudySpending(fresh(study)).reserve()


def test_a_request_that_the_server_refused_is_given_back(
    server: LLMServer, bells: list[int]
) -> None:
    study = study_asking(n_claims=1)
    server.script = [status(400)]
    precompute.queue_jobs(study)
    run_all(study, bells)
    assert states(study) == [JobState.FAILED]
    assert account(study).usage == Usage()


def test_answers_that_ended_in_a_failure_or_a_fallback_count_as_spent(
    server: LLMServer, bells: list[int]
) -> None:
    study = study_asking("incremental_llm", n_claims=1, attempts=2)
    server.script = lambda request: prose()
    precompute.queue_jobs(study)
    run_all(study, bells)
    assert account(study).usage.calls == server.n_requests > 0
    assert account(study).usage.prompt_tokens > 0


def test_what_asks_no_server_goes_on_when_the_limit_is_reached(bells: list[int]) -> None:
    study = study_asking(n_claims=2)
    factories.add_conditions(study)
    spending.set_limits(study, max_calls=0)
    precompute.queue_jobs(study)
    assert len(bells) == 4
    run_all(study, bells)
    assert Ranking.objects.filter(condition__name="ranking").count() == 2
    assert Selection.objects.filter(condition__name="selection").count() == 2
    assert progress.held_jobs(fresh(study)) == 2


def test_a_bell_that_was_on_its_way_takes_no_job_over_the_limit(bells: list[int]) -> None:
    study = study_asking(n_claims=1)
    precompute.queue_jobs(study)
    (job_id,) = bells
    spending.set_limits(study, max_calls=0)
    assert not precompute.run_job(job_id)
    job = PrecomputeJob.objects.get()
    assert (job.state, job.n_attempts, job.rung_at) == (JobState.QUEUED, 0, None)
    assert precompute.ring_due() == 0
    spending.set_limits(study, max_calls=1)
    assert precompute.ring_due() == 1


def test_limits_are_checked_and_the_log_tells_who_changed_them(study: Study) -> None:
    for changes in ({"max_calls": -1}, {"max_tokens": 2**63}, {"max_cost": 1.0}):
        with pytest.raises(StudyError, match=next(iter(changes))):
            spending.set_limits(study, **changes)
    assert not SpendingAccount.objects.exists()
    spending.set_limits(study, max_calls=5, max_cost=2.5, prices=PRICES)
    with pytest.raises(StudyError, match="needs prices"):
        spending.set_limits(study, prices=None)
    entry = audit.entries_of(study, action="spending_limited").get()
    assert entry.details == {"max_calls": 5, "max_cost": "2.5", "prices": "1e+06,500000,2e+06"}


def test_the_database_keeps_prices_together(study: Study) -> None:
    for fields in ({"price_input": 1.0}, {"max_cost": 1.0}):
        with pytest.raises(IntegrityError), transaction.atomic():
            SpendingAccount.objects.create(study=study, **fields)


def test_a_change_of_limits_keeps_what_workers_count_meanwhile(study: Study) -> None:
    row = SpendingAccount.objects.create(study=study)
    spending.StudySpending(study).reserve()
    row.refresh_from_db()
    spending.set_limits(study, max_calls=9)
    assert account(study).usage.calls == 1


def test_results_of_an_earlier_version_are_where_its_account_begins() -> None:
    study = factories.draft_study()
    factories.add_claims(study, 2)
    factories.add_conditions(study)
    factories.add_evidence(study)
    Ranking.objects.update(n_calls=3, prompt_tokens=50, cached_prompt_tokens=None)
    Selection.objects.update(n_calls=1, prompt_tokens=9, cached_prompt_tokens=4)
    factories.draft_study()
    migration = importlib.import_module("studyapp.migrations.0013_spending")
    migration.begin_accounts(apps, None)
    assert account(study).usage == Usage(8, 118, 8, 0)
    assert SpendingAccount.objects.count() == 1


def test_a_result_that_is_gone_is_queued_again(bells: list[int]) -> None:
    study = factories.draft_study()
    factories.add_claims(study, 3)
    factories.add_conditions(study)
    factories.add_evidence(study)
    Ranking.objects.filter(claim__claim_id="c2").delete()
    assert precompute.queue_jobs(study) == 1
    run_all(study, bells)
    assert progress.missing_evidence(progress.progress_of(study)) == []


def test_the_command_sets_limits_and_ends_with_what_waits(
    server: LLMServer, bells: list[int], capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = study_asking()
    monkeypatch.setattr("studyapp.tasks.prepare.delay", precompute.run_job)
    with pytest.raises(SystemExit) as ended:
        call_command("precompute", study.slug, wait=True, max_calls=3, price="1,0.5,2")
    told = capsys.readouterr()
    assert ended.value.code == 1
    assert "1 jobs wait: the study's limit of 3 calls is reached; raise it" in told.err
    assert "asked: 3 of 4 done, 0 failed" in told.out
    call_command("precompute", study.slug, wait=True, no_limit=True)
    assert "asked: 4 of 4 done" in capsys.readouterr().out
    assert account(study).prices == Prices(1, 0.5, 2)


def test_the_command_refuses_odd_limits_by_their_kind(study: Study, capsys: Any) -> None:
    for options in (("--max-calls", "-1"), ("--max-cost", "nan"), ("--no-limit", "--max-calls=1")):
        with pytest.raises(CommandError, match=options[0]):
            call_command("precompute", study.slug, *options)
    for options in (("--max-cost", "1"), ("--price", "1,2")):
        with pytest.raises(SystemExit) as refused:
            call_command("precompute", study.slug, *options)
        assert refused.value.code == 1
    assert "needs prices" in capsys.readouterr().err
    assert not SpendingAccount.objects.exists()


def test_the_estimate_is_what_a_run_then_sends(
    server: LLMServer, bells: list[int], capsys: Any
) -> None:
    study = study_asking("incremental_llm", depth=2)
    factories.add_conditions(study)
    call_command("precompute", study.slug, estimate=True)
    said = capsys.readouterr().out
    assert said.startswith("asked: 4 claims to ask, about 8 calls, ")
    assert not PrecomputeJob.objects.exists()
    precompute.queue_jobs(study)
    run_all(study, bells)
    assert server.n_requests == 8
    call_command("precompute", study.slug, estimate=True)
    assert capsys.readouterr().out == "asked: nothing is left to ask\n"


@pytest.mark.parametrize("limit", ["max_calls", "max_tokens"])
def test_gateways_that_give_up_are_asked_no_more_often_than_the_limit_lets(
    server: LLMServer, bells: list[int], limit: str
) -> None:
    server.script = lambda _: status(504)
    study = study_asking(n_claims=3)
    spending.set_limits(study, **{limit: 1})
    precompute.queue_jobs(study)
    run_all(study, bells)
    assert server.n_requests == account(study).usage.calls == 1
    assert account(study).usage.prompt_tokens > 1
    assert account(study).reached
