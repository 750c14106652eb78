from __future__ import annotations

from typing import Any

from studyapp.domain.prolific_submissions import ends_again
from studyapp.domain.run_ends import restore_run
from studyapp.management.runs import RunCommand
from studyapp.models import Enrolment, Study


class Command(RunCommand):
    help = "Undo a mistaken rejection, return, release or part payment while the slot has room."

    def change(self, study: Study, code: str, **options: Any) -> Enrolment:
        return restore_run(study, code)

    def says(self, run: Enrolment) -> str:
        again = f"{run.get_state_display().lower()} again, in slot {run.slot}."
        return "\n".join([again, *ends_again(run, run.state)])
