"""Whole runs as processes: killed, without a server for a while, and side by side."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rankers.llm import request_key
from rankers.prompts import SHOWN_LABEL
from rankers.store import FileStore
from tests import llm_server
from tests.llm_server import LLMServer, Request
from tests.rankers import claim_files
from tests.shared_data import ROOT

N_CLAIMS = 50
DEPTH = 3
CONCURRENCY = 4
N_CALLS = N_CLAIMS * DEPTH

_WORDS = (
    *("north", "south", "river", "bridge", "tower", "king", "queen"),
    *("war", "year", "city", "film", "song", "team", "match"),
)


@pytest.fixture
def claims(tmp_path: Path) -> Path:
    """50 claims of 6 candidates, all different."""
    return claim_files.write(
        tmp_path / "claims.jsonl",
        *(
            {
                "id": f"c{k}",
                "claim": f"The {_WORDS[k % 14]} and the {_WORDS[(k + 5) % 14]} of {1900 + k}.",
                "candidates": [
                    f"A {_WORDS[(k + j) % 14]} with a {_WORDS[(k + 3 * j) % 14]} in {1897 + k + j}."
                    for j in range(6)
                ],
                "gold_sets": [[0]],
            }
            for k in range(N_CLAIMS)
        ),
    )


def start_run(claims: Path, out: Path, base_url: str, **settings: object) -> subprocess.Popen[str]:
    """``rank`` with incremental_llm in a process of its own."""
    environment = {
        **os.environ,
        "OPENAI_BASE_URL": base_url,
        "OPENAI_MODEL": "scripted",
        "SUFFICE_LLM_CONCURRENCY": str(CONCURRENCY),
        **{name: str(value) for name, value in settings.items()},
    }
    command = [sys.executable, "-m", "rankers", "rank", claims, "--method", "incremental_llm"]
    command += ["--param", f"depth={DEPTH}", "--concurrency", CONCURRENCY, "-o", out]
    return subprocess.Popen(
        list(map(str, command)),
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(run: subprocess.Popen[str]) -> None:
    """Wait for the end, which has to be a good one."""
    stdout, stderr = run.communicate(timeout=120)
    assert (run.returncode, stderr) == (0, ""), stdout


def kill(run: subprocess.Popen[str]) -> None:
    run.send_signal(signal.SIGKILL)
    run.communicate()
    assert run.returncode == -signal.SIGKILL


def records_of(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.read_text().splitlines()]


def orders(out: Path) -> dict[str, Any]:
    """Every claim's order and origins; each claim once, none of them failed or fallen back."""
    records = records_of(out)
    assert sorted(record["id"] for record in records) == sorted(f"c{k}" for k in range(N_CLAIMS))
    assert {record["status"] for record in records} == {"complete"}
    return {record["id"]: (record["order"], record["origins"]) for record in records}


def keys_of(requests: list[Request]) -> list[str]:
    """What each request's answer is stored under; every answer here is a first one."""
    return [request_key(request.body, 0) for request in requests]


def stored_keys(out: Path, keys: list[str]) -> set[str]:
    store = FileStore(f"{out}.responses")
    return {key for key in keys if store.get(key) is not None}


def test_a_run_killed_twice_finishes_and_pays_for_no_stored_answer_again(
    claims: Path, tmp_path: Path
):
    out = tmp_path / "out.jsonl"
    kills: list[tuple[int, set[str]]] = []
    with LLMServer(latency=0.05) as server:
        for enough in (40, 100):
            run = start_run(claims, out, server.base_url)
            while len(server.requests) < enough:
                assert run.poll() is None
                time.sleep(0.005)
            kill(run)
            keys = keys_of(server.requests)
            kept = stored_keys(out, keys)
            kills.append((len(keys), kept))
            assert len(kept) < N_CALLS
            # What was asked and is not kept was under way.
            assert len(set(keys)) - len(kept) <= CONCURRENCY
        finish(start_run(claims, out, server.base_url))
        keys = keys_of(server.requests)
    assert len(set(keys)) == N_CALLS
    assert len(keys) - N_CALLS <= 2 * CONCURRENCY
    for n_before, kept in kills:
        assert kept.isdisjoint(keys[n_before:])
    assert sum(record["usage"]["calls"] for record in records_of(out)) == N_CALLS
    with LLMServer() as other:
        finish(start_run(claims, tmp_path / "straight.jsonl", other.base_url))
    assert orders(out) == orders(tmp_path / "straight.jsonl")


@contextmanager
def server_process(port: int) -> Iterator[str]:
    """The scripted server in a process of its own, so that its end ends its connections too."""
    command = [sys.executable, "-m", "tests.llm_server", "--latency", "0.05", "--port", str(port)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[0].partition("=")[2]
        finally:
            process.kill()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def n_records(out: Path) -> int:
    return len(out.read_bytes().splitlines()) if out.exists() else 0


def test_a_run_outlasts_a_server_that_is_down_for_a_while(claims: Path, tmp_path: Path):
    out = tmp_path / "out.jsonl"
    port = free_port()
    with server_process(port) as base_url:
        shorter = {"SUFFICE_LLM_BACKOFF": 0.05, "SUFFICE_LLM_BACKOFF_CAP": 0.5}
        run = start_run(claims, out, base_url, **shorter, SUFFICE_LLM_TRIES=200)
        while n_records(out) < 10:
            assert run.poll() is None
            time.sleep(0.01)
    time.sleep(2)
    assert run.poll() is None
    assert n_records(out) < N_CLAIMS
    with server_process(port):
        finish(run)
    assert len(orders(out)) == N_CLAIMS


def test_an_outage_beyond_the_deadline_stops_the_run_and_the_next_one_asks_the_rest(
    claims: Path, tmp_path: Path
):
    out = tmp_path / "out.jsonl"
    port = free_port()
    with server_process(port) as base_url:
        run = start_run(claims, out, base_url, SUFFICE_LLM_TIMEOUT=1)
        while n_records(out) < 10:
            assert run.poll() is None
            time.sleep(0.01)
    _, stderr = run.communicate(timeout=120)
    assert run.returncode == 1
    assert "cannot connect" in stderr
    assert "stopped: " in stderr
    records = records_of(out)
    assert 30 <= len(records) <= N_CLAIMS
    assert {record["status"] for record in records} == {"complete", "failed"}
    with server_process(port) as base_url:
        finish(start_run(claims, out, base_url))
    assert len(orders(out)) == N_CLAIMS


# Ranks into its own file, with answers from a shared store.
_RUN = """
import sys
from rankers.endpoint import LLMSettings
from rankers.incremental import IncrementalLLM
from rankers.llm import LLM
from rankers.registry import build
from rankers.run import run
from rankers.store import FileStore
claims, out, store, url, depth, concurrency = sys.argv[1:]
llm = LLM("scripted", base_url=url, store=FileStore(store), settings=LLMSettings(concurrency=8))
method = IncrementalLLM(llm, seed_ranker=build("bm25"), depth=int(depth))
print("ready", flush=True)
sys.stdin.readline()
report = run(method, claims, out, concurrency=int(concurrency))
assert (report.written, report.failed, report.fallbacks) == (50, 0, 0), report
"""


class Moody:
    """Chooses another unused number each time it is asked, whatever the question."""

    def __init__(self) -> None:
        self.n_asked = 0

    def __call__(self, request: Request) -> llm_server.Act:
        self.n_asked += 1
        shown = request.prompt.rpartition(SHOWN_LABEL)[2]
        left = [k for k in range(1, 7) if f"[{k}]" not in shown]
        return llm_server.say(f"[{left[self.n_asked % len(left)]}]", delay=0.02)


def test_two_processes_over_one_store_agree_although_the_model_does_not(
    claims: Path, tmp_path: Path
):
    store = tmp_path / "answers.sqlite3"
    outs = [tmp_path / f"{name}.jsonl" for name in "ab"]
    with LLMServer(Moody()) as server:
        runs = [
            subprocess.Popen(
                [sys.executable, "-c", _RUN, claims, out, store, server.base_url, "3", "4"],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for out in outs
        ]
        for run in runs:
            assert run.stdout is not None
            assert run.stdout.readline() == "ready\n"
        for run in runs:
            assert run.stdin is not None
            run.stdin.write("\n")
            run.stdin.flush()
        assert [run.wait(120) for run in runs] == [0, 0]
        for run in runs:
            run.communicate()
        asked = Counter(keys_of(server.requests))
    assert orders(outs[0]) == orders(outs[1])
    assert len(asked) == N_CALLS == len(FileStore(store))
    assert max(asked.values()) <= 2
