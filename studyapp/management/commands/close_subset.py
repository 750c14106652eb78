from __future__ import annotations

from typing import Any

from studyapp.domain.closing import close_subset, reopen_subset
from studyapp.errors import StudyError
from studyapp.management.closing import ClosingCommand
from studyapp.models import Study


class Command(ClosingCommand):
    help = "Give no slot with the claims of a subset to anybody any more; runs under way go on."

    def add_arguments(self, parser: Any) -> None:
        super().add_arguments(parser)
        parser.add_argument("subset", type=int, help="its number")

    def change(self, study: Study, **options: Any) -> str:
        number = options["subset"]
        if not 1 <= number < 2**31:
            raise StudyError(f"subset {number}: the schedule of this study has none.")
        does = reopen_subset if options["reopen"] else close_subset
        does(study, number)
        state = "open again" if options["reopen"] else "closed: runs under way go on"
        return f"{study.slug}: subset {number} is {state}."
