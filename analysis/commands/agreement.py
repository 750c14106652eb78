"""``python -m analysis agreement``: agreement of raters, preferences, two groups of scores."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from analysis.agreement import cohen, fleiss, krippendorff, mann_whitney, preferences
from analysis.agreement.alpha import LEVELS
from analysis.commands.agreement_text import agreement_text
from analysis.commands.options import add_json, whole_number
from analysis.document import to_json
from analysis.text_table import read_text_table

#: What each kind calls, and the options that it uses, as keyword arguments.
KINDS: dict[str, tuple[Callable[..., dict[str, Any]], tuple[str, ...]]] = {
    "cohen": (cohen, ("weights", "order")),
    "fleiss": (fleiss, ("seed",)),
    "alpha": (krippendorff, ("level", "order", "seed")),
    "preference": (preferences, ("first", "second")),
    "mannwhitney": (mann_whitney, ("first", "seed")),
}
_OPTIONS = ("weights", "level", "order", "first", "second", "seed")

_HELP = """\
columns of RATINGS.csv:
  cohen, fleiss, alpha  item, rater, label (or score), one row a rating;
                        or item, rater1, rater2, ..., one row an item
  preference            claim_id, participant_id, choice (and annotation), one row an annotation
  mannwhitney           group, score, one row a score
"""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the parser of ``python -m analysis``."""
    parser = commands.add_parser(
        "agreement",
        help="agreement of raters, preferences, two groups of scores",
        epilog=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("ratings", type=Path, metavar="RATINGS.csv")
    parser.add_argument("--kind", choices=list(KINDS), required=True)
    parser.add_argument(
        "--weights",
        choices=["none", "linear", "quadratic"],
        help="cohen: the kappa that stands first (default: none)",
    )
    parser.add_argument(
        "--level",
        choices=LEVELS,
        help="alpha: the level that stands first (default: ordinal for numbers, else nominal)",
    )
    parser.add_argument(
        "--order",
        type=_names,
        metavar="A,B,...",
        help="cohen, alpha: labels from lowest to highest, where they are words",
    )
    parser.add_argument(
        "--first",
        help="preference, mannwhitney: the choice or group asked about (default: suggested, or "
        "the alphabetically first group)",
    )
    parser.add_argument(
        "--second", help="preference: the choice it is compared with (default: current)"
    )
    parser.add_argument(
        "--seed", type=whole_number, help="of the bootstrap over items (default: 0)"
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Print the document of one kind; raises BadTable."""
    function, used = KINDS[parsed.kind]
    given = {name: getattr(parsed, name) for name in _OPTIONS if getattr(parsed, name) is not None}
    for name in given:
        if name not in used:
            print(f"--{name} is not used by --kind {parsed.kind}; ignored", file=sys.stderr)
    options = {name: value for name, value in given.items() if name in used}
    table = read_text_table(parsed.ratings)
    document = function(table, **options, source=str(parsed.ratings))
    for note in document.get("notes", []):
        print(f"{parsed.ratings}: {note}", file=sys.stderr)
    sys.stdout.write(to_json(document) if parsed.json else agreement_text(document))
    return 0


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]
