"""``python -m bench [NAME …]``: run the measurements and print a line a figure.

Absolute figures depend on the machine; each measurement also prints a ratio to a baseline taken in
the same run, and that is what to compare.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence

from bench import (
    assignment,
    console,
    export,
    importing,
    importing_live,
    imports,
    llm_run,
    metrics,
    monitor,
    participant,
    prompt_tokens,
    quality,
    ranking,
    rankings_page,
    results,
    similarity,
    statistics,
)

MEASUREMENTS = {
    "participant": participant.measure,
    "assignment": assignment.measure,
    "importing": importing.measure,
    "importing_live": importing_live.measure,
    "rankings_page": rankings_page.measure,
    "results": results.measure,
    "console": console.measure,
    "monitor": monitor.measure,
    "export": export.measure,
    "imports": imports.measure,
    "ranking": ranking.measure,
    "metrics": metrics.measure,
    "similarity": similarity.measure,
    "llm_run": llm_run.measure,
    "prompt_tokens": prompt_tokens.measure,
    "quality": quality.measure,
    "statistics": statistics.measure,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the named measurements, all without a name; 2 for an unknown one."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MEASUREMENTS))
    names = parser.parse_args(argv).names or list(MEASUREMENTS)
    for name in names:
        if name not in MEASUREMENTS:
            parser.error(f"unknown measurement {name!r}: use {', '.join(MEASUREMENTS)}")
    # A library that sets up logging when imported would have every request reported.
    logging.basicConfig(level=logging.WARNING)
    for name in names:
        for line in MEASUREMENTS[name]():
            print(f"{name}: {line}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
