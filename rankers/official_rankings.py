"""Rankings to and from the output format of the evidence-ranking paper's code.

``{instance: {claim text: {"1": {"selected snippets": [a]}, "2": {"selected snippets": [a, b]}}}}``:
prefixes of the ranking as texts. Claims are matched by instance and text, sentences by text; a
repeated text takes its first unused position.
"""

from __future__ import annotations

import io
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rankers.base import Method
from rankers.errors import BadInput
from rankers.formats import (
    Problem,
    ProblemList,
    read_claims,
    read_rows,
    with_given_sets,
    write_official_ranking,
)
from rankers.formats.official import SELECTED, instance_of, read_document, shortened
from rankers.formats.rows import opened
from rankers.printable import printable
from rankers.records import FAILED, read_records, record_line, to_record
from rankers.registry import name_of
from rankers.replacing import replacing
from rankers.values import FALLBACK, JUDGED, Claim, Ranking

NO_RANKING = "no_ranking"

# What an output of the paper's code can have wrong and still be usable, with words for a count.
COMPLETED = "completed"
REPEATED = "repeated"
TWINS = "twins"
RANKING_NOTICES = {
    COMPLETED: "rankings that lack sentences, completed in reading order and marked as fallback",
    REPEATED: "rankings that name a sentence again (dropped)",
    TWINS: "rankings with repeated texts (first unused position taken)",
}


@dataclass
class RankingsReport:
    """Counts: rankings written, claims left out by reason, notices by kind; and notes."""

    written: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    notices: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)


def export_official(
    claims_path: str | Path,
    rankings_path: str | Path,
    out_path: str | Path,
    *,
    method: str | None = None,
) -> RankingsReport:
    """Write a file of ranking records as the paper's code writes its rankings, all or nothing.

    ``method`` (METHOD or METHOD/MODEL) chooses where the file holds several. Failed claims and
    those without a ranking are left out and counted. Raises BadInput for bad files, selections
    alone, several methods, and rankings that do not fit the claims.
    """
    report = RankingsReport()
    orders = _orders(rankings_path, method)
    known = set()

    def counted() -> Iterator[Claim]:
        for claim in _claims_as_given(claims_path):
            known.add(claim.id)
            if orders.get(claim.id) is None:
                report.left_out[FAILED if claim.id in orders else NO_RANKING] += 1
            yield claim

    with replacing(Path(out_path)) as out:
        text = io.TextIOWrapper(out, encoding="utf-8", newline="")
        given = {claim_id: order for claim_id, order in orders.items() if order is not None}
        report.written = write_official_ranking(counted(), given, text)
        text.detach()
        strangers = [claim_id for claim_id in orders if claim_id not in known]
        _note_strangers(report, rankings_path, claims_path, strangers, len(orders))
    return report


def import_official(
    claims_path: str | Path,
    official_path: str | Path,
    out_path: str | Path,
    *,
    name: str | None = None,
) -> RankingsReport:
    """Write rankings of the paper's code as ranking records, all or nothing.

    ``name`` says what made them and stands as the records' model; the method is ``official``. A
    ranking that lacks sentences is completed in reading order, the added ones marked as fallback.
    Raises BadInput with every problem, and where no claim is known.
    """
    report = RankingsReport()
    problems = ProblemList(str(official_path))
    document = _document(official_path)
    maker = _PaperCode(name)
    strangers = {(instance, text) for instance, found in document.items() for text in found}
    n_given = len(strangers)
    with replacing(Path(out_path)) as out:
        for claim in read_claims(claims_path):
            instance = instance_of(claim)
            record = document.get(instance, {}).get(claim.claim)
            if record is None:
                report.left_out[NO_RANKING] += 1
                continue
            strangers.discard((instance, claim.claim))
            try:
                ranking = _ranking(record, claim, report)
            except ValueError as error:
                problems.add([Problem(None, None, str(error), claim.id)])
                continue
            out.write(record_line(to_record(claim.id, maker, ranking, 0.0)).encode("utf-8"))
            report.written += 1
        problems.raise_if_any()
        unknown = [instance for instance, _ in sorted(strangers)]
        _note_strangers(report, official_path, claims_path, unknown, n_given)
    return report


class _PaperCode(Method):
    """What ranking records name as their maker."""

    name = "official"

    def __init__(self, model: str | None):
        self.model = model


def _claims_as_given(path: str | Path) -> Iterator[Claim]:
    """Claims with their gold sets as given; at the end BadInput for the problems of the file."""
    problems = ProblemList(str(path))
    for row in read_rows(path):
        problems.add(row.problems)
        if row.claim is not None and not problems.count:
            yield with_given_sets(row)
    problems.raise_if_any()


def _orders(path: str | Path, method: str | None) -> dict[str, list[int] | None]:
    """The order of each claim, None for a failed one, of the one method that is there or chosen."""
    orders: dict[str, list[int] | None] = {}
    makers: dict[str, None] = {}
    for line, record in read_records(path):
        maker = name_of(record["method"], record["model"])
        if method not in (None, maker) or record["selected"] is not None:
            continue
        makers[maker] = None
        if len(makers) > 1:
            names = " and ".join(map(printable, makers))
            raise BadInput(f"{path}: holds rankings of {names}: choose one with --method NAME")
        if record["id"] in orders:
            raise BadInput(f"{path}: line {line}: claim {record['id']!r} is ranked twice")
        orders[record["id"]] = record["order"]
    if not orders:
        raise BadInput(f"{path}: no rankings" + (f" of {method}" if method else ""))
    return orders


def _note_strangers(
    report: RankingsReport, rankings: str | Path, claims: str | Path, found: list[str], n: int
) -> None:
    """Refuse rankings of other claims altogether, and note some of them."""
    if found and len(found) == n:
        raise BadInput(
            f"{rankings}: none of its claims is in {claims} (it has {found[0]!r}, for one): "
            "was it made from another file?"
        )
    if found:
        report.notes.append(
            f"{rankings}: {len(found)} rankings are for claims that are not in {claims}, "
            "and are ignored"
        )


def _document(path: str | Path) -> dict[str, dict[str, Any]]:
    """The instances of an output file."""
    with opened(path) as stream:
        try:
            document = read_document(stream)
        except ValueError as error:
            raise BadInput(f"{path}: {error}") from error
    for instance, found in document.items():
        if not isinstance(found, dict):
            raise BadInput(f"{path}: {instance}: must be an object of claim texts")
    return document


def _ranking(record: Any, claim: Claim, report: RankingsReport) -> Ranking:
    """The full order that an output's prefixes give. Raises ValueError, naming the entry."""
    places: dict[str, deque[int]] = defaultdict(deque)
    for position, text in enumerate(claim.candidates):
        places[text].append(position)
    report.notices[TWINS] += len(places) < len(claim.candidates)
    order: list[int] = []
    repeated = False
    for text in _longest_prefix(record):
        if text not in places:
            raise ValueError(f"the ranked sentence {shortened(text)!r} is no candidate")
        if places[text]:
            order.append(places[text].popleft())
        else:
            repeated = True
    report.notices[REPEATED] += repeated
    ranked = set(order)
    rest = [position for position in range(len(claim.candidates)) if position not in ranked]
    report.notices[COMPLETED] += bool(rest)
    origins = (JUDGED,) * len(order) + (FALLBACK,) * len(rest)
    return Ranking((*order, *rest), origins)


def _longest_prefix(record: Any) -> list[str]:
    """The texts in rank order. Every entry must go on with the one before; an empty one is none.

    The paper's code ends a ranking with an empty entry where a request failed.
    """
    entries = record if isinstance(record, dict) else {}
    keys = sorted((key for key in entries if key.isascii() and key.isdigit()), key=int)
    longest: list[str] = []
    for key in keys:
        entry = entries[key]
        texts = entry.get(SELECTED) if isinstance(entry, dict) else None
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise ValueError(f"{key}: {SELECTED}: missing or no list of texts")
        if texts and texts[: len(longest)] != longest:
            raise ValueError(f"{key}: {SELECTED}: does not go on with the entry before it")
        longest = texts or longest
    if not longest:
        raise ValueError('no ranking: entries "1", "2", … with selected snippets are needed')
    return longest
