"""What a claims file holds, in the terms of the evidence-ranking paper's Table 1."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from rankers.errors import BadInput
from rankers.formats import ProblemList, read_rows
from rankers.metrics import size_bucket


def describe(path: str | Path) -> dict[str, Any]:
    """Return counts and means of a claims file in the interchange format.

    Gold sets are counted as given, repeats dropped and supersets kept, as the paper does; beside
    them the minimal ones, which is what everything else here works with. ``gold_set_size`` is the
    mean over claims of a claim's mean set size; ``optimal_size`` that of its smallest set. Raises
    BadInput with the problems of the file, or when it has no claims.
    """
    problems = ProblemList(str(path))
    labels: Counter[str] = Counter()
    buckets: Counter[str] = Counter()
    n = n_candidates = n_sets = n_minimal = n_optimal = longest = repeating = 0
    set_size = minimal_size = 0.0
    for row in read_rows(path):
        problems.add(row.problems)
        claim = row.claim
        if claim is None or claim.gold_min_size is None:
            continue
        n += 1
        labels[claim.label] += 1
        buckets[size_bucket(claim.gold_min_size)] += 1
        n_candidates += len(claim.candidates)
        longest = max(longest, len(claim.candidates))
        repeating += len(set(claim.candidates)) < len(claim.candidates)
        n_sets += len(row.given_sets)
        n_minimal += len(claim.gold_sets)
        n_optimal += claim.gold_min_size
        set_size += sum(map(len, row.given_sets)) / len(row.given_sets)
        minimal_size += sum(map(len, claim.gold_sets)) / len(claim.gold_sets)
    problems.raise_if_any()
    if not n:
        raise BadInput(f"{path}: no claims")
    return {
        "n": n,
        "label": dict(sorted(labels.items())),
        "candidates": {"mean": n_candidates / n, "max": longest},
        "gold_sets": {"mean": n_sets / n},
        "gold_set_size": {"mean": set_size / n},
        "minimal_gold_sets": {"mean": n_minimal / n},
        "minimal_gold_set_size": {"mean": minimal_size / n},
        "optimal_size": {"mean": n_optimal / n},
        "gold_min_size": {size: buckets[size] for size in ("1", "2", "3+")},
        "claims_with_repeated_candidates": repeating,
    }


def text(description: dict[str, Any]) -> str:
    """Return a description for reading."""

    def mean(key: str) -> str:
        return f"{description[key]['mean']:.2f}"

    labels = ", ".join(f"{count} {label}" for label, count in description["label"].items())
    sizes = " / ".join(str(count) for count in description["gold_min_size"].values())
    lines = [
        ("claims", f"{description['n']} ({labels})"),
        ("candidates a claim", f"{mean('candidates')}, at most {description['candidates']['max']}"),
        ("gold sets a claim", f"{mean('gold_sets')}, of them minimal {mean('minimal_gold_sets')}"),
        ("gold set size", f"{mean('gold_set_size')}, minimal ones {mean('minimal_gold_set_size')}"),
        ("optimal size", f"{mean('optimal_size')}; size 1 / 2 / 3+: {sizes}"),
        ("claims with repeated candidates", str(description["claims_with_repeated_candidates"])),
    ]
    width = max(len(name) for name, _ in lines)
    return "\n".join(f"{name.ljust(width)}  {value}" for name, value in lines)
