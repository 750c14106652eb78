"""Options that several commands share."""

from __future__ import annotations

import argparse


def add_simulated(parser: argparse.ArgumentParser) -> None:
    """``--simulated``."""
    parser.add_argument("--simulated", action="store_true", help="count simulated runs too")


def add_json(parser: argparse.ArgumentParser) -> None:
    """``--json``."""
    parser.add_argument("--json", action="store_true", help="print the whole document as JSON")


def whole_number(text: str) -> int:
    """A whole number of at least 0; argparse turns the ValueError into a line on usage."""
    value = int(text)
    if value < 0:
        raise ValueError(f"{text} is below 0")
    return value
