from __future__ import annotations

from typing import Any

from studyapp.domain.run_ends import reject_run
from studyapp.management.runs import RunCommand
from studyapp.models import Enrolment, Study


class Command(RunCommand):
    help = (
        "Reject a run, finished or not, for a stated reason; the answers stay, marked as excluded."
    )

    def add_arguments(self, parser: Any) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--reason", required=True, metavar="TEXT", help="what was wrong with it"
        )

    def change(self, study: Study, code: str, **options: Any) -> Enrolment:
        return reject_run(study, code, options["reason"])

    def says(self, run: Enrolment) -> str:
        return f"rejected; slot {run.slot} is free again."
