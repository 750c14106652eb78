from __future__ import annotations

from typing import Any

from studyapp.domain.lifecycle import open_study, opening_warnings
from studyapp.domain.queries import study_by_slug
from studyapp.domain.recruiting import study_link
from studyapp.management.base import StudyCommand


class Command(StudyCommand):
    help = "Freeze a study and let participants in; refuses while anything is missing."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug")

    def run(self, **options: Any) -> None:
        study = study_by_slug(options["slug"])
        warnings = opening_warnings(study) if study.is_draft else []
        study = open_study(study)
        for warning in warnings:
            self.note(f"note: {warning}")
        self.say(f"study {study.slug} is open: {study_link(study)}")
