"""The one JSON document of ``python -m analysis power``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from analysis.power.assumptions import Assumptions
from analysis.power.checks import refuse
from analysis.power.definitions import DEFINITIONS
from analysis.power.detectable import (
    DEFAULT_SEED,
    QUICK_SIMS,
    detectable_difference,
    fewest_participants,
    sentence,
)
from analysis.power.layout import lay_out
from analysis.power.outcomes import all_outcomes
from analysis.power.search import TARGET, monte_carlo_error

_TOO_FEW_CLAIMS = "not defined, because fewer than two claims have both conditions"
_ALL_AT_ONCE = "not defined, because all sentences are shown at once"


@dataclass(frozen=True)
class Plan:
    """The sizes of study to simulate, and how.

    ``most_participants`` bounds the search for the fewest; ``sims`` is the number of simulated
    studies a size.
    """

    participants: tuple[int, ...] = (5, 10, 20, 30)
    claims: tuple[int, ...] = (100,)
    subsets: int = 5
    conditions: int = 2
    most_participants: int = 100
    sims: int = 1000
    seed: int = DEFAULT_SEED
    sizes: list[tuple[int, int]] = field(init=False)

    def __post_init__(self) -> None:
        sizes = [(people, claims) for claims in self.claims for people in self.participants]
        object.__setattr__(self, "sizes", sizes)

    @property
    def steps(self) -> int:
        """So often ``power_document`` reports progress."""
        return 2 * len(self.sizes) + len(self.claims)


def power_document(
    plan: Plan,
    assumptions: Assumptions,
    *,
    sources: Mapping[str, str] | None = None,
    notes: tuple[str, ...] = (),
    advance: Callable[[], None] = lambda: None,
    prefix: str = "",
) -> dict[str, Any]:
    """Power of every size, the fewest participants, and the smallest difference found.

    ``sources`` says where an input comes from, ``notes`` are put before the document's own;
    ``advance`` is called after every step; ``prefix`` stands before a field's name in messages.
    Raises BadTable for sizes or assumptions that make no study.
    """
    refuse(
        assumptions,
        plan.sizes,
        plan.subsets,
        plan.conditions,
        plan.sims,
        plan.seed,
        most_participants=plan.most_participants,
        prefix=prefix,
    )
    curve, fewest, detectable = [], [], []
    for participants, claims in plan.sizes:
        curve.append(_cell(participants, claims, plan, assumptions))
        advance()
    for claims in plan.claims:
        fewest.append(_fewest(claims, plan, assumptions))
        advance()
    for participants, claims in plan.sizes:
        detectable.append(_detectable(participants, claims, plan, assumptions))
        advance()
    return {
        "inputs": inputs_of(plan, assumptions),
        "sources": dict(sources or {}),
        "target": TARGET,
        "curve": curve,
        "fewest_participants": fewest,
        "detectable_difference": detectable,
        "definitions": DEFINITIONS,
        "not_defined": _not_defined(curve, fewest, detectable, plan),
        "notices": [*notes, *_notices(plan, assumptions)],
    }


def inputs_of(plan: Plan, assumptions: Assumptions) -> dict[str, Any]:
    """Every number that the result rests on, under the name of its option."""
    values = asdict(plan) | asdict(assumptions) | asdict(assumptions.reading)
    for name in ("sizes", "reading"):
        del values[name]
    values["contrast"] = values.pop("names")
    for name in ("required", "shown"):
        values[name] = {str(size): share for size, share in values[name]}
    return {name: list(v) if isinstance(v, tuple) else v for name, v in values.items()}


def _cell(participants: int, claims: int, plan: Plan, assumptions: Assumptions) -> dict[str, Any]:
    """One point of the curve."""
    layout = lay_out(participants, claims, plan.subsets, plan.conditions)
    outcomes = all_outcomes(layout, assumptions, plan.sims, plan.seed)
    return {
        "participants": participants,
        "claims": claims,
        "trials": layout.trials,
        "trials_per_participant": list(layout.trials_each),
        "replications": _tidy(layout.replications),
        "outcomes": {name: _value(outcomes[name]) for name in DEFINITIONS},
    }


def _value(values: np.ndarray | None) -> dict[str, float] | None:
    """A share or a mean over the simulated studies with its Monte-Carlo error."""
    if values is None:
        return None
    mean = float(values.mean())
    if values.dtype == bool:
        error = monte_carlo_error(mean, len(values))
    else:
        error = float(values.std(ddof=1) / np.sqrt(len(values)))
    return {"value": _tidy(mean), "monte_carlo_error": _tidy(error)}


def _fewest(claims: int, plan: Plan, assumptions: Assumptions) -> dict[str, Any]:
    """The fewest participants for success and for non-inferiority with so many claims."""
    found: dict[str, Any] = {"claims": claims}
    for outcome in ("power_success_two_way", "noninferior_two_way"):
        found[outcome] = fewest_participants(
            claims,
            assumptions,
            outcome,
            most=plan.most_participants,
            subsets=plan.subsets,
            conditions=plan.conditions,
            sims=plan.sims,
            seed=plan.seed,
        )
    return found


def _detectable(
    participants: int, claims: int, plan: Plan, assumptions: Assumptions
) -> dict[str, Any]:
    """The smallest difference found with so many participants and claims."""
    size: dict[str, Any] = {
        "subsets": plan.subsets,
        "conditions": plan.conditions,
        "sims": min(plan.sims, QUICK_SIMS),
    }
    difference = detectable_difference(participants, claims, assumptions, seed=plan.seed, **size)
    return {
        "participants": participants,
        "claims": claims,
        "sims": size["sims"],
        "difference": difference,
        "sentence": sentence(participants, claims, difference, assumptions, **size),
    }


def _not_defined(
    curve: list[dict[str, Any]],
    fewest: list[dict[str, Any]],
    detectable: list[dict[str, Any]],
    plan: Plan,
) -> dict[str, str]:
    """Why each None of the document is None, by its path."""
    reasons = {}
    for place, cell in enumerate(curve):
        for name, value in cell["outcomes"].items():
            if value is None:
                why = _ALL_AT_ONCE if name.startswith("over_read") else _TOO_FEW_CLAIMS
                reasons[f"curve.{place}.outcomes.{name}"] = why
    for place, found in enumerate(fewest):
        for name, value in found.items():
            if value is None:
                reasons[f"fewest_participants.{place}.{name}"] = (
                    f"not defined, because power {TARGET:.2f} is not reached with up to "
                    f"{plan.most_participants} participants"
                )
    for place, found in enumerate(detectable):
        if found["difference"] is None:
            reasons[f"detectable_difference.{place}.difference"] = (
                f"not defined, because no difference that is possible has power {TARGET:.2f}"
            )
    return reasons


def _notices(plan: Plan, assumptions: Assumptions) -> list[str]:
    """What a reader of the numbers must know."""
    first, second = assumptions.success
    notices = []
    if first == second:
        notices.append(
            "The two success rates are assumed equal: shares that find a difference in success "
            "are false alarms, wanted at .05 or below."
        )
    incomplete = [str(n) for n in plan.participants if n % plan.subsets]
    if incomplete:
        notices.append(
            f"{', '.join(incomplete)} participants are no multiple of {plan.subsets} subsets: the "
            "last copy of the square is incomplete, and some claims miss a condition."
        )
    if plan.conditions > 2:
        notices.append(
            f"{plan.conditions} conditions: participants meet all of them, the tests compare the "
            "first two."
        )
    if assumptions.interfaces == ("incremental", "incremental"):
        notices.append(
            "Both conditions are read sentence by sentence under the same assumptions: shares "
            "that find fewer sentences are false alarms."
        )
    return notices


def _tidy(value: float) -> float:
    """Twelve digits: the same on every machine."""
    return float(f"{value:.12g}")
