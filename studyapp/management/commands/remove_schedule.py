from __future__ import annotations

from typing import Any

from studyapp.domain.queries import study_by_slug
from studyapp.domain.schedule import remove_schedule
from studyapp.management.base import StudyCommand


class Command(StudyCommand):
    help = "Take a draft's schedule away, so that claims and conditions can change again."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug")

    def run(self, **options: Any) -> None:
        study = study_by_slug(options["slug"])
        remove_schedule(study)
        self.say(f"study {study.slug}: the schedule was removed")
