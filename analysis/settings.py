"""The study's settings that the analysis needs (statistics.md 1.3); nothing is guessed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from analysis.comparison.planned import Planned, parse_planned
from analysis.errors import BadTable, shown
from analysis.trial_columns import CANT_DECIDE, DECISIONS, INTERFACES

#: No study has more subsets, copies of the square, trials a person, or places.
LARGEST = 1_000_000
#: No cap of active time is longer: a hundred years.
LONGEST_S = 3_200_000_000


@dataclass(frozen=True)
class StudySettings:
    """What study.json says about the design and the scoring.

    ``interfaces`` holds the interface of those conditions whose settings name it;
    ``time_cap_s`` is the pre-registered cap of active time in seconds, None without one;
    ``planned`` is what was fixed about the comparison of conditions; ``n_claims`` is the number of
    claims in the schedule, None where the file does not say it.
    """

    study_id: str
    subsets: int
    replications: int
    conditions: tuple[str, ...]
    trials_per_participant: int
    response_options: tuple[str, ...]
    interfaces: Mapping[str, str] = field(default_factory=dict)
    time_cap_s: float | None = None
    preregistered: Mapping[str, Any] = field(default_factory=dict)
    planned: Planned = field(default_factory=Planned)
    n_claims: int | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """The response options that are labels: all but ``cant_decide``."""
        return tuple(option for option in self.response_options if option != CANT_DECIDE)

    @property
    def scores_partial(self) -> bool:
        """Whether a partially supported claim has a right button (statistics.md 2.4)."""
        return "partially_supported" in self.response_options


def parse_settings(study: Mapping[str, Any], source: str = "study.json") -> StudySettings:
    """Read and check a study's settings.

    ``conditions`` may be names, or objects with ``name`` and ``interface``. Raises BadTable that
    names every missing or wrong field.
    """
    if not isinstance(study, Mapping):
        raise BadTable(f"{source}: not an object of settings; give the study's study.json")
    problems: list[str] = []
    study_id = study.get("study_id")
    if not isinstance(study_id, str) or not study_id:
        problems.append(f"{source}: study_id: missing; give the study's short name")
    numbers = {
        key: _whole(study, key, source, problems)
        for key in ("subsets", "replications", "trials_per_participant")
    }
    names, interfaces = _conditions(study.get("conditions"), source, problems)
    options = _options(study.get("response_options"), source, problems)
    preregistered = study.get("preregistered") or {}
    if not isinstance(preregistered, Mapping):
        problems.append(f"{source}: preregistered: not an object; write {{}} for none")
        preregistered = {}
    cap = preregistered.get("time_cap_s")
    if cap is not None and not _is_seconds(cap):
        problems.append(f"{source}: preregistered.time_cap_s: {shown(cap)} is no number of seconds")
    if numbers["subsets"] * numbers["replications"] > LARGEST:
        problems.append(
            f"{source}: subsets, replications: together they plan more than {LARGEST} places"
        )
    planned = parse_planned(study, preregistered, names, source, problems)
    if problems:
        raise BadTable(problems)
    return StudySettings(
        study_id=str(study_id),
        conditions=names,
        interfaces=interfaces,
        response_options=options,
        time_cap_s=None if cap is None else float(cap),
        preregistered=preregistered,
        planned=planned,
        n_claims=_claims(study.get("n_claims")),
        **numbers,
    )


def _claims(value: Any) -> int | None:
    """The number of claims, which only sentences about the plan rest on: an odd one is left out."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 1 <= value <= LARGEST else None


def _is_seconds(value: Any) -> bool:
    """Whether a value is a time cap: a number above 0, and one that a float can hold."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 < value < LONGEST_S


def _whole(study: Mapping[str, Any], key: str, source: str, problems: list[str]) -> int:
    """The whole number from 1 under ``key``; a problem and 0 where there is none."""
    value = study.get(key)
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= LARGEST:
        return value
    problems.append(f"{source}: {key}: {shown(value)} is no whole number from 1 to {LARGEST}")
    return 0


def _conditions(
    value: Any, source: str, problems: list[str]
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Names of the conditions in study order, and the interfaces that are stated."""
    interfaces: dict[str, str] = {}
    names: list[str] = []
    for item in value if isinstance(value, list) else []:
        name = item.get("name") if isinstance(item, Mapping) else item
        if not isinstance(name, str) or not name:
            problems.append(f"{source}: conditions: {shown(item)} has no name")
            continue
        names.append(name)
        interface = item.get("interface") if isinstance(item, Mapping) else None
        if interface in INTERFACES:
            interfaces[name] = interface
        elif interface is not None:
            problems.append(
                f"{source}: conditions: {name}: interface {shown(interface)} is none of "
                f"{', '.join(INTERFACES)}"
            )
    if not names:
        problems.append(f"{source}: conditions: missing; list the names of the conditions")
    elif len(set(names)) < len(names):
        problems.append(f"{source}: conditions: a name occurs twice in {', '.join(names)}")
    return tuple(names), interfaces


def _options(value: Any, source: str, problems: list[str]) -> tuple[str, ...]:
    """The response options, which must include ``cant_decide`` and at least one label."""
    options = tuple(value) if isinstance(value, list) else ()
    unknown = [option for option in options if option not in DECISIONS]
    if unknown:
        problems.append(
            f"{source}: response_options: {', '.join(map(repr, unknown))} unknown; "
            f"use {', '.join(DECISIONS)}"
        )
    elif CANT_DECIDE not in options or len(options) < 2 or len(set(options)) < len(options):
        problems.append(
            f"{source}: response_options: {list(options)!r} must list cant_decide and the labels, "
            "each once"
        )
    return options
