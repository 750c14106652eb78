from __future__ import annotations

from typing import Any

from studyapp.domain.changing import close_study
from studyapp.domain.queries import study_by_slug
from studyapp.errors import StudyError
from studyapp.management.base import StudyCommand


class Command(StudyCommand):
    help = "Close a study for good: nobody joins and no trial starts any more."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug")
        parser.add_argument("--yes", action="store_true", help="do it: closing is for good")

    def run(self, **options: Any) -> None:
        study = study_by_slug(options["slug"])
        if not options["yes"]:
            raise StudyError("closing is for good; every answer is kept: say --yes.")
        close_study(study)
        self.say(f"study {study.slug} is closed")
