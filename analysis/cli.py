"""The command line: ``python -m analysis measures`` and ``python -m analysis report``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.definitions import BY_NAME
from analysis.document import build_document, to_json
from analysis.errors import BadTable
from analysis.inclusion import REASON_TEXTS
from analysis.load import read_files
from analysis.report import build_report
from analysis.table5 import CAPTION, table5, table5_headings


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 on success, 1 on bad input with one line a problem on stderr, 2 on usage."""
    parsed = _parser().parse_args(arguments)
    try:
        return parsed.run(parsed)
    except BadTable as error:
        for problem in error.problems:
            print(problem, file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m analysis", description="Measures and reports of exported studies."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    measures = commands.add_parser("measures", help="measures of one study by condition")
    measures.add_argument("trials", type=Path, metavar="TRIALS.csv")
    measures.add_argument("--study", type=Path, required=True, metavar="STUDY.json")
    measures.add_argument(
        "--events", type=Path, metavar="EVENTS.csv", help="recompute reading and times from events"
    )
    _add_simulated(measures)
    measures.add_argument("--json", action="store_true", help="print the whole document as JSON")
    measures.set_defaults(run=_measures)

    report = commands.add_parser("report", help="a report of one export, or of several pooled")
    report.add_argument("exports", type=Path, nargs="+", metavar="EXPORT.zip")
    report.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")
    _add_simulated(report)
    report.set_defaults(run=_report)
    return parser


def _add_simulated(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--simulated", action="store_true", help="count simulated runs too")


def _measures(parsed: argparse.Namespace) -> int:
    tables = read_files(parsed.trials, parsed.study, parsed.events)
    document = build_document(tables, parsed.simulated)
    sys.stdout.write(to_json(document) if parsed.json else measures_text(document))
    return 0


def _report(parsed: argparse.Namespace) -> int:
    path = build_report(parsed.exports, parsed.output, include_simulated=parsed.simulated)
    print(path)
    return 0


def measures_text(document: Mapping[str, Any]) -> str:
    """The document for a terminal: both sets, what does not count, notices and definitions."""
    lines = [f"Study {document['study_id']}: {document['rows']} trials", ""]
    for block, name in (("design_set", "Design set (primary)"), ("available_set", "Available set")):
        lines += [f"{name}, {document[f'n_{block}']} trials", ""]
        lines += [*_aligned(_table5_rows(document, block)), ""]
    lines += [CAPTION, ""]
    lines += ["Rows that do not count, by the first reason that applies", ""]
    excluded = [
        [reason, str(n), REASON_TEXTS[reason]] for reason, n in document["excluded"].items()
    ]
    lines += [*_aligned(excluded), ""]
    lines += [f"Note: {notice}" for notice in document["notices"]]
    lines += ["", "Definitions (n read, N available, q required, M first sufficient rank)", ""]
    keys = dict.fromkeys(row.key for row in table5(document))
    lines += _aligned([[key, BY_NAME[key].formula, BY_NAME[key].definition] for key in keys])
    return "\n".join(lines) + "\n"


def _table5_rows(document: Mapping[str, Any], block: str) -> list[list[str]]:
    rows = [["", *table5_headings(document)]]
    for row in table5(document, block):
        rows.append([f"{'  ' if row.is_part else ''}{row.label}", *row.cells])
    return rows


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as lines with columns of equal width."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
