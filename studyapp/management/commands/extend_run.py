from __future__ import annotations

from typing import Any

from studyapp.domain.run_ends import extend_run
from studyapp.management.runs import RunCommand
from studyapp.models import Enrolment, Study


class Command(RunCommand):
    help = "Hold the place of a run under way for so many minutes from now."

    def add_arguments(self, parser: Any) -> None:
        super().add_arguments(parser)
        parser.add_argument("--minutes", required=True, type=int, metavar="N")

    def change(self, study: Study, code: str, **options: Any) -> Enrolment:
        return extend_run(study, code, options["minutes"])

    def says(self, run: Enrolment) -> str:
        return f"place held until {run.lease_until:%Y-%m-%d %H:%M} UTC."
