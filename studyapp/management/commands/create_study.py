from __future__ import annotations

from pathlib import Path
from typing import Any

from studyapp.domain.configuration import create_study, read_configuration
from studyapp.management.base import StudyCommand


class Command(StudyCommand):
    help = "Create a study, as a draft, with a default for every text and setting."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug")
        parser.add_argument("--title")
        parser.add_argument("--config", type=Path, metavar="STUDY.json")
        parser.add_argument("--owner", help="user name of the researcher who may see it")

    def run(self, **options: Any) -> None:
        configuration = read_configuration(options["config"]) if options["config"] else {}
        study = create_study(
            options["slug"],
            title=options["title"],
            configuration=configuration,
            owner_name=options["owner"],
        )
        self.say(f"study {study.slug}: {study.title}")
        for condition in study.conditions.all():
            self.say(f"condition {condition.name}: {condition.interface}, {condition.method}")
