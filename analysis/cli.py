"""The command line: ``python -m analysis COMMAND``."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence

from analysis.commands import agreement, measures, power, rankers, report
from analysis.errors import BadTable

#: In the order of the help text.
COMMANDS = (
    measures,
    report,
    power,
    agreement,
    rankers,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 on success, 1 on bad input with one line a problem on stderr, 2 on usage."""
    parsed = _parser().parse_args(arguments)
    _speak(as_json=getattr(parsed, "json", False))
    try:
        return parsed.run(parsed)
    except BadTable as error:
        for problem in error.problems:
            print(problem, file=sys.stderr)
        return 1


def _speak(*, as_json: bool) -> None:
    """Make every text printable: JSON in UTF-8, words in the terminal's own encoding.

    What an encoding lacks is escaped, so that a name in a table ends no command.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            is_json = as_json and stream is sys.stdout
            stream.reconfigure(encoding="utf-8" if is_json else None, errors="backslashreplace")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m analysis", description="Measures, statistics and reports of studies."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add(commands)
    return parser
