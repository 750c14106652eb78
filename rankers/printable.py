"""Text from files, safe to show on a terminal and in a picture."""

from __future__ import annotations


def printable(text: str) -> str:
    """Return ``text`` with control characters and all else invisible as escapes (``\\n``)."""
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)
