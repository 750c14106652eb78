"""Rankings against gold sets: a summary for each method, and a row for each claim."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any, TextIO

from rankers.errors import BadInput
from rankers.formats import read_claims
from rankers.metrics import (
    Score,
    aggregate,
    score,
    size_bucket,
    verified_at,
    verified_within,
)
from rankers.printable import printable
from rankers.records import FAILED, read_records
from rankers.registry import name_of

NO_RANKING = "no_ranking"
NO_GOLD_SET = "no_gold_set"
PROMPT_VERSION = "prompt_version"
#: Settings that come last in a name: they mostly follow from others.
DERIVED = (PROMPT_VERSION, "seed_order", "fallback")
#: Among more differing settings the fewest are not looked for: all are shown.
MOST_KEYS = 12
#: Buckets of claims: all of them, and by the start of the other buckets' names.
ALL = "all"
BY_SIZE = "gold_min_size="
BY_LABEL = "label="
CSV_COLUMNS = (
    "claim_id",
    "ranker",
    "imsr",
    "msr",
    "rr",
    "sr",
    "ndcg",
    "label",
    "n_candidates",
)


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
        return {**self.params, PROMPT_VERSION: self.prompt_version}


@dataclass
class Evaluation:
    """What ``evaluate`` found: ``scores[name][claim id]``, what was left out, and notes.

    ``comparisons[first, second]`` holds what ``rankers.compare.compare`` returned.
    """

    scores: dict[str, dict[str, Score]] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    n_candidates: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, Counter[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    comparisons: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def summary(self) -> dict[str, Any]:
        """Return the document of ``evaluate --json``: a summary for each name.

        ``{"all", "gold_min_size=…", "label=…", "verified_at", "verified_within", "left_out"}``, and
        ``"compared_with"`` by second name where there is a comparison; buckets without claims are
        absent.
        """
        summary = {name: self._summary_of(name) for name in self.scores}
        for (first, second), found in self.comparisons.items():
            summary[first].setdefault("compared_with", {})[second] = found
        return summary

    def buckets(self, scores: Mapping[str, Score]) -> dict[str, list[str]]:
        """Return the claim ids in each bucket: all, by IMSR and by label; none is empty but all."""
        buckets: dict[str, list[str]] = {ALL: list(scores)}
        for claim_id, one in scores.items():
            assert one.imsr is not None  # only defined scores are kept
            size = f"{BY_SIZE}{size_bucket(one.imsr)}"
            for key in (size, f"{BY_LABEL}{self.labels[claim_id]}"):
                buckets.setdefault(key, []).append(claim_id)
        return dict(sorted(buckets.items()))

    def _summary_of(self, name: str) -> dict[str, Any]:
        scores = self.scores[name]
        result: dict[str, Any] = {
            key: aggregate(scores[claim_id] for claim_id in claim_ids)
            for key, claim_ids in self.buckets(scores).items()
        }
        result["verified_at"] = verified_at(scores.values())
        result["verified_within"] = verified_within(scores.values())
        result["left_out"] = dict(sorted(self.left_out[name].items()))
        return result


def evaluate(claims_path: str | Path, ranking_paths: Sequence[str | Path]) -> Evaluation:
    """Score the rankings of one or more files of records on a claims file.

    A file may hold several methods; each is a ranker of its own. Raises BadInput for bad files,
    for a record that does not fit its claim, and when two groups would share a name and have no
    differing parameter to tell them apart.
    """
    groups: list[_Group] = []
    n_selections: Counter[str] = Counter()
    for path in ranking_paths:
        groups += _groups(path, n_selections)
    if not groups:
        raise BadInput([_why_nothing(str(path), n_selections) for path in ranking_paths])
    notes = [
        f"{path}: {n} selections have no order and are not evaluated"
        for path, n in n_selections.items()
    ]
    named = dict(zip(_names(groups), groups, strict=True))
    result = Evaluation(notes=notes)
    for name in named:
        result.scores[name] = {}
        result.left_out[name] = Counter()
    known = set()
    for claim in read_claims(claims_path):
        known.add(claim.id)
        result.labels[claim.id] = claim.label
        result.n_candidates[claim.id] = len(claim.candidates)
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
            measures = (one.imsr, one.msr, repr(one.rr), one.sr, repr(one.ndcg))
            of_claim = (result.labels[claim_id], result.n_candidates[claim_id])
            writer.writerow((claim_id, name, *measures, *of_claim))


def _groups(path: str | Path, n_selections: Counter[str]) -> list[_Group]:
    """The rankings of one file by what made them; selections have no order and are counted."""
    groups: dict[str, _Group] = {}
    for line, record in read_records(path, may_be_cut=False):
        if record["selected"] is not None:
            n_selections[str(path)] += 1
            continue
        made_by = {key: record[key] for key in ("method", "model", "prompt_version", "params")}
        group = groups.setdefault(
            json.dumps(made_by, sort_keys=True), _Group(path=str(path), **made_by)
        )
        if record["id"] in group.orders:
            first = group.orders[record["id"]][0]
            raise BadInput(f"{path}: line {line}: claim {record['id']!r} is on line {first} too")
        group.orders[record["id"]] = (line, record["order"])
    return list(groups.values())


def _why_nothing(path: str, n_selections: Counter[str]) -> str:
    n = n_selections[path]
    why = f"its {n} records are selections, which have no order" if n else "it has no records"
    return f"no rankings to evaluate in {path}: {why}"


def _names(groups: list[_Group]) -> list[str]:
    """A name for each group; those that would share one get what tells them apart."""
    plain = [printable(name_of(group.method, group.model)) for group in groups]
    telling = {
        name: _telling_keys(
            [one for one, other in zip(groups, plain, strict=True) if other == name]
        )
        for name in set(plain)
    }
    names = []
    for group, name in zip(groups, plain, strict=True):
        parts = [f"{printable(key)}={_setting(group, key)}" for key in telling[name]]
        names.append(f"{name}[{','.join(parts)}]" if parts else name)
    for name, count in Counter(names).items():
        if count > 1:
            files = [one.path for one, other in zip(groups, names, strict=True) if other == name]
            raise BadInput(
                f"{' and '.join(files)} both hold {name} with the same parameters: leave one out"
            )
    return names


def _telling_keys(alike: list[_Group]) -> tuple[str, ...]:
    """The fewest settings that tell groups apart, those a reader chose before what follows."""
    keys = sorted({key for one in alike for key in one.settings}, key=_key_order)
    values = {key: [_setting(one, key) for one in alike] for key in keys}
    differing = [key for key in keys if len(set(values[key])) > 1]
    if len(differing) <= MOST_KEYS:
        for size in range(1, len(differing) + 1):
            for chosen in combinations(differing, size):
                if len(set(zip(*(values[key] for key in chosen), strict=True))) == len(alike):
                    return chosen
    return tuple(differing)


def _key_order(key: str) -> tuple[int, str]:
    """Parameters by name, then the version of the prompt, then what other settings decide."""
    return (DERIVED.index(key) if key in DERIVED else -1, key)


def _setting(group: _Group, key: str) -> str:
    value = group.settings.get(key)
    return printable(value) if isinstance(value, str) else json.dumps(value, sort_keys=True)


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
