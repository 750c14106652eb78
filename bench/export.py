"""The export of a study of 20,000 trials and 200,000 events as a job: seconds, memory, the page.

Goal: 60 s and 300 MB in a process of its own, in the plainest form and in the fullest, on SQLite
and on PostgreSQL. The ratio is to reading the same events once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from bench.figures import goal

N_TRIALS = 20_000
EVENTS_A_TRIAL = 10
GOAL_SECONDS = 60
GOAL_MB = 300
FORMS = {
    "raw": "",
    "de-identified with every copy": (
        "variant='deidentified', jsonl=True, spreadsheet='with_bom', simulated=True"
    ),
}


def measure() -> Iterator[str]:
    """Make the study on both databases, and export it by a job in a process of its own."""
    from bench.results import site_on

    for name in ("sqlite", "postgres"):
        with site_on(name) as site:
            yield f"{name}: {site.ask(_STUDY)}"
            for form, wanted in FORMS.items():
                told = json.loads(site.ask(_EXPORT.replace("WANTED", wanted)).splitlines()[-1])
                yield f"{name}: {form}: {_figures(told)}"


def _figures(told: dict[str, Any]) -> str:
    is_met = told["seconds"] <= GOAL_SECONDS and told["mb"] <= GOAL_MB
    return (
        f"{told['seconds']:.1f} s ({told['cpu_s']:.1f} s of CPU), at most {told['mb']:.0f} MB, "
        f"a file of {told['n_bytes'] / 1e6:.1f} MB; ratio to reading the events "
        f"{told['seconds'] / told['reading_s']:.1f}; the page with its checksum "
        f"{told['page_ms']:.0f} ms {goal(f'{GOAL_SECONDS} s and {GOAL_MB} MB', is_met)}"
    )


_STUDY = f"""
from django.contrib.auth import get_user_model
from django.db import transaction
from studyapp.codes import event_code
from tests import bulk

def further(trial):
    for seq in range(trial.n_events, {EVENTS_A_TRIAL}):
        kind = "page_hidden" if seq % 2 else "page_visible"
        yield Event(trial=trial, seq=seq, code=event_code(), kind=kind, server_at=trial.ended_at)

ann = get_user_model().objects.create_superuser("ann")
with transaction.atomic():
    study = bulk.finished_study({N_TRIALS}, owner=ann)
    for run in Enrolment.objects.all():
        trials = list(run.trials.all())
        Event.objects.bulk_create(event for trial in trials for event in further(trial))
        Trial.objects.filter(enrolment=run, n_events__lt={EVENTS_A_TRIAL}).update(
            n_events={EVENTS_A_TRIAL})
print(f"{{Trial.objects.count():,}} trials, {{Event.objects.count():,}} events")
"""

_EXPORT = """
import json, resource, time
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse
from studyapp.domain import export_jobs, progress
from studyapp.domain.export_rows import CHUNK

study = Study.objects.get()
progress.note_presence("worker")
job = export_jobs.ask(study, export_jobs.Wanted(WANTED))
begun, cpu = time.perf_counter(), time.process_time()
assert export_jobs.run_job(job.pk), ExportJob.objects.get(pk=job.pk).error
seconds, cpu_s = time.perf_counter() - begun, time.process_time() - cpu
mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
begun = time.perf_counter()
n = sum(1 for _ in Event.objects.order_by("trial_id", "seq").values().iterator(CHUNK))
reading_s = time.perf_counter() - begun
client = Client(headers={"host": "127.0.0.1"})
client.force_login(get_user_model().objects.get())
client.get(reverse("study-list"))
begun = time.perf_counter()
assert client.get(reverse("study-exports", args=[study.slug])).status_code == 200
page_ms = 1000 * (time.perf_counter() - begun)
job.refresh_from_db()
print(json.dumps(dict(seconds=seconds, cpu_s=cpu_s, mb=mb, reading_s=reading_s, page_ms=page_ms,
    n_bytes=job.n_bytes)))
"""
