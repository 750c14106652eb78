from __future__ import annotations

from typing import Any

from studyapp.domain.closing import close_slots, reopen_slots
from studyapp.errors import StudyError
from studyapp.management.closing import ClosingCommand
from studyapp.models import Study


class Command(ClosingCommand):
    help = "Give a slot to nobody any more; the run under way in it goes on."

    def add_arguments(self, parser: Any) -> None:
        super().add_arguments(parser)
        parser.add_argument("slot", help="as 2.3, or 2 for every slot of replication 2")

    def change(self, study: Study, **options: Any) -> str:
        replication, number = _numbers(options["slot"])
        does = reopen_slots if options["reopen"] else close_slots
        n = does(study, replication, number)
        state = "open again" if options["reopen"] else "closed: runs under way go on"
        return f"{study.slug}: {n} {'slot' if n == 1 else 'slots'} {state}."


def _numbers(name: str) -> tuple[int, int | None]:
    """Replication and number of a slot; no number where it is left out. Raises StudyError."""
    parts = name.split(".")
    if len(parts) > 2 or not all(part.isascii() and part.isdigit() for part in parts):
        raise StudyError(f"slot {name!r}: write it as 2.3, or 2 for every slot of replication 2.")
    # No schedule has numbers of so many digits, and no database takes them.
    if max(map(len, parts)) > 9:
        raise StudyError(f"slot {name}: the schedule of this study has none.")
    return int(parts[0]), int(parts[1]) if len(parts) == 2 else None
