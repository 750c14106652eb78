"""Flat CSV: one row a candidate in reading order, the rows of a claim one after the other.

Columns ``claim_id, claim, label, candidate, gold_sets`` in any order, and optionally ``title``,
``source``, ``license``, ``lang``. ``gold_sets`` lists, separated by semicolons, the numbers of the
claim's sets that the candidate belongs to. Every value is text: ``NA`` and ``001`` stay as they
are.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, TextIO

from rankers.formats.assemble import UNLABELLED, Parts, assemble
from rankers.formats.lines import read_lines
from rankers.formats.rows import (
    MAX_CLAIM_BYTES,
    UNKNOWN_FIELD,
    Notice,
    Problem,
    Row,
    SeenIds,
)
from rankers.values import LABELS, Claim

REQUIRED = ("claim_id", "claim", "label", "candidate", "gold_sets")
OPTIONAL = ("title", "source", "license", "lang")
#: The same in every row of a claim.
_CONSTANT = ("claim", "label", "source", "license", "lang")
_SET_NUMBER = re.compile(r"[0-9]{1,9}")


def read_csv(stream: BinaryIO, seen: SeenIds) -> Iterator[Row]:
    """Yield one row for each claim; memory holds one claim at a time."""
    table = _Table(stream)
    header = table.next_record()
    if header is None:
        problem = table.failure or Problem(1, None, "no header: the file is empty")
        yield Row(problem.line, problems=(problem,))
        return
    columns, problems = _columns(header)
    if problems:
        yield Row(header.line, problems=tuple(problems))
        return
    unknown = [name for name in columns if name not in REQUIRED + OPTIONAL]
    if unknown:
        message = f"unknown columns ignored: {', '.join(map(repr, unknown))}"
        yield Row(header.line, notices=(Notice(header.line, None, message, kind=UNKNOWN_FIELD),))
    group: _Group | None = None
    while (record := table.next_record()) is not None:
        cells = dict(zip(columns, record.cells, strict=False))
        claim_id = cells.get("claim_id", "")
        if group is not None and claim_id not in ("", group.id):
            yield group.row(seen)
            group = None
        if group is None:
            group = _Group(record.line, claim_id, cells)
        group.add(record, cells, len(columns))
    if group is not None:
        yield group.row(seen)
    if table.failure is not None:
        yield Row(table.failure.line, problems=(table.failure,))


def write_csv(claims: Iterable[Claim], stream: TextIO) -> int:
    """Write claims as flat CSV with every column; return how many there were.

    ``meta`` has no column and is left out. The stream must not translate line ends.
    """
    writer = csv.writer(stream, lineterminator="\r\n")  # cells with either sign are then quoted
    writer.writerow(REQUIRED + OPTIONAL)
    count = 0
    for claim in claims:
        numbers: list[list[int]] = [[] for _ in claim.candidates]
        for number, gold in enumerate(claim.gold_sets, start=1):
            for position in gold:
                numbers[position].append(number)
        titles = claim.titles or (None,) * len(claim.candidates)
        rest = (claim.source or "", claim.license or "", claim.lang)
        for text, sets, title in zip(claim.candidates, numbers, titles, strict=True):
            cells = (text, ";".join(map(str, sets)), title or "")
            writer.writerow((claim.id, claim.claim, claim.label, *cells, *rest))
        count += 1
    return count


@dataclass
class _Record:
    """One record with the line it starts on and what was wrong with its bytes."""

    line: int
    cells: list[str]
    problems: list[Problem]


class _Table:
    """CSV records with right line numbers, also where cells hold line breaks."""

    def __init__(self, stream: BinaryIO):
        # The module's own limit is global and too small for a long sentence.
        csv.field_size_limit(max(csv.field_size_limit(), MAX_CLAIM_BYTES))
        self._bad_lines: list[Problem] = []
        self._reader = csv.reader(self._texts(stream), strict=True)
        self.failure: Problem | None = None

    def next_record(self) -> _Record | None:
        """Return the next record that is not blank; None at the end or after ``failure``."""
        while self.failure is None:
            line = self._reader.line_num + 1
            self._bad_lines.clear()
            try:
                cells = next(self._reader)
            except StopIteration:
                return None
            except csv.Error as error:
                message = f"not CSV: {error}; is a quotation mark missing or one too many?"
                self.failure = Problem(line, None, message)
                return None
            if self._bad_lines or any(cell.strip() for cell in cells):
                return _Record(line, cells, list(self._bad_lines))
        return None

    def _texts(self, stream: BinaryIO) -> Iterator[str]:
        # A line that cannot be read gives an empty one, so that line numbers stay right.
        for line in read_lines(stream):
            if line.problem is not None:
                self._bad_lines.append(Problem(line.number, None, line.problem))
                yield "\n"
            else:
                yield line.text


def _columns(header: _Record) -> tuple[list[str], list[Problem]]:
    names = [name.strip().lower() for name in header.cells]
    problems = list(header.problems)
    missing = [name for name in REQUIRED if name not in names]
    if missing and not problems:
        hint = ""
        if len(names) == 1 and any(sign in names[0] for sign in ";\t"):
            hint = "; separate columns by commas"
        problems.append(Problem(header.line, None, f"missing columns: {', '.join(missing)}{hint}"))
    repeated = sorted({name for name in names if names.count(name) > 1 and name})
    if repeated:
        problems.append(Problem(header.line, None, f"columns named twice: {', '.join(repeated)}"))
    return names, problems


@dataclass
class _Group:
    """The rows of one claim."""

    line: int
    id: str
    first: dict[str, str]
    candidates: list[str] = field(default_factory=list)
    titles: list[str | None] = field(default_factory=list)
    gold_sets: dict[int, list[int]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    size: int = 0

    def add(self, record: _Record, cells: dict[str, str], n_columns: int) -> None:
        """Take one more row."""
        self.problems += record.problems
        if record.problems:
            return
        if len(record.cells) != n_columns:
            message = f"{len(record.cells)} cells where the header has {n_columns}"
            self.problems.append(Problem(record.line, None, message))
            return
        if not cells["claim_id"].strip():
            self.problems.append(Problem(record.line, "claim_id", "empty"))
        for name in _CONSTANT:
            if cells.get(name) != self.first.get(name):
                message = f"differs from line {self.line}, where claim {self.id!r} starts"
                self.problems.append(Problem(record.line, name, message))
        self.size += sum(len(cell) for cell in record.cells)
        if self.size > MAX_CLAIM_BYTES:
            # Nothing more is kept, so that a claim without end cannot fill the memory.
            if not any(problem.field == "candidate" for problem in self.problems):
                message = f"claim {self.id!r} is longer than {MAX_CLAIM_BYTES:,} bytes"
                self.problems.append(Problem(record.line, "candidate", message))
            self.candidates.clear()
            return
        self._add_gold(record.line, cells["gold_sets"])
        self.candidates.append(cells["candidate"])
        self.titles.append(cells.get("title") or None)

    def row(self, seen: SeenIds) -> Row:
        """Return the finished claim."""
        if self.id.strip() and (message := seen.add(self.id, self.line)):
            hint = "; the rows of a claim must follow each other"
            self.problems.insert(0, Problem(self.line, "claim_id", message + hint, self.id))
        label = self.first.get("label", "")
        if label.strip() and label not in LABELS:
            message = f"unknown label {label!r}: write one of {', '.join(LABELS)}"
            self.problems.append(Problem(self.line, "label", message, self.id))
        if self.problems:
            return Row(self.line, problems=tuple(self.problems))
        if not label.strip():
            return Row(self.line, left_out=UNLABELLED)
        return assemble(
            Parts(
                line=self.line,
                id=self.id,
                claim=self.first["claim"],
                label=label,
                candidates=self.candidates,
                gold_sets=[self.gold_sets[number] for number in sorted(self.gold_sets)],
                titles=self.titles if any(self.titles) else None,
                source=self.first.get("source") or None,
                license=self.first.get("license") or None,
                lang=self.first.get("lang") or "en",
            )
        )

    def _add_gold(self, line: int, cell: str) -> None:
        for part in cell.split(";"):
            text = part.strip()
            if not text:
                continue
            if not _SET_NUMBER.fullmatch(text):
                message = f"{text!r} is not the number of a gold set: write numbers like 1;3"
                self.problems.append(Problem(line, "gold_sets", message))
                continue
            members = self.gold_sets.setdefault(int(text), [])
            if len(self.candidates) not in members[-1:]:
                members.append(len(self.candidates))
