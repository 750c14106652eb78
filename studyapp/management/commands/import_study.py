from __future__ import annotations

from pathlib import Path
from typing import Any

from studyapp.domain.import_archive import import_study
from studyapp.management.base import StudyCommand


class Command(StudyCommand):
    help = "Make an exported study again as a draft, without its participants."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("file", type=Path, metavar="EXPORT.zip")
        parser.add_argument("--slug", metavar="NEW", help="by default that of the export")
        parser.add_argument("--owner", help="user name of the researcher who may see it")

    def run(self, **options: Any) -> None:
        made = import_study(options["file"], options["slug"], owner_name=options["owner"])
        for note in made.notes:
            self.note(f"note: {note}")
        self.say(
            f"study {made.study.slug}, a draft: {made.n_claims} claims, {made.n_results} rankings "
            f"and selections, {made.n_slots} slots"
        )
