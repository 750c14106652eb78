"""The interchange format: JSON Lines, one claim a line, read strictly.

Every problem of a line is reported with its field; a line with a problem yields no claim.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, TextIO

from rankers.formats.gold import distinct_sets, minimal_sets
from rankers.formats.lines import deep_text_problem, parse_json, read_lines, text_problem
from rankers.formats.rows import (
    REDUCED_GOLD_SETS,
    UNKNOWN_FIELD,
    Notice,
    Problem,
    Row,
    SeenIds,
)
from rankers.values import LABELS, Claim

#: One hostile line must not fill the memory with messages.
MAX_PROBLEMS_OF_A_LINE = 100

FIELDS = (
    "id",
    "claim",
    "label",
    "candidates",
    "gold_sets",
    "titles",
    "source",
    "license",
    "lang",
    "meta",
)


def read_interchange(stream: BinaryIO, seen: SeenIds) -> Iterator[Row]:
    """Yield one row for each line that is not blank."""
    is_first = True
    for line in read_lines(stream):
        if line.problem is not None:
            yield Row(line.number, problems=(Problem(line.number, None, line.problem),))
        elif line.text.strip():
            if is_first and (message := _other_format(line.text)):
                # Every further line would be a problem for the same reason.
                yield Row(line.number, problems=(Problem(line.number, None, message),))
                return
            yield _LineReader(line.number).read(line.text, seen)
            is_first = False


def to_interchange(claim: Claim) -> dict[str, Any]:
    """Return the claim as the JSON object of its line; absent optional fields are left out."""
    record: dict[str, Any] = {
        "id": claim.id,
        "claim": claim.claim,
        "label": claim.label,
        "candidates": list(claim.candidates),
        "gold_sets": [list(gold) for gold in claim.gold_sets],
    }
    if claim.titles is not None:
        record["titles"] = list(claim.titles)
    if claim.source is not None:
        record["source"] = claim.source
    if claim.license is not None:
        record["license"] = claim.license
    record["lang"] = claim.lang
    if claim.meta:
        record["meta"] = dict(claim.meta)
    return record


def claim_line(claim: Claim) -> str:
    """Return the claim's line, line end included."""
    return json.dumps(to_interchange(claim), ensure_ascii=False, allow_nan=False) + "\n"


def write_claims(claims: Iterable[Claim], stream: TextIO) -> int:
    """Write claims in the interchange format; return how many there were."""
    count = 0
    for claim in claims:
        stream.write(claim_line(claim))
        count += 1
    return count


def claim_digest(claim: Claim) -> str:
    """Return a SHA-256 over the whole content: equal exactly for identical claims."""
    canonical = json.dumps(to_interchange(claim), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _other_format(first_line: str) -> str | None:
    """What a file is whose first line shows that it is in another format, and what to do."""
    try:
        record = parse_json(first_line)
    except ValueError:
        text = first_line.strip()
        if text in ("[", "{") or text.startswith(("[{", "[ {")):
            return (
                "this looks like one JSON value over several lines: write one claim a line, or, if "
                "it is another dataset's file, convert it first with python -m rankers convert"
            )
        if "claim_id" in text or ("," in text and not text.startswith(("{", "["))):
            return (
                "this looks like CSV: convert it first with python -m rankers convert --format csv"
            )
        return None
    if isinstance(record, list) and record and isinstance(record[0], dict):
        return (
            "this is one JSON list: write one claim a line, or, if it is another dataset's file, "
            "convert it first with python -m rankers convert"
        )
    if isinstance(record, dict) and {"evidence", "supporting_sentences"} <= set(record):
        return "this looks like WiCE: convert it first with python -m rankers convert --format wice"
    return None


class _LineReader:
    """Checks the fields of one line, collecting problems and notices."""

    def __init__(self, line: int):
        self.line = line
        self.problems: list[Problem] = []
        self.notices: list[Notice] = []

    def read(self, text: str, seen: SeenIds) -> Row:
        """Return the row of a line that is not blank."""
        try:
            record = parse_json(text)
        except ValueError as error:
            return Row(self.line, problems=(Problem(self.line, None, str(error)),))
        if not isinstance(record, dict):
            message = f"must be a JSON object, not {_kind(record)}"
            return Row(self.line, problems=(Problem(self.line, None, message),))
        self._unknown_fields(record)
        claim_id = self._text(record, "id")
        if claim_id and (repeated := seen.add(claim_id, self.line)):
            self._problem("id", repeated)
        claim_text = self._text(record, "claim")
        label = self._label(record)
        candidates = self._candidates(record)
        given = self._gold_sets(record, candidates)
        titles = self._titles(record, candidates)
        source = self._text(record, "source", required=False)
        license_ = self._text(record, "license", required=False)
        lang = self._text(record, "lang", required=False)
        meta = self._meta(record)
        if self.problems:
            return Row(self.line, problems=tuple(self.problems), notices=tuple(self.notices))
        claim = Claim(
            id=claim_id or "",
            claim=claim_text or "",
            label=label,
            candidates=tuple(candidates),
            gold_sets=minimal_sets(given),
            titles=titles,
            source=source,
            license=license_,
            lang=lang or "en",
            meta=meta,
        )
        return Row(self.line, claim, notices=tuple(self.notices), given_sets=tuple(given))

    def _problem(self, field: str, message: str) -> None:
        if len(self.problems) < MAX_PROBLEMS_OF_A_LINE:
            self.problems.append(Problem(self.line, field, message))
        elif len(self.problems) == MAX_PROBLEMS_OF_A_LINE:
            message = "more problems in this line, not listed"
            self.problems.append(Problem(self.line, None, message))

    def _unknown_fields(self, record: dict[str, Any]) -> None:
        unknown = [key for key in record if key not in FIELDS]
        if unknown:
            message = f"unknown fields ignored: {', '.join(map(repr, unknown))}"
            self.notices.append(Notice(self.line, None, message, kind=UNKNOWN_FIELD))

    def _text(self, record: dict[str, Any], field: str, *, required: bool = True) -> str | None:
        value = record.get(field)
        if value is None or (value == "" and not required):
            if required:
                self._problem(field, "missing" if field not in record else "must be text, not null")
            return None
        if not isinstance(value, str):
            self._problem(field, f"must be text in quotes, not {_kind(value)}")
        elif not value.strip():
            self._problem(field, "empty")
        elif (message := text_problem(value)) is not None:
            self._problem(field, message)
        else:
            return value
        return None

    def _label(self, record: dict[str, Any]) -> str:
        value = self._text(record, "label")
        if value is not None and value not in LABELS:
            self._problem("label", f"unknown label {value!r}: write one of {', '.join(LABELS)}")
        return value or ""

    def _list(self, record: dict[str, Any], field: str) -> list[Any]:
        value = record.get(field)
        if field not in record:
            self._problem(field, "missing")
        elif not isinstance(value, list):
            self._problem(field, f"must be a list, not {_kind(value)}")
        return value if isinstance(value, list) else []

    def _candidates(self, record: dict[str, Any]) -> list[str]:
        values = self._list(record, "candidates")
        if record.get("candidates") == []:
            self._problem("candidates", "no candidates: a claim needs at least one sentence")
        for i, value in enumerate(values):
            field = f"candidates[{i}]"
            if not isinstance(value, str):
                self._problem(field, f"must be text, not {_kind(value)}")
            elif not value.strip():
                self._problem(field, "empty candidate: drop it and move the gold indices")
            elif (message := text_problem(value)) is not None:
                self._problem(field, message)
        return values

    def _gold_sets(self, record: dict[str, Any], candidates: list[str]) -> list[tuple[int, ...]]:
        values = self._list(record, "gold_sets")
        if record.get("gold_sets") == []:
            self._problem("gold_sets", "no gold set: a claim needs at least one")
        n_problems = len(self.problems)
        for i, gold in enumerate(values):
            field = f"gold_sets[{i}]"
            if not isinstance(gold, list):
                self._problem(field, f"must be a list of positions, not {_kind(gold)}")
            elif not gold:
                self._problem(field, "empty gold set: remove it")
            else:
                self._indices(field, gold, len(candidates))
        if len(self.problems) > n_problems:
            return []
        given = distinct_sets(values)
        n_kept = len(minimal_sets(given))
        if n_kept < len(values) or any(len(set(gold)) < len(gold) for gold in values):
            message = f"{len(values)} gold sets reduced to the {n_kept} minimal ones"
            self.notices.append(Notice(self.line, "gold_sets", message, kind=REDUCED_GOLD_SETS))
        return given

    def _indices(self, field: str, gold: list[Any], n: int) -> None:
        for index in gold:
            # True and False are ints to Python, and no positions.
            if not isinstance(index, int) or isinstance(index, bool):
                self._problem(field, f"{index!r} is not a position: write whole numbers")
            elif not 0 <= index < n and n > 0:
                self._problem(
                    field, f"index {index} is out of range: {n} candidates are 0 to {n - 1}"
                )

    def _titles(
        self, record: dict[str, Any], candidates: list[str]
    ) -> tuple[str | None, ...] | None:
        if record.get("titles") is None:
            return None
        values = self._list(record, "titles")
        if values and len(values) != len(candidates):
            self._problem("titles", f"{len(values)} titles for {len(candidates)} candidates")
        elif isinstance(record["titles"], list) and not values and candidates:
            self._problem("titles", f"0 titles for {len(candidates)} candidates")
        for i, value in enumerate(values):
            if value is not None and not isinstance(value, str):
                self._problem(f"titles[{i}]", f"must be text or null, not {_kind(value)}")
            elif isinstance(value, str) and (message := text_problem(value)) is not None:
                self._problem(f"titles[{i}]", message)
        return tuple(values)

    def _meta(self, record: dict[str, Any]) -> dict[str, Any]:
        value = record.get("meta")
        if value is None:
            return {}
        if not isinstance(value, dict):
            self._problem("meta", f"must be an object, not {_kind(value)}")
            return {}
        if (message := deep_text_problem(value)) is not None:
            self._problem("meta", message)
        return value


def _kind(value: Any) -> str:
    """A JSON value's kind in words, for messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    kinds = {str: "text", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return kinds[type(value)]
