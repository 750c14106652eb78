"""How long trials take, and how many are finished per hour or day.

Time is active time (statistics.md 2.5), worked out by ``export_times.replay`` as in the export.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from operator import itemgetter
from statistics import quantiles

from django.db.models import CharField, Count, QuerySet
from django.db.models.functions import Cast, Substr

from studyapp.domain.blinding import hides_results
from studyapp.domain.export_times import replay
from studyapp.enums import EventKind, RunKind, TrialKind, TrialState
from studyapp.models import Event, Study, Trial

#: Times are told of the latest trials, so that a page costs the same in a large study.
LATEST = 1000

_SEEN_OR_HIDDEN = (EventKind.PAGE_HIDDEN, EventKind.PAGE_VISIBLE)


def tells_conditions(study: Study, run_kind: str) -> bool:
    """Whether what people did may be told by condition.

    Of real participants it is not while a blind study runs: who talks to them, or decides when it
    ends, is not told here which condition does better.
    """
    return run_kind != RunKind.REAL or not hides_results(study)


@dataclass(frozen=True)
class Times:
    """Active time of trials in seconds: how many, lower quartile, median, upper quartile."""

    n: int
    lower: float
    median: float
    upper: float


def times_of(seconds: Sequence[float]) -> Times | None:
    """The quartiles of ``seconds``, interpolated between neighbours; None without any."""
    if not seconds:
        return None
    if len(seconds) == 1:
        return Times(1, *seconds, *seconds, *seconds)
    return Times(len(seconds), *quantiles(seconds, n=4, method="inclusive"))


def active_seconds(study: Study, run_kind: str) -> list[tuple[int, float]]:
    """Condition (primary key) and active time of the latest finished main trials: two queries."""
    trials = list(
        _finished(study, run_kind)
        .order_by("-pk")
        .values_list("pk", "condition_id", "started_at", "ended_at")[:LATEST]
    )
    visits = _visits([trial[0] for trial in trials])
    return [
        (condition, _active(started, visits.get(pk, []), ended))
        for pk, condition, started, ended in trials
    ]


def _active(
    started: datetime, visits: list[tuple[str, int | None, datetime]], ended: datetime
) -> float:
    if not visits:
        return max((ended - started).total_seconds(), 0.0)
    told = replay(
        [
            (EventKind.TRIAL_STARTED, None, started),
            *visits,
            (EventKind.DECISION_SUBMITTED, None, ended),
        ]
    )
    assert told.active_ms is not None  # the decision is there
    return told.active_ms / 1000


def _visits(trials: list[int]) -> dict[int, list[tuple[str, int | None, datetime]]]:
    """When pages were hidden and seen again, by trial: most trials have no such event."""
    events = (
        Event.objects.filter(trial__in=trials, kind__in=_SEEN_OR_HIDDEN)
        .order_by("trial_id", "seq")
        .values_list("trial_id", "kind", "step", "server_at")
    )
    return {
        trial: [(kind, step, at) for _, kind, step, at in group]
        for trial, group in groupby(events, key=itemgetter(0))
    }


def _finished(study: Study, run_kind: str) -> QuerySet[Trial]:
    return Trial.objects.filter(
        enrolment__slot__study=study,
        enrolment__run_kind=run_kind,
        kind=TrialKind.MAIN,
        state=TrialState.COMPLETED,
    )


# ---- trials per hour or day ----------------------------------------------------------------------

#: How far back trials are drawn hour by hour; longer studies are drawn day by day.
HOURS = 48
DAYS = 60


@dataclass(frozen=True)
class Strip:
    """Finished main trials in equal stretches of time, the oldest first.

    ``starts_at`` is the beginning of the first stretch, in UTC; the last one holds ``until``.
    """

    is_hourly: bool
    starts_at: datetime
    counts: list[int]

    @property
    def step(self) -> timedelta:
        return timedelta(hours=1) if self.is_hourly else timedelta(days=1)

    def start_of(self, index: int) -> datetime:
        """When a stretch begins."""
        return self.starts_at + index * self.step


def strip_of(study: Study, run_kind: str, now: datetime) -> Strip | None:
    """Finished trials of the study's last hours or days: one query. None before it opened."""
    if study.opened_at is None:
        return None
    until = (study.closed_at or now).astimezone(UTC)
    is_hourly = until - study.opened_at <= timedelta(hours=HOURS)
    step = timedelta(hours=1) if is_hourly else timedelta(days=1)
    last = until.replace(minute=0, second=0, microsecond=0)
    last = last if is_hourly else last.replace(hour=0)
    first = max(last - ((HOURS if is_hourly else DAYS) - 1) * step, _floor(study.opened_at, step))
    found = _counts_by_text(study, run_kind, first, 13 if is_hourly else 10)
    form = "%Y-%m-%d %H" if is_hourly else "%Y-%m-%d"
    n = (last - first) // step + 1
    return Strip(is_hourly, first, [found.get(f"{first + k * step:{form}}", 0) for k in range(n)])


def _floor(at: datetime, step: timedelta) -> datetime:
    at = at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    return at if step == timedelta(hours=1) else at.replace(hour=0)


def _counts_by_text(study: Study, run_kind: str, since: datetime, length: int) -> dict[str, int]:
    """Counts by the first ``length`` signs of the time, which both databases spell alike in UTC."""
    text = Substr(Cast("ended_at", CharField()), 1, length)
    rows = (
        _finished(study, run_kind)
        .filter(ended_at__gte=since)
        .order_by()
        .annotate(stretch=text)
        .values_list("stretch")
        .annotate(n=Count("pk"))
    )
    return dict(rows)
