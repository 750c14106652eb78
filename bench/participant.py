"""CPU of the participant's pages: one page, three reveals and one decision, web and database.

Goal: at most 8.8 ms together on PostgreSQL, and the ratio to the same number of health checks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import psutil

GOAL_MS = 8.8
N_RUNS = 60


def measure() -> Iterator[str]:
    """Play ``N_RUNS`` units through gunicorn over one connection and read the processes' CPU."""
    from bench.site import postgres_site

    with postgres_site() as site:
        site.ask(_STUDY)
        web, base_url = site.start_web()
        code = site.ask("print(Study.objects.get().code)")
        with httpx.Client(base_url=base_url, headers={"HX-Request": "true"}) as client:
            _play(client, code, 20)
            unit = _cpu_ms(web.pid, lambda: _play(client, code, N_RUNS)) / N_RUNS
            checks = _cpu_ms(web.pid, lambda: _check_health(client, N_RUNS * 5)) / N_RUNS
    yield (
        f"page + 3 reveals + decision: {unit:.2f} ms of CPU, web and database "
        f"(goal {GOAL_MS}: {'met' if unit <= GOAL_MS else 'MISSED'})"
    )
    yield f"ratio to five health checks: {unit / checks:.2f}"


_STUDY = f"""
import tests.factories as f
study = f.open_study({2 * (N_RUNS + 30)}, n_subsets=2)
"""


def _play(client: httpx.Client, code: str, n_units: int) -> None:
    """``n_units`` times: the trial page, three reveals where the trial reveals, one decision."""
    page = client.get(f"/p/{code}/").text
    form = re.search(r'name="form" value="([^"]+)"', page)
    assert form is not None
    answer = client.post(f"/p/{code}/join", data={"form": form[1], "consent": "yes"})
    run = re.sub(r"[?#].*", "", answer.headers.get("HX-Redirect") or answer.headers["Location"])
    client.post(f"{run}begin")
    done = 0
    while done < n_units:
        page = client.get(run, headers={"HX-Request": ""}).text
        decide = re.search(r'action="([^"]+/t/([^/"]+)/)decide"', page)
        assert decide is not None, page
        reveals = "/reveal" in page
        for rank in (2, 3, 4) if reveals else ():
            assert client.post(f"{decide[1]}reveal", data={"rank": rank}).status_code == 200
        shown = 4 if reveals else 3
        data = {"decision": "supported", "n_shown": shown}
        assert client.post(f"{decide[1]}decide", data=data).status_code == 200
        done += reveals
    token = run.rstrip("/").rsplit("/", 1)[1]
    client.cookies.clear()
    client.post(f"{run}withdraw", data={"confirm": "yes"})
    assert token


def _check_health(client: httpx.Client, n: int) -> None:
    for _ in range(n):
        client.get("/healthz")


def _cpu_ms(web_pid: int, action) -> float:
    before = _cpu_seconds(web_pid)
    action()
    return (_cpu_seconds(web_pid) - before) * 1000


def _cpu_seconds(web_pid: int) -> float:
    """User and system time of the web server and of every PostgreSQL process, ended ones too."""
    from tests import backends

    total = 0.0
    roots = [psutil.Process(web_pid)]
    postmaster = backends.POSTGRES.pid if backends.POSTGRES else None
    if postmaster:
        roots.append(psutil.Process(postmaster))
    for root in roots:
        for process in [root, *root.children(recursive=True)]:
            times = process.cpu_times()
            total += times.user + times.system
    return total
