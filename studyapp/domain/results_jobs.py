"""Results as jobs: asked for by a page, made by a worker, kept until the data change.

The row is the truth (see ``leases``), and says which data its last result was made from; who shows
a result compares that with the data as they are now.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction
from django.utils import timezone

from studyapp.domain import bells, results_report
from studyapp.domain.bells import ENDED
from studyapp.domain.blinding import refuse_while_blind
from studyapp.domain.leases import Lease, finish, kept, take
from studyapp.domain.overtaken import refuse_if_overtaken, until_kept
from studyapp.domain.progress import worker_answers
from studyapp.domain.results import read_data, results_content
from studyapp.domain.results_version import DataVersion, data_version
from studyapp.enums import JobState, ResultsKind
from studyapp.errors import BrokerAway, StudyError
from studyapp.models import ResultsJob, Study

logger = logging.getLogger(__name__)

#: Measures of fewer trials are worked out in the request when no worker answers, but for the
#: comparison: its seconds of computing would slow down the pages of participants.
SMALL = 2000


@dataclass(frozen=True)
class Results:
    """A job as found, with the version of the data now. ``job`` is None: never asked for."""

    job: ResultsJob | None
    now: DataVersion
    is_answered: bool
    problems: tuple[str, ...] = ()

    @property
    def content(self) -> dict[str, Any] | None:
        """The last result, be it current or not."""
        return self.job.content if self.job else None

    @property
    def is_current(self) -> bool:
        """Whether the last result was made from the data as they are now."""
        return (
            self.content is not None and self.job is not None and self.job.version == self.now.token
        )

    @property
    def is_partial(self) -> bool:
        """Whether the last result was made in a request, without the comparison."""
        return bool(self.content) and (self.content or {}).get("comparison", {}) is None

    @property
    def is_under_way(self) -> bool:
        """Whether a job waits or runs."""
        return self.job is not None and self.job.state not in ENDED

    @property
    def has_failed(self) -> bool:
        return self.job is not None and self.job.state == JobState.FAILED


def look(study: Study, kind: str, with_simulated: bool = False) -> Results:
    """How far a result is; rings again for a job that was left behind, and asks for nothing new."""
    return _settled(_found(study, kind, with_simulated))


def ask(study: Study, kind: str, with_simulated: bool = False) -> Results:
    """The result of the data as they are now: queued unless it is there, or has failed for them.

    A partial one is made anew once a worker answers.
    """
    found = _found(study, kind, with_simulated)
    job = found.job or _created(study, kind, with_simulated, found.now)
    is_new = found.now.token not in (job.version, job.asked_version)
    if job.state in ENDED and (is_new or (found.is_partial and found.is_answered)):
        _queue(job, asked_version=found.now.token)
    return _settled(replace(found, job=job))


def build(study: Study, kind: str, with_simulated: bool = False) -> Results:
    """The result once more, also when it is there or has failed."""
    found = _found(study, kind, with_simulated)
    job = found.job or _created(study, kind, with_simulated, found.now)
    if job.state in ENDED:
        _queue(job, asked_version=found.now.token)
    return _settled(replace(found, job=job))


def forget(study: Study) -> None:
    """Delete every result of the study, for the data of a person who withdraws.

    To be called inside the transaction that deletes the data: a worker that began before finds its
    row gone and keeps nothing.
    """
    ResultsJob.objects.filter(study=study).delete()
    results_report.delete_files(study)


def _found(study: Study, kind: str, with_simulated: bool) -> Results:
    """The row as it is, the version of the data, whether a worker answers: three queries.

    Raises Blinded while the results of the study are hidden, and so does whoever looks or asks.
    """
    refuse_while_blind(study)
    rows = ResultsJob.objects.filter(study=study, kind=kind, with_simulated=with_simulated)
    return Results(rows.first(), data_version(study, with_simulated), worker_answers())


def _created(study: Study, kind: str, with_simulated: bool, now: DataVersion) -> ResultsJob:
    job, _ = ResultsJob.objects.get_or_create(
        study=study,
        kind=kind,
        with_simulated=with_simulated,
        defaults={"asked_version": now.token, "asked_at": timezone.now()},
    )
    return job


def _queue(job: ResultsJob, *, asked_version: str) -> None:
    """Queue a job that has ended."""
    row = ResultsJob.objects.filter(pk=job.pk)
    bells.queue_again(row, asked_version=asked_version, asked_at=timezone.now())
    job.refresh_from_db()


def _settled(found: Results) -> Results:
    """Ring for a waiting job; without a worker, do a small one here."""
    job = found.job
    if job is None or job.state in ENDED:
        return found
    problems: list[str] = []
    is_small = job.kind == ResultsKind.MEASURES and found.now.n_trials < SMALL
    if is_small and not found.is_answered:
        run_job(job.pk, with_comparison=False)
    else:
        try:
            ring_due(ResultsJob.objects.filter(pk=job.pk))
        except BrokerAway as error:
            problems = error.problems
    job = ResultsJob.objects.filter(pk=job.pk).first()
    return replace(found, job=job, problems=tuple(problems))


def ring_due(jobs: Any = None) -> int:
    """Queue rows whose lease ran out, and ring for queued rows that no bell is known for.

    Returns the number of bells. Raises BrokerAway.
    """
    from studyapp.tasks import compute_results

    jobs = ResultsJob.objects.all() if jobs is None else jobs
    return bells.ring_due(jobs, compute_results, "the results")


# ---- running -------------------------------------------------------------------------------------


def run_job(job_id: int, *, with_comparison: bool = True) -> bool:
    """Take the job, work its result out and store it; False for a second delivery or a failure."""
    lease = take(ResultsJob, job_id)
    if lease is None:
        return False
    job = ResultsJob.objects.select_related("study").filter(pk=job_id).first()
    if job is None:  # somebody withdrew at this moment
        return False
    make = _make_report if job.kind == ResultsKind.REPORT else _work_out
    with kept(lease):
        try:
            return until_kept(
                lease, job.study, lambda n_before: make(lease, job, n_before, with_comparison)
            )
        except (ValueError, StudyError) as error:
            return fail_job(lease, str(error))
        except Exception as error:
            logger.exception("results of study %s failed", job.study.slug)
            return fail_job(lease, f"{type(error).__name__}: {error}")


def _work_out(lease: Lease, job: ResultsJob, n_before: int, with_comparison: bool) -> bool:
    """Work the measures out and store them."""
    data = read_data(job.study, job.with_simulated)
    content = results_content(job.study, data, job.with_simulated, with_comparison)
    return store_result(lease, job.study, data.version, content, n_before)


def _make_report(lease: Lease, job: ResultsJob, n_before: int, with_comparison: bool) -> bool:
    """Build the report's file; it stays only if the row says that it is there."""
    version, content = results_report.build(job.study, job.with_simulated)
    is_ours = False
    try:
        is_ours = store_result(lease, job.study, version, content, n_before)
    finally:
        if not is_ours:
            results_report.drop(job.study, content["file"])
    if is_ours:
        results_report.keep_only(job.study, content["file"])
    return is_ours


def store_result(
    lease: Lease, study: Study, version: DataVersion, content: dict[str, Any], n_before: int
) -> bool:
    """End the job with its result; False, and nothing stored, when the lease was lost.

    ``n_before`` is the number of withdrawals before the data were read. Raises OvertakenError.
    """
    with transaction.atomic():
        refuse_if_overtaken(study, n_before)
        return finish(
            lease,
            JobState.DONE,
            content=content,
            version=version.token,
            n_trials=version.n_trials,
            computed_at=timezone.now(),
        )


def fail_job(lease: Lease, error: str) -> bool:
    """End the job with the reason; an earlier result stays. Returns False."""
    return bells.fail(lease, error)
