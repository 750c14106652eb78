"""Running a method over a claims file, into a file of ranking records that can be resumed.

OUT holds one line a claim in the order of completion, each written out before the claim counts as
done. Beside it stands ``OUT.run.json``, which says what the lines were made by:
method, model, prompt version, parameters, and a SHA-256 over ids and texts of the claims file. A
record has no place for the claims file, and ids alone do not tell an edited file from the old one.
Where that note is missing (only OUT was copied) the records themselves are compared: what made
them, their ids and numbers of candidates.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankers.base import Ranker, Selector
from rankers.errors import (
    BadInput,
    MissingDependency,
    RankerError,
    SpendLimitReached,
    StoreError,
)
from rankers.formats import read_claims
from rankers.records import FAILED, failed_record, record_line, to_record
from rankers.resume import Identity, Output
from rankers.values import FALLBACK, Claim

#: A server that fails so many claims in a row fails them all; each costs a whole deadline.
GIVE_UP_AFTER = 20
#: Called with the number of finished claims after each one.
Progress = Callable[[int], None]


@dataclass
class RunReport:
    """What a run did: counts of claims, and of failed ones that OUT still has."""

    n_claims: int = 0
    already_done: int = 0
    written: int = 0
    fallbacks: int = 0
    failed: int = 0
    #: What went wrong first in this run, with the claim's id.
    first_error: str = "in an earlier run"
    #: Why the run ended before its last claim; the claims that are left have no record.
    stopped: str | None = None
    #: Claims in a row, up to the last one, that could not be asked for.
    n_away: int = 0


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The record of a claim and the error that failed it; no record if a limit is spent."""

    record: dict[str, Any] | None = None
    error: Exception | None = None


@dataclass(frozen=True)
class ClaimsFile:
    """What identifies a claims file for rankings: ids with candidate counts, and a digest."""

    path: str
    n_candidates: dict[str, int]
    digest: str


def survey(path: str | Path) -> ClaimsFile:
    """Read a claims file once: check it, count it, digest the texts that methods see.

    Labels, gold sets and sources are no part of the digest; rankings do not depend on them.
    Raises BadInput with every problem.
    """
    digest = hashlib.sha256()
    n_candidates = {}
    for claim in read_claims(path):
        n_candidates[claim.id] = len(claim.candidates)
        for text in (claim.id, claim.claim, str(len(claim.candidates)), *claim.candidates):
            data = text.encode("utf-8")
            digest.update(b"%d:" % len(data))
            digest.update(data)
    if not n_candidates:
        raise BadInput(f"{path}: no claims")
    return ClaimsFile(str(path), n_candidates, digest.hexdigest())


def run(
    method: Ranker | Selector,
    claims_path: str | Path,
    out_path: str | Path,
    *,
    limit: int | None = None,
    concurrency: int = 1,
    progress: Progress | None = None,
    claims_file: ClaimsFile | None = None,
    on_interrupt: Callable[[], object] = lambda: None,
) -> RunReport:
    """Run ``method`` over the first ``limit`` claims and write what OUT does not have yet.

    ``claims_file`` saves reading the file again when ``survey`` was called before. Claims that
    failed before are asked again. One claim's error never stops the others, but where so many in a
    row could not reach their server, the run stops and leaves the rest to the next one.
    ``on_interrupt`` is called before an interrupt waits for what is under way. Raises BadInput when
    the claims are wrong, OUT was made by something else or is in use; MissingDependency and
    StoreError at once.
    """
    surveyed = claims_file or survey(claims_path)
    scope = dict(list(surveyed.n_candidates.items())[:limit])
    report = RunReport(n_claims=len(scope))
    identity = Identity.of(method, surveyed.digest, len(surveyed.n_candidates))
    with Output.opened(Path(out_path), identity, surveyed.n_candidates, retry=scope) as out:
        report.already_done = sum(claim_id in out.done for claim_id in scope)
        wanted = (
            claim for claim in read_claims(claims_path, limit=limit) if claim.id not in out.done
        )
        for record in _results(method, wanted, concurrency, report, on_interrupt):
            # What was paid for must survive a power cut; the rest is cheap to make again.
            out.write(record_line(record), sync=record["usage"]["calls"] > 0)
            report.written += 1
            report.fallbacks += record["status"] == FALLBACK
            if record["status"] == FAILED:
                if not report.failed:
                    report.first_error = f"{record['id']}: {record['error']}"
                report.failed += 1
            if progress is not None:
                progress(report.already_done + report.written)
        report.failed += out.failed_elsewhere
    return report


def _results(
    method: Ranker | Selector,
    claims: Iterator[Claim],
    concurrency: int,
    report: RunReport,
    on_interrupt: Callable[[], object],
) -> Iterator[dict[str, Any]]:
    """Records in order of completion, with a bounded number of claims in memory.

    Once the spend limit stops a claim, or the server is gone, no further one is begun; those under
    way are waited for.
    """
    if concurrency <= 1:
        for claim in claims:
            yield from _records([_one(method, claim)], report)
            if report.stopped:
                return
        return
    pool = ThreadPoolExecutor(max_workers=concurrency)
    pending: set[Future[_Outcome]] = set()
    try:
        for claim in claims:
            pending.add(pool.submit(_one, method, claim))
            if len(pending) >= 2 * concurrency:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                yield from _records((future.result() for future in done), report)
            if report.stopped:
                break
        while pending:
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            yield from _records((future.result() for future in done), report)
    except KeyboardInterrupt:
        on_interrupt()
        raise
    finally:
        # On an interrupt the calls under way end by themselves; nothing new is started.
        pool.shutdown(wait=True, cancel_futures=True)


def _records(outcomes: Iterable[_Outcome], report: RunReport) -> Iterator[dict[str, Any]]:
    """The records among the outcomes; what ends the run is noted in the report."""
    for outcome in outcomes:
        if outcome.record is None:
            report.stopped = str(outcome.error)
            continue
        yield outcome.record
        error = outcome.error
        is_away = isinstance(error, RankerError) and error.is_about_server
        report.n_away = report.n_away + 1 if is_away else 0
        if report.n_away >= GIVE_UP_AFTER:
            report.stopped = f"{report.n_away} claims in a row failed with {error}"


def _one(method: Ranker | Selector, claim: Claim) -> _Outcome:
    start = time.monotonic()
    try:
        result = (
            method.rank_claim(claim) if isinstance(method, Ranker) else method.select_claim(claim)
        )
        return _Outcome(to_record(claim.id, method, result, time.monotonic() - start))
    except (MissingDependency, StoreError):
        raise  # it would fail every claim alike, and what cannot be kept must not be paid for
    except SpendLimitReached as limit:
        return _Outcome(error=limit)
    except Exception as error:
        # Any error, not only our own kinds: hours of paid answers must outlive a defect.
        record = failed_record(claim.id, method, error, time.monotonic() - start)
        return _Outcome(record, error)
