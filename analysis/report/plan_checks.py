"""Did the study run as planned: places, trials, versions, seeds, faults, kinds of run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.design import empty_cells_texts, planned_cells
from analysis.errors import name_ids
from analysis.inclusion import SLOT_KEYS, run_kinds, slot_holders
from analysis.report.data import Source
from analysis.report.finding import KEPT, NOT_FIXED, UNCHECKED, Finding, judged
from analysis.report.version_checks import blindness, changes, frozen_at_opening, versions
from analysis.report.words import counted


def places(source: Source) -> Finding:
    """Places without anybody, held by a drop-out, with trials missing, closed, or added later."""
    plan = planned_trials(source)
    kinds = _kinds(source)
    holders = _holders(source)
    deviations = []
    for kind in kinds:
        held = {key[1:]: holder for key, holder in holders.items() if key[0] == kind}
        name = "" if len(kinds) == 1 else f" ({kind})"
        empty = [slot for slot in plan if slot not in held]
        if empty:
            deviations.append(f"{_places(empty)} without trials{name}: {_slot_names(empty)}.")
        left = sorted(slot for slot, (status, _) in held.items() if status == "dropped_out")
        if left:
            deviations.append(
                f"{_places(left)} held by a drop-out who was not replaced{name}: "
                f"{_slot_names(left)}."
            )
        short = sorted(
            slot
            for slot, (status, n) in held.items()
            if status != "dropped_out" and n < plan.get(slot, 0)
        )
        if short:
            deviations.append(f"{_places(short)} with trials missing{name}: {_slot_names(short)}.")
    deviations += [*_closed(source), *_added_cycles(source)]
    fixed = f"{counted(len(plan), 'place')}, {sum(plan.values())} trials"
    return judged("Places of the schedule", fixed, deviations, "every place is filled")


def _closed(source: Source) -> list[str]:
    """A sentence on the places and subsets that were given to nobody any more (study.json)."""
    schedule = source.study.get("schedule")
    sentences = []
    slots = [slot for slot in _closed_entries(schedule, "slots") if _is_place(slot)]
    if slots:
        names = _slot_names(sorted((slot["replication"], slot["slot"]) for slot in slots))
        were = "was" if len(slots) == 1 else "were"
        sentences.append(f"{counted(len(slots), 'place')} {were} closed: {names}.")
    subsets = _closed_entries(schedule, "subsets")
    if subsets:
        names = name_ids([str(subset.get("subset")) for subset in subsets])
        were = "was" if len(subsets) == 1 else "were"
        sentences.append(
            f"{counted(len(subsets), 'subset')} of claims {were} closed, with every place that has "
            f"them: {names}."
        )
    return sentences


def _closed_entries(schedule: Any, name: str) -> list[Mapping[str, Any]]:
    """The slots or subsets of the schedule that were closed when the export was made."""
    entries = schedule.get(name) if isinstance(schedule, Mapping) else None
    listed = entries if isinstance(entries, list) else []
    return [one for one in listed if isinstance(one, Mapping) and one.get("closed") is True]


def _added_cycles(source: Source) -> list[str]:
    """A sentence for every addition to the schedule after the study opened (study.json, frozen)."""
    record = source.study.get("frozen")
    added = record.get("cycles_added") if isinstance(record, Mapping) else None
    sentences = []
    for one in added if isinstance(added, list) else []:
        if not isinstance(one, Mapping):
            continue
        first, last = one.get("first_replication"), one.get("last_replication")
        which = (
            f"Replication {first} was" if first == last else f"Replications {first} to {last} were"
        )
        sentences.append(f"{which} added after the study opened, on {str(one.get('at'))[:10]}.")
    return sentences


def planned_trials(source: Source) -> dict[tuple[int, int], int]:
    """Trials planned for every (replication, slot): by the schedule, else by the settings."""
    schedule = source.study.get("schedule")
    slots = schedule.get("slots") if isinstance(schedule, Mapping) else None
    plan = {
        (slot["replication"], slot["slot"]): len(slot["trials"])
        for slot in (slots if isinstance(slots, list) else [])
        if isinstance(slot, Mapping) and _is_place(slot)
    }
    if plan:
        return plan
    settings = source.settings
    return {
        (replication, slot): settings.trials_per_participant
        for replication in range(1, settings.replications + 1)
        for slot in range(1, settings.subsets + 1)
    }


def _is_place(slot: Mapping[str, Any]) -> bool:
    """Whether an entry of the schedule says which place it is and lists its trials."""
    numbers = (slot.get("replication"), slot.get("slot"))
    return all(isinstance(one, int) for one in numbers) and isinstance(slot.get("trials"), list)


def _kinds(source: Source) -> list[str]:
    """The kinds of run that count; a study nobody has finished has the real kind."""
    return sorted(set(run_kinds(source.available_set))) or ["real"]


def _holders(source: Source) -> dict[tuple[str, int, int], tuple[str, int]]:
    """Status and number of trials of the holder, by (kind, replication, slot)."""
    trials = source.available_set.assign(run_kind=run_kinds(source.available_set))
    held = trials.merge(slot_holders(source.available_set), on=[*SLOT_KEYS, "participant_id"])
    held["status"] = held["participant_status"].astype(str)
    groups = held.groupby(["run_kind", "replication", "slot", "status"], observed=True).size()
    rows = groups.rename("n").reset_index().to_dict("records")
    return {
        (row["run_kind"], int(row["replication"]), int(row["slot"])): (row["status"], row["n"])
        for row in rows
    }


def _places(slots: list[tuple[int, int]]) -> str:
    return counted(len(slots), "place")


def _slot_names(slots: list[tuple[int, int]]) -> str:
    return name_ids([f"replication {r} slot {s}" for r, s in slots])


def cells(source: Source) -> Finding:
    """Cells of claim and condition without a trial, or with more than one."""
    balance = source.document["balance"]
    planned = planned_cells(balance, source.settings, run_kinds(source.design_set).nunique())
    texts = empty_cells_texts(balance, planned)
    deviations = [f"{text[0].upper()}{text[1:]}." for text in texts]
    if balance["cells_with_more"]:
        deviations.append(f"{counted(balance['cells_with_more'], 'cell')} with more than one.")
    twice = balance["claims_seen_twice_by_a_participant"]
    if twice:
        deviations.append(f"{counted(twice, 'time')} a participant met a claim twice.")
    fixed = "every claim once a condition and replication"
    if not balance["claim_replications_seen"]:
        return Finding("Cells", fixed, "no trial counts", UNCHECKED)
    return judged("Cells", fixed, deviations, f"{balance['cells_with_one_trial']} cells, one each")


def frozen(source: Source) -> Finding:
    """Seed and software of the export against those frozen when the study opened."""
    record = frozen_at_opening(source.study)
    if not isinstance(record, Mapping) or not record:
        return Finding("Seed and software", "none", "nothing was frozen at opening", NOT_FIXED)
    deviations = [
        f"{name}: {record[name]} at opening, {source.study[name]} in the export."
        for name in ("seed", "software")
        if name in record and name in source.study and record[name] != source.study[name]
    ]
    fixed = "; ".join(f"{k}: {record[k]}" for k in ("seed", "software") if k in record)
    return judged("Seed and software", fixed or "hashes only", deviations, "the same")


def faults(source: Source) -> Finding:
    """Void trials need a reason, given before their outcome is seen."""
    counted_trials = source.counted_kinds
    void = counted_trials[(counted_trials["trial_status"] == "void").to_numpy()]
    if void.empty:
        return Finding("Void trials", "a reason for each", "no trial is void", KEPT)
    reasons = void.get("void_reason", pd.Series("", index=void.index)).astype(object).fillna("")
    silent = void.loc[(reasons.astype(str).str.strip() == "").to_numpy(), "trial_id"]
    deviations = (
        [f"No reason is given for {counted(len(silent), 'trial')}: {name_ids(silent)}."]
        if len(silent)
        else []
    )
    kept = f"{counted(len(void), 'trial')} void, each with its reason"
    return judged("Void trials", "a reason for each", deviations, kept)


def kinds(source: Source) -> Finding:
    """Simulated and pilot runs do not count, unless somebody asked for them."""
    trials = source.available_set
    n = {kind: int(trials[kind].sum()) for kind in ("simulated", "pilot")}
    deviations = [f"{count} trials of {kind} runs count." for kind, count in n.items() if count]
    fixed = "real runs only"
    return judged("Simulated and pilot runs", fixed, deviations, "none counts")


PLAN_CHECKS = (places, cells, versions, changes, frozen, blindness, faults, kinds)
