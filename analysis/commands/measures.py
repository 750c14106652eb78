"""``python -m analysis measures``: the measures of one study."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analysis.commands.options import add_json, add_simulated
from analysis.commands.text import aligned
from analysis.definitions import BY_NAME
from analysis.document import build_document, to_json
from analysis.inclusion import REASON_TEXTS
from analysis.load import read_files
from analysis.report.table5 import CAPTION, table5, table5_headings


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
    sys.stdout.write(to_json(document) if parsed.json else measures_text(document))
    return 0


def measures_text(document: Mapping[str, Any]) -> str:
    """The document for a terminal: both sets, what does not count, notices and definitions."""
    lines = [f"Study {document['study_id']}: {document['rows']} trials", ""]
    for block, name in (("design_set", "Design set (primary)"), ("available_set", "Available set")):
        lines += [f"{name}, {document[f'n_{block}']} trials", ""]
        lines += [*aligned(_table5_rows(document, block)), ""]
    lines += [CAPTION, ""]
    lines += ["Rows that do not count, by the first reason that applies", ""]
    excluded = [
        [reason, str(n), REASON_TEXTS[reason]] for reason, n in document["excluded"].items()
    ]
    lines += [*aligned(excluded), ""]
    lines += [f"Note: {notice}" for notice in document["notices"]]
    lines += ["", "Definitions (n read, N available, q required, M first sufficient rank)", ""]
    keys = dict.fromkeys(row.key for row in table5(document))
    lines += aligned([[key, BY_NAME[key].formula, BY_NAME[key].definition] for key in keys])
    return "\n".join(lines) + "\n"


def _table5_rows(document: Mapping[str, Any], block: str) -> list[list[str]]:
    rows = [["", *table5_headings(document)]]
    for row in table5(document, block):
        rows.append([f"{'  ' if row.is_part else ''}{row.label}", *row.cells])
    return rows
