"""Converting claims files into the interchange format, whole or sampled."""

from __future__ import annotations

import os
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from rankers.errors import BadInput
from rankers.formats import ProblemList, Row, SeenIds, claim_line, read_rows
from rankers.metrics import size_bucket
from rankers.values import Claim

#: What a sample can be balanced by.
STRATA: dict[str, Callable[[Claim], str]] = {
    "label": lambda claim: claim.label,
    "gold_min_size": lambda claim: size_bucket(claim.gold_min_size or 0),
    "source": lambda claim: claim.source or "",
    "lang": lambda claim: claim.lang,
}


@dataclass
class ConvertReport:
    """Counts: claims written, claims left out by reason, notices by kind."""

    written: int = 0
    read: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    notices: Counter[str] = field(default_factory=Counter)


def convert(
    sources: Sequence[str | Path],
    out_path: str | Path,
    format_name: str,
    *,
    limit: int | None = None,
    sample: int | None = None,
    stratify: Sequence[str] = (),
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> ConvertReport:
    """Convert files into one claims file and return what happened; ids must not repeat.

    ``limit`` keeps the first claims; ``sample`` draws that many of them, as many of each stratum
    as its share (largest remainders), in file order and from ``seed`` alone. All or nothing:
    BadInput lists every problem of all sources and OUT stays as it was.
    """
    _check_options(sample, stratify)
    report = ConvertReport()
    strata: list[tuple[str, ...]] = []
    problems: list[ProblemList] = []
    with _replacing(Path(out_path)) as stream:
        for row in _rows(sources, format_name, problems):
            if limit is not None and report.read >= limit:
                break
            report.notices.update({notice.kind for notice in row.notices})
            if row.left_out is not None:
                report.left_out[row.left_out] += 1
            if row.claim is not None:
                stream.write(claim_line(row.claim).encode("utf-8"))
                strata.append(tuple(STRATA[name](row.claim) for name in stratify))
                report.read += 1
                if progress is not None:
                    progress(report.read)
        _raise_all(problems)
        report.written = report.read
        if sample is not None:
            if sample > report.read:
                raise BadInput(f"--sample {sample}: there are only {report.read} claims")
            _keep_lines(stream, draw(strata, sample, seed))
            report.written = sample
    return report


def draw(strata: Sequence[tuple[str, ...]], size: int, seed: int) -> set[int]:
    """Return ``size`` positions, from each stratum in proportion, drawn by ``seed``.

    Seats follow the largest remainders; between equal ones the stratum that comes first in
    alphabetical order.
    """
    members: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for position, stratum in enumerate(strata):
        members[stratum].append(position)
    n = len(strata)
    seats = {stratum: size * len(found) // n for stratum, found in members.items()}
    by_remainder = sorted(
        members, key=lambda stratum: (-(size * len(members[stratum]) % n), stratum)
    )
    for stratum in by_remainder[: size - sum(seats.values())]:
        seats[stratum] += 1
    rng = random.Random(seed)
    return {
        position
        for stratum in sorted(members)
        for position in rng.sample(members[stratum], seats[stratum])
    }


def _check_options(sample: int | None, stratify: Sequence[str]) -> None:
    unknown = [name for name in stratify if name not in STRATA]
    if unknown:
        raise BadInput(f"--stratify {','.join(unknown)}: choose from {', '.join(STRATA)}")
    if stratify and sample is None:
        raise BadInput("--stratify needs --sample N")


def _rows(
    sources: Sequence[str | Path], format_name: str, problems: list[ProblemList]
) -> Iterator[Row]:
    """Rows of all files; their problems are collected by file."""
    seen = SeenIds()
    for source in sources:
        problems.append(ProblemList(str(source)))
        for row in read_rows(source, format_name, seen=seen):
            problems[-1].add(row.problems)
            yield row


def _raise_all(lists: list[ProblemList]) -> None:
    """Raise one BadInput for the problems of all files."""
    messages = [message for problems in lists for message in problems.messages()]
    if messages:
        raise BadInput(messages)


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """A temporary file beside ``path`` that takes its place when the block ends well."""
    try:
        stream = tempfile.NamedTemporaryFile(  # noqa: SIM115 - renamed or removed below
            dir=path.parent, prefix=f".{path.name}.", delete=False
        )
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror or error}") from error
    try:
        with stream:
            yield stream.file  # type: ignore[misc]
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(stream.name, 0o666 & ~_umask())
        os.replace(stream.name, path)
    except BaseException:
        os.unlink(stream.name)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _keep_lines(stream: BinaryIO, kept: set[int]) -> None:
    """Cut the file down to some of its lines, in place: a line only ever moves forward."""
    stream.flush()
    stream.seek(0)
    write_at = 0
    number = 0
    while line := stream.readline():
        if number in kept:
            read_at = stream.tell()
            stream.seek(write_at)
            stream.write(line)
            write_at += len(line)
            stream.seek(read_at)
        number += 1
    stream.truncate(write_at)
