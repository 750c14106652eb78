"""``python -m analysis measures``: the measures of one study."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analysis.commands.options import add_json, add_simulated
from analysis.commands.text import aligned, with_footnotes
from analysis.comparison.several import several_rows
from analysis.comparison.table import CAPTION as COMPARISON_CAPTION
from analysis.comparison.table import (
    comparison_headings,
    comparison_notes,
    comparison_table,
)
from analysis.definitions import BY_NAME
from analysis.document import build_document, to_json
from analysis.inclusion import REASON_TEXTS
from analysis.load import read_files
from analysis.readers import nothing_counts_line, opening_lines
from analysis.report.table5 import CAPTION, table5, table5_headings
from analysis.report.tables import counted_rows

SETS = (("design_set", "Design set (primary)"), ("available_set", "Available set"))


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the parser of ``python -m analysis``."""
    parser = commands.add_parser("measures", help="measures of one study by condition")
    parser.add_argument("trials", type=Path, metavar="TRIALS.csv")
    parser.add_argument("--study", type=Path, required=True, metavar="STUDY.json")
    parser.add_argument(
        "--events", type=Path, metavar="EVENTS.csv", help="recompute reading and times from events"
    )
    add_simulated(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Print the measures; raises BadTable."""
    tables = read_files(parsed.trials, parsed.study, parsed.events)
    document = build_document(tables, parsed.simulated)
    if nothing := nothing_counts_line(document):
        print(f"{parsed.trials}: {nothing}", file=sys.stderr)
    sys.stdout.write(to_json(document) if parsed.json else measures_text(document))
    return 0


def measures_text(document: Mapping[str, Any]) -> str:
    """The document for a terminal: both sets, what does not count, notices and definitions.

    Where simulated trials count, or nothing but them could, that is the first line.
    """
    lines = opening_lines(document)
    lines += [f"Study {document['study_id']}: {document['rows']} trials", ""]
    for block, name in SETS:
        lines += [f"{name}, {document[f'n_{block}']} trials", ""]
        lines += [*aligned(_table5_rows(document, block)), ""]
    lines += [CAPTION, "", *_comparison_lines(document)]
    lines += ["Rows that do not count, by the first reason that applies", ""]
    excluded = [
        [reason, str(n), REASON_TEXTS[reason]] for reason, n in document["excluded"].items()
    ]
    excluded += counted_rows(document)
    lines += [*aligned(excluded), ""]
    lines += [f"Note: {notice}" for notice in document["notices"]]
    lines += ["", "Definitions (n read, N available, q required, M first sufficient rank)", ""]
    keys = dict.fromkeys(row.key for row in table5(document))
    lines += aligned([[key, BY_NAME[key].formula, BY_NAME[key].definition] for key in keys])
    return "\n".join(lines) + "\n"


def _comparison_lines(document: Mapping[str, Any]) -> list[str]:
    """The main contrast in both sets, and the other contrasts and omnibus tests of many."""
    contrast = document["comparison_plan"]["contrast"]
    if contrast is None:
        return [f"Comparison: {document['not_defined']['comparison_plan.contrast']}", ""]
    lines: list[str] = []
    for block, name in SETS:
        rows = [
            ["" if row.is_part else row.label, *row.cells[1:]]
            for row in comparison_table(document, f"inference_{block}")
        ]
        lines += [f"Comparison, {contrast}: {name}", ""]
        lines += _table_lines([comparison_headings(document), *rows])
    lines += _table_lines(several_rows(document))
    return [*lines, COMPARISON_CAPTION, "", *comparison_notes(document), ""]


def _table_lines(rows: list[list[str]]) -> list[str]:
    """A table with its footnotes and an empty line; nothing for no rows."""
    if not rows:
        return []
    shortened, notes = with_footnotes(rows)
    return [*aligned(shortened), *notes, ""]


def _table5_rows(document: Mapping[str, Any], block: str) -> list[list[str]]:
    rows = [["", *table5_headings(document)]]
    for row in table5(document, block):
        rows.append([f"{'  ' if row.is_part else ''}{row.label}", *row.cells])
    return rows
