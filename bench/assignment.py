"""Joining a study of 500 slots of 40 trials: time and queries of one arrival, empty to full.

Goal: at most 50 ms and 12 queries an arrival, on SQLite and on PostgreSQL.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

N_SLOTS = 500
GOAL_MS = 50
GOAL_QUERIES = 12


def measure() -> Iterator[str]:
    """Fill the study on both databases and time arrivals on the way."""
    from bench.results import site_on

    for name in ("sqlite", "postgres"):
        with site_on(name) as site:
            told = json.loads(site.ask(_FILL).splitlines()[-1])
        for look in told["looks"]:
            is_met = look["ms"] <= GOAL_MS and look["queries"] <= GOAL_QUERIES
            yield (
                f"{name}: arrival with {look['taken']} of {N_SLOTS} places taken{look['note']}: "
                f"{look['ms']:.1f} ms, {look['queries']} queries (goal {GOAL_MS} ms and "
                f"{GOAL_QUERIES}: {'met' if is_met else 'MISSED'}; "
                f"{look['ms'] / told['one_query_ms']:.0f} times one query)"
            )


_FILL = f"""
import json, time
from datetime import timedelta
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from studyapp.domain.assignment import join
from studyapp.domain.join_forms import JoinForm
from tests import factories

study = factories.open_study(100, n_subsets=5, n_replications={N_SLOTS // 5})
assert study.slots.count() == {N_SLOTS}, study.slots.count()
numbers = iter(range(10_000))

def arrive():
    return join(study.code, JoinForm(f"nonce-{{next(numbers)}}"))

def fill(n):
    while Enrolment.objects.filter(state="consented").count() < n:
        arrive()

looks = []

def look(note=""):
    taken = Enrolment.objects.filter(state="consented").count()
    times = []
    for _ in range(7):
        with CaptureQueriesContext(connection) as queries:
            arrive()
        begun = time.perf_counter()
        arrive()
        times.append(1000 * (time.perf_counter() - begun))
    own = [q for q in queries.captured_queries
           if not q["sql"].startswith(("SAVEPOINT", "RELEASE", "BEGIN", "COMMIT"))]
    looks.append(dict(taken=taken, note=note, ms=sorted(times)[3], queries=len(own)))

begun = time.perf_counter()
for _ in range(200):
    Study.objects.values_list("pk").get(pk=study.pk)
one_query_ms = 1000 * (time.perf_counter() - begun) / 200
look()
fill(250)
look()
fill({N_SLOTS - 14})
look()
fill({N_SLOTS})
Enrolment.objects.update(lease_until=timezone.now() - timedelta(minutes=1))
look(", all expired")
print(json.dumps(dict(looks=looks, one_query_ms=one_query_ms)))
"""
