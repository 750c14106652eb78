"""The rankings page of a study of 5,000 claims under 2 conditions: queries and server time.

Goal: less than 15 queries and 300 ms for the page, a poll of it and every filter, on SQLite and on
PostgreSQL.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

N_CLAIMS = 5000
GOAL_MS = 300
#: Fewer than so many.
GOAL_QUERIES = 15


def measure() -> Iterator[str]:
    """Make the study on both databases, half of it prepared, and look at its pages."""
    from bench.results import _site

    for name in ("sqlite", "postgres"):
        with _site(name) as site:
            looks = json.loads(site.ask(_LOOK).splitlines()[-1])
        for look in looks:
            is_met = look["ms"] < GOAL_MS and look["queries"] < GOAL_QUERIES
            yield (
                f"{name}: {look['name']}: {look['ms']:.0f} ms, {look['queries']} queries "
                f"(goal {GOAL_MS} ms and {GOAL_QUERIES}: {'met' if is_met else 'MISSED'})"
            )
        yield f"{name}: ratio of the page to its smallest filter: {_ratio(looks):.2f}"


def _ratio(looks: list[dict[str, float]]) -> float:
    return looks[0]["ms"] / min(look["ms"] for look in looks)


_LOOK = f"""
import json, time
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from studyapp.domain import lifecycle, progress
import tests.factories as f

ann = get_user_model().objects.create_user("ann")
study = f.draft_study(owner=ann)
claims = Claim.objects.bulk_create([Claim(study=study, position=n, claim_id=f"c{{n}}",
    text=f"Claim number {{n}} of a study with many of them.", label="supported", n_candidates=20,
    gold_min_size=1, digest="0") for n in range(1, {N_CLAIMS + 1})], batch_size=2000)
Candidate.objects.bulk_create((Candidate(claim=claim, position=k, text="A sentence of words. " * 6)
    for claim in claims for k in range(20)), batch_size=5000)
GoldSet.objects.bulk_create((GoldSet(claim=claim, position=0, members=[1]) for claim in claims),
    batch_size=2000)
conditions = [lifecycle.add_condition(study, "asked", "incremental", "incremental_llm", model="m"),
    lifecycle.add_condition(study, "set", "all_at_once", "coverage_selection")]
half = claims[: len(claims) // 2]
Ranking.objects.bulk_create((Ranking(condition=conditions[0], claim=claim, method="m",
    status="complete", order=list(range(20)), origins=["judged"] * 20) for claim in half),
    batch_size=1000)
Selection.objects.bulk_create((Selection(condition=conditions[1], claim=claim, method="m",
    status="complete", selected=[1, 2]) for claim in half), batch_size=1000)
done = set(claim.pk for claim in half)
PrecomputeJob.objects.bulk_create((PrecomputeJob(condition=condition, claim=claim,
    state="done" if claim.pk in done else "failed" if claim.position % 50 == 0 else "queued",
    error="no answer" if claim.position % 50 == 0 else "")
    for condition in conditions for claim in claims), batch_size=2000)
PrecomputeJob.objects.update(rung_at=progress.timezone.now())
progress.note_presence("bench")
if connection.vendor == "postgresql":
    connection.cursor().execute("ANALYZE")
settings.ALLOWED_HOSTS.append("testserver")
client = Client()
client.force_login(ann)
page = reverse("study-rankings", args=[study.slug])
htmx = {{"HX-Request": "true"}}
looks = []
for name, address, headers in [
    ("page", page, {{}}), ("poll", page, htmx), ("last page", page + "?page=200", {{}}),
    ("poll of two conditions", page + "?page=100", htmx),
    ("failed", page + "?state=failed", {{}}), ("waiting", page + "?state=waiting&page=40", {{}}),
    ("done", page + "?state=done&condition=set&page=50", {{}}),
    ("estimate", reverse("rankings-estimate", args=[study.slug]), htmx),
    ("preview", reverse("rankings-preview", args=[study.slug, "asked", 100]), {{}}),
]:
    times = []
    for _ in range(5):
        with CaptureQueriesContext(connection) as captured:
            begin = time.perf_counter()
            assert client.get(address, headers=headers).status_code == 200
            times.append(1000 * (time.perf_counter() - begin))
    looks.append({{"name": name, "ms": sorted(times)[2], "queries": len(captured)}})
print(json.dumps(looks))
"""
