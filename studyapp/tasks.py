"""Celery tasks: take ids, call one domain function."""

from __future__ import annotations

from celery import shared_task

from studyapp.domain import arriving, export_jobs, precompute, prolific_work, results_jobs


@shared_task(name="suffice.prepare")
def prepare(job_id: int) -> bool:
    """Run one precompute job; a second delivery ends at once."""
    return precompute.run_job(job_id)


@shared_task(name="suffice.ring_due")
def ring_due() -> int:
    """Ring for jobs that a dead worker or a lost message left behind (called by beat).

    Claims that a dead import left behind are deleted.
    """
    arriving.clear_abandoned()
    return sum(each.ring_due() for each in (precompute, results_jobs, export_jobs, prolific_work))


@shared_task(name="suffice.tend_prolific")
def tend_prolific(link_id: int) -> bool:
    """Look after one study at Prolific; a second delivery does nothing twice."""
    return prolific_work.tend(link_id)


@shared_task(name="suffice.compute_results")
def compute_results(job_id: int) -> bool:
    """Work out one result of a study; a second delivery ends at once."""
    return results_jobs.run_job(job_id)


@shared_task(name="suffice.make_export")
def make_export(job_id: int) -> bool:
    """Write one export of a study; a second delivery ends at once."""
    return export_jobs.run_job(job_id)
