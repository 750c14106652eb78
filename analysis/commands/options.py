"""Options that several commands share."""

from __future__ import annotations

import argparse


def add_simulated(parser: argparse.ArgumentParser) -> None:
    """``--simulated``."""
    parser.add_argument("--simulated", action="store_true", help="count simulated runs too")


def add_json(parser: argparse.ArgumentParser) -> None:
    """``--json``."""
    parser.add_argument("--json", action="store_true", help="print the whole document as JSON")
