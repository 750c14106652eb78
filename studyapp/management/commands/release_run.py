from __future__ import annotations

from typing import Any

from studyapp.domain.run_ends import release_run
from studyapp.management.runs import RunCommand
from studyapp.models import Enrolment, Study


class Command(RunCommand):
    help = "Take back the place of a participant who holds one; the answers stay, marked."

    def change(self, study: Study, code: str, **options: Any) -> Enrolment:
        return release_run(study, code)

    def says(self, run: Enrolment) -> str:
        return f"released; slot {run.slot} is free again."
