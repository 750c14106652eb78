"""``python -m analysis power``: what studies of several sizes would find."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from tqdm import tqdm

from analysis.commands import power_options as parsing
from analysis.commands.options import add_json, add_simulated
from analysis.commands.power_text import power_text
from analysis.document import to_json
from analysis.errors import BadTable
from analysis.load import read_export
from analysis.power.assumptions import Assumptions, Reading
from analysis.power.document import Plan, power_document
from analysis.power.pilot import pilot_values

#: Name, how its text is read, what the help shows for its value, and what it is.
_OPTIONS: tuple[tuple[str, Callable[[str], Any], str, str], ...] = (
    ("participants", parsing.wholes, "N,N", "numbers of participants"),
    ("claims", parsing.wholes, "N,N", "numbers of claims"),
    ("subsets", parsing.whole, "K", "disjoint subsets of the claims"),
    ("conditions", parsing.whole, "M", "conditions of the study; two are compared"),
    ("contrast", parsing.two_words, "A,B", "names of the two conditions compared"),
    ("interfaces", parsing.two_words, "I,I", "incremental or all_at_once, of each"),
    ("success", parsing.two_numbers, "P,P", "assumed success rates of the two conditions"),
    ("margin", parsing.number, "D", "margin of non-inferiority"),
    ("sd_participant", parsing.number, "SD", "spread of people, on the logit"),
    ("sd_participant_slope", parsing.number, "SD", "spread of people's differences"),
    ("sd_claim", parsing.number, "SD", "spread of claims"),
    ("sd_claim_slope", parsing.number, "SD", "spread of claims' differences"),
    ("required", parsing.shares, "N:P,N:P", "shares of claims by size of the smallest gold set"),
    ("optimal", parsing.number, "P", "probability that a ranked list shows it first"),
    ("excess", parsing.number, "P", "geometric parameter of the sentences more, if not"),
    ("shown", parsing.shares, "N:P,N:P", "shares of claims by size of the set shown at once"),
    ("reader", parsing.word, "KIND", "noisy, or oracle: stops at the first sufficient rank"),
    ("early", parsing.number, "P", "noisy reader: stops at a rank before the first sufficient"),
    ("gives_up", parsing.number, "P", "noisy reader: gives up there"),
    ("stops", parsing.number, "P", "noisy reader: stops at a rank from there on"),
    ("sd_reader", parsing.number, "SD", "spread of readers on the logit of both"),
    ("most_participants", parsing.whole, "N", "where the search for the fewest ends"),
    ("sims", parsing.whole, "N", "simulated studies a size"),
    ("seed", parsing.whole, "N", "seed of the random numbers"),
)

#: The option's name where it is not that of the field.
_FIELDS = {"contrast": "names"}

_DEFAULTS = {
    field.name: field.default for kind in (Plan, Assumptions, Reading) for field in fields(kind)
}


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the parser of ``python -m analysis``."""
    parser = commands.add_parser("power", help="what studies of several sizes would find")
    for name, _, metavar, text in _OPTIONS:
        default = _as_option(_DEFAULTS[_FIELDS.get(name, name)])
        parser.add_argument(
            f"--{name.replace('_', '-')}", metavar=metavar, help=f"{text} (default {default})"
        )
    parser.add_argument(
        "--pilot", type=Path, metavar="EXPORT.zip", help="take what is not given from a pilot"
    )
    add_simulated(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Simulate and print; raises BadTable."""
    given = _given(parsed)
    pilot: dict[str, Any] = {}
    notes: list[str] = []
    if parsed.pilot is not None:
        pilot, notes = pilot_values(
            read_export(parsed.pilot),
            given.get("names"),
            source=str(parsed.pilot),
            include_simulated=parsed.simulated,
        )
    values = {**_DEFAULTS, **pilot, **given}
    plan, assumptions = _built(values)
    with tqdm(
        total=plan.steps, desc="power", unit="size", disable=not sys.stderr.isatty(), leave=False
    ) as bar:
        document = power_document(
            plan,
            assumptions,
            sources=_sources(given, pilot),
            notes=tuple(notes),
            advance=lambda: _step(bar),
            prefix="--",
        )
    sys.stdout.write(to_json(document) if parsed.json else power_text(document))
    return 0


def _given(parsed: argparse.Namespace) -> dict[str, Any]:
    """The options on the command line by field; raises BadTable naming every one not readable."""
    given: dict[str, Any] = {}
    problems = []
    for name, parse, _, _ in _OPTIONS:
        text = getattr(parsed, name)
        if text is None:
            continue
        try:
            given[_FIELDS.get(name, name)] = parse(text)
        except ValueError as error:
            problems.append(f"--{name.replace('_', '-')}: {error}")
    if problems:
        raise BadTable(problems)
    return given


def _built(values: dict[str, Any]) -> tuple[Plan, Assumptions]:
    """Plan and assumptions from the values of their fields."""

    def of(kind: type) -> dict[str, Any]:
        names = [field.name for field in fields(kind) if field.init and field.name != "reading"]
        return {name: values[name] for name in names}

    return Plan(**of(Plan)), Assumptions(**of(Assumptions), reading=Reading(**of(Reading)))


def _sources(given: dict[str, Any], pilot: dict[str, Any]) -> dict[str, str]:
    """``given``, ``pilot`` or ``default`` for every option."""
    sources = {}
    for name, *_ in _OPTIONS:
        field = _FIELDS.get(name, name)
        sources[name] = "given" if field in given else "pilot" if field in pilot else "default"
    return sources


def _as_option(value: Any) -> str:
    """A default as one would type it."""
    if isinstance(value, tuple) and isinstance(value[0], tuple):
        return ",".join(f"{size}:{share:g}" for size, share in value)
    if isinstance(value, tuple):
        return ",".join(map(_as_option, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _step(bar: tqdm) -> None:
    bar.update(1)
