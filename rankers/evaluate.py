"""Rankings against gold sets: a summary for each method, and a row for each claim."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from rankers.errors import BadInput
from rankers.formats import read_claims
from rankers.metrics import Score, aggregate, score, size_bucket, verified_within
from rankers.records import FAILED, read_records
from rankers.registry import name_of

NO_RANKING = "no_ranking"
NO_GOLD_SET = "no_gold_set"
CSV_COLUMNS = ("claim_id", "ranker", "imsr", "msr", "rr", "sr", "ndcg")


@dataclass
class _Group:
    """The records of one file that one method made."""

    path: str
    method: str
    model: str | None
    prompt_version: str | None
    params: dict[str, Any]
    orders: dict[str, tuple[int, list[int] | None]] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, Any]:
        """All in which two groups of one name can differ."""
        return {**self.params, "prompt_version": self.prompt_version}


@dataclass
class Evaluation:
    """What ``evaluate`` found: ``scores[name][claim id]``, what was left out, and notes."""

    scores: dict[str, dict[str, Score]] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, Counter[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def summary(self) -> dict[str, Any]:
        """Return the document of ``evaluate --json``: a summary for each name.

        ``{"all", "gold_min_size=…", "label=…", "verified_within", "left_out"}``; buckets without
        claims are absent.
        """
        return {name: self._summary_of(name) for name in self.scores}

    def _summary_of(self, name: str) -> dict[str, Any]:
        scores = self.scores[name]
        buckets: dict[str, list[Score]] = {"all": list(scores.values())}
        for claim_id, one in scores.items():
            if one.imsr is not None:
                for key in (
                    f"gold_min_size={size_bucket(one.imsr)}",
                    f"label={self.labels[claim_id]}",
                ):
                    buckets.setdefault(key, []).append(one)
        result: dict[str, Any] = {key: aggregate(buckets[key]) for key in sorted(buckets)}
        result["verified_within"] = verified_within(scores.values())
        result["left_out"] = dict(sorted(self.left_out[name].items()))
        return result


def evaluate(claims_path: str | Path, ranking_paths: Sequence[str | Path]) -> Evaluation:
    """Score the rankings of one or more files of records on a claims file.

    A file may hold several methods; each is a ranker of its own. Raises BadInput for bad files,
    for a record that does not fit its claim, and when two groups would share a name and have no
    differing parameter to tell them apart.
    """
    notes: list[str] = []
    groups = [group for path in ranking_paths for group in _groups(path, notes)]
    if not groups:
        raise BadInput("no rankings to evaluate in " + ", ".join(map(str, ranking_paths)))
    named = dict(zip(_names(groups), groups, strict=True))
    result = Evaluation(notes=notes)
    for name in named:
        result.scores[name] = {}
        result.left_out[name] = Counter()
    known = set()
    for claim in read_claims(claims_path):
        known.add(claim.id)
        result.labels[claim.id] = claim.label
        for name, group in named.items():
            line, order = group.orders.get(claim.id, (0, None))
            if order is None:
                result.left_out[name][FAILED if line else NO_RANKING] += 1
                continue
            try:
                one = score(order, claim.gold_sets, len(claim.candidates))
            except ValueError as error:
                place = f"{group.path}: line {line}: claim {claim.id!r}"
                raise BadInput(f"{place} does not fit {claims_path}: {error}") from error
            if one.msr is None:
                result.left_out[name][NO_GOLD_SET] += 1
            else:
                result.scores[name][claim.id] = one
    _check_overlap(named, known, str(claims_path), notes)
    return result


def write_csv(result: Evaluation, stream: TextIO) -> None:
    """Write one row for each ranker and scored claim, columns ``CSV_COLUMNS``."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for name, scores in result.scores.items():
        for claim_id, one in scores.items():
            writer.writerow(
                (claim_id, name, one.imsr, one.msr, repr(one.rr), one.sr, repr(one.ndcg))
            )


def table(summary: dict[str, Any]) -> str:
    """Return a readable table of a summary: mean and standard error of each measure."""
    header = ("ranker", "n", "MRR", "SR %", "NDCG", "mean MSR", "left out")
    rows = [header]
    for name, one in summary.items():
        total = one["all"]
        left_out = ", ".join(f"{n} {reason}" for reason, n in one["left_out"].items())
        rows.append(
            (
                name,
                str(total["n"]),
                _pair(total["mrr"], 1, 3),
                _pair(total["sr"], 100, 1),
                _pair(total["ndcg"], 1, 3),
                "–" if total["mean_msr"] is None else f"{total['mean_msr']:.2f}",
                left_out or "0",
            )
        )
    widths = [max(len(row[i]) for row in rows) for i in range(len(header))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:-1], strict=True)]
        lines.append("  ".join([*cells, row[-1]]).rstrip())
    return "\n".join(lines)


def _pair(value: dict[str, float | None], factor: float, digits: int) -> str:
    mean, sem = value["mean"], value["sem"]
    if mean is None:
        return "–"
    shown = f"{mean * factor:.{digits}f}"
    return shown if sem is None else f"{shown} ± {sem * factor:.{digits}f}"


def _groups(path: str | Path, notes: list[str]) -> list[_Group]:
    """The rankings of one file by what made them; selections have no order and are noted."""
    groups: dict[str, _Group] = {}
    n_selections = 0
    for line, record in read_records(path, may_be_cut=False):
        if record["selected"] is not None:
            n_selections += 1
            continue
        made_by = {key: record[key] for key in ("method", "model", "prompt_version", "params")}
        group = groups.setdefault(
            json.dumps(made_by, sort_keys=True), _Group(path=str(path), **made_by)
        )
        if record["id"] in group.orders:
            first = group.orders[record["id"]][0]
            raise BadInput(f"{path}: line {line}: claim {record['id']!r} is on line {first} too")
        group.orders[record["id"]] = (line, record["order"])
    if n_selections:
        notes.append(f"{path}: {n_selections} selections have no order and are not evaluated")
    return list(groups.values())


def _names(groups: list[_Group]) -> list[str]:
    """A name for each group; those that would share one get what differs between them."""
    plain = [name_of(group.method, group.model) for group in groups]
    names = []
    for group, name in zip(groups, plain, strict=True):
        alike = [one for one, other in zip(groups, plain, strict=True) if other == name]
        keys = sorted({key for one in alike for key in one.settings})
        shown = {key: [_setting(one, key) for one in alike] for key in keys}
        differing = [key for key in keys if len(set(shown[key])) > 1]
        parts = [f"{key}={_setting(group, key)}" for key in differing]
        names.append(f"{name}[{','.join(parts)}]" if parts else name)
    for name, count in Counter(names).items():
        if count > 1:
            files = [one.path for one, other in zip(groups, names, strict=True) if other == name]
            raise BadInput(
                f"{' and '.join(files)} both hold {name} with the same parameters: leave one out"
            )
    return names


def _setting(group: _Group, key: str) -> str:
    value = group.settings.get(key)
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _check_overlap(
    named: dict[str, _Group], known: Iterable[str], claims_path: str, notes: list[str]
) -> None:
    ids = set(known)
    for name, group in named.items():
        strangers = [claim_id for claim_id in group.orders if claim_id not in ids]
        if strangers and len(strangers) == len(group.orders):
            raise BadInput(
                f"{group.path}: none of its claims is in {claims_path} "
                f"(it has {strangers[0]!r}, for one): was it made from another file?"
            )
        if strangers:
            notes.append(
                f"{group.path}: {len(strangers)} rankings of {name} are for claims that are not "
                f"in {claims_path}, and are ignored"
            )
