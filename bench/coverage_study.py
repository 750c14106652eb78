"""Worth of each part of the coverage methods on open claims: ``python -m bench.coverage_study``.

Prints the tables of docs/coverage.md: every variant against the default settings, claim by claim;
the default by label and by size of the smallest gold set; what the selection holds; and a
cross-validation, which says how much of a gain is only choosing on the claims one measures.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import rankers
from rankers.cover_settings import CoverSettings
from rankers.errors import BadInput, RankerError
from rankers.formats import read_claims
from rankers.metrics import minimal_sufficient_rank, score, size_bucket
from rankers.values import Claim
from tests.shared_data import DATA

FILES = ("wice_open", "wice_long_open", "fm2_open")
N_FOLDS, N_SPLITS = 5, 20
WORDS_ONLY = {"weight": 0.0, "numbers": 1.0, "nearby": 0.0, "sentence": 0.0}
#: One part switched off, then one parameter moved, the rest as by default.
OFF = ({"strictness": 0}, {"weight": 0}, {"repeat": 0}, {"numbers": 1}, {"nearby": 0})
MOVED = {
    "strictness": (0.6, 0.9),
    "weight": (0.5, 0.6, 0.8),
    "repeat": (0.5, 0.9),
    "numbers": (1.5, 2.5),
    "nearby": (0.2, 0.3, 0.5),
}
MOVED_SENTENCE = (0, 10, 20)


@dataclass(frozen=True)
class Result:
    """Reciprocal ranks of one variant: one array a file, in the order of its claims."""

    name: str
    ranks: Mapping[str, NDArray[np.float64]]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.coverage_study", description=__doc__)
    parser.add_argument("--embedder", help="as for python -m rankers (default: wordllama)")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the open files")
    options = parser.parse_args()
    try:
        claims = {name: list(read_claims(options.data / f"{name}.jsonl")) for name in FILES}
        for line in study(claims, options.embedder):
            print(line, flush=True)
    except (BadInput, RankerError, OSError) as error:
        parser.exit(1, f"{parser.prog}: {error}\n")
    return 0


def study(claims: Mapping[str, Sequence[Claim]], embedder: str | None) -> Iterator[str]:
    """Yield the lines of all tables."""
    default = measure("default", claims, embedder, {})
    yield from ("# Variants: MRR, and difference to the default with its standard error", "")
    yield "| variant | " + " | ".join(FILES) + " |"
    yield "| --- " * (len(FILES) + 1) + "|"
    results = []
    for name, settings in variants(embedder):
        results.append(measure(name, claims, embedder, settings))
        yield compared(results[-1], default)
    yield from ("", "# The default by label and smallest gold set: MRR (claims)", "")
    for name in FILES:
        yield f"- {name}: {by_group(claims[name], default.ranks[name])}"
    yield from ("", "# coverage_selection", "")
    for name in FILES:
        yield f"- {name}: {selected(claims[name], embedder)}"
    yield from ("", f"# Choosing a variant on {N_FOLDS - 1} of {N_FOLDS} folds", "")
    yield from validated([default, *results], N_SPLITS)


def variants(embedder: str | None) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield name and settings of every variant but the default."""
    yield "words only", WORDS_ONLY
    for off in OFF:
        yield " ".join(f"{key} {value}" for key, value in off.items()), off
    for key, values in MOVED.items():
        for value in values:
            yield f"{key} {value}", {key: value}
    if embedder not in (None, rankers.embedders.DEFAULT_EMBEDDER):
        for value in MOVED_SENTENCE:
            yield f"sentence {value}", {"sentence": value}


def measure(
    name: str,
    claims: Mapping[str, Sequence[Claim]],
    embedder: str | None,
    settings: Mapping[str, float],
) -> Result:
    """Rank every claim with these settings."""
    method = rankers.build(
        "coverage", embedder=embedder, params={**asdict(CoverSettings()), **settings}
    )
    ranks = {
        file: np.array(
            [score(method.rank_claim(one).order, one.gold_sets, strict=True).rr for one in some]
        )
        for file, some in claims.items()
    }
    return Result(name, ranks)


def compared(result: Result, default: Result) -> str:
    """One line of the table of variants."""
    cells = []
    for file, ranks in result.ranks.items():
        difference = ranks - default.ranks[file]
        error = difference.std(ddof=1) / len(difference) ** 0.5
        cells.append(f"{ranks.mean():.3f} ({difference.mean():+.3f} ± {error:.3f})")
    return f"| {result.name} | " + " | ".join(cells) + " |"


def by_group(claims: Sequence[Claim], ranks: NDArray[np.float64]) -> str:
    """MRR of each label and of each size of the smallest gold set."""
    groups: dict[str, list[float]] = {}
    for claim, rank in zip(claims, ranks, strict=True):
        size = size_bucket(min(map(len, claim.gold_sets)))
        for group in (claim.label, f"size {size}"):
            groups.setdefault(group, []).append(rank)
    parts = [f"{name} {np.mean(some):.3f} ({len(some)})" for name, some in sorted(groups.items())]
    return ", ".join([f"all {ranks.mean():.3f} ({len(ranks)})", *parts])


def selected(claims: Sequence[Claim], embedder: str | None) -> str:
    """Mean size of the selection, and how often it holds a whole gold set."""
    method = rankers.build("coverage_selection", embedder=embedder)
    chosen = [method.select_claim(one).selected for one in claims]
    pairs = zip(claims, chosen, strict=True)
    held = [minimal_sufficient_rank(one, claim.gold_sets) is not None for claim, one in pairs]
    size = np.mean([len(one) for one in chosen])
    return f"{size:.2f} sentences, {100 * np.mean(held):.1f} % hold a whole gold set"


def validated(results: Sequence[Result], n_splits: int) -> Iterator[str]:
    """Choose the variant with the best mean MRR of the files on four folds, measure on the fifth.

    ``results[0]`` is the default and ``results[1]`` the baseline. The standard errors are those of
    the mean over claims, each claim's differences averaged over the splits.
    """
    picked = {file: np.zeros(len(ranks)) for file, ranks in results[0].ranks.items()}
    for seed in range(n_splits):
        fold_of = {file: _folds(len(ranks), seed) for file, ranks in picked.items()}
        for fold in range(N_FOLDS):
            train = {file: folds != fold for file, folds in fold_of.items()}
            best = max(
                results,
                key=lambda one: np.mean([one.ranks[f][rows].mean() for f, rows in train.items()]),
            )
            for file, rows in train.items():
                picked[file][~rows] += best.ranks[file][~rows] / n_splits
    for file, ranks in picked.items():
        parts = []
        for other in results[:2]:
            difference = ranks - other.ranks[file]
            error = difference.std(ddof=1) / len(difference) ** 0.5
            parts.append(f"{difference.mean():+.3f} ± {error:.3f} to {other.name}")
        yield f"- {file}: MRR {ranks.mean():.3f} of held-out claims, {', '.join(parts)}"


def _folds(n: int, seed: int) -> NDArray[np.int_]:
    folds = [i % N_FOLDS for i in range(n)]
    random.Random(seed).shuffle(folds)
    return np.array(folds)


if __name__ == "__main__":
    sys.exit(main())
