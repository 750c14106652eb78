"""The schedule card, and how slots are drawn on it, on the schedule page and while setting up."""

from __future__ import annotations

from collections import defaultdict
from itertools import groupby

from django.urls import reverse

from studyapp.domain.balance import Balance
from studyapp.domain.power_hint import Size, can_be_judged, known_hint
from studyapp.enums import ConditionPolicy
from studyapp.models import Condition, Study
from studyapp.views.researcher_card import Card, Command, Tone, manage
from studyapp.views.researcher_words import counted, number

#: Width of a drawn slot, in its own units.
STRIP_WIDTH = 240
STRIP_HEIGHT = 14
#: Fills the schedule can draw; more conditions begin again.
N_FILLS = 4


def fill_of(position: int) -> int:
    """The fill that stands for the condition at ``position`` (from 1)."""
    return (position - 1) % N_FILLS + 1


def schedule_card(
    study: Study, n_claims: int, conditions: list[Condition], balance: Balance
) -> Card:
    """How large the schedule is, whether it is balanced, and where to see the whole of it."""
    if not balance.n_slots:
        return _no_schedule(study, n_claims, len(conditions))
    return Card(
        anchor="schedule",
        title="Schedule",
        tone=Tone.DONE if balance.is_balanced else Tone.PROBLEM,
        state=(
            f"{counted(balance.n_slots, 'slot')}, {counted(balance.n_trials, 'trial')}, "
            + ("balanced" if balance.is_balanced else "not balanced")
        ),
        template="researcher/_schedule.html",
        is_open=not balance.is_balanced,
        missing=balance.problems[:MAX_PROBLEMS],
        content={
            "address": reverse("study-schedule", args=[study.slug]),
            "sums": condition_sums(balance, conditions, n_claims),
            "n_trials": number(balance.n_trials),
            "size": (
                f"{counted(n_claims, 'claim')} in {counted(study.n_subsets, 'subset')}, "
                f"{counted(study.n_replications, 'cycle')}"
            ),
            "policy": policy_of(study),
            "is_balanced": balance.is_balanced,
            "power": _power(
                study, Size(balance.n_slots, n_claims, study.n_subsets, len(conditions))
            ),
        },
    )


#: Problems listed on the card; the schedule page counts them by cycle.
MAX_PROBLEMS = 5


def policy_of(study: Study) -> str:
    """The order policy, who meets which condition, and the seed, in a line."""
    return (
        f"Order: {study.get_order_policy_display().lower()}. "
        f"{study.get_condition_policy_display()}. Seed: {study.seed}"
    )


def _power(study: Study, size: Size) -> dict[str, str] | None:
    """Where to ask what a study of this size detects, and the answer if it is known."""
    if not can_be_judged(study, size):
        return None
    return {"address": reverse("study-power", args=[study.slug]), "hint": known_hint(size)}


def _no_schedule(study: Study, n_claims: int, n_conditions: int) -> Card:
    is_ready = bool(n_claims and n_conditions)
    least = n_conditions if study.condition_policy == ConditionPolicy.WITHIN else 1
    subsets = study.n_subsets or max(min(5, n_claims), least)
    return Card(
        anchor="schedule",
        title="Schedule",
        tone=Tone.NEXT if is_ready else Tone.WAITING,
        state="No schedule yet" if is_ready else "Waits for claims and conditions",
        template="researcher/_schedule.html",
        is_open=is_ready,
        missing=["Claims are dealt into subsets and slots, one slot a participant."]
        if is_ready
        else [],
        command=Command(
            "Lay out subsets and slots:",
            manage(
                "schedule",
                study.slug,
                f"--subsets {subsets}",
                "--replications 1",
                f"--seed {study.seed}",
            ),
        )
        if is_ready
        else None,
    )


def condition_sums(
    balance: Balance, conditions: list[Condition], n_claims: int
) -> list[dict[str, object]]:
    """For each condition: its trials, cycles with every claim once, and where it stands."""
    cycles: dict[str, list[int]] = defaultdict(list)
    for (_, name), once in balance.claims_once.items():
        cycles[name].append(once)
    return [
        {
            "name": condition.name,
            "fill": fill_of(place),
            "n_trials": number(balance.trials_of[condition.name]),
            "once": (
                f"{counted(n_claims, 'claim')} once each in "
                f"{number(cycles[condition.name].count(n_claims))} of "
                f"{counted(len(cycles[condition.name]), 'cycle')}"
            ),
            "first": number(balance.first_condition[condition.name]),
            "mean_position": f"{balance.mean_position.get(condition.name, 0):.1f}",
        }
        for place, condition in enumerate(conditions, start=1)
    ]


def strip_of(conditions: list[int]) -> list[dict]:
    """A slot's trials drawn as runs of the same condition: start, width, fill."""
    pieces: list[dict] = []
    start = 0
    for position, run in groupby(conditions):
        length = len(list(run))
        unit = STRIP_WIDTH / len(conditions)
        pieces.append(
            {
                "x": f"{start * unit:.2f}",
                "width": f"{length * unit:.2f}",
                "fill": fill_of(position),
            }
        )
        start += length
    return pieces


def paths_of(conditions: list[int]) -> list[dict]:
    """The same drawing with one shape for each fill, for pages with many slots."""
    drawn: dict[int, list[str]] = defaultdict(list)
    for piece in strip_of(conditions):
        drawn[piece["fill"]].append(
            f"M{piece['x']} 0h{piece['width']}v{STRIP_HEIGHT}H{piece['x']}z"
        )
    return [{"fill": fill, "path": "".join(shapes)} for fill, shapes in sorted(drawn.items())]
