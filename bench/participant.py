"""CPU of the participant's pages: one page, three reveals and one decision, web and database.

Goal: at most 8.8 ms together on PostgreSQL, and the ratio to the same number of health checks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import httpx
import psutil

GOAL_MS = 8.8
N_WARM = 30
N_UNITS = 150


def measure() -> Iterator[str]:
    """Play ``N_UNITS`` units over one connection and read the CPU time of the processes."""
    from bench.site import postgres_site

    with postgres_site() as site:
        site.ask(_STUDY)
        web, base_url = site.start_web()
        code = site.ask("print(Study.objects.get().code)")
        with httpx.Client(base_url=base_url, headers={"HX-Request": "true"}) as client:
            run = _join(client, code)
            _play(client, run, N_WARM)
            web_ms, database_ms = _cpu_ms(web.pid, lambda: _play(client, run, N_UNITS))
            checks_ms, idle_ms = _cpu_ms(web.pid, lambda: _check_health(client, 5 * N_UNITS))
    unit, checks = web_ms + database_ms, checks_ms + idle_ms
    yield (
        f"page + 3 reveals + decision: {unit:.2f} ms of CPU (web {web_ms:.2f}, database "
        f"{database_ms:.2f}; goal {GOAL_MS}: {'met' if unit <= GOAL_MS else 'MISSED'})"
    )
    yield f"ratio to five health checks: {unit / checks:.2f}"


# Blocked order: the first slot begins with the incremental condition, for half of the claims.
_STUDY = f"""
import tests.factories as f
f.open_study({2 * (N_WARM + N_UNITS)}, n_subsets=2)
"""


def _join(client: httpx.Client, code: str) -> str:
    """Consent and begin; returns the address of the run."""
    form = re.search(r'name="form" value="([^"]+)"', client.get(f"/p/{code}/").text)
    assert form is not None
    answer = client.post(f"/p/{code}/join", data={"form": form[1], "consent": "yes"})
    run = re.sub(r"[?#].*", "", answer.headers.get("HX-Redirect") or answer.headers["Location"])
    client.post(f"{run}begin")
    return run


def _play(client: httpx.Client, run: str, n_units: int) -> None:
    """``n_units`` times: the trial page by GET, three reveals, one decision."""
    for _ in range(n_units):
        page = client.get(run, headers={"HX-Request": ""}).text
        trial = re.search(r'action="([^"]+/t/[^/"]+/)decide"', page)
        assert trial is not None, page
        assert "/reveal" in page, page
        for rank in (2, 3, 4):
            assert client.post(f"{trial[1]}reveal", data={"rank": rank}).status_code == 200
        data = {"decision": "supported", "n_shown": 4}
        assert client.post(f"{trial[1]}decide", data=data).status_code == 200


def _check_health(client: httpx.Client, n: int) -> None:
    for _ in range(n):
        client.get("/healthz")


def _cpu_ms(web_pid: int, action: Callable[[], None]) -> tuple[float, float]:
    """CPU of web server and of PostgreSQL a unit, while ``action`` runs."""
    from tests import backends

    assert backends.POSTGRES is not None
    roots = (web_pid, backends.POSTGRES.pid)
    before = [_cpu_seconds(pid) for pid in roots]
    action()
    web, database = (
        (_cpu_seconds(pid) - start) * 1000 / N_UNITS
        for pid, start in zip(roots, before, strict=True)
    )
    return web, database


def _cpu_seconds(pid: int) -> float:
    """User and system time of a process and of its children."""
    root = psutil.Process(pid)
    times = [process.cpu_times() for process in [root, *root.children(recursive=True)]]
    return sum(one.user + one.system for one in times)
