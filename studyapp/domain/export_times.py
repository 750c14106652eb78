"""What a trial's events say: how far it was read, when it was decided, how long it was in view.

The rules are those of statistics.md 1.2 and 2.5. The analysis works the same numbers out from
events.csv with code of its own and refuses an export that disagrees.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from studyapp.enums import EventKind

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Replay:
    """``n_read`` is the highest rank shown; the rest is None for a trial without a decision.

    ``hidden_ms`` and ``active_ms`` add up to the time between start and decision.
    """

    n_read: int
    decided_at: datetime | None = None
    hidden_ms: int | None = None
    active_ms: int | None = None


def replay(events: Iterable[tuple[str, int | None, datetime]]) -> Replay:
    """Go through one trial's events (kind, step, server time) in the server's order.

    Time never runs backwards here: where the server's clock was set back, or two servers' clocks
    differ, it stands still. A page hidden twice is hidden once; seen while visible means nothing.
    """
    n_read = 0
    start: int | None = None
    now = hidden = 0
    hidden_since: int | None = None
    for kind, step, server_at in events:
        now = max(now, _milliseconds(server_at))
        if start is None:
            start = now
        if step is not None:
            n_read = max(n_read, step)
        if kind == EventKind.PAGE_HIDDEN and hidden_since is None:
            hidden_since = now
        elif kind == EventKind.PAGE_VISIBLE and hidden_since is not None:
            hidden += now - hidden_since
            hidden_since = None
        elif kind == EventKind.DECISION_SUBMITTED:
            if hidden_since is not None:
                hidden += now - hidden_since
            return Replay(n_read, _EPOCH + now * _MILLISECOND, hidden, now - start - hidden)
    return Replay(n_read)


def utc_text(moment: datetime | None) -> str | None:
    """ISO 8601 in UTC with milliseconds (cut, not rounded) and Z; None stays None."""
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _milliseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // _MILLISECOND
