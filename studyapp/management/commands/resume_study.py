from __future__ import annotations

from typing import Any

from studyapp.domain.changing import resume_study
from studyapp.domain.queries import study_by_slug
from studyapp.management.base import StudyCommand


class Command(StudyCommand):
    help = "Open a paused study again."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug")

    def run(self, **options: Any) -> None:
        study = study_by_slug(options["slug"])
        resume_study(study)
        self.say(f"study {study.slug} is open again")
