"""One participant's runs as they were: trials with their times, checks, questionnaire.

Nothing here names the person: recruiter ids are read by ``recruiter_id_of`` alone, which is logged.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db import transaction

from studyapp.domain import audit
from studyapp.domain.export_times import Replay, replay
from studyapp.domain.held_slots import Contact, contact_of
from studyapp.enums import AuditAction, TrialKind, TrialState
from studyapp.errors import StudyError
from studyapp.models import Enrolment, Event, QuestionnaireAnswer, RecruiterId, Study, Trial


@dataclass(frozen=True)
class TrialSeen:
    """One trial of a run. ``told`` and ``contact`` are what its events say; None without any.

    ``is_passed`` says whether an attention or practice trial was answered right, None where it has
    no answer or none that is right.
    """

    kind: str
    state: str
    position: int
    claim_id: str
    condition: str
    n_steps: int
    n_available: int
    started_at: datetime
    is_passed: bool | None
    told: Replay
    contact: Contact | None

    @property
    def taken(self) -> timedelta | None:
        """From the start to the decision; None without a decision."""
        if self.told.active_ms is None or self.told.hidden_ms is None:
            return None
        return timedelta(milliseconds=self.told.active_ms + self.told.hidden_ms)


@dataclass(frozen=True)
class RunSeen:
    """One run with its trials in the order of their start, and its answers by question name."""

    run: Enrolment
    trials: list[TrialSeen] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)

    @property
    def n_done(self) -> int:
        """Finished main trials."""
        return sum(
            trial.kind == TrialKind.MAIN and trial.state == TrialState.COMPLETED
            for trial in self.trials
        )

    def of_kind(self, kind: str) -> list[TrialSeen]:
        """The trials of a kind."""
        return [trial for trial in self.trials if trial.kind == kind]


def runs_seen(study: Study, participant: str, now: datetime) -> list[RunSeen]:
    """Every run of a participant, the last one first: four queries. Empty for nobody here."""
    runs = list(
        Enrolment.objects.filter(slot__study=study, participant__code=participant)
        .select_related("slot", "participant")
        .order_by("-pk")
    )
    keys = [run.pk for run in runs]
    trials, answers = _trials(keys, now), _answers(keys)
    return [RunSeen(run, trials.get(run.pk, []), answers.get(run.pk, {})) for run in runs]


def _trials(runs: Collection[int], now: datetime) -> dict[int, list[TrialSeen]]:
    rows = (
        Trial.objects.filter(enrolment__in=runs)
        .order_by("enrolment_id", "pk")
        .values(
            "pk",
            "enrolment_id",
            "kind",
            "state",
            "position",
            "claim__claim_id",
            "condition__name",
            "n_steps",
            "stimulus",
            "started_at",
            "verification_answer__is_correct",
        )
    )
    histories = _histories(runs)
    return {
        run: [_trial(row, histories.get(row["pk"], []), now) for row in group]
        for run, group in groupby(rows, key=itemgetter("enrolment_id"))
    }


def _trial(row: dict[str, Any], events: list[tuple[Any, ...]], now: datetime) -> TrialSeen:
    return TrialSeen(
        kind=row["kind"],
        state=row["state"],
        position=row["position"],
        claim_id=row["claim__claim_id"],
        condition=row["condition__name"],
        n_steps=row["n_steps"],
        n_available=len(row["stimulus"]["order"]),
        started_at=row["started_at"],
        is_passed=row["verification_answer__is_correct"],
        told=replay(events),
        contact=contact_of([(kind, at) for kind, _, at in events], now),
    )


def _histories(runs: Collection[int]) -> dict[int, list[tuple[Any, ...]]]:
    """Events (kind, step, server time) by trial."""
    events = (
        Event.objects.filter(trial__enrolment__in=runs)
        .order_by("trial_id", "seq")
        .values_list("trial_id", "kind", "step", "server_at")
    )
    return {
        trial: [event[1:] for event in group] for trial, group in groupby(events, key=itemgetter(0))
    }


def _answers(runs: Collection[int]) -> dict[int, dict[str, str]]:
    rows = QuestionnaireAnswer.objects.filter(enrolment__in=runs).order_by("pk")
    found: dict[int, dict[str, str]] = {}
    for run, name, value in rows.values_list("enrolment_id", "name", "value"):
        found.setdefault(run, {})[name] = value
    return found


def has_recruiter_id(study: Study, participant: str) -> bool:
    """Whether a recruiter's id led this participant here: one query, without the id."""
    return RecruiterId.objects.filter(study=study, participant__code=participant).exists()


def recruiter_id_of(study: Study, participant: str) -> RecruiterId:
    """The recruiter's id of a participant. That it was read is logged, without id or pseudonym.

    Raises StudyError where there is none.
    """
    with transaction.atomic():
        found = RecruiterId.objects.filter(study=study, participant__code=participant).first()
        if found is None:
            raise StudyError(f"participant {participant!r} came without a recruiter's id.")
        audit.record(AuditAction.RECRUITER_ID_SHOWN, study)
        return found
