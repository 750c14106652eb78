"""Participants of an export become participants again, each with the runs they had."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.utils import timezone

from studyapp.codes import participant_code, run_token
from studyapp.domain.import_tables import Row
from studyapp.enums import EnrolmentState, RunKind
from studyapp.errors import BadUpload
from studyapp.models import Enrolment, Participant, Slot, Study, Withdrawal
from studyapp.models.assignment import HOLDING, RUNNING

FILE = "participants.csv"
BATCH = 1000

#: Whose run it is: pseudonym, cycle and number of the slot, kind of run.
RunKey = tuple[str, int, int, str]

#: Reasons of an end that are the name of the state, or lead to one.
_STATE_OF_REASON = {state.value: state for state in EnrolmentState} | {
    "released": EnrolmentState.TIMED_OUT
}
_STATE_OF_STATUS = {
    "completed": EnrolmentState.COMPLETED,
    "dropped_out": EnrolmentState.TIMED_OUT,
    "excluded": EnrolmentState.REJECTED,
}


def run_key(row: Row) -> RunKey:
    """The run that a row of participants.csv or trials.csv belongs to."""
    return (row["participant_id"], row["replication"], row["slot"], _run_kind(row))


def store_people(study: Study, rows: Iterable[Row]) -> dict[RunKey, Enrolment]:
    """Insert participants and runs; returns the runs by key.

    Pseudonyms are kept where they are free on this server, else all are new ones. Raises BadUpload
    for a run that no slot of the study can hold.
    """
    rows = list(rows)
    people = _participants(study, rows)
    slots = {(slot.replication, slot.number): slot for slot in Slot.objects.filter(study=study)}
    seats: Counter[tuple[int, str]] = Counter()
    runs: dict[RunKey, Enrolment] = {}
    problems = []
    versions = set(study.versions.values_list("number", flat=True))
    for row in rows:
        slot = slots.get((row["replication"], row["slot"]))
        if slot is None:
            problems.append(
                f"{FILE}: participant {row['participant_id']}: slot {row['replication']}."
                f"{row['slot']} is not in study.json"
            )
        elif run_key(row) in runs:
            problems.append(f"{FILE}: participant {row['participant_id']}: the same run twice")
        elif (row.get("version") or 1) not in versions:
            problems.append(
                f"{FILE}: participant {row['participant_id']}: column version: {row['version']} is "
                "not among the versions of study.json"
            )
        else:
            run = _run(row, people[row["participant_id"]], slot)
            run.seat = _seat(run, seats)
            runs[run_key(row)] = run
    problems += _overfull(study, slots, seats)
    if problems:
        raise BadUpload(problems)
    Enrolment.objects.bulk_create(runs.values(), batch_size=BATCH)
    return runs


def store_withdrawals(study: Study, withdrawn: Any) -> None:
    """Keep the counts of people who withdrew (``withdrawn`` of study.json, checked before)."""
    for kind in RunKind.values:
        counts = withdrawn.get(kind) if isinstance(withdrawn, dict) else None
        counts = counts if isinstance(counts, dict) else {}
        n, n_trials = counts.get("participants", 0), counts.get("trials", 0)
        rows = (
            Withdrawal(
                study=study,
                # Of no run of this server, so that the row lets nothing be deleted.
                enrolment_number=-1 - secrets.randbelow(2**62),
                token_digest=secrets.token_hex(32),
                run_kind=kind,
                n_trials=0 if index else n_trials,
            )
            for index in range(n)
        )
        Withdrawal.objects.bulk_create(rows, batch_size=BATCH)


def _participants(study: Study, rows: list[Row]) -> dict[str, Participant]:
    joined: dict[str, datetime] = {}
    for row in rows:
        joined.setdefault(row["participant_id"], row["joined_at"])
    code_of = codes_for(joined, Participant, participant_code)
    made = Participant.objects.bulk_create(
        (Participant(study=study, code=code_of[name]) for name in joined), batch_size=BATCH
    )
    people = dict(zip(joined, made, strict=True))
    for name, person in people.items():
        # Set by the database's layer at the insert.
        person.joined_at = joined[name].to_pydatetime()  # type: ignore[attr-defined]
    Participant.objects.bulk_update(people.values(), ["joined_at"], batch_size=BATCH)
    return people


def codes_for(names: Iterable[str], table: Any, make_code: Any) -> dict[str, str]:
    """The names themselves where all are free on this server and fit, else new codes for all."""
    names = list(names)
    longest = table._meta.get_field("code").max_length
    fit = all(len(name) <= longest and name.isascii() and name.isalnum() for name in names)
    if fit and not any(
        table.objects.filter(code__in=names[start : start + BATCH]).exists()
        for start in range(0, len(names), BATCH)
    ):
        return {name: name for name in names}
    return {name: make_code() for name in names}


def _run(row: Row, participant: Participant, slot: Slot) -> Enrolment:
    now = timezone.now()
    state = _state(row)
    ended_at = moment(row["ended_at"])
    if state == EnrolmentState.COMPLETED and ended_at is None:
        raise BadUpload(
            f"{FILE}: participant {row['participant_id']}: column ended_at: empty, but the run is "
            "completed"
        )
    return Enrolment(
        participant=participant,
        slot=slot,
        run_kind=_run_kind(row),
        state=state,
        join_nonce=run_token(),
        consent_version=row["consent_version"],
        consented_at=moment(row["consented_at"]),
        # Nobody has the link of a run that was under way, so its place may be given on.
        lease_until=now,
        started_at=moment(row["started_at"]),
        ended_at=None if state in RUNNING else ended_at,
        end_reason=row["end_reason"] or "",
        version=row.get("version") or 1,
    )


def _state(row: Row) -> EnrolmentState:
    reason, status = row["end_reason"], row["participant_status"]
    if status == "withdrawn":
        raise BadUpload(f"{FILE}: participant {row['participant_id']} has withdrawn")
    if reason in _STATE_OF_REASON:
        return _STATE_OF_REASON[reason]
    if status == "active":
        return EnrolmentState.ACTIVE if row["started_at"] else EnrolmentState.CONSENTED
    return _STATE_OF_STATUS[status]


def _seat(run: Enrolment, seats: Counter[tuple[int, str]]) -> int:
    """The next seat of the slot for a run that holds one; any for one that does not."""
    if run.state not in HOLDING:
        return 1
    key = (run.slot_id, run.run_kind)
    seats[key] += 1
    return seats[key]


def _overfull(
    study: Study,
    slots: dict[tuple[int, int], Slot],
    seats: Counter[tuple[int, str]],
) -> list[str]:
    """One line for each slot that more people hold than it has seats, under any version."""
    contents = study.versions.values_list("content", flat=True)
    told = [(content.get("recruiting") or {}).get("extra_places") or 0 for content in contents]
    extra = max([study.recruiting_setting("extra_places"), *told])
    by_pk = {slot.pk: slot for slot in slots.values()}
    return [
        f"{FILE}: slot {by_pk[pk]}: {n} {kind} runs hold a place, but it has "
        f"{by_pk[pk].target + extra}"
        for (pk, kind), n in seats.items()
        if n > by_pk[pk].target + extra
    ]


def _run_kind(row: Row) -> str:
    if row["simulated"]:
        return RunKind.SIMULATED.value
    return RunKind.PILOT.value if row["pilot"] else RunKind.REAL.value


def moment(value: Any) -> datetime | None:
    """A time of a typed table as Python's own, None where it is missing."""
    return None if value is None else value.to_pydatetime()
