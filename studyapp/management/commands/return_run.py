from __future__ import annotations

from typing import Any

from studyapp.domain.run_ends import return_run
from studyapp.management.runs import RunCommand
from studyapp.models import Enrolment, Study


class Command(RunCommand):
    help = "Free the place of a participant who gave the task back; the answers stay, marked."

    def change(self, study: Study, code: str, **options: Any) -> Enrolment:
        return return_run(study, code)

    def says(self, run: Enrolment) -> str:
        return f"returned; slot {run.slot} is free again."
