"""Parts of what an export holds: runs, trials and events by participant, claim, condition, time.

All follow ``exported_runs``: simulated runs only when asked for, nothing of who withdrew.
"""

from __future__ import annotations

from datetime import datetime

from django.db.models import Count, Q, QuerySet

from studyapp.domain.export_rows import exported_runs
from studyapp.domain.run_list import chosen as chosen_runs
from studyapp.enums import RunKind
from studyapp.models import Enrolment, Event, Study, Trial


def matching_runs(
    study: Study,
    *,
    simulated: bool = False,
    state: str | None = None,
    kind: str | None = None,
    slot: str | None = None,
    pseudonym: str | None = None,
    participant: str | None = None,
) -> QuerySet[Enrolment]:
    """Runs with the number of their trials as ``n_trials``; the filters of ``run_list.chosen``.

    Who asks for the kind of simulated runs means them.
    """
    kept = exported_runs(study, simulated or kind == RunKind.SIMULATED)
    runs = Enrolment.objects.filter(kept & _given(participant__code=participant))
    runs = chosen_runs(runs, state=state, kind=kind, slot=slot, pseudonym=pseudonym)
    return runs.annotate(n_trials=Count("trials"))


def matching_trials(
    study: Study,
    *,
    simulated: bool = False,
    participant: str | None = None,
    claim: str | None = None,
    condition: str | None = None,
    since: datetime | None = None,
) -> QuerySet[Trial]:
    """Trials that started at ``since`` or later."""
    chosen = exported_runs(study, simulated, "enrolment__")
    chosen &= _given(
        participant__code=participant,
        claim__claim_id=claim,
        condition__name=condition,
        started_at__gte=since,
    )
    return Trial.objects.filter(chosen)


def matching_events(
    study: Study,
    *,
    simulated: bool = False,
    trial: str | None = None,
    participant: str | None = None,
    claim: str | None = None,
    condition: str | None = None,
    since: datetime | None = None,
) -> QuerySet[Event]:
    """Events that the server saw at ``since`` or later."""
    chosen = exported_runs(study, simulated, "trial__enrolment__")
    chosen &= _given(
        trial__code=trial,
        trial__participant__code=participant,
        trial__claim__claim_id=claim,
        trial__condition__name=condition,
        server_at__gte=since,
    )
    return Event.objects.filter(chosen)


def _given(**wanted: object) -> Q:
    return Q(**{name: value for name, value in wanted.items() if value is not None})
