"""What claims files hold, laid out as the evidence-ranking paper's Table 1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rankers.errors import BadInput
from rankers.formats import ProblemList, Row, raise_all, read_rows
from rankers.metrics import size_bucket

SIZES = ("1", "2", "3+")
#: Heading of the column of all files together.
ALL = "all"


@dataclass
class Tally:
    """Sums over claims, from which counts and means follow."""

    n: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    sizes: Counter[str] = field(default_factory=Counter)
    candidates: int = 0
    most_candidates: int = 0
    gold_sets: int = 0
    gold_set_size: float = 0.0
    minimal_sets: int = 0
    minimal_set_size: float = 0.0
    single_minimal_set: int = 0
    optimal_size: int = 0
    with_repeats: int = 0

    def add(self, row: Row) -> None:
        """Count the claim of a row, if it has one."""
        claim = row.claim
        if claim is None or claim.gold_min_size is None:
            return
        self.n += 1
        self.labels[claim.label] += 1
        self.sizes[size_bucket(claim.gold_min_size)] += 1
        self.candidates += len(claim.candidates)
        self.most_candidates = max(self.most_candidates, len(claim.candidates))
        self.gold_sets += len(row.given_sets)
        self.gold_set_size += sum(map(len, row.given_sets)) / len(row.given_sets)
        self.minimal_sets += len(claim.gold_sets)
        self.minimal_set_size += sum(map(len, claim.gold_sets)) / len(claim.gold_sets)
        self.single_minimal_set += len(claim.gold_sets) == 1
        self.optimal_size += claim.gold_min_size
        self.with_repeats += len(set(claim.candidates)) < len(claim.candidates)

    def summary(self) -> dict[str, Any]:
        """Return counts and means; there must be a claim."""
        n = self.n
        return {
            "n": n,
            "label": dict(sorted(self.labels.items())),
            "candidates": {"mean": self.candidates / n, "max": self.most_candidates},
            "gold_sets": {"mean": self.gold_sets / n},
            "gold_set_size": {"mean": self.gold_set_size / n},
            "minimal_gold_sets": {"mean": self.minimal_sets / n, "single": self.single_minimal_set},
            "minimal_gold_set_size": {"mean": self.minimal_set_size / n},
            "optimal_size": {"mean": self.optimal_size / n},
            "gold_min_size": {size: self.sizes[size] for size in SIZES},
            "claims_with_repeated_candidates": self.with_repeats,
        }


def describe(*paths: str | Path) -> dict[str, Any]:
    """Return counts and means of claims files in the interchange format, taken together.

    ``files`` holds the same for each file, by its path. Gold sets are counted as given, repeats
    dropped and supersets kept, as the paper does; beside them the minimal ones, which is what
    everything else here works with. ``gold_set_size`` is the mean over claims of a claim's mean set
    size; ``optimal_size`` that of its smallest set. Raises BadInput with the problems of all files,
    or when one has no claims.
    """
    total = Tally()
    tallies: dict[str, Tally] = {}
    problems = []
    for path in paths:
        problems.append(ProblemList(str(path)))
        tally = tallies[str(path)] = Tally()
        for row in read_rows(path):
            problems[-1].add(row.problems)
            tally.add(row)
            total.add(row)
    raise_all(problems)
    for name, tally in tallies.items():
        if not tally.n:
            raise BadInput(f"{name}: no claims")
    files = {name: tally.summary() for name, tally in tallies.items()}
    return {**total.summary(), "files": files}


#: Rows of the table. The first five are those of the paper's Table 1, by their names there.
_ROWS: tuple[tuple[str, Callable[[dict[str, Any]], str]], ...] = (
    ("Number of Instances", lambda one: str(one["n"])),
    ("Avg. Candidate Evidence Set Size (Sents)", lambda one: _mean(one, "candidates", 1)),
    ("Avg. Number of Gold Evidence Sets", lambda one: _mean(one, "gold_sets")),
    ("Avg. Gold Set Size (Sents)", lambda one: _mean(one, "gold_set_size")),
    ("Avg. Optimal Gold Evidence Set Size (Sents)", lambda one: _mean(one, "optimal_size")),
    ("", lambda one: ""),
    ("most candidates", lambda one: str(one["candidates"]["max"])),
    ("minimal gold sets", lambda one: _mean(one, "minimal_gold_sets")),
    ("minimal gold set size", lambda one: _mean(one, "minimal_gold_set_size")),
    ("claims with one minimal set", lambda one: _share(one, one["minimal_gold_sets"]["single"])),
    *(
        (f"optimal size {size}", lambda one, size=size: _share(one, one["gold_min_size"][size]))
        for size in SIZES
    ),
    ("repeated candidates", lambda one: _share(one, one["claims_with_repeated_candidates"])),
)


def text(description: dict[str, Any]) -> str:
    """Return a description as a table for reading: a column a file, and one for all of them."""
    files = description["files"]
    columns = dict(zip(_headings(list(files)), files.values(), strict=True))
    if len(columns) > 1:
        columns[ALL] = description
    rows = [("", *columns)]
    rows += [(name, *map(cell, columns.values())) for name, cell in _ROWS]
    labels = [
        (label, *(_share(one, one["label"].get(label, 0)) for one in columns.values()))
        for label in description["label"]
    ]
    return _laid_out(rows + labels)


def _headings(paths: Sequence[str]) -> list[str]:
    """The names of the files without their folders, where these tell them apart."""
    names = [Path(path).name for path in paths]
    return names if len(set(names)) == len(names) else list(paths)


def _laid_out(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *cells in rows:
        shown = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *shown]).rstrip())
    return "\n".join(lines)


def _mean(one: dict[str, Any], key: str, digits: int = 2) -> str:
    return f"{one[key]['mean']:.{digits}f}"


def _share(one: dict[str, Any], count: int) -> str:
    return f"{count} ({count / one['n']:.0%})"
