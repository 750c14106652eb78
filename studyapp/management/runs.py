"""What the commands on one participant's run share."""

from __future__ import annotations

from typing import Any

from studyapp.domain.queries import study_by_slug
from studyapp.management.base import StudyCommand
from studyapp.models import Enrolment, Study


class RunCommand(StudyCommand):
    """A command on the run of a participant. Subclasses implement ``change`` and ``says``."""

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug")
        parser.add_argument("participant", help="the pseudonym, as in the list of participants")

    def run(self, **options: Any) -> None:
        study = study_by_slug(options["slug"])
        run = self.change(study, options["participant"], **options)
        self.say(f"{options['participant']}: {self.says(run)}")

    def change(self, study: Study, code: str, **options: Any) -> Enrolment:
        """Change the run of the participant with that pseudonym. Raises StudyError."""
        raise AssertionError("a command on a run implements change()")

    def says(self, run: Enrolment) -> str:
        """What became of the run, in a line."""
        raise AssertionError("a command on a run implements says()")
