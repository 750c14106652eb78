"""The document of a power simulation for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.commands.text import aligned

#: Heading and name of the outcome, in the order of the tables.
_POWER = (
    ("success, clustered", "power_success_two_way"),
    ("non-inferior, clustered", "noninferior_two_way"),
    ("success, people", "power_success_participants"),
    ("success, claims only", "power_success_claims"),
    ("fewer read, clustered", "power_fewer_read_two_way"),
    ("fewer read, claims", "power_fewer_read_claims"),
)
_MEANS = (
    ("success 1", "success_rate_first"),
    ("success 2", "success_rate_second"),
    ("difference", "mean_rd"),
    ("read 1", "mean_read_first"),
    ("read 2", "mean_read_second"),
    ("difference", "mean_read_difference"),
    ("over_read_msr 1", "over_read_msr_rate_first"),
    ("over_read_msr 2", "over_read_msr_rate_second"),
)

_HOW_TO_READ = (
    "clustered: the primary test, the two-way clustered t; people and claims are both samples.",
    "people: the t test paired over participants, for other people on these claims.",
    "claims only takes the participants for everybody. It is a warning, not a plan: a share above "
    "that of the clustered test is of findings that other participants need not show.",
    "fewer read: the first condition takes fewer sentences than the second.",
    "Fewest participants: in whole copies of the square.",
    "Smallest difference: the second condition's rate is as assumed, the first one's above it.",
)


def power_text(document: Mapping[str, Any]) -> str:
    """Inputs, curve, fewest participants, smallest differences and how to read them."""
    inputs = document["inputs"]
    first, second = inputs["contrast"]
    lines = [f"Power, before data: {first} - {second}, {inputs['sims']:,} simulated studies a size"]
    lines += ["", "Assumed", "", *aligned(_input_rows(document)), ""]
    lines += ["Share of studies that find it (Monte-Carlo error)", ""]
    lines += [*aligned(_cell_rows(document, _POWER)), ""]
    lines += [f"Mean over studies (Monte-Carlo error); 1 is {first}, 2 is {second}", ""]
    lines += [*aligned(_cell_rows(document, _MEANS)), ""]
    lines += [f"Fewest participants for power {document['target']:.2f}", ""]
    lines += [*aligned(_fewest_rows(document)), ""]
    lines += ["Smallest difference found", ""]
    lines += [f"  {found['sentence']}" for found in document["detectable_difference"]]
    if document["notices"]:
        lines += ["", *(f"Note: {notice}" for notice in document["notices"])]
    lines += ["", "How to read it", *(f"  {line}" for line in _HOW_TO_READ)]
    return "\n".join(lines) + "\n"


def _input_rows(document: Mapping[str, Any]) -> list[list[str]]:
    sources = document["sources"]
    return [
        [f"  --{name.replace('_', '-')}", _shown(value), sources.get(name, "")]
        for name, value in document["inputs"].items()
    ]


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{size}:{share:.3g}" for size, share in value.items())
    if isinstance(value, list):
        return ",".join(map(_shown, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _cell_rows(document: Mapping[str, Any], columns: Sequence[tuple[str, str]]) -> list[list[str]]:
    columns = [
        (heading, name)
        for heading, name in columns
        if any(cell["outcomes"][name] is not None for cell in document["curve"])
    ]
    rows = [["  people x claims", "trials each", *(heading for heading, _ in columns)]]
    for cell in document["curve"]:
        fewest, most = cell["trials_per_participant"]
        rows.append(
            [
                f"  {cell['participants']} x {cell['claims']}",
                f"{most}" if fewest == most else f"{fewest} to {most}",
                *(_outcome(cell["outcomes"][name]) for _, name in columns),
            ]
        )
    return rows


def _outcome(value: Mapping[str, float] | None) -> str:
    if value is None:
        return "not defined"
    return f"{value['value']:.3f} ({value['monte_carlo_error']:.3f})"


def _fewest_rows(document: Mapping[str, Any]) -> list[list[str]]:
    most = document["inputs"]["most_participants"]
    rows = [["  claims", "success, clustered", "non-inferior, clustered"]]
    for found in document["fewest_participants"]:
        numbers = (found["power_success_two_way"], found["noninferior_two_way"])
        cells = [f"not with {most}" if number is None else str(number) for number in numbers]
        rows.append([f"  {found['claims']}", *cells])
    return rows
