"""Claims files: an explicit table of formats, and reading by name.

A new format is one file here and one entry in ``FORMATS``, or in ``WIKI_FORMATS`` if its sentences
come from a Wikipedia dump; the command line and the study importer share the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO

from rankers.errors import BadInput
from rankers.formats.csv import read_csv, write_csv
from rankers.formats.interchange import (
    claim_digest,
    claim_line,
    read_interchange,
    to_interchange,
    write_claims,
)
from rankers.formats.official import read_official, write_official, write_official_ranking
from rankers.formats.pages import Page, Pages
from rankers.formats.rows import (
    MAX_CLAIM_BYTES,
    NOTICE_WORDS,
    Notice,
    Problem,
    Row,
    SeenIds,
    Source,
    opened,
    source_name,
)
from rankers.formats.wice import read_wice
from rankers.formats.wiki import WIKI_FORMATS, WikiFormat, load_pages
from rankers.values import Claim

#: Messages of one file kept for an error text; the rest is counted.
MAX_LISTED = 1_000


@dataclass(frozen=True)
class Format:
    """A reader by name. It takes bytes and the ids met so far, and yields rows."""

    name: str
    summary: str
    read: Callable[[BinaryIO, SeenIds], Iterator[Row]]


FORMATS: dict[str, Format] = {
    one.name: one
    for one in (
        Format("interchange", "JSON Lines, one claim a line", read_interchange),
        Format("csv", "flat CSV, one row a candidate", read_csv),
        Format("wice", "the WiCE claim file", read_wice),
        Format("official", "the mapping JSON of the evidence-ranking paper", read_official),
    )
}


def read_rows(
    source: Source,
    format_name: str = "interchange",
    *,
    seen: SeenIds | None = None,
    pages: Pages | None = None,
) -> Iterator[Row]:
    """Yield a row for each claim of a path or a binary stream, one at a time.

    Pass one ``seen`` for several files to find ids that repeat between them, and the ``pages`` of
    ``load_pages`` for a format whose sentences are in Wikipedia. Raises BadInput for an unknown
    format, for missing pages and for a file that cannot be opened; all else is in the rows.
    """
    read = _reader(format_name, pages)
    ids = SeenIds() if seen is None else seen
    ids.source = source_name(source)
    with opened(source) as stream:
        yield from read(stream, ids)


def _reader(format_name: str, pages: Pages | None) -> Callable[[BinaryIO, SeenIds], Iterator[Row]]:
    if format_name in FORMATS:
        return FORMATS[format_name].read
    if format_name not in WIKI_FORMATS:
        names = ", ".join([*FORMATS, *WIKI_FORMATS])
        raise BadInput(f"unknown format {format_name!r}: choose one of {names}")
    if pages is None:
        raise BadInput(
            f"format {format_name} needs the pages of its Wikipedia: convert it first, with "
            f"python -m rankers convert --format {format_name} --wiki …"
        )
    read = WIKI_FORMATS[format_name].read
    return lambda stream, ids: read(stream, ids, pages)


def with_given_sets(row: Row) -> Claim:
    """Return the claim of a row with its gold sets as given, supersets too, for writing only."""
    assert row.claim is not None
    return replace(row.claim, gold_sets=row.given_sets)


def read_claims(
    source: Source, format_name: str = "interchange", *, limit: int | None = None
) -> Iterator[Claim]:
    """Yield the claims of a file, the first ``limit`` of them if given.

    From the first problem on nothing more is yielded; at the end BadInput lists every problem
    found. Callers that must not start on half a file check it first, with ``check_claims``.
    """
    problems = ProblemList(source_name(source))
    count = 0
    for row in read_rows(source, format_name):
        if limit is not None and count >= limit:
            break
        problems.add(row.problems)
        if row.claim is not None and not problems.count:
            count += 1
            yield row.claim
    problems.raise_if_any()


def check_claims(source: Source, format_name: str = "interchange") -> int:
    """Read a whole file and return how many claims it has. Raises BadInput with its problems."""
    return sum(1 for _ in read_claims(source, format_name))


class ProblemList:
    """Collects problems with the name of their file, for one BadInput at the end."""

    def __init__(self, name: str):
        self.name = name
        self.count = 0
        self._lines: list[str] = []

    def add(self, problems: Iterable[Problem]) -> None:
        """Take more problems; beyond ``MAX_LISTED`` they are only counted."""
        for problem in problems:
            self.count += 1
            if len(self._lines) < MAX_LISTED:
                self._lines.append(f"{self.name}: {problem}")

    def messages(self) -> list[str]:
        """Return one line a problem, and one for those that were only counted."""
        more = self.count - len(self._lines)
        return self._lines + ([f"{self.name}: and {more} more problems"] if more else [])

    def raise_if_any(self) -> None:
        """Raise BadInput with the messages, if there is one."""
        raise_all([self])


def raise_all(lists: Sequence[ProblemList]) -> None:
    """Raise one BadInput for the problems of all files, if there is one."""
    messages = [message for problems in lists for message in problems.messages()]
    if messages:
        raise BadInput(messages, count=sum(problems.count for problems in lists))


__all__ = [
    "FORMATS",
    "MAX_CLAIM_BYTES",
    "NOTICE_WORDS",
    "WIKI_FORMATS",
    "Format",
    "Notice",
    "Page",
    "Pages",
    "Problem",
    "ProblemList",
    "Row",
    "SeenIds",
    "WikiFormat",
    "check_claims",
    "claim_digest",
    "claim_line",
    "load_pages",
    "raise_all",
    "read_claims",
    "read_rows",
    "source_name",
    "to_interchange",
    "with_given_sets",
    "write_claims",
    "write_csv",
    "write_official",
    "write_official_ranking",
]
