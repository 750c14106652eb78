"""``python -m analysis report``: the report of one export, or of several pooled."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from analysis.commands.options import add_simulated
from analysis.report import build_report


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the parser of ``python -m analysis``."""
    parser = commands.add_parser("report", help="a report of one export, or of several pooled")
    parser.add_argument("exports", type=Path, nargs="+", metavar="EXPORT.zip")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")
    add_simulated(parser)
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Write the report and print the path of its page; raises BadTable."""
    path = build_report(
        parsed.exports,
        parsed.output,
        include_simulated=parsed.simulated,
        warn=lambda line: print(line, file=sys.stderr),
    )
    print(path)
    return 0
