"""Numbers, times and counts as researchers read them; templates get them ready to print."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def number(value: int) -> str:
    """``12345`` as ``12,345``."""
    return f"{value:,}"


def counted(n: int, one: str, many: str | None = None) -> str:
    """``1 claim``, ``2 claims``; ``many`` where the plural is no plain s."""
    return f"{number(n)} {one if n == 1 else many or one + 's'}"


def duration(seconds: float, n_units: int = 2) -> str:
    """A length of time in its largest units: ``0.4 s``, ``34 s``, ``2 min 5 s``, ``3 h``."""
    if seconds < 10:
        return f"{max(seconds, 0):.1f} s"
    left = round(seconds)
    parts: list[str] = []
    for size, unit in _UNITS:
        # Units stay neighbours: 3 days and 5 s are 3 days.
        if (left < size and parts) or len(parts) == n_units:
            break
        if left >= size:
            parts.append(f"{left // size} {unit}")
            left %= size
    return " ".join(parts)


def moment(at: datetime) -> str:
    """A point in time, in UTC: ``3 Nov 2026, 09:05``."""
    at = timezone.localtime(at)
    return f"{at.day} {at:%b %Y, %H:%M}"


def ago(at: datetime, now: datetime) -> str:
    """How long ago: ``just now``, ``34 s ago``, ``5 min ago``, ``3 d ago``."""
    seconds = (now - at).total_seconds()
    return "just now" if seconds < 10 else f"{duration(seconds, 1)} ago"


def listed(words: list[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def shares(counts: dict[str, int]) -> str:
    """``supported: 50, refuted: 48``."""
    return ", ".join(f"{name}: {number(n)}" for name, n in counts.items())
