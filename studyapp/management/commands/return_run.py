from __future__ import annotations

from typing import Any

from studyapp.domain.queries import study_by_slug
from studyapp.domain.run_ends import return_run
from studyapp.management.base import StudyCommand


class Command(StudyCommand):
    help = "Free the place of a participant who gave the task back; the answers stay, marked."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug")
        parser.add_argument("participant", help="the pseudonym, as on the study's page")

    def run(self, **options: Any) -> None:
        run = return_run(study_by_slug(options["slug"]), options["participant"])
        self.say(f"{options['participant']}: returned; slot {run.slot} is free again.")
