"""The mapping JSON of the evidence-ranking paper's code: claims both ways, writing rankings.

``{instance: {claim text: {"candidate snippets": […], "gold": {"gold snippets groups": [[…]]},
"label": …}}}``. Gold sets are texts there, positions here: a text that occurs several times takes
its first position that the set does not hold yet, with a notice.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, TextIO

from rankers.errors import BadInput
from rankers.formats.assemble import LABEL_OF, LEFT_OUT_LABELS, Parts, assemble, normal_label
from rankers.formats.lines import whole_json
from rankers.formats.rows import REPEATED_TEXT, Problem, Row, SeenIds
from rankers.values import Claim

CANDIDATES = "candidate snippets"
SELECTED = "selected snippets"
GROUPS = "gold snippets groups"


def read_official(stream: BinaryIO, seen: SeenIds) -> Iterator[Row]:
    """Yield one row for each claim; the file is read whole, as one JSON value must be.

    The id is the instance's, with ``#2``, ``#3``, … for its further claims.
    """
    try:
        document = read_document(stream)
    except ValueError as error:
        yield Row(None, problems=(Problem(None, None, str(error)),))
        return
    for instance, claims in document.items():
        if not isinstance(claims, dict) or not claims:
            message = "must be an object of claim texts"
            yield Row(None, problems=(Problem(None, None, message, instance),))
            continue
        for number, (text, record) in enumerate(claims.items(), start=1):
            claim_id = instance if number == 1 else f"{instance}#{number}"
            yield _row(claim_id, instance, text, record, seen)


def read_document(stream: BinaryIO) -> dict[str, Any]:
    """Return the JSON object of a file by instance. Raises ValueError with a readable message."""
    document = whole_json(stream)
    if not isinstance(document, dict):
        raise ValueError("must be a JSON object of instances")
    return document


def shortened(text: str) -> str:
    """Return a sentence as messages show it."""
    return text if len(text) <= 60 else text[:57] + "…"


def write_official(claims: Iterable[Claim], stream: TextIO) -> int:
    """Write claims as the paper's code reads them; return how many there were.

    The format has no place for titles, source, license, lang and meta. Raises BadInput for two
    claims that would share one key, since one would be lost.
    """
    document: dict[str, dict[str, Any]] = defaultdict(dict)
    count = 0
    for claim in claims:
        _file(document, claim, {CANDIDATES: list(claim.candidates), **_gold_and_label(claim)})
        count += 1
    _dump(document, stream)
    return count


def keeps_positions(claim: Claim) -> bool:
    """Return whether reading the written claim gives its gold sets again, not those of twins."""
    parts = Parts(None, claim.id, claim.claim, claim.label, claim.candidates, gold_sets=[])
    groups = [[claim.candidates[i] for i in gold] for gold in claim.gold_sets]
    read = _positions(parts, groups)
    return all(
        sorted(gold) == sorted(again) for gold, again in zip(claim.gold_sets, read, strict=True)
    )


def instance_of(claim: Claim) -> str:
    """Return a claim's instance: ``meta["instance"]`` if it came from this format, else its id."""
    return str(claim.meta.get("instance", claim.id))


def write_official_ranking(
    claims: Iterable[Claim], orders: Mapping[str, Sequence[int]], stream: TextIO
) -> int:
    """Write rankings as the paper's code does: their prefixes, keyed by length, as texts.

    ``orders`` maps claim ids to full orders; claims without one are left out. The instance is
    ``meta["instance"]`` where a claim came from this format, else its id. Returns how many were
    written. Raises BadInput for an order that does not fit its claim and for two claims that
    would share one key, since one would be lost.
    """
    document: dict[str, dict[str, Any]] = defaultdict(dict)
    count = 0
    for claim in claims:
        order = orders.get(claim.id)
        if order is None:
            continue
        if sorted(order) != list(range(len(claim.candidates))):
            raise BadInput(f"{claim.id}: the order does not fit {len(claim.candidates)} candidates")
        _file(document, claim, _prefixes(claim, order))
        count += 1
    _dump(document, stream)
    return count


def _file(document: dict[str, dict[str, Any]], claim: Claim, record: dict[str, Any]) -> None:
    """Put a claim's record under its instance and text."""
    instance = instance_of(claim)
    if claim.claim in document[instance]:
        raise BadInput(f"{claim.id}: instance {instance!r} holds the same claim text twice")
    document[instance][claim.claim] = record


def _dump(document: Mapping[str, Any], stream: TextIO) -> None:
    json.dump(document, stream, ensure_ascii=False, indent=1)
    stream.write("\n")


def _prefixes(claim: Claim, order: Sequence[int]) -> dict[str, Any]:
    texts = [claim.candidates[position] for position in order]
    record: dict[str, Any] = {
        str(length): {SELECTED: texts[:length]} for length in range(1, len(texts) + 1)
    }
    return record | _gold_and_label(claim)


def _gold_and_label(claim: Claim) -> dict[str, Any]:
    gold = {
        "num selected snippets": claim.gold_min_size,
        GROUPS: [[claim.candidates[i] for i in gold] for gold in claim.gold_sets],
    }
    return {"gold": gold, "label": claim.label}


def _row(claim_id: str, instance: str, text: str, record: Any, seen: SeenIds) -> Row:
    problems = [Problem(None, name, message, claim_id) for name, message in _shape_problems(record)]
    if not claim_id.strip():
        problems.append(Problem(None, "id", "empty instance id", claim_id))
    elif message := seen.add(claim_id, None):
        problems.append(Problem(None, "id", message, claim_id))
    if problems:
        return Row(None, problems=tuple(problems))
    label = normal_label(record["label"])
    if label in LEFT_OUT_LABELS:
        return Row(None, left_out=LEFT_OUT_LABELS[label])
    parts = Parts(
        line=None,
        id=claim_id,
        claim=text,
        label=LABEL_OF.get(label, ""),
        candidates=record[CANDIDATES],
        gold_sets=[],
        meta={"instance": instance},
    )
    if label not in LABEL_OF:
        parts.problem("label", f"unknown label {record['label']!r}")
    parts.gold_sets = _positions(parts, record["gold"][GROUPS])
    return assemble(parts)


def _positions(parts: Parts, groups: list[list[str]]) -> list[list[int]]:
    """Gold sets as positions; texts that are no candidate become problems."""
    places: dict[str, list[int]] = defaultdict(list)
    for i, text in enumerate(parts.candidates):
        places[text].append(i)
    ambiguous: set[str] = set()
    gold_sets = []
    for i, group in enumerate(groups):
        used: Counter[str] = Counter()
        gold = []
        for text in group:
            if used[text] < len(places.get(text, ())):
                gold.append(places[text][used[text]])
                used[text] += 1
                if len(places[text]) > 1:
                    ambiguous.add(text)
            elif text.strip():
                what = "occurs less often among the candidates" if used[text] else "is no candidate"
                parts.problem(f"{GROUPS}[{i}]", f"the gold sentence {shortened(text)!r} {what}")
        gold_sets.append(gold)
    if ambiguous:
        message = (
            f"{len(ambiguous)} gold sentences occur more than once among the candidates: "
            "the first unused position is taken"
        )
        parts.notice(GROUPS, message, REPEATED_TEXT)
    return gold_sets


def _shape_problems(record: Any) -> Iterator[tuple[str | None, str]]:
    if not isinstance(record, dict):
        yield None, "must be an object"
        return
    if not _is_texts(record.get(CANDIDATES)):
        yield CANDIDATES, "missing or no list of texts"
    gold = record.get("gold")
    groups = gold.get(GROUPS) if isinstance(gold, dict) else None
    if not isinstance(groups, list) or not all(_is_texts(group) for group in groups):
        yield f"gold.{GROUPS}", "missing or no list of lists of texts"
    if not isinstance(record.get("label"), str):
        yield "label", "missing or no text"


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)
