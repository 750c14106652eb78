"""The audit log: who did what to which study, written in the transaction of the change.

Entries say nothing about participants: only the details named in ``DETAILS`` can be written, and
only as short values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from studyapp.enums import AuditAction
from studyapp.models import AuditEntry, Study

#: Who is named for what no logged-in researcher did.
COMMAND = "command"
#: Who made the versions that came with an import, which no export names.
IMPORT = "import"
#: The details an entry may carry, each a number, a truth value or a short text.
DETAILS = frozenset(
    {
        "condition",
        "export",
        "exports",
        "format",
        "hash",
        "interface",
        "jobs",
        "links",
        "max_calls",
        "max_cost",
        "max_tokens",
        "member",
        "method",
        "minutes",
        "new_role",
        "old_role",
        "old_state",
        "participants",
        "replications",
        "role",
        "runs",
        "position",
        "prices",
        "rankings",
        "seed",
        "settings",
        "simulated",
        "slot",
        "subset",
        "subsets",
        "trials",
        "trials_for",
        "variant",
        "version",
        "claims",
        "software",
        "call",
        "prolific_studies",
        "return_after_minutes",
    }
)
LONGEST = 200

_actor: ContextVar[Callable[[], Any] | None] = ContextVar("audit_actor", default=None)


@contextmanager
def acting(user: Callable[[], Any]) -> Iterator[None]:
    """Name the researcher behind everything that is recorded inside. Asked only when it is."""
    token = _actor.set(user)
    try:
        yield
    finally:
        _actor.reset(token)


def record(
    action: AuditAction, study: Study | None = None, *, by: Any = None, **details: Any
) -> AuditEntry:
    """Write one entry; call it inside the transaction of what it tells.

    ``by`` names the user where the request's own is not logged in yet. Raises ValueError for a
    detail that is not known or not short: a mistake of the program.
    """
    _check(action, details)
    user = by or _researcher()
    return AuditEntry.objects.create(
        at=timezone.now(),
        who=user.get_username() if user else COMMAND,
        user_number=user.pk if user else None,
        study_number=study.pk if study else None,
        study_slug=study.slug if study else "",
        action=action,
        details={name: value for name, value in details.items() if value is not None},
    )


def entries_of(study: Study | None, *, action: str = "", who: str = "") -> QuerySet[AuditEntry]:
    """The entries of a study, or of the whole server, the newest first.

    Empty filters let everything through.
    """
    entries = AuditEntry.objects.all()
    if study is not None:
        entries = entries.filter(study_number=study.pk)
    if action:
        entries = entries.filter(action=action)
    if who:
        entries = entries.filter(who=who)
    return entries


def details_text(entry: AuditEntry) -> str:
    """The details in one line: ``subsets 2, seed 7``."""
    return ", ".join(
        f"{name.replace('_', ' ')} {_plain(value)}" for name, value in sorted(entry.details.items())
    )


def shortened(text: str) -> str:
    """``text``, cut where it would be too long for a detail."""
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _plain(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _researcher() -> Any:
    """The logged-in user that acts, or None."""
    ask = _actor.get()
    user = ask() if ask else None
    return user if user is not None and user.is_authenticated else None


def _check(action: AuditAction, details: dict[str, Any]) -> None:
    if action not in AuditAction.values:
        raise ValueError(f"{action!r} is no action of the audit log")
    if unknown := set(details) - DETAILS:
        raise ValueError(f"no details of the audit log: {', '.join(sorted(unknown))}")
    for name, value in details.items():
        if not isinstance(value, str | int | None) or len(str(value)) > LONGEST:
            raise ValueError(f"detail {name}: use a number, a truth value or a short text")
