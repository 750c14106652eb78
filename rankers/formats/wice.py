"""The WiCE claim file: JSON Lines of ``{label, supporting_sentences, claim, evidence, meta}``.

Rows labelled ``not_supported`` (no page says so: neither supported nor refuted) and rows without a
gold set are left out. Ids are ``wice-`` and the source's own. No cap on candidates: choose short
claims from the result where a study needs them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from rankers.formats.assemble import LABEL_OF, LEFT_OUT_LABELS, Parts, assemble, normal_label
from rankers.formats.lines import parse_json, read_lines
from rankers.formats.rows import Problem, Row, SeenIds

NOT_SUPPORTED = "not_supported"
LICENSE = (
    "annotations: ODC-BY 1.0; claim: CC BY-SA 4.0 (Wikipedia); "
    "candidates: web pages archived by Common Crawl, Common Crawl terms of use"
)
_SPLIT = re.compile(r"train|dev|test")


def read_wice(stream: BinaryIO, seen: SeenIds) -> Iterator[Row]:
    """Yield one row for each line that is not blank."""
    for line in read_lines(stream):
        if line.problem is not None:
            yield Row(line.number, problems=(Problem(line.number, None, line.problem),))
        elif line.text.strip():
            yield _row(line.number, line.text, seen)


def _row(line: int, text: str, seen: SeenIds) -> Row:
    try:
        record = parse_json(text)
    except ValueError as error:
        return Row(line, problems=(Problem(line, None, str(error)),))
    problems = [Problem(line, name, message) for name, message in _shape_problems(record)]
    if problems:
        return Row(line, problems=tuple(problems))
    meta = record["meta"]
    claim_id = f"wice-{meta['id']}"
    if message := seen.add(claim_id, line):
        return Row(line, problems=(Problem(line, "meta.id", message, claim_id),))
    label = normal_label(record["label"])
    if label == "NOT_SUPPORTED":
        return Row(line, left_out=NOT_SUPPORTED)
    if label in LEFT_OUT_LABELS:
        return Row(line, left_out=LEFT_OUT_LABELS[label])
    if label not in LABEL_OF:
        message = f"unknown label {record['label']!r}"
        return Row(line, problems=(Problem(line, "label", message, claim_id),))
    split = _SPLIT.match(meta["id"])
    return assemble(
        Parts(
            line=line,
            id=claim_id,
            claim=record["claim"],
            label=LABEL_OF[label],
            candidates=record["evidence"],
            gold_sets=record["supporting_sentences"],
            source=f"WiCE {split.group()}" if split else "WiCE",
            license=LICENSE,
            meta={
                key: meta[key]
                for key in ("claim_title", "claim_section")
                if isinstance(meta.get(key), str)
            },
        )
    )


def _shape_problems(record: Any) -> Iterator[tuple[str | None, str]]:
    """What is not of the kind the format says."""
    if not isinstance(record, dict):
        yield None, "must be a JSON object"
        return
    for name in ("label", "claim"):
        if not isinstance(record.get(name), str):
            yield name, "missing or no text"
    evidence = record.get("evidence")
    if not isinstance(evidence, list) or not all(isinstance(text, str) for text in evidence):
        yield "evidence", "missing or no list of texts"
    sets = record.get("supporting_sentences")
    if not isinstance(sets, list) or not all(
        isinstance(gold, list) and all(type(index) is int for index in gold) for gold in sets
    ):
        yield "supporting_sentences", "missing or no list of lists of whole numbers"
    meta = record.get("meta")
    claim_id = meta.get("id") if isinstance(meta, dict) else None
    if not isinstance(claim_id, str) or not claim_id.strip():
        yield "meta.id", "missing or no text"
