"""The schedule card: slots drawn as rows, which subset under which condition, balance sums."""

from __future__ import annotations

from collections import Counter
from itertools import groupby

from django.urls import reverse

from studyapp.domain.power_hint import Size, can_be_judged, known_hint
from studyapp.domain.schedule import Balance, balance_of
from studyapp.enums import ConditionPolicy, StudyState
from studyapp.models import Condition, PlannedTrial, Study
from studyapp.views.researcher_card import Card, Command, Tone, manage
from studyapp.views.researcher_words import counted, number, shares

#: Width of a drawn slot, in its own units.
STRIP_WIDTH = 240
#: Replication and number of a slot.
SlotKey = tuple[int, int]
#: Fills the schedule can draw; more conditions begin again.
N_FILLS = 4


def fill_of(position: int) -> int:
    """The fill that stands for the condition at ``position`` (from 1)."""
    return (position - 1) % N_FILLS + 1


def schedule_card(study: Study, n_claims: int, conditions: list[Condition]) -> Card:
    """Slots, which subset each sees under which condition, and the proof of balance."""
    balance = balance_of(study)
    if not balance.n_slots:
        return _no_schedule(study, n_claims, len(conditions))
    names = [condition.name for condition in conditions]
    orders = _trial_orders(study)
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
        missing=balance.problems,
        content={
            "names": names,
            "legend": [(name, fill_of(place)) for place, name in enumerate(names, start=1)],
            "rows": _slot_rows(balance, names, orders),
            "sums": _balance_sums(balance, names, orders),
            "n_trials": number(balance.n_trials),
            "sizes": shares({f"subset {k}": n for k, n in balance.subset_sizes.items()}),
            "policy": (
                f"Order: {study.get_order_policy_display().lower()}. "
                f"{study.get_condition_policy_display()}. Seed: {study.seed}"
            ),
            "is_balanced": balance.is_balanced,
            "strip_width": STRIP_WIDTH,
            "power": _power(
                study, Size(balance.n_slots, n_claims, study.n_subsets, len(conditions))
            ),
        },
        command=None
        if study.state == StudyState.CLOSED
        else Command(
            "Add a cycle (one more replication of every slot):",
            manage(
                "schedule",
                study.slug,
                f"--subsets {study.n_subsets}",
                f"--replications {study.n_replications + 1}",
                f"--seed {study.seed}",
            ),
        ),
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


def _slot_rows(balance: Balance, names: list[str], orders: dict[SlotKey, list[int]]) -> list[dict]:
    return [
        {
            "slot": f"{row['replication']}.{row['slot']}",
            "strip": strip_of(orders.get((row["replication"], row["slot"]), [])),
            "subsets": [", ".join(map(str, row["subsets"][name])) or "–" for name in names],
            "n_trials": number(row["n_trials"]),
        }
        for row in balance.rows
    ]


def _trial_orders(study: Study) -> dict[SlotKey, list[int]]:
    """The condition (by position) of every trial, in order, by slot."""
    planned = (
        PlannedTrial.objects.filter(slot__study=study)
        .order_by("slot__replication", "slot__number", "position")
        .values_list("slot__replication", "slot__number", "condition__position")
    )
    return {
        slot: [condition for _, _, condition in trials]
        for slot, trials in groupby(planned, key=lambda row: (row[0], row[1]))
    }


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


def _balance_sums(
    balance: Balance, names: list[str], orders: dict[SlotKey, list[int]]
) -> list[dict]:
    n_cycles = len({replication for replication, _ in balance.claims_once})
    n_claims = sum(balance.subset_sizes.values())
    n_trials = Counter(position for order in orders.values() for position in order)
    sums = []
    for position, name in enumerate(names, start=1):
        full = sum(
            once == n_claims
            for (_, condition), once in balance.claims_once.items()
            if condition == name
        )
        sums.append(
            {
                "name": name,
                "n_trials": number(n_trials[position]),
                "once": (
                    f"{counted(n_claims, 'claim')} once each in {full} of "
                    f"{counted(n_cycles, 'cycle')}"
                ),
                "first": number(balance.first_condition.get(name, 0)),
                "mean_position": f"{balance.mean_position.get(name, 0):.1f}",
            }
        )
    return sums
