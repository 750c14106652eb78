"""Celery tasks: take ids, call one domain function."""

from __future__ import annotations

from celery import shared_task

from studyapp.domain import export_jobs, precompute, results_jobs


@shared_task(name="suffice.prepare")
def prepare(job_id: int) -> bool:
    """Run one precompute job; a second delivery ends at once."""
    return precompute.run_job(job_id)


@shared_task(name="suffice.ring_due")
def ring_due() -> int:
    """Ring for jobs that a dead worker or a lost message left behind (called by beat)."""
    return precompute.ring_due() + results_jobs.ring_due() + export_jobs.ring_due()


@shared_task(name="suffice.compute_results")
def compute_results(job_id: int) -> bool:
    """Work out one result of a study; a second delivery ends at once."""
    return results_jobs.run_job(job_id)


@shared_task(name="suffice.make_export")
def make_export(job_id: int) -> bool:
    """Write one export of a study; a second delivery ends at once."""
    return export_jobs.run_job(job_id)
