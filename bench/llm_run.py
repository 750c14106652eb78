"""Wall time of a run that asks an LLM, against the least time its chains of calls allow.

The calls of one claim wait for each other; claims do not. The server answers after a fixed time
and runs in a process of its own; answers are kept on disk before they are used, as in a real run.
"""

from __future__ import annotations

import heapq
import importlib
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.figures import goal
from bench.llm_server import server_process
from rankers.formats import write_claims
from rankers.registry import build
from rankers.run import run
from rankers.store import FileStore
from rankers.values import Claim

GOAL_RATIO = 1.10
N_CLAIMS = 200
N_CANDIDATES = 40
DEPTH = 6
LATENCY = 0.2
CONCURRENCY = 32
#: The shortest run counts: what else the machine does only makes a run longer.
N_RUNS = 2


@dataclass(frozen=True)
class TimedRun:
    """Wall and CPU seconds of a run, and the number of calls that the server saw by claim."""

    wall: float
    cpu: float
    calls: Counter[str]


def measure() -> Iterator[str]:
    """Run ``incremental_llm`` over generated claims; libraries and vectors are loaded before."""
    _load()
    timed = min((timed_run() for _ in range(N_RUNS)), key=lambda one: one.wall)
    ideal = makespan((n * LATENCY for n in timed.calls.values()), CONCURRENCY)
    n_calls, wall = timed.calls.total(), timed.wall
    yield (
        f"{N_CLAIMS} claims, {n_calls} calls of {LATENCY * 1000:.0f} ms, {CONCURRENCY} at a time: "
        f"ideal {ideal:.2f} s, wall {wall:.2f} s (best of {N_RUNS}), ratio {wall / ideal:.3f} "
        f"{goal(f'{GOAL_RATIO:.2f}', wall <= GOAL_RATIO * ideal)}"
    )
    each = timed.cpu / n_calls * 1000
    yield f"CPU of the run: {each:.1f} ms a call, {timed.cpu / wall:.0%} of the wall time"


def timed_run() -> TimedRun:
    """One run against a fresh server, from the claims file to the last record."""
    with tempfile.TemporaryDirectory(prefix="suffice-bench-") as name:
        folder = Path(name)
        claims = folder / "claims.jsonl"
        with claims.open("w", encoding="utf-8") as stream:
            write_claims(claims_like_real_ones(N_CLAIMS), stream)
        with server_process(LATENCY) as server:
            llm = server.llm(FileStore(folder / "answers"), CONCURRENCY)
            method = build("incremental_llm", params={"depth": DEPTH}, llm=llm)
            wall, cpu = time.perf_counter(), time.process_time()
            report = run(method, claims, folder / "out.jsonl", concurrency=CONCURRENCY)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    assert (report.written, report.failed, report.fallbacks) == (N_CLAIMS, 0, 0), report
    calls = Counter(answered.claim for answered in server.log)
    assert len(calls) == N_CLAIMS, f"the server saw {len(calls)} claims"
    return TimedRun(wall, cpu, calls)


def makespan(seconds: Iterable[float], n_lanes: int) -> float:
    """Return when the last chain ends if each goes, longest first, to the lane that is free first.

    Longest processing time first is within a third of the best packing, and is the best one for
    chains of one length.
    """
    lanes = [0.0] * n_lanes
    for duration in sorted(seconds, reverse=True):
        heapq.heapreplace(lanes, lanes[0] + duration)
    return max(lanes)


def claims_like_real_ones(n: int) -> Iterator[Claim]:
    """Claims of 12 words with 40 different candidates of 20 words each."""
    generator = random.Random(4)
    words = [f"{a}{b}{c}" for a in "bdgklmnprst" for b in ("ala", "ore", "imi") for c in "nrst"]
    for number in range(n):
        yield Claim(
            id=f"c{number}",
            claim=f"{number} {' '.join(generator.choices(words, k=12))}",
            label="supported",
            candidates=tuple(" ".join(generator.choices(words, k=20)) for _ in range(N_CANDIDATES)),
            gold_sets=((0,),),
        )


def _load() -> None:
    """Load what the first claim of a process would load."""
    importlib.import_module("openai")

    build("coverage").rank("A first claim.", ["One sentence.", "Another sentence."])
