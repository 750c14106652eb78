"""Trials of an export become trials again, with their events, decisions and answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

from studyapp.codes import event_code, trial_code
from studyapp.domain.import_people import RunKey, codes_for, moment, run_key
from studyapp.domain.import_tables import DataTables, Row, rows_of
from studyapp.enums import Protocol, TrialKind, TrialState
from studyapp.errors import BadUpload
from studyapp.models import (
    Claim,
    Enrolment,
    Event,
    PlannedTrial,
    QuestionnaireAnswer,
    Study,
    Trial,
    VerificationAnswer,
)
from studyapp.protocols.verification import REVEAL

FILE = "trials.csv"
BATCH = 2000

_STATE = {
    "completed": TrialState.COMPLETED,
    # A run of which nobody has the link goes on with no trial.
    "incomplete": TrialState.INCOMPLETE,
    "void": TrialState.VOID,
}


class _Places:
    """What the rows of trials refer to by name."""

    def __init__(self, study: Study, runs: dict[RunKey, Enrolment]):
        self.runs = runs
        self.claims = {claim.claim_id: claim for claim in Claim.objects.filter(study=study)}
        self.conditions = {condition.name: condition for condition in study.conditions.all()}
        planned = PlannedTrial.objects.filter(slot__study=study)
        self.planned = {
            (slot_id, claim_id): (pk, condition_id, position)
            for pk, slot_id, claim_id, condition_id, position in planned.values_list(
                "pk", "slot_id", "claim_id", "condition_id", "position"
            )
        }


def store_trials(study: Study, tables: DataTables, runs: dict[RunKey, Enrolment]) -> int:
    """Insert every trial with its events and answer; returns how many trials there are.

    Raises BadUpload for a trial that the study's schedule does not hold.
    """
    n_events = Counter(tables.events["trial_id"])
    n_steps = Counter(tables.events.loc[tables.events["event_type"] == REVEAL, "trial_id"])
    places = _Places(study, runs)
    code_of = codes_for(tables.trials["trial_id"], Trial, trial_code)
    pk_of: dict[str, int] = {}
    for rows in _batches(rows_of(tables.trials)):
        trials = [_trial(row, places, n_steps, n_events, code_of) for row in rows]
        for row, made in zip(rows, Trial.objects.bulk_create(trials), strict=True):
            pk_of[row["trial_id"]] = made.pk
        VerificationAnswer.objects.bulk_create(
            _answer(row, pk_of[row["trial_id"]], study, places)
            for row in rows
            if row["trial_status"] == "completed"
        )
    for rows in _batches(rows_of(tables.events)):
        Event.objects.bulk_create(_event(row, pk_of[row["trial_id"]]) for row in rows)
    return len(pk_of)


def store_answers(tables: DataTables, runs: dict[RunKey, Enrolment]) -> None:
    """Insert the answers to the questionnaire.

    A person with several runs has one row for each run that answered, in the order of the slots.
    Raises BadUpload for an answer of nobody.
    """
    runs_of: dict[str, list[Enrolment]] = {}
    for key in sorted(runs, key=lambda key: key[:3]):
        runs_of.setdefault(key[0], []).append(runs[key])
    seen: Counter[tuple[str, str]] = Counter()
    answers = []
    for row in rows_of(tables.questionnaire):
        mine = runs_of.get(row["participant_id"], [])
        index = seen[row["participant_id"], row["name"]]
        if index >= len(mine):
            raise BadUpload(
                f"questionnaire.csv: participant {row['participant_id']}, {row['name']}: more "
                "answers than runs in participants.csv"
            )
        seen[row["participant_id"], row["name"]] += 1
        answers.append(
            QuestionnaireAnswer(
                enrolment=mine[index],
                name=row["name"],
                value=row["value"] or "",
                answered_at=moment(row["answered_at"]),
            )
        )
    QuestionnaireAnswer.objects.bulk_create(answers, batch_size=BATCH)


def _trial(
    row: Row,
    places: _Places,
    n_steps: Counter[str],
    n_events: Counter[str],
    code_of: dict[str, str],
) -> Trial:
    run = places.runs.get(run_key(row))
    claim = places.claims.get(row["claim_id"])
    condition = places.conditions.get(row["condition"])
    if run is None or claim is None or condition is None:
        what = "participant" if run is None else "claim" if claim is None else "condition"
        raise BadUpload(f"{FILE}: trial {row['trial_id']}: its {what} is not in the export")
    planned_pk = None
    if row["trial_kind"] == TrialKind.MAIN:
        pk, condition_pk, position = places.planned.get((run.slot_id, claim.pk), (None, None, None))
        if (condition_pk, position) != (condition.pk, row["position"]):
            raise BadUpload(
                f"{FILE}: trial {row['trial_id']}: slot {run.slot} does not hold claim "
                f"{claim.claim_id} under {condition} at position {row['position']}"
            )
        planned_pk = pk
    return Trial(
        code=code_of[row["trial_id"]],
        enrolment=run,
        participant_id=run.participant_id,
        planned_id=planned_pk,
        claim=claim,
        condition=condition,
        protocol=Protocol.VERIFICATION,
        kind=row["trial_kind"],
        state=_STATE[row["trial_status"]],
        block=row["block"],
        position=row["position"],
        stimulus={"order": _positions(row, claim), "msr": row["msr"]},
        n_steps=n_steps[row["trial_id"]],
        n_events=n_events[row["trial_id"]],
        started_at=moment(row["started_at"]),
        ended_at=moment(row["decided_at"]),
        void_reason=row.get("void_reason") or "",
    )


def _positions(row: Row, claim: Claim) -> list[int]:
    """The sentences shown, as positions. Raises BadUpload for one that the claim has not."""
    names = row["shown_order"].split("|")
    order = [int(name[1:]) for name in names if name[:1] == "s" and name[1:].isdecimal()]
    if len(order) != len(names) or max(order) >= claim.n_candidates:
        raise BadUpload(
            f"{FILE}: trial {row['trial_id']}: column shown_order: not sentences of claim "
            f"{claim.claim_id}"
        )
    return order


def _answer(row: Row, trial_pk: int, study: Study, places: _Places) -> VerificationAnswer:
    label = places.claims[row["claim_id"]].label
    is_scorable = label in study.response_options
    return VerificationAnswer(
        trial_id=trial_pk,
        decision=row["decision"],
        is_correct=row["decision"] == label if is_scorable else None,
        n_shown=row["n_read"],
        confidence=row["confidence"],
        reason=row.get("reason") or "",
    )


def _event(row: Row, trial_pk: int) -> Event:
    is_reveal = row["event_type"] == REVEAL
    return Event(
        code=row["event_id"] if len(row["event_id"]) <= _LONGEST_CODE else event_code(),
        trial_id=trial_pk,
        seq=row["seq"],
        kind=row["event_type"],
        step=row["rank"] if is_reveal else None,
        data={"candidate": int(row["sentence_id"][1:])} if is_reveal else {},
        server_at=moment(row["server_ts"]),
        client_ms=row["client_ms"],
    )


_LONGEST_CODE: int = Event._meta.get_field("code").max_length or 0


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    rows = iter(rows)
    while batch := list(islice(rows, BATCH)):
        yield batch
