"""R121: 20 people decide while a researcher sends a file of 30 MB, on SQLite and on PostgreSQL.

Goal: no error, no lost write. The waits of the participants' requests while the file is imported
are compared with those before it.
"""

from __future__ import annotations

import json
import re
import statistics
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import httpx

SIZE_MB = 30
N_PEOPLE = 20
#: Seconds of the run before the file is sent.
QUIET = 8
#: A slot has 2 x 400 trials, so that nobody comes to the end.
_STUDY = f"""
from importlib import import_module
from django.conf import settings
from django.contrib.auth import get_user_model
import tests.factories as f
ann = get_user_model().objects.create_user("ann")
f.open_study(400, n_subsets=2, n_replications={N_PEOPLE // 2}, slug="live", confirms_decision=True)
f.draft_study("draft", owner=ann)
session = import_module(settings.SESSION_ENGINE).SessionStore()
session["_auth_user_id"] = str(ann.pk)
session["_auth_user_backend"] = "django.contrib.auth.backends.ModelBackend"
session["_auth_user_hash"] = ann.get_session_auth_hash()
session.save()
print(session.session_key)
print(Study.objects.get(slug="live").code)
"""
_STORED = """
import json
answers = VerificationAnswer.objects.values_list("trial__code", "decision")
claims = Claim.objects.filter(study__slug="draft")
print(json.dumps({"answers": dict(answers), "claims": claims.count(),
    "candidates": Candidate.objects.filter(claim__study__slug="draft").count()}))
"""


def measure(names: tuple[str, ...] = ("sqlite", "postgres")) -> Iterator[str]:
    """Play on both databases and read back what is stored."""
    from bench.results import _site

    for name in names:
        with _site(name) as site:
            yield from (f"{name}: {line}" for line in _play(site))


def _play(site: Any) -> Iterator[str]:
    from bench.importing import write_claims

    session, code = site.ask(_STUDY).splitlines()[-2:]
    _, base_url = site.start_web()
    is_over = Event()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(N_PEOPLE + 1) as pool:
        file = Path(folder) / "claims.jsonl"
        write_claims(file, SIZE_MB)
        n_claims = sum(1 for _ in file.open(encoding="utf-8"))
        people = [pool.submit(_decide, base_url, code, is_over) for _ in range(N_PEOPLE)]
        time.sleep(QUIET)
        began = time.monotonic()
        status, seconds = _send_file(base_url, session, file)
        ended = time.monotonic()
        is_over.set()
        told = [person.result() for person in people]
    stored = json.loads(site.ask(_STORED).splitlines()[-1])
    waits = [wait for person in told for wait in person["waits"]]
    quiet = sorted(wait for at, wait in waits if at + wait < began)
    busy = sorted(wait for at, wait in waits if at + wait >= began and at <= ended)
    errors = sum(person["errors"] for person in told)
    lost = sum(
        stored["answers"].get(trial) != decision
        for person in told
        for trial, decision in person["answers"].items()
    )
    n_answers = sum(len(person["answers"]) for person in told)
    yield (
        f"{SIZE_MB} MB, {n_claims:,} claims: status {status} after {seconds:.1f} s; "
        f"{stored['claims']:,} claims and {stored['candidates']:,} candidates stored"
    )
    is_met = not errors and not lost and stored["claims"] == n_claims
    yield (
        f"{n_answers:,} decisions: {errors} errors, {lost} lost "
        f"(goal 0: {'met' if is_met else 'MISSED'})"
    )
    yield f"before: {_waits(quiet)}; meanwhile: {_waits(busy)}"


def _waits(waits: list[float]) -> str:
    if len(waits) < 2:
        return f"{len(waits)} requests"
    middle, most = statistics.median(waits), waits[int(0.95 * len(waits))]
    return (
        f"{len(waits):,} requests, median {middle * 1000:.0f} ms, "
        f"95 % within {most * 1000:.0f} ms, "
        f"longest {waits[-1]:.2f} s"
    )


def _decide(base_url: str, code: str, is_over: Event) -> dict[str, Any]:
    """One participant by plain forms, one request a second or less, until it is over."""
    told: dict[str, Any] = {"waits": [], "answers": {}, "errors": 0}
    with httpx.Client(base_url=base_url, follow_redirects=True, timeout=60) as browser:

        def send(action: str, values: dict[str, str]) -> httpx.Response | None:
            at = time.monotonic()
            try:
                answer = browser.post(action, data=values)
            except httpx.HTTPError:
                told["errors"] += 1
                return None
            told["waits"].append((at, time.monotonic() - at))
            told["errors"] += answer.status_code != 200
            return answer if answer.status_code == 200 else None

        form = _found(r'name="form" value="([^"]+)"', browser.get(f"/p/{code}/"))
        page = send(f"/p/{code}/join", {"form": form, "consent": "yes"})
        page = page and send(_found(r'action="([^"]+/begin)"', page), {})
        while page is not None and not is_over.is_set():
            trial = _found(r'action="([^"]+/t/[^/"]+/)decide"', page)
            n_shown = _found(r'name="n_shown" value="(\d+)"', page)
            page = send(f"{trial}decide", {"decision": "refuted", "n_shown": n_shown})
            if page is not None:
                told["answers"][trial.split("/")[-2]] = "refuted"
            time.sleep(0.8)
    return told


def _found(pattern: str, page: httpx.Response) -> str:
    found = re.search(pattern, page.text)
    assert found is not None, page.text
    return found[1]


def _send_file(base_url: str, session: str, file: Path) -> tuple[int, float]:
    """Send the file by the form of the set-up page; status and seconds."""
    with httpx.Client(base_url=base_url, timeout=600, cookies={"sessionid": session}) as browser:
        address = "/studies/draft/setup/claims/"
        page = browser.get(address)
        token = browser.cookies["csrftoken"]
        assert page.status_code == 200, page.status_code
        began = time.monotonic()
        with file.open("rb") as stream:
            answer = browser.post(
                address,
                data={"csrfmiddlewaretoken": token, "format": "interchange", "role": "main"},
                files={"file": ("claims.jsonl", stream)},
                headers={"Referer": f"{base_url}{address}"},
            )
        return answer.status_code, time.monotonic() - began
