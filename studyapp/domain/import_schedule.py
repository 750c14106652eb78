"""The schedule of an export, laid out again exactly: the same subsets, slots and orders."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.utils import timezone

from studyapp.domain.balance import balance_of
from studyapp.domain.queries import main_claims
from studyapp.domain.schedule import cells_of
from studyapp.errors import BadUpload
from studyapp.models import Claim, Condition, PlannedTrial, Slot, Study, Subset

#: Planned trials written at once.
BATCH = 2000


def store_schedule(study: Study, content: dict[str, Any]) -> int:
    """Write subsets, slots and planned trials of ``content["schedule"]`` to a draft.

    Returns the number of slots; 0 where the exported study had no schedule. Raises BadUpload for
    claims or conditions the study does not have, and for a schedule that is not balanced.
    """
    schedule = content.get("schedule")
    if not isinstance(schedule, dict):
        raise BadUpload("study.json: field schedule: missing or no object.")
    slots = _list_of(schedule, "slots", ("replication", "slot", "target", "trials"))
    subsets = _list_of(schedule, "subsets", ("subset", "claims"))
    if not slots:
        return 0
    claims = {claim.claim_id: claim for claim in main_claims(study)}
    conditions = {condition.name: condition for condition in study.conditions.all()}
    replications = sorted({slot["replication"] for slot in slots})
    if replications != list(range(1, len(replications) + 1)):
        raise BadUpload("study.json: field schedule.slots: replications must count from 1.")
    _refuse_repeats(slots)
    _store_subsets(study, subsets, claims)
    _store_slots(study, slots, claims, conditions)
    study.n_subsets, study.n_replications = len(subsets), len(replications)
    study.seed = content.get("seed", 0)
    study.save(update_fields=["n_subsets", "n_replications", "seed"])
    problems = balance_of(study).problems
    if problems:
        raise BadUpload([f"study.json: field schedule: {problem}" for problem in problems])
    return len(slots)


def _list_of(schedule: dict[str, Any], name: str, fields: tuple[str, ...]) -> list[dict[str, Any]]:
    """A list of objects with the given fields: counts, except for the last, which is a list.

    Each may say whether it is ``closed``; exports did not always.
    """
    items = schedule.get(name)
    if not isinstance(items, list):
        raise BadUpload(f"study.json: field schedule.{name}: must be a list.")
    for number, item in enumerate(items, start=1):
        where = f"study.json: field schedule.{name}, number {number}"
        if not isinstance(item, dict) or not isinstance(item.get(fields[-1]), list):
            raise BadUpload(f"{where}: must be an object with {', '.join(fields)}.")
        for field_name in fields[:-1]:
            if not _is_count(item.get(field_name)):
                raise BadUpload(f"{where}: {field_name} must be a whole number of at least 1.")
        if not isinstance(item.get("closed", False), bool):
            raise BadUpload(f"{where}: closed must be true or false.")
    return items


def _refuse_repeats(slots: list[dict[str, Any]]) -> None:
    """A slot, a claim in a slot, and a claim under a condition in a cycle: each once."""
    names: set[str] = set()
    cells: set[tuple[int, str, str]] = set()
    for slot in slots:
        name = f"{slot['replication']}.{slot['slot']}"
        if name in names:
            raise BadUpload(f"study.json: field schedule.slots: slot {name} is there twice.")
        names.add(name)
        trials = [trial for trial in slot["trials"] if isinstance(trial, dict)]
        claim_ids = [str(trial.get("claim_id")) for trial in trials]
        if len(set(claim_ids)) < len(claim_ids):
            raise BadUpload(f"study.json: field schedule.slots: slot {name} has a claim twice.")
        for claim_id, trial in zip(claim_ids, trials, strict=True):
            cell = (slot["replication"], claim_id, str(trial.get("condition")))
            if cell in cells:
                raise BadUpload(
                    f"study.json: field schedule.slots: replication {cell[0]} has claim "
                    f"{claim_id!r} twice under {cell[2]!r}."
                )
            cells.add(cell)


def _store_subsets(study: Study, subsets: list[dict[str, Any]], claims: dict[str, Claim]) -> None:
    numbers = [item["subset"] for item in subsets]
    if numbers != list(range(1, len(subsets) + 1)):
        raise BadUpload("study.json: field schedule.subsets: must be numbered from 1 in order.")
    rows = Subset.objects.bulk_create(
        Subset(study=study, number=item["subset"], closed_at=_closed_at(item)) for item in subsets
    )
    find_claim = _finder(claims, "claim", "schedule.subsets")
    placed = []
    for row, item in zip(rows, subsets, strict=True):
        for claim_id in item["claims"]:
            claim = find_claim(claim_id)
            if claim.subset is not None:
                raise BadUpload(
                    f"study.json: field schedule.subsets: claim {claim_id!r} is in two subsets."
                )
            claim.subset = row
            placed.append(claim)
    if len(placed) != len(claims):
        raise BadUpload(
            f"study.json: field schedule.subsets: {len(claims) - len(placed)} claims are in none."
        )
    Claim.objects.bulk_update(placed, ["subset"], batch_size=500)


def _store_slots(
    study: Study,
    slots: list[dict[str, Any]],
    claims: dict[str, Claim],
    conditions: dict[str, Condition],
) -> None:
    find_claim = _finder(claims, "claim", "schedule.slots")
    find_condition = _finder(conditions, "condition", "schedule.slots")
    rows = Slot.objects.bulk_create(
        Slot(
            study=study,
            replication=slot["replication"],
            number=slot["slot"],
            target=slot["target"],
            n_trials=len(slot["trials"]),
            closed_at=_closed_at(slot),
        )
        for slot in slots
    )
    planned: list[PlannedTrial] = []
    for row, slot in zip(rows, slots, strict=True):
        for position, trial in enumerate(slot["trials"], start=1):
            if (
                not isinstance(trial, dict)
                or trial.get("position") != position
                or not _is_count(trial.get("block"))
            ):
                raise BadUpload(
                    f"study.json: field schedule.slots, slot {row}, trial {position}: must have "
                    f"position {position}, block, claim_id and condition."
                )
            planned.append(
                PlannedTrial(
                    slot=row,
                    replication=row.replication,
                    position=position,
                    block=trial["block"],
                    claim=find_claim(trial.get("claim_id")),
                    condition=find_condition(trial.get("condition")),
                )
            )
    PlannedTrial.objects.bulk_create(planned, batch_size=BATCH)
    _store_cells(rows, planned)


def _closed_at(item: dict[str, Any]) -> datetime | None:
    """Since when a slot or subset is closed here: since the import, if it was so in the export."""
    return timezone.now() if item.get("closed") else None


def _store_cells(slots: list[Slot], planned: list[PlannedTrial]) -> None:
    """Say of every slot which subsets it shows under which conditions."""
    pairs: dict[int, list[tuple[int, int]]] = {slot.pk: [] for slot in slots}
    for trial in planned:
        if trial.claim.subset is not None:
            cell = (trial.claim.subset.number, trial.condition.position)
            pairs[trial.slot_id].append(cell)
    for slot in slots:
        slot.cells = cells_of(pairs[slot.pk])
    Slot.objects.bulk_update(slots, ["cells"], batch_size=BATCH)


def _finder(known: dict[str, Any], what: str, field: str) -> Callable[[Any], Any]:
    """A look-up that refuses a name the study does not have."""

    def find(name: Any) -> Any:
        if not isinstance(name, str) or name not in known:
            raise BadUpload(f"study.json: field {field}: {what} {name!r} is not in the export.")
        return known[name]

    return find


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 2**15
