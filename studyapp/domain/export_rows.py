"""Rows of the export's tables: one dict a row, keyed by the names of the codebook.

Every function streams: memory grows with the claims and never with the trials, and the number of
queries is fixed. None stands for an empty cell.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db.models import Count, Q

from studyapp.domain.export_times import Replay, replay, utc_text
from studyapp.enums import EnrolmentState, RunKind, TrialKind, TrialState
from studyapp.models import (
    Claim,
    Enrolment,
    Event,
    GoldSet,
    QuestionnaireAnswer,
    Study,
    Trial,
)
from studyapp.protocols.verification import REVEAL

Row = dict[str, Any]

#: Rows fetched at once.
CHUNK = 2000

#: Orders of trials: as they began, and place by place, which says nothing of who came before whom.
BY_START = ("pk",)
BY_SLOT = ("enrolment__slot__replication", "enrolment__slot__number", "enrolment_id", "pk")

#: How far a person came, in the words of the tables.
PARTICIPANT_STATUS = {
    EnrolmentState.CONSENTED: "active",
    EnrolmentState.ACTIVE: "active",
    EnrolmentState.COMPLETED: "completed",
    EnrolmentState.TIMED_OUT: "dropped_out",
    EnrolmentState.RETURNED: "dropped_out",
    EnrolmentState.PAID_PARTIAL: "dropped_out",
    EnrolmentState.SCREENED_OUT: "excluded",
    EnrolmentState.FAILED_CHECKS: "excluded",
    EnrolmentState.REJECTED: "excluded",
    EnrolmentState.WITHDRAWN: "withdrawn",
}
#: Ends by which the study's own rule leaves a person out.
EXCLUDING_REASONS = frozenset({"rejected", "screened_out", "failed_checks"})
#: Ends that leave the work unfinished, whatever the state says.
DROPPING_REASONS = frozenset({"returned", "timed_out", "released", "paid_partial"})

TRIAL_STATUS = {
    TrialState.OPEN: "incomplete",
    TrialState.INCOMPLETE: "incomplete",
    TrialState.COMPLETED: "completed",
    TrialState.VOID: "void",
}


@dataclass(frozen=True, slots=True)
class ClaimFacts:
    """What every trial row repeats of its claim."""

    claim_id: str
    label: str
    subset: int | None
    gold_sets: str
    gold_min_size: int


def sentence_id(position: int) -> str:
    """The exported name of a candidate."""
    return f"s{position}"


def joined(positions: list[int]) -> str:
    """Sentence ids joined by a bar."""
    return "|".join(map(sentence_id, positions))


def participant_status(state: str, end_reason: str) -> str:
    """The status of statistics.md 1.1 for an enrolment's state and the reason of its end."""
    if end_reason in EXCLUDING_REASONS:
        return "excluded"
    if end_reason in DROPPING_REASONS:
        return "dropped_out"
    return PARTICIPANT_STATUS[EnrolmentState(state)]


def claim_facts(study: Study) -> dict[int, ClaimFacts]:
    """Facts of every claim by primary key: two queries."""
    gold: dict[int, list[str]] = {}
    sets = GoldSet.objects.filter(claim__study=study).order_by("claim_id", "position")
    for claim_pk, members in sets.values_list("claim_id", "members").iterator(CHUNK):
        gold.setdefault(claim_pk, []).append(joined(members))
    claims = Claim.objects.filter(study=study).values_list(
        "pk", "claim_id", "label", "subset__number", "gold_min_size"
    )
    return {
        pk: ClaimFacts(claim_id, label, subset, ";".join(gold.get(pk, [])), size)
        for pk, claim_id, label, subset, size in claims.iterator(CHUNK)
    }


def exported_runs(study: Study, include_simulated: bool, prefix: str = "") -> Q:
    """Which runs an export holds; ``prefix`` leads from the queried table to the enrolment.

    Simulated runs only when asked for. Pilot runs always, marked, so that the measures leave them
    out and a reader can still see them. Nothing of people who withdrew.
    """
    kept = Q(**{f"{prefix}slot__study": study})
    kept &= ~Q(**{f"{prefix}state": EnrolmentState.WITHDRAWN})
    if not include_simulated:
        kept &= ~Q(**{f"{prefix}run_kind": RunKind.SIMULATED})
    return kept


def trial_rows(
    study: Study,
    include_simulated: bool,
    study_versions: Mapping[int, str],
    only: Collection[int] | None = None,
    order: tuple[str, ...] = BY_START,
) -> Iterator[Row]:
    """Rows of trials.csv, in the order in which the trials began, or another one: four queries.

    ``study_versions`` has the name of each version by its number; ``only`` keeps the trials with
    these primary keys.
    """
    facts = claim_facts(study)
    chosen = exported_runs(study, include_simulated, "enrolment__")
    if only is not None:
        chosen &= Q(pk__in=only)
    trials = (
        Trial.objects.filter(chosen)
        .order_by(*order)
        .values(
            "pk",
            "code",
            "claim_id",
            "kind",
            "state",
            "block",
            "position",
            "stimulus",
            "n_steps",
            "started_at",
            "void_reason",
            "participant__code",
            "condition__name",
            "condition__interface",
            "enrolment_id",
            "enrolment__run_kind",
            "enrolment__state",
            "enrolment__end_reason",
            "enrolment__version",
            "enrolment__slot__replication",
            "enrolment__slot__number",
            "verification_answer__decision",
            "verification_answer__confidence",
            "verification_answer__reason",
        )
        .iterator(CHUNK)
    )
    place_of = itemgetter(*order)
    replays = _replays(study, include_simulated, only, order)
    next_place, next_replay = next(replays, (None, None))
    for trial in trials:
        place = place_of(trial)
        while next_replay is not None and next_place < place:
            next_place, next_replay = next(replays, (None, None))
        told = next_replay if next_place == place else None
        told = told or Replay(trial["n_steps"])
        yield _trial_row(trial, facts[trial["claim_id"]], told, study.slug, study_versions)


def _replays(
    study: Study, include_simulated: bool, only: Collection[int] | None, order: tuple[str, ...]
) -> Iterator[tuple[Any, Replay]]:
    """Every trial's place in the order with what its events say, in that order: one query."""
    chosen = exported_runs(study, include_simulated, "trial__enrolment__")
    if only is not None:
        chosen &= Q(trial_id__in=only)
    events = (
        Event.objects.filter(chosen)
        .order_by(*of_trials(order), "seq")
        .values_list("kind", "step", "server_at", *of_trials(order))
        .iterator(CHUNK)
    )
    for place, group in groupby(events, key=itemgetter(*range(3, 3 + len(order)))):
        yield place, replay(event[:3] for event in group)


def of_trials(order: tuple[str, ...]) -> list[str]:
    """An order of trials as one of their events."""
    return ["trial_id" if name == "pk" else f"trial__{name}" for name in order]


def _trial_row(
    trial: dict[str, Any],
    claim: ClaimFacts,
    told: Replay,
    slug: str,
    study_versions: Mapping[int, str],
) -> Row:
    order = trial["stimulus"]["order"]
    is_main = trial["kind"] == TrialKind.MAIN
    is_completed = trial["state"] == TrialState.COMPLETED
    state, end_reason = trial["enrolment__state"], trial["enrolment__end_reason"]
    return {
        "study_id": slug,
        "trial_id": trial["code"],
        "participant_id": trial["participant__code"],
        "participant_status": participant_status(state, end_reason),
        "replication": trial["enrolment__slot__replication"],
        "slot": trial["enrolment__slot__number"],
        "subset": claim.subset if is_main else None,
        "claim_id": claim.claim_id,
        "condition": trial["condition__name"],
        "interface": trial["condition__interface"],
        "trial_kind": trial["kind"],
        "trial_status": TRIAL_STATUS[TrialState(trial["state"])],
        "block": trial["block"] if is_main else 0,
        "position": trial["position"] if is_main else 0,
        "gold_label": claim.label,
        "decision": trial["verification_answer__decision"] if is_completed else None,
        "n_available": len(order),
        "shown_order": joined(order),
        "gold_sets": claim.gold_sets,
        "n_read": told.n_read,
        "gold_min_size": claim.gold_min_size,
        "msr": trial["stimulus"]["msr"],
        "started_at": utc_text(trial["started_at"]),
        "decided_at": utc_text(told.decided_at) if is_completed else None,
        "hidden_ms": told.hidden_ms if is_completed else None,
        "active_ms": told.active_ms if is_completed else None,
        "confidence": trial["verification_answer__confidence"] if is_completed else None,
        **kind_marks(trial["enrolment__run_kind"]),
        "study_version": study_versions.get(trial["enrolment__version"]),
        "reason": trial["verification_answer__reason"] if is_completed else None,
        "void_reason": trial["void_reason"] or None,
    }


def kind_marks(run_kind: str) -> Row:
    """The columns ``simulated`` and ``pilot`` of a kind of run."""
    return {
        "simulated": "true" if run_kind == RunKind.SIMULATED else "false",
        "pilot": "true" if run_kind == RunKind.PILOT else "false",
    }


def event_rows(
    study: Study, include_simulated: bool, order: tuple[str, ...] = BY_START
) -> Iterator[Row]:
    """Rows of events.csv, trial by trial in the server's order: one query."""
    for _, row in events_with_people(study, include_simulated, order):
        yield row


def events_with_people(
    study: Study, include_simulated: bool, order: tuple[str, ...]
) -> Iterator[tuple[str, Row]]:
    """The same, each with the pseudonym of its participant."""
    events = (
        Event.objects.filter(exported_runs(study, include_simulated, "trial__enrolment__"))
        .order_by(*of_trials(order), "seq")
        .values(*EVENT_FIELDS, "trial__participant__code")
        .iterator(CHUNK)
    )
    for event in events:
        yield event["trial__participant__code"], event_row(event)


#: What ``event_row`` reads of an event.
EVENT_FIELDS = (
    "code",
    "trial__code",
    "seq",
    "kind",
    "step",
    "data",
    "server_at",
    "client_ms",
)


def event_row(event: dict[str, Any]) -> Row:
    """The row of events.csv for the ``EVENT_FIELDS`` of one event."""
    is_reveal = event["kind"] == REVEAL
    return {
        "event_id": event["code"],
        "trial_id": event["trial__code"],
        "seq": event["seq"],
        "event_type": event["kind"],
        "rank": event["step"] if is_reveal else None,
        "sentence_id": sentence_id(event["data"]["candidate"]) if is_reveal else None,
        "server_ts": utc_text(event["server_at"]),
        "client_ms": event["client_ms"],
    }


def claim_rows(study: Study) -> Iterator[Row]:
    """Rows of claims.csv in the study's order: three queries."""
    facts = claim_facts(study)
    claims = (
        Claim.objects.filter(study=study)
        .order_by("position")
        .values_list("pk", "text", "n_candidates", "role", "lang", "source", "license")
        .iterator(CHUNK)
    )
    for pk, text, n_candidates, role, lang, source, license_text in claims:
        yield {
            "study_id": study.slug,
            "claim_id": facts[pk].claim_id,
            "claim": text,
            "label": facts[pk].label,
            "n_candidates": n_candidates,
            "gold_sets": facts[pk].gold_sets,
            "gold_min_size": facts[pk].gold_min_size,
            "subset": facts[pk].subset,
            "role": role,
            "lang": lang,
            "source": source,
            "license": license_text,
        }


def participant_rows(study: Study, include_simulated: bool) -> Iterator[Row]:
    """Rows of participants.csv by slot: pseudonyms and times, nothing that names a person."""
    runs = (
        Enrolment.objects.filter(exported_runs(study, include_simulated))
        .annotate(n_trials=Count("trials"))
        .order_by("slot__replication", "slot__number", "pk")
        .values(*PARTICIPANT_FIELDS)
        .iterator(CHUNK)
    )
    for run in runs:
        yield participant_row(study, run)


#: What ``participant_row`` reads of an enrolment, with the number of its trials as ``n_trials``.
PARTICIPANT_FIELDS = (
    "participant__code",
    "participant__joined_at",
    "slot__replication",
    "slot__number",
    "seat",
    "run_kind",
    "state",
    "end_reason",
    "consented_at",
    "consent_version",
    "version",
    "started_at",
    "ended_at",
    "n_trials",
)


def participant_row(study: Study, run: dict[str, Any]) -> Row:
    """The row of participants.csv for the ``PARTICIPANT_FIELDS`` of one enrolment."""
    return {
        "study_id": study.slug,
        "participant_id": run["participant__code"],
        "participant_status": participant_status(run["state"], run["end_reason"]),
        "end_reason": run["end_reason"] or None,
        "replication": run["slot__replication"],
        "slot": run["slot__number"],
        "seat": run["seat"],
        **kind_marks(run["run_kind"]),
        "consented_at": utc_text(run["consented_at"]),
        "consent_version": run["consent_version"],
        "version": run["version"],
        "joined_at": utc_text(run["participant__joined_at"]),
        "started_at": utc_text(run["started_at"]),
        "ended_at": utc_text(run["ended_at"]),
        "n_trials": run["n_trials"],
    }


def questionnaire_rows(study: Study, include_simulated: bool) -> Iterator[Row]:
    """Rows of questionnaire.csv, participant by participant in the order of the questions."""
    answers = (
        QuestionnaireAnswer.objects.filter(exported_runs(study, include_simulated, "enrolment__"))
        .order_by("enrolment__slot__replication", "enrolment__slot__number", "enrolment_id", "pk")
        .values_list("enrolment__participant__code", "name", "value", "answered_at")
        .iterator(CHUNK)
    )
    for participant, name, value, answered_at in answers:
        yield {
            "participant_id": participant,
            "name": name,
            "value": value,
            "answered_at": utc_text(answered_at),
        }
