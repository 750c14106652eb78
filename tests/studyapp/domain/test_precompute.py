"""The job row is the truth: leases, second deliveries, failures, progress."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

import rankers
from studyapp.domain import leases, precompute, progress
from studyapp.domain.lifecycle import add_condition, open_study
from studyapp.domain.schedule import lay_out
from studyapp.enums import JobState
from studyapp.errors import NotReady, StudyError
from studyapp.models import PrecomputeJob, Ranking, Selection, WorkerPresence
from tests import factories
from tests.studyapp.domain.test_trials import in_threads

pytestmark = pytest.mark.django_db


@pytest.fixture
def bells(monkeypatch) -> list[int]:
    """Job ids rung for, in order; nothing is sent to a broker."""
    rung: list[int] = []
    from studyapp.tasks import prepare

    monkeypatch.setattr(prepare, "delay", rung.append)
    return rung


@pytest.fixture
def draft(db):
    study = factories.draft_study()
    factories.add_claims(study, 3)
    factories.add_conditions(study)
    return study


def jobs_of(study):
    return PrecomputeJob.objects.filter(condition__study=study).order_by("pk")


def test_one_job_a_claim_and_condition_is_queued_and_rung_once(draft, bells):
    assert precompute.queue_jobs(draft) == 6
    assert precompute.queue_jobs(draft) == 6
    assert sorted(bells) == list(jobs_of(draft).values_list("pk", flat=True))


def test_a_job_stores_its_result_once(draft, bells):
    precompute.queue_jobs(draft)
    for job_id in bells:
        assert precompute.run_job(job_id)
        assert not precompute.run_job(job_id)
    assert Ranking.objects.count() == 3
    assert Selection.objects.count() == 3
    assert list(Ranking.objects.values_list("order", flat=True)) == [[0, 1, 2, 3, 4]] * 3
    assert progress.is_settled(draft)
    assert progress.missing_evidence(progress.progress_of(draft)) == []
    assert precompute.queue_jobs(draft) == 0


def test_a_second_delivery_while_the_first_runs_ends_at_once(draft, bells):
    precompute.queue_jobs(draft)
    assert precompute.take_job(bells[0]) is not None
    assert precompute.take_job(bells[0]) is None
    assert not precompute.run_job(bells[0])


def test_a_lease_that_ran_out_is_queued_and_rung_again(draft, bells):
    precompute.queue_jobs(draft)
    job_id = bells[0]
    lost = precompute.take_job(job_id)
    assert precompute.ring_due(draft) == 0
    PrecomputeJob.objects.filter(pk=job_id).update(
        lease_until=timezone.now() - timedelta(seconds=1)
    )
    bells.clear()
    assert precompute.ring_due(draft) == 1
    assert bells == [job_id]
    assert precompute.run_job(job_id)
    # The worker that lost it comes back late: it must change nothing.
    assert not leases.renew(lost)
    assert precompute.fail_job(lost, "too late") is False
    assert PrecomputeJob.objects.get(pk=job_id).state == JobState.DONE


def test_a_bell_lost_with_a_worker_rings_again_after_a_silent_lease_period(draft, bells):
    precompute.queue_jobs(draft)
    jobs_of(draft).update(rung_at=timezone.now() - leases.lease_period() * 2)
    bells.clear()
    held = jobs_of(draft).first()
    lease = precompute.take_job(held.pk)
    assert precompute.ring_due(draft) == 0, "a worker is busy: the bells are on their way"
    precompute.fail_job(lease, "x")
    assert precompute.ring_due(draft) == 0, "a job was finished just now"
    jobs_of(draft).update(finished_at=timezone.now() - leases.lease_period() * 2)
    assert precompute.ring_due(draft) == 5


def test_a_job_that_kills_every_worker_is_failed_in_the_end(draft, bells):
    precompute.queue_jobs(draft)
    job_id = bells[0]
    for _ in range(leases.MAX_ATTEMPTS):
        assert precompute.take_job(job_id)
        jobs_of(draft).filter(pk=job_id).update(lease_until=timezone.now() - timedelta(1))
        precompute.ring_due(draft)
    job = PrecomputeJob.objects.get(pk=job_id)
    assert job.state == JobState.FAILED
    assert "without an answer" in job.error


def test_a_failure_keeps_reason_and_raw_reply_and_is_retried_alone(draft, bells, monkeypatch):
    precompute.queue_jobs(draft)

    def broken(condition):
        raise rankers.MalformedReply("no valid answer in 5 tries", raw="8/10\0")

    monkeypatch.setattr(precompute, "build_method", broken)
    assert not precompute.run_job(bells[0])
    monkeypatch.undo()
    job = PrecomputeJob.objects.get(pk=bells[0])
    assert (job.state, job.error) == (JobState.FAILED, "no valid answer in 5 tries")
    assert job.raw_reply == "8/10\\0"
    assert [failed.pk for failed in progress.failures_of(draft)] == [job.pk]

    monkeypatch.setattr("studyapp.tasks.prepare.delay", lambda job_id: bells.append(job_id))
    precompute.retry_job(job)
    assert bells[-1] == job.pk
    assert precompute.run_job(job.pk)
    with pytest.raises(StudyError):
        precompute.retry_job(job)


def test_a_result_that_cannot_be_stored_fails_at_once_with_the_reason(draft, bells, monkeypatch):
    precompute.queue_jobs(draft)

    def too_large(job):
        method = rankers.build("document_order")
        usage = rankers.Usage(prompt_tokens=10**30)
        ranking = rankers.Ranking((0, 1, 2, 3, 4), ("judged",) * 5, usage=usage)
        return ranking, method

    monkeypatch.setattr(precompute, "_compute", too_large)
    assert not precompute.run_job(bells[0])
    job = PrecomputeJob.objects.get(pk=bells[0])
    assert job.state == JobState.FAILED
    assert job.error
    assert not Ranking.objects.exists()


def test_a_failure_with_half_a_character_is_stored(draft, bells):
    precompute.queue_jobs(draft)
    precompute.fail_job(precompute.take_job(bells[0]), "bad \ud800", "raw \udfff \0")
    job = PrecomputeJob.objects.get(pk=bells[0])
    assert (job.error, job.raw_reply) == ("bad \\ud800", "raw \\udfff \\0")


def test_an_unexpected_error_fails_one_claim_only(draft, bells, monkeypatch):
    precompute.queue_jobs(draft)
    original = precompute.build_method
    monkeypatch.setattr(precompute, "build_method", lambda c: 1 / 0)
    precompute.run_job(bells[0])
    monkeypatch.setattr(precompute, "build_method", original)
    for job_id in bells[1:]:
        assert precompute.run_job(job_id)
    (row,) = [row for row in progress.progress_of(draft) if row.failed]
    assert (row.done, row.failed) == (2, 1)
    assert "ZeroDivisionError" in progress.failures_of(draft)[0].error


def test_a_study_with_missing_or_failed_evidence_cannot_open(draft, bells):
    precompute.queue_jobs(draft)
    lay_out(draft, 3, 1, 1)
    precompute.fail_job(precompute.take_job(bells[0]), "server down")
    for job_id in bells[2:]:
        precompute.run_job(job_id)
    with pytest.raises(NotReady) as caught:
        open_study(draft)
    assert any("1 of 3 claims failed" in problem for problem in caught.value.problems)
    assert any("no ranking yet" in problem for problem in caught.value.problems)
    draft.refresh_from_db()
    assert draft.is_draft


def test_a_broker_that_is_down_is_told_and_the_jobs_are_kept(draft, monkeypatch):
    def refuse(job_id):
        raise ConnectionError("refused")

    monkeypatch.setattr("studyapp.tasks.prepare.delay", refuse)
    with pytest.raises(StudyError, match="broker cannot be reached"):
        precompute.queue_jobs(draft)
    assert jobs_of(draft).filter(state=JobState.QUEUED, rung_at=None).count() == 6


def test_cost_is_added_up_and_unknown_stays_unknown(draft):
    factories.add_evidence(draft)
    Ranking.objects.update(n_calls=2, prompt_tokens=10, completion_tokens=3)
    ranking, selection = progress.progress_of(draft)
    assert (ranking.calls, ranking.prompt_tokens, ranking.completion_tokens) == (6, 30, 9)
    assert ranking.cached_prompt_tokens == 0
    Ranking.objects.filter(pk=Ranking.objects.first().pk).update(cached_prompt_tokens=None)
    ranking, selection = progress.progress_of(draft)
    assert ranking.cached_prompt_tokens is None
    assert selection.cached_prompt_tokens == 0


def test_progress_needs_the_same_number_of_queries_for_any_size(
    draft, bells, django_assert_num_queries
):
    precompute.queue_jobs(draft)
    with django_assert_num_queries(6):
        progress.progress_of(draft)


def test_a_worker_answers_while_its_heartbeat_is_fresh(db):
    assert not progress.worker_answers()
    progress.note_presence("one")
    progress.note_presence("one")
    assert progress.worker_answers()
    WorkerPresence.objects.update(seen_at=timezone.now() - timedelta(seconds=31))
    assert not progress.worker_answers()
    progress.forget_presence("one")
    assert not WorkerPresence.objects.exists()


def test_interfaces_take_their_own_kind_of_method(db):
    study = factories.draft_study()
    with pytest.raises(StudyError, match="takes a ranker"):
        add_condition(study, "a", "incremental", "top_k")
    with pytest.raises(StudyError, match="takes a selector"):
        add_condition(study, "a", "all_at_once", "bm25")
    with pytest.raises(StudyError, match="unknown method 'magic'"):
        add_condition(study, "a", "incremental", "magic")
    with pytest.raises(StudyError, match="nonsense"):
        add_condition(study, "a", "incremental", "random", params={"nonsense": "1"})
    assert not study.conditions.exists()


@pytest.mark.usefixtures("committed_db")
def test_one_of_many_workers_gets_a_job(bells):
    study = factories.draft_study()
    factories.add_claims(study, 1)
    factories.add_conditions(study)
    precompute.queue_jobs(study)
    leases = in_threads(lambda _: precompute.take_job(bells[0]), 6)
    assert sum(lease is not None for lease in leases) == 1


def run_condition(study, bells, name):
    """Compute one condition's results of a study, by its jobs."""
    for job in jobs_of(study).filter(condition__name=name):
        assert precompute.run_job(job.pk), PrecomputeJob.objects.get(pk=job.pk).error


def test_gold_sets_are_shown_to_methods_that_say_they_need_them(draft, bells):
    add_condition(draft, "best", "incremental", "gold_first")
    add_condition(draft, "best-set", "all_at_once", "top_k", params={"base": "gold_first", "k": 1})
    precompute.queue_jobs(draft)
    run_condition(draft, bells, "best")
    run_condition(draft, bells, "best-set")
    for ranking in Ranking.objects.filter(condition__name="best"):
        smallest = min((gold.members for gold in ranking.claim.gold_sets.all()), key=len)
        assert ranking.order[: len(smallest)] == smallest
        assert ranking.claim.selections.get().selected == smallest[:1]


def test_no_other_method_sees_label_or_gold(draft, bells, monkeypatch):
    seen = []

    class Curious(rankers.Ranker):
        name = "document_order"

        def rank(self, claim, candidates):
            return rankers.Ranking.judged(range(len(candidates)))

        def rank_claim(self, claim):
            seen.append(claim)
            return super().rank_claim(claim)

    monkeypatch.setattr(precompute, "build_method", lambda condition: Curious())
    precompute.queue_jobs(draft)
    assert precompute.run_job(bells[0])
    (claim,) = seen
    assert (claim.label, claim.gold_sets, claim.titles, dict(claim.meta)) == ("", (), None, {})


def test_a_local_model_is_kept_with_its_condition(draft):
    condition = add_condition(draft, "nli", "incremental", "nli", model="some/model")
    assert condition.model == "some/model"
    assert add_condition(draft, "words", "incremental", "bm25", model="some/model").model == ""
