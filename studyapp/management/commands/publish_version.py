from __future__ import annotations

from pathlib import Path
from typing import Any

from studyapp.domain.configuration import read_configuration
from studyapp.domain.queries import study_by_slug
from studyapp.domain.versions import publish
from studyapp.management.base import StudyCommand


class Command(StudyCommand):
    help = (
        "Change an opened study by a new version, from a file of what shall change (see "
        "study.json). Runs that have begun finish on theirs."
    )

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug")
        parser.add_argument("--config", type=Path, metavar="CHANGES.json", required=True)
        parser.add_argument(
            "--reason", required=True, metavar="TEXT", help="why; the report prints it"
        )

    def run(self, **options: Any) -> None:
        study = study_by_slug(options["slug"])
        version = publish(study, read_configuration(options["config"]), options["reason"])
        self.say(f"study {study.slug}: version {version.number} is published ({version.name})")
