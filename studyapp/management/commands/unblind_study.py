from __future__ import annotations

from typing import Any

from studyapp.domain.blinding import BY_COMMAND, unblind
from studyapp.domain.queries import study_by_slug
from studyapp.errors import StudyError
from studyapp.management.base import StudyCommand


class Command(StudyCommand):
    help = "Show the results of a blind study that still runs; the report lists it as a deviation."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug")
        parser.add_argument(
            "--confirm", metavar="SLUG", required=True, help="the study's short name once more"
        )

    def run(self, **options: Any) -> None:
        study = study_by_slug(options["slug"])
        if options["confirm"] != study.slug:
            raise StudyError(f"--confirm: repeat the study's short name, {study.slug}.")
        unblind(study, BY_COMMAND)
        self.say(f"study {study.slug}: its results are unblinded; the report will say so")
