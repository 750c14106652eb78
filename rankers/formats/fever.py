"""FEVER: claims in JSON Lines, evidence sentences in its Wikipedia dump (``wiki-*.jsonl``).

Every evidence group is a gold set of its own; groups that repeat with other annotation ids count
once. Claims labelled NOT ENOUGH INFO have no evidence and are left out, unlabelled ones (the test
file) too. Ids are ``fever-`` and the source's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from rankers.formats.assemble import LABEL_OF, LEFT_OUT_LABELS, Parts, normal_label
from rankers.formats.dumps import dump_files, wanted_pages
from rankers.formats.lines import Line, parse_json, read_lines
from rankers.formats.pages import Fact, Page, Pages, Progress, normal, page_row
from rankers.formats.rows import Problem, Row, SeenIds

SOURCE = "FEVER"
LICENSE = "annotations: CC BY-SA 3.0; candidates: CC BY-SA 3.0 (Wikipedia, June 2017)"
WIKI_FILES = ("wiki-*.jsonl", "wiki-*.jsonl.gz", "wiki-*.jsonl.bz2")
_SIGNS = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
    "-COLON-": ":",
    "``": '"',
    "''": '"',
}
_SIGN = re.compile("|".join(map(re.escape, _SIGNS)))
_NUMBERED = re.compile(r"([0-9]{1,9})\t(.*)", re.DOTALL)


def read_fever(stream: BinaryIO, seen: SeenIds, pages: Pages) -> Iterator[Row]:
    """Yield one row for each line that is not blank, with the sentences of ``pages``."""
    for line in read_lines(stream):
        if line.problem is None and not line.text.strip():
            continue
        entry = _entry(line)
        yield entry if isinstance(entry, Row) else _row(entry, seen, pages)


def fever_pages(stream: BinaryIO) -> Iterator[str]:
    """Yield the key of every page that evidence of a claims file names; bad lines name none."""
    for line in read_lines(stream):
        if line.problem is None and line.text.strip():
            entry = _entry(line)
            if isinstance(entry, _Entry):
                yield from (key for group in entry.groups for key, _ in group)


def load_fever_pages(
    wiki: Sequence[str | Path], wanted: set[str], progress: Progress | None = None
) -> dict[str, Page]:
    """Return the wanted pages of a folder or of files of the dump. Raises BadInput."""
    files = dump_files(wiki, WIKI_FILES)
    return wanted_pages(files, "id", normal, _page, wanted, progress)


def readable(text: str) -> str:
    """Return a text of the dump as readers should see it: its escaped brackets and quotes back.

    The spaces that its tokeniser put around punctuation stay: taking them out would be a guess.
    """
    return normal(_SIGN.sub(lambda found: _SIGNS[found.group()], text))


@dataclass(frozen=True)
class _Entry:
    """A claim with a label of ours; ``groups`` are its evidence sets without repeats."""

    line: int
    id: str
    claim: str
    label: str
    groups: list[tuple[Fact, ...]]


def _entry(line: Line) -> _Entry | Row:
    """A line's claim, or the row that says why it gives none."""
    number = line.number
    if line.problem is not None:
        return Row(number, problems=(Problem(number, None, line.problem),))
    try:
        record = parse_json(line.text)
    except ValueError as error:
        return Row(number, problems=(Problem(number, None, str(error)),))
    problems = [Problem(number, name, message) for name, message in _shape_problems(record)]
    if problems:
        return Row(number, problems=tuple(problems))
    claim_id = f"fever-{record['id']}"
    label = normal_label(record.get("label") or "")
    if label in LEFT_OUT_LABELS:
        return Row(number, left_out=LEFT_OUT_LABELS[label])
    if label not in LABEL_OF:
        message = f"unknown label {record['label']!r}"
        return Row(number, problems=(Problem(number, "label", message, claim_id),))
    problems = [Problem(number, name, message) for name, message in _evidence_problems(record)]
    if problems:
        return Row(number, problems=tuple(problems))
    return _Entry(number, claim_id, record["claim"], LABEL_OF[label], _groups(record["evidence"]))


def _row(entry: _Entry, seen: SeenIds, pages: Pages) -> Row:
    if message := seen.add(entry.id, entry.line):
        return Row(entry.line, problems=(Problem(entry.line, "id", message, entry.id),))
    parts = Parts(
        line=entry.line,
        id=entry.id,
        claim=entry.claim,
        label=entry.label,
        candidates=[],
        gold_sets=[],
        source=SOURCE,
        license=LICENSE,
    )
    return page_row(parts, entry.groups, pages)


def _groups(evidence: list[list[list[Any]]]) -> list[tuple[Fact, ...]]:
    """The evidence sets, repeats dropped; a group with a place that is null is none."""
    groups: dict[tuple[Fact, ...], None] = {}
    for group in evidence:
        if group and all(page is not None for _, _, page, _ in group):
            facts = {(normal(page), sentence) for _, _, page, sentence in group}
            groups[tuple(sorted(facts))] = None
    return list(groups)


def _shape_problems(record: Any) -> Iterator[tuple[str | None, str]]:
    """What is not of the kind the format says, evidence aside."""
    if not isinstance(record, dict):
        yield None, "must be a JSON object"
        return
    claim_id = record.get("id")
    if type(claim_id) is not int and not (isinstance(claim_id, str) and claim_id.strip()):
        yield "id", "missing, or neither a whole number nor text"
    if not isinstance(record.get("claim"), str):
        yield "claim", "missing or no text"
    if not isinstance(record.get("label"), str | None):
        yield "label", "no text"


def _evidence_problems(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    evidence = record.get("evidence")
    if not isinstance(evidence, list):
        yield "evidence", "missing or no list of evidence sets"
        return
    for i, group in enumerate(evidence):
        if not isinstance(group, list) or not all(map(_is_fact, group)):
            message = "must be a list of [annotation id, evidence id, page, sentence number]"
            yield f"evidence[{i}]", message


def _is_fact(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 4:
        return False
    page, sentence = value[2:]
    return (page is None and sentence is None) or (isinstance(page, str) and type(sentence) is int)


def _page(record: dict[str, Any]) -> Page:
    page, lines = record["id"], record.get("lines")
    if not isinstance(lines, str):
        raise ValueError(f"lines: missing or no text, in page {page!r}")
    return Page(readable(page.replace("_", " ")), _sentences(lines))


def _sentences(lines: str) -> dict[int, str]:
    """Non-empty sentences by number; what follows their text in a line (links) is left aside.

    A piece without a number goes on with the sentence before it, unless that one's links have
    begun: then it is a part of a link.
    """
    texts: dict[int, str] = {}
    last: int | None = None
    for piece in lines.split("\n"):
        numbered = _NUMBERED.fullmatch(piece)
        fields = (numbered.group(2) if numbered else piece).split("\t")
        if numbered:
            number = int(numbered.group(1))
            if number in texts:  # a number counts once, where it stands first
                last = None
                continue
            texts[number] = fields[0]
            last = number
        elif last is not None:
            texts[last] += f" {fields[0]}"
        if len(fields) > 1:
            last = None
    readable_texts = ((number, readable(text).strip()) for number, text in texts.items())
    return {number: text for number, text in readable_texts if text}
