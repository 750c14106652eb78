"""Wall time of a run that asks an LLM, against the least time its chains of calls allow.

The calls of one claim wait for each other; claims do not. The server answers after a fixed time
and runs in a process of its own; answers are kept on disk before they are used, as in a real run.
"""

from __future__ import annotations

import heapq
import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from bench.figures import goal, seconds_of
from bench.llm_server import server_process
from rankers.formats import write_claims
from rankers.registry import build
from rankers.run import RunReport, run
from rankers.store import FileStore
from rankers.values import Claim

GOAL_RATIO = 1.10
N_CLAIMS = 200
N_CANDIDATES = 40
DEPTH = 6
LATENCY = 0.2
CONCURRENCY = 32


def measure() -> Iterator[str]:
    """Run ``incremental_llm`` over generated claims; libraries and vectors are loaded before."""
    os.environ["SUFFICE_LLM_CONCURRENCY"] = str(CONCURRENCY)
    reports: list[RunReport] = []
    with tempfile.TemporaryDirectory(prefix="suffice-bench-") as folder:
        claims = Path(folder) / "claims.jsonl"
        with claims.open("w", encoding="utf-8") as stream:
            write_claims(claims_like_real_ones(N_CLAIMS), stream)
        _load()
        with server_process(LATENCY) as server:
            store = FileStore(Path(folder) / "answers")
            method = build("incremental_llm", params={"depth": DEPTH}, llm=server.llm(store))
            cpu_before = time.process_time()
            wall = seconds_of(
                lambda: reports.append(
                    run(method, claims, Path(folder) / "out.jsonl", concurrency=CONCURRENCY)
                )
            )
            cpu = time.process_time() - cpu_before
    report = reports[0]
    assert (report.written, report.failed, report.fallbacks) == (N_CLAIMS, 0, 0), report
    calls = Counter(answered.claim for answered in server.log)
    assert len(calls) == N_CLAIMS, f"the server saw {len(calls)} claims"
    ideal = makespan((n * LATENCY for n in calls.values()), CONCURRENCY)
    yield (
        f"{N_CLAIMS} claims, {calls.total()} calls of {LATENCY * 1000:.0f} ms, {CONCURRENCY} at a "
        f"time: ideal {ideal:.2f} s, wall {wall:.2f} s, ratio {wall / ideal:.3f} "
        f"{goal(f'{GOAL_RATIO:.2f}', wall <= GOAL_RATIO * ideal)}"
    )
    each = cpu / calls.total() * 1000
    yield f"CPU of the run: {each:.1f} ms a call, {cpu / wall:.0%} of the wall time"


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
    import openai  # noqa: F401

    build("coverage").rank("A first claim.", ["One sentence.", "Another sentence."])
