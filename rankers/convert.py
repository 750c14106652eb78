"""Converting claims files, whole, filtered or sampled, from any format into one that is written."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, TextIO

from rankers.errors import BadInput
from rankers.formats import (
    Pages,
    ProblemList,
    Row,
    SeenIds,
    claim_line,
    load_pages,
    raise_all,
    read_rows,
    with_given_sets,
    write_csv,
    write_official,
)
from rankers.formats.official import keeps_positions
from rankers.formats.rows import AMBIGUOUS_GOLD, NO_STRATUM, REDUCED_GOLD_SETS
from rankers.formats.wiki import WIKI_FORMATS
from rankers.outputs import check_outputs
from rankers.replacing import replacing
from rankers.sampling import Stratum, check_strata, draw, stratum_of
from rankers.values import Claim

INTERCHANGE, CSV, OFFICIAL = "interchange", "csv", "official"
#: Formats that can be written beside the interchange format.
WRITERS: dict[str, Callable[[Iterable[Claim], TextIO], int]] = {
    CSV: write_csv,
    OFFICIAL: write_official,
}
TARGETS = (INTERCHANGE, *WRITERS)

TOO_FEW_CANDIDATES = "too_few_candidates"
TOO_MANY_CANDIDATES = "too_many_candidates"
TOO_MANY_PAGES = "too_many_pages"


@dataclass(frozen=True)
class Bounds:
    """Which claims to keep, by their candidates and the pages (titles) these come from."""

    min_candidates: int | None = None
    max_candidates: int | None = None
    max_pages: int | None = None

    def reason_against(self, claim: Claim) -> str | None:
        """Return why a claim is left out, or None.

        Raises BadInput where pages are to be counted and a claim names none.
        """
        n = len(claim.candidates)
        if self.min_candidates is not None and n < self.min_candidates:
            return TOO_FEW_CANDIDATES
        if self.max_candidates is not None and n > self.max_candidates:
            return TOO_MANY_CANDIDATES
        if self.max_pages is not None and _n_pages(claim) > self.max_pages:
            return TOO_MANY_PAGES
        return None


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
    to: str = INTERCHANGE,
    pages: Pages | None = None,
    bounds: Bounds = Bounds(),
    keep_supersets: bool = False,
    limit: int | None = None,
    sample: int | None = None,
    stratify: Sequence[str] = (),
    equal: bool = False,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> ConvertReport:
    """Convert files into one claims file and return what happened; ids must not repeat.

    ``pages`` are those of ``load_pages``, for formats that need Wikipedia. ``bounds`` leave claims
    out, ``limit`` keeps the first of the rest, and ``sample`` draws that many of these, from each
    stratum by its share (or as many from each, with ``equal``), in file order and from ``seed``
    alone. ``keep_supersets`` writes the gold sets of the source as they are, not the minimal ones
    alone. All or nothing: BadInput lists every problem of all sources and OUT stays as it was. OUT
    must be none of the sources, and a conversion that leaves no claim is refused.
    """
    check_options(to, sample, stratify, equal)
    check_outputs([out_path], sources)
    report = ConvertReport()
    problems: list[ProblemList] = []
    rows = _rows(sources, format_name, pages, problems)
    with replacing(Path(out_path)) as out, _lines_of(out, to) as lines:
        strata: list[Stratum] = []
        for claim, row in _kept_claims(rows, bounds, limit, report):
            written = with_given_sets(row) if keep_supersets else claim
            lines.write(claim_line(written).encode("utf-8"))
            strata.append(stratum_of(claim, stratify))
            if "" in strata[-1]:
                report.notices[NO_STRATUM] += 1
            if progress is not None:
                progress(report.read)
        raise_all(problems)
        if not report.read:
            raise BadInput(f"{out_path}: nothing to write: {_why_nothing(report)}")
        report.written = report.read
        if sample is not None:
            if sample > report.read:
                raise BadInput(f"--sample {sample}: there are only {report.read} claims")
            _keep_lines(lines, draw(strata, sample, seed, equal=equal))
            report.written = sample
        if keep_supersets:
            del report.notices[REDUCED_GOLD_SETS]
        if to != INTERCHANGE:
            _write_as(to, lines, out, report)
    return report


def pages_for(
    sources: Sequence[str | Path],
    format_name: str,
    wiki: Sequence[str | Path],
    progress: Callable[[int], None] | None = None,
) -> Pages | None:
    """Return the pages that a format needs, None for one that needs none.

    Raises BadInput when a dump is missing, not needed or cannot be read.
    """
    if not wiki and format_name not in WIKI_FORMATS:
        return None
    return load_pages(sources, format_name, wiki, progress)


def check_options(to: str, sample: int | None, stratify: Sequence[str], equal: bool) -> None:
    """Raise BadInput for options that do not fit together, before anything is read."""
    if to not in TARGETS:
        raise BadInput(f"--to {to}: choose one of {', '.join(TARGETS)}")
    check_strata(stratify)
    if stratify and sample is None:
        raise BadInput("--stratify needs --sample N")
    if equal and not stratify:
        raise BadInput("--equal needs --stratify KEYS")


def _rows(
    sources: Sequence[str | Path],
    format_name: str,
    pages: Pages | None,
    problems: list[ProblemList],
) -> Iterator[Row]:
    """Rows of all files; their problems are collected by file."""
    seen = SeenIds()
    for source in sources:
        problems.append(ProblemList(str(source)))
        for row in read_rows(source, format_name, seen=seen, pages=pages):
            problems[-1].add(row.problems)
            yield row


def _kept_claims(
    rows: Iterable[Row], bounds: Bounds, limit: int | None, report: ConvertReport
) -> Iterator[tuple[Claim, Row]]:
    """Claims within bounds with their rows, ``limit`` of them at most; others are counted."""
    for row in rows:
        if limit is not None and report.read >= limit:
            break
        reason = bounds.reason_against(row.claim) if row.claim is not None else row.left_out
        if reason is not None:
            report.left_out[reason] += 1
            continue
        report.notices.update({notice.kind for notice in row.notices})
        if row.claim is not None:
            report.read += 1
            yield row.claim, row


def _why_nothing(report: ConvertReport) -> str:
    if not report.left_out:
        return "there are no claims in the files"
    counts = ", ".join(f"{count} {reason}" for reason, count in sorted(report.left_out.items()))
    return f"all claims are left out: {counts}"


def _n_pages(claim: Claim) -> int:
    if claim.titles is None:
        raise BadInput(f"{claim.id}: --max-pages needs titles, and this claim has none")
    return len(set(claim.titles))


@contextmanager
def _lines_of(out: BinaryIO, to: str) -> Iterator[BinaryIO]:
    """Where the claims' lines go: into the output itself, or first into a file of their own."""
    if to == INTERCHANGE:
        yield out
        return
    with TemporaryFile() as lines:
        yield lines


def _write_as(to: str, lines: BinaryIO, out: BinaryIO, report: ConvertReport) -> None:
    """Write the claims of ``lines`` to ``out`` in another format."""
    lines.seek(0)
    claims: Iterator[Claim] = map(with_given_sets, read_rows(lines))
    if to == OFFICIAL:
        claims = _noting_ambiguous(claims, report)
    text = io.TextIOWrapper(out, encoding="utf-8", newline="")
    WRITERS[to](claims, text)
    text.detach()


def _noting_ambiguous(claims: Iterable[Claim], report: ConvertReport) -> Iterator[Claim]:
    for claim in claims:
        report.notices[AMBIGUOUS_GOLD] += not keeps_positions(claim)
        yield claim


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
