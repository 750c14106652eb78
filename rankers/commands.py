"""What each command of ``python -m rankers`` does; every function returns the exit status."""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tqdm import tqdm

from rankers import describe as describing
from rankers import evaluate as evaluating
from rankers import official_rankings, plots, tables
from rankers.compare import DRAWS, SEED, compare
from rankers.convert import Bounds, check_options, convert, pages_for
from rankers.formats import NOTICE_WORDS, Pages
from rankers.outputs import check_outputs
from rankers.registry import METHODS, describe_methods
from rankers.replacing import replacing


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
    check_options(arguments.to, arguments.sample, arguments.stratify, arguments.equal)
    check_outputs([arguments.output], [*arguments.sources, *arguments.wiki])
    pages = _pages(arguments)
    with progress(None, "claims") as advance:
        report = convert(
            arguments.sources,
            arguments.output,
            arguments.format,
            to=arguments.to,
            pages=pages,
            bounds=Bounds(arguments.min_candidates, arguments.max_candidates, arguments.max_pages),
            keep_supersets=arguments.keep_supersets,
            limit=arguments.limit,
            sample=arguments.sample,
            stratify=arguments.stratify,
            equal=arguments.equal,
            seed=arguments.seed,
            progress=advance,
        )
    print(f"{arguments.output}: {report.written} claims")
    if report.written < report.read:
        print(f"sampled from {report.read} claims")
    _print_counts(report.left_out, report.notices, NOTICE_WORDS)
    return 0


def _pages(arguments: argparse.Namespace) -> Pages | None:
    """The Wikipedia pages that the format needs, read with a bar of their own."""
    if not arguments.wiki:
        return pages_for(arguments.sources, arguments.format, [])
    with progress(None, "Wikipedia", "page") as advance:
        return pages_for(arguments.sources, arguments.format, arguments.wiki, advance)


def export_official(arguments: argparse.Namespace) -> int:
    """Write rankings as the paper's code does, then print what was written and left out."""
    check_outputs([arguments.output], [arguments.claims, arguments.rankings])
    report = official_rankings.export_official(
        arguments.claims, arguments.rankings, arguments.output, method=arguments.method
    )
    return _rankings_done(arguments.output, report)


def import_official(arguments: argparse.Namespace) -> int:
    """Read rankings of the paper's code, then print what was written, left out and mended."""
    check_outputs([arguments.output], [arguments.claims, arguments.official])
    report = official_rankings.import_official(
        arguments.claims, arguments.official, arguments.output, name=arguments.name
    )
    return _rankings_done(arguments.output, report)


def _rankings_done(output: str, report: official_rankings.RankingsReport) -> int:
    for note in report.notes:
        print(note, file=sys.stderr)
    print(f"{output}: {report.written} rankings")
    _print_counts(report.left_out, report.notices, official_rankings.RANKING_NOTICES)
    return 0


def _print_counts(left_out: Counter[str], notices: Counter[str], words: dict[str, str]) -> None:
    for reason, count in sorted(left_out.items()):
        print(f"left out: {count} {reason}")
    for kind, count in sorted(notices.items()):
        if count:
            print(f"notice: {count} {words[kind]}")


def describe_claims(arguments: argparse.Namespace) -> int:
    """Print the numbers of the paper's Table 1 for claims files."""
    description = describing.describe(*arguments.claims)
    if arguments.json:
        print_json(description)
    else:
        print(describing.text(description))
    return 0


def evaluate_rankings(arguments: argparse.Namespace) -> int:
    """Print the evaluation as tables or JSON; write the CSV and draw the figure when asked."""
    outputs = [path for path in (arguments.csv, arguments.plot) if path]
    check_outputs(outputs, [arguments.claims, *arguments.rankings])
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
    _write_evaluation(result, arguments.csv, figure, arguments.plot)
    summary = result.summary()
    if arguments.json:
        print_json(summary)
    else:
        print(tables.report(summary))
    return 0


def _write_evaluation(
    result: evaluating.Evaluation, table_path: str | None, figure: bytes, figure_path: str | None
) -> None:
    """Write what is asked for: both files are complete before the first takes its place."""
    with ExitStack() as stack:
        # A link stays one: the file it leads to is replaced.
        if table_path:
            table = stack.enter_context(replacing(Path(table_path).resolve()))
            text = io.TextIOWrapper(table, encoding="utf-8", newline="")
            evaluating.write_csv(result, text)
            text.detach()
        if figure_path:
            stack.enter_context(replacing(Path(figure_path).resolve())).write(figure)


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
def progress(total: int | None, what: str, unit: str = "claim") -> Iterator[Callable[[int], None]]:
    """A progress bar on a terminal, nothing in a pipe; yields what takes the count so far."""
    with tqdm(total=total, desc=what, unit=unit, disable=not sys.stderr.isatty()) as bar:

        def advance(count: int) -> None:
            bar.update(count - bar.n)

        yield advance


def print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2))
