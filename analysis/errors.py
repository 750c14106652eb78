"""What the package refuses."""

from __future__ import annotations

from collections.abc import Iterable

#: So many trial ids are named in one message; the rest is counted.
NAMED_IDS = 5
#: So much of a wrong value is shown.
SHOWN_SIGNS = 80


class BadTable(ValueError):
    """A table or a settings file is wrong. ``problems`` holds one readable line each."""

    def __init__(self, problems: list[str] | str):
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        super().__init__("\n".join(self.problems))


def name_ids(ids: Iterable[str]) -> str:
    """The first few ids as text, with the number of those left out: ``a, b and 3 more``."""
    every = [str(value) for value in ids]
    shown = ", ".join(every[:NAMED_IDS])
    hidden = len(every) - NAMED_IDS
    return f"{shown} and {hidden} more" if hidden > 0 else shown


def shown(value: object) -> str:
    """A wrong value as a message shows it: no longer than a line."""
    text = repr(value)
    return text if len(text) <= SHOWN_SIGNS else text[:SHOWN_SIGNS] + "…"
