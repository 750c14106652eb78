from __future__ import annotations

from typing import Any

from studyapp.domain.run_ends import pay_run_partly
from studyapp.management.runs import RunCommand
from studyapp.models import Enrolment, Study


class Command(RunCommand):
    help = (
        "Mark an unfinished run as paid in part; the answers stay, marked, and the place is free."
    )

    def add_arguments(self, parser: Any) -> None:
        super().add_arguments(parser)
        parser.add_argument("--note", default="", metavar="TEXT", help="for researchers alone")

    def change(self, study: Study, code: str, **options: Any) -> Enrolment:
        return pay_run_partly(study, code, options["note"])

    def says(self, run: Enrolment) -> str:
        return f"paid in part; slot {run.slot} is free again."
