"""What each command of ``python -m rankers`` does; every function returns the exit status."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tqdm import tqdm

from rankers import describe as describing
from rankers import evaluate as evaluating
from rankers import plots, tables
from rankers.compare import DRAWS, SEED, compare
from rankers.convert import convert
from rankers.formats import NOTICE_WORDS
from rankers.registry import METHODS, describe_methods


def methods(arguments: argparse.Namespace) -> int:
    """List the methods."""
    if arguments.json:
        print_json(describe_methods())
        return 0
    for info in METHODS.values():
        needs = f" (uses: {', '.join(info.needs)})" if info.needs else ""
        print(f"{info.name}: {info.kind}{needs}; {info.summary}")
        for param in info.params:
            print(f"    {param.name}={param.default}  {param.help} ({param.allowed})")
    return 0


def convert_files(arguments: argparse.Namespace) -> int:
    """Convert files, then print what was written, left out and mended."""
    with progress(None, "claims") as advance:
        report = convert(
            arguments.sources,
            arguments.output,
            arguments.format,
            limit=arguments.limit,
            sample=arguments.sample,
            stratify=arguments.stratify,
            seed=arguments.seed,
            progress=advance,
        )
    print(f"{arguments.output}: {report.written} claims")
    if report.written < report.read:
        print(f"sampled from {report.read} claims")
    for reason, count in sorted(report.left_out.items()):
        print(f"left out: {count} {reason}")
    for kind, count in sorted(report.notices.items()):
        print(f"notice: {count} {NOTICE_WORDS[kind]}")
    return 0


def describe_claims(arguments: argparse.Namespace) -> int:
    """Print the numbers of the paper's Table 1 for a claims file."""
    description = describing.describe(arguments.claims)
    if arguments.json:
        print_json(description)
    else:
        print(describing.text(description))
    return 0


def evaluate_rankings(arguments: argparse.Namespace) -> int:
    """Print the evaluation as tables or JSON; write the CSV and draw the figure when asked."""
    result = evaluating.evaluate(arguments.claims, arguments.rankings)
    for note in [*result.notes, *_unused_by_comparison(arguments)]:
        print(note, file=sys.stderr)
    draws = DRAWS if arguments.draws is None else arguments.draws
    seed = SEED if arguments.seed is None else arguments.seed
    for first, second in arguments.compare:
        found = compare(result, first, second, draws=draws, seed=seed)
        result.comparisons[first, second] = found
    # Everything is made before anything is written.
    figure = plots.verification_figure(result.scores, arguments.plot) if arguments.plot else b""
    if arguments.csv:
        with Path(arguments.csv).open("w", encoding="utf-8", newline="") as stream:
            evaluating.write_csv(result, stream)
    if arguments.plot:
        Path(arguments.plot).write_bytes(figure)
    summary = result.summary()
    if arguments.json:
        print_json(summary)
    else:
        print(tables.report(summary))
    return 0


def _unused_by_comparison(arguments: argparse.Namespace) -> list[str]:
    if arguments.compare:
        return []
    given = {"--draws": arguments.draws, "--seed": arguments.seed}
    return [
        f"{option} {value} is not used without --compare and is ignored"
        for option, value in given.items()
        if value is not None
    ]


@contextmanager
def progress(total: int | None, what: str) -> Iterator[Callable[[int], None]]:
    """A progress bar on a terminal, nothing in a pipe; yields what takes the count so far."""
    with tqdm(total=total, desc=what, unit="claim", disable=not sys.stderr.isatty()) as bar:

        def advance(count: int) -> None:
            bar.update(count - bar.n)

        yield advance


def print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2))
