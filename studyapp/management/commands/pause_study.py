from __future__ import annotations

from typing import Any

from studyapp.domain.changing import pause_study
from studyapp.domain.queries import study_by_slug
from studyapp.management.base import StudyCommand


class Command(StudyCommand):
    help = "Let nobody join a study and start no further trial, until it is resumed."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug")

    def run(self, **options: Any) -> None:
        study = study_by_slug(options["slug"])
        pause_study(study)
        self.say(f"study {study.slug} is paused")
