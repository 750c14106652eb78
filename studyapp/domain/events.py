"""The one way a row enters the history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from studyapp.codes import event_code
from studyapp.compiled import insert_rows
from studyapp.models import Event, Trial
from studyapp.protocols import known_event_kinds

_COLUMNS = ("code", "trial", "seq", "kind", "step", "data", "server_at", "client_ms")
#: A browser clock beyond this (about a year) is nonsense and is not kept.
MAX_CLIENT_MS = 400 * 24 * 3600 * 1000


@dataclass(frozen=True)
class Draft:
    """An event before it has its place in the history."""

    kind: str
    step: int | None = None
    data: dict[str, Any] = field(default_factory=dict)


def append_events(
    trial: Trial, drafts: Sequence[Draft], *, at: datetime, client_ms: int | None = None
) -> None:
    """Append ``drafts`` to the history of ``trial`` in one statement.

    The caller holds the trial's row lock and saves ``n_events`` and ``n_steps`` afterwards. Raises
    ValueError for a kind that the trial's protocol does not know.
    """
    kinds = known_event_kinds(trial.protocol)
    for draft in drafts:
        if draft.kind not in kinds:
            raise ValueError(f"unknown event kind {draft.kind!r} for protocol {trial.protocol}")
    insert_rows(
        Event,
        _COLUMNS,
        [
            (
                event_code(),
                trial.pk,
                trial.n_events + offset,
                draft.kind,
                draft.step,
                draft.data,
                at,
                client_ms,
            )
            for offset, draft in enumerate(drafts)
        ],
    )
    trial.n_events += len(drafts)
    trial.n_steps += sum(draft.step is not None for draft in drafts)


def time_of_late(trial: Trial, now: datetime, late_ms: int | None) -> datetime:
    """When something happened that a browser without a network could tell only ``late_ms`` later.

    By the browser's own count of the delay, but never before what is already in the history, which
    so stays in the order of its times.
    """
    if not late_ms:
        return now
    last: datetime = Event.objects.filter(trial=trial).latest("seq").server_at
    return min(now, max(last, now - timedelta(milliseconds=late_ms)))


def clean_client_ms(value: str | None) -> int | None:
    """The browser's clock as a whole number of milliseconds, or None where it is missing or odd."""
    if value is None or not value.isascii() or not value.isdigit() or len(value) > 15:
        return None
    number = int(value)
    return number if number <= MAX_CLIENT_MS else None
