"""What a study fixed beforehand about its comparison: fields of study.json (statistics.md 1.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from analysis.comparison.compared import FAMILY
from analysis.comparison.contrast import Contrast
from analysis.comparison.reasons import ONE_CONDITION
from analysis.errors import shown

#: What holds where study.json is silent; the document says which of the two it was.
DEFAULT_SEED = 0
DEFAULT_MARGIN = 0.10
#: Seeds that the platform accepts are below this.
SEED_LIMIT = 2**63

#: A measure may be named by its key or by its column: ``read`` or ``n_read``.
_FAMILY_NAMES = {name: m.key for m in FAMILY for name in (m.column, m.key)}


@dataclass(frozen=True, slots=True)
class Planned:
    """The main contrast (None with one condition), seed, margin, family and reference.

    ``family`` holds keys of ``compared.FAMILY`` in its order; ``reference`` is the condition that
    the others are compared with, None where all pairs are. ``stated`` names the fields that
    study.json gives; the others are defaults.
    """

    contrast: Contrast | None = None
    seed: int = DEFAULT_SEED
    margin: float = DEFAULT_MARGIN
    family: tuple[str, ...] = tuple(measure.key for measure in FAMILY)
    reference: str | None = None
    stated: frozenset[str] = frozenset()

    def to_document(self) -> dict[str, Any]:
        """The fields as the document prints them; ``<field>_stated`` is false for a default."""
        contrast = self.contrast
        values: dict[str, Any] = {
            "contrast": None if contrast is None else contrast.name,
            "seed": self.seed,
            "non_inferiority_margin": self.margin,
            "family": list(self.family),
            "reference_condition": self.reference,
        }
        stated = {f"{name}_stated": name in self.stated for name in values}
        sides = {
            "first_condition": None if contrast is None else contrast.first,
            "second_condition": None if contrast is None else contrast.second,
        }
        reasons = {name: ONE_CONDITION for name, value in (values | sides).items() if value is None}
        if self.reference is None:
            reasons["reference_condition"] = "not defined, because none was pre-registered"
        return values | stated | sides | ({"reasons": reasons} if reasons else {})


def parse_planned(
    study: Mapping[str, Any],
    preregistered: Mapping[str, Any],
    conditions: Sequence[str],
    source: str,
    problems: list[str],
) -> Planned:
    """Read the plan of the comparison; what is wrong is added to ``problems``, a line a field.

    ``preregistered.reference`` and ``preregistered.reference_condition`` mean the same.
    """
    given = {
        "contrast": study.get("contrast"),
        "seed": study.get("seed"),
        "non_inferiority_margin": study.get("non_inferiority_margin"),
        "family": preregistered.get("family"),
        "reference_condition": preregistered.get(
            "reference_condition", preregistered.get("reference")
        ),
    }
    return Planned(
        contrast=_contrast(given["contrast"], conditions, source, problems),
        seed=_seed(given["seed"], source, problems),
        margin=_margin(given["non_inferiority_margin"], source, problems),
        family=_family(given["family"], source, problems),
        reference=_reference(given["reference_condition"], conditions, source, problems),
        stated=frozenset(name for name, value in given.items() if value is not None),
    )


def joint_plan(plans: Sequence[Planned]) -> Planned:
    """The plan of several studies pooled, where they differ the stricter one.

    Contrast and seed are the first's, the margin the smallest, the family all that any names; a
    reference must be everybody's.
    """
    first = plans[0]
    named = {key for plan in plans for key in plan.family}
    return Planned(
        contrast=first.contrast,
        seed=first.seed,
        margin=min(plan.margin for plan in plans),
        family=tuple(measure.key for measure in FAMILY if measure.key in named),
        reference=first.reference if len({plan.reference for plan in plans}) == 1 else None,
        stated=frozenset.intersection(*(plan.stated for plan in plans)),
    )


def _contrast(
    value: Any, conditions: Sequence[str], source: str, problems: list[str]
) -> Contrast | None:
    """The stated contrast, else the first condition minus the second.

    Names may hold " - " themselves, so the text is compared with that of every ordered pair.
    """
    pairs = [Contrast(first, second) for first, second in permutations(conditions, 2)]
    if value is None:
        return pairs[0] if pairs else None
    for pair in pairs:
        if pair.name == value:
            return pair
    problems.append(
        f"{source}: contrast: {shown(value)} is not of the form A - B with two of the conditions "
        f"{', '.join(conditions)}"
    )
    return None


def _seed(value: Any, source: str, problems: list[str]) -> int:
    if value is None:
        return DEFAULT_SEED
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < SEED_LIMIT:
        return value
    problems.append(f"{source}: seed: {shown(value)} is no whole number from 0 to 2**63 - 1")
    return DEFAULT_SEED


def _margin(value: Any, source: str, problems: list[str]) -> float:
    if value is None:
        return DEFAULT_MARGIN
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1:
        return float(value)
    problems.append(
        f"{source}: non_inferiority_margin: {shown(value)} is no number between 0 and 1"
    )
    return DEFAULT_MARGIN


def _family(value: Any, source: str, problems: list[str]) -> tuple[str, ...]:
    """The keys of the family in the order of ``FAMILY``."""
    every = tuple(measure.key for measure in FAMILY)
    if value is None:
        return every
    field = f"{source}: preregistered.family"
    if not isinstance(value, list):
        problems.append(f"{field}: not a list; name the measures, such as {', '.join(every)}")
        return every
    unknown = [name for name in value if not (isinstance(name, str) and name in _FAMILY_NAMES)]
    if unknown:
        problems.append(f"{field}: {', '.join(map(repr, unknown))} unknown; use {', '.join(every)}")
        return every
    chosen = [_FAMILY_NAMES[name] for name in value]
    if len(set(chosen)) < len(chosen):
        problems.append(f"{field}: a measure occurs twice in {', '.join(value)}")
    return tuple(key for key in every if key in chosen)


def _reference(
    value: Any, conditions: Sequence[str], source: str, problems: list[str]
) -> str | None:
    if value is None or value in conditions:
        return value
    problems.append(
        f"{source}: preregistered.reference_condition: {shown(value)} is none of the conditions "
        f"{', '.join(conditions)}"
    )
    return None
