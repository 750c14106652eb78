"""Text from outside in a form that every store, file and request can take."""

from __future__ import annotations


def clean(text: str) -> str:
    """``text`` with U+FFFD in place of half characters (lone surrogates) and U+0000."""
    return (
        text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "\ufffd")
    )
