"""A researcher's pages of a study as large as they get: median time and number of queries.

5,000 claims x 60 candidates, 2 conditions, 500 slots of 40 trials, once as a draft and once open
with 500 completed participants. Goal: every page within 300 ms of the server's time and with at
most 15 queries, on SQLite and on PostgreSQL; laying out and opening within 10 s.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

GOAL_MS = 300
GOAL_QUERIES = 15
GOAL_S = 10
N_LOOKS = 9


def measure() -> Iterator[str]:
    """Make both studies on both databases, and look at each page several times."""
    from bench.results import site_on

    for name in ("sqlite", "postgres"):
        with site_on(name) as site:
            told = json.loads(site.ask(_LOOK).splitlines()[-1])
        yield f"{name}: {told['n_trials']:,} trials, {told['n_events']:,} events"
        for what in ("lay_out", "open_study"):
            seconds = told[what]
            yield f"{name}: {what}: {seconds:.1f} s (goal {GOAL_S}: {_met(seconds <= GOAL_S)})"
        checks = told["looks"].pop("health check")["ms"]
        for page, look in told["looks"].items():
            yield f"{name}: {page}: {_said(look)}, {look['ms'] / checks:.0f} health checks"


def _said(look: dict[str, Any]) -> str:
    is_met = look["ms"] <= GOAL_MS and look["queries"] <= GOAL_QUERIES
    return (
        f"{look['ms']:.0f} ms, {look['queries']} queries, {look['bytes'] / 1000:.0f} kB "
        f"(goal {GOAL_MS} ms and {GOAL_QUERIES}: {_met(is_met)})"
    )


def _met(is_met: bool) -> str:
    return "met" if is_met else "MISSED"


_LOOK = f"""
import json, time
from django.contrib.auth import get_user_model
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from bench import console_study
from studyapp.domain import lifecycle, schedule

def seconds(act):
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun

ann = get_user_model().objects.create_superuser("ann")
with transaction.atomic():
    draft = console_study.ready_study(ann, "draft")
with transaction.atomic():
    large = console_study.ready_study(ann, "large")
lay_out = seconds(lambda: schedule.lay_out(large, large.n_subsets, large.n_replications, 7))
open_study = seconds(lambda: lifecycle.open_study(large))
with transaction.atomic():
    console_study.fill(large)
if connection.vendor == "postgresql":
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
client = Client(headers={{"host": "127.0.0.1"}})
client.force_login(ann)
PAGES = {{
    "health check": "/healthz",
    "study list": "/",
    "study page": "/studies/large/",
    "study page of a draft": "/studies/draft/",
    "set-up review": "/studies/draft/setup/review/",
    "set-up claims": "/studies/draft/setup/claims/",
    "set-up schedule": "/studies/draft/setup/schedule/",
    "schedule page": "/studies/large/schedule/",
    "schedule page, filtered": "/studies/large/schedule/?cycle=2&state=completed&page=2",
    "schedule matrix": "/studies/large/schedule/claims/?cycle=2&page=25",
    "schedule subsets": "/studies/large/schedule/subsets/",
    "close a slot": "/studies/large/schedule/slots/2.17/close/",
}}
looks = {{}}
for name, address in PAGES.items():
    client.get(address)
    times = []
    for _ in range({N_LOOKS}):
        times.append(1000 * seconds(lambda: client.get(address)))
    with CaptureQueriesContext(connection) as queries:
        answer = client.get(address)
    assert answer.status_code == 200, answer.content
    ms, size = sorted(times)[{N_LOOKS // 2}], len(answer.content)
    looks[name] = dict(ms=ms, queries=len(queries), bytes=size)
print(json.dumps(dict(looks=looks, lay_out=lay_out, open_study=open_study,
    n_trials=Trial.objects.count(), n_events=Event.objects.count())))
"""
