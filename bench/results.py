"""The results page of a study of 20,000 trials: time and queries of the page, time of the jobs.

Goal: the page answers within 500 ms and with at most 15 queries, on SQLite and on PostgreSQL.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

N_TRIALS = 20_000
GOAL_MS = 500
GOAL_QUERIES = 15


def measure() -> Iterator[str]:
    """Make the study on both databases, and look at its page before, while and after it changes."""
    for name in ("sqlite", "postgres"):
        with open_site(name) as site:
            told = json.loads(site.ask(_LOOK).splitlines()[-1])
        yield f"{name}: {told['n_trials']:,} trials, {told['n_events']:,} events"
        for look in told["looks"]:
            is_met = look["ms"] <= GOAL_MS and look["queries"] <= GOAL_QUERIES
            yield (
                f"{name}: page {look['name']}: {look['ms']:.0f} ms, {look['queries']} queries, "
                f"{look['bytes'] / 1000:.0f} kB (goal {GOAL_MS} ms and {GOAL_QUERIES}: "
                f"{'met' if is_met else 'MISSED'})"
            )
        yield (
            f"{name}: jobs: measures {told['measures_s']:.1f} s, report {told['report_s']:.1f} s; "
            f"ratio of the page to its job: {_ratio(told):.4f}"
        )


def _ratio(told: dict[str, Any]) -> float:
    """The page's last time to that of the job behind it."""
    return told["looks"][-1]["ms"] / 1000 / told["measures_s"]


@contextmanager
def open_site(name: str) -> Iterator[Any]:
    """An installation on PostgreSQL, or on a SQLite file."""
    from bench.site import postgres_site

    if name == "postgres":
        with postgres_site() as site:
            yield site
        return
    from tests.flows.site import Site

    with tempfile.TemporaryDirectory(prefix="suffice-bench-") as folder:
        path = Path(folder)
        site = Site(
            path,
            DATABASE_URL=f"sqlite:///{path / 'site.sqlite3'}",
            CELERY_BROKER_URL="filesystem://",
        )
        try:
            yield site
        finally:
            site.close()


_LOOK = f"""
import json, time
from django.contrib.auth import get_user_model
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from studyapp.domain import progress, results_jobs
from tests import bulk

ann = get_user_model().objects.create_superuser("ann")
with transaction.atomic():
    study = bulk.finished_study({N_TRIALS}, owner=ann)
client = Client(headers={{"host": "127.0.0.1"}})
client.force_login(ann)
progress.note_presence("worker")
address = reverse("study-measures", args=[study.slug])
looks = []

def look(name):
    client.get(reverse("study-list"))
    times = []
    for _ in range(5):
        progress.note_presence("worker")
        with CaptureQueriesContext(connection) as queries:
            begun = time.perf_counter()
            answer = client.get(address)
            times.append(1000 * (time.perf_counter() - begun))
        assert answer.status_code == 200, answer.content
    size = len(answer.content)
    looks.append(dict(name=name, ms=sorted(times)[2], queries=len(queries), bytes=size))
    return answer.content.decode()

def run(kind):
    job = ResultsJob.objects.get(study=study, kind=kind)
    begun = time.perf_counter()
    assert results_jobs.run_job(job.pk), ResultsJob.objects.get(pk=job.pk).error
    return time.perf_counter() - begun

assert "Waiting for a worker" in look("without a result")
measures_s = run("measures")
assert "By condition" in look("with a current result")
results_jobs.build(study, "report")
report_s = run("report")
enrolment = Enrolment.objects.first()
Enrolment.objects.filter(pk=enrolment.pk).update(end_reason="returned")
assert "Since then, the state" in look("with an old result, while it is computed again")
print(json.dumps(dict(looks=looks, measures_s=measures_s, report_s=report_s,
    n_trials=Trial.objects.count(), n_events=Event.objects.count())))
"""
