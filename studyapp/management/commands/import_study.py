from __future__ import annotations

from pathlib import Path
from typing import Any

from studyapp.domain.import_archive import import_study
from studyapp.management.base import StudyCommand, counted


class Command(StudyCommand):
    help = "Make an exported study again: as a draft, or with its participants and trials."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("file", type=Path, metavar="EXPORT.zip")
        parser.add_argument("--slug", metavar="NEW", help="by default that of the export")
        parser.add_argument("--owner", help="user name of the researcher who may see it")
        parser.add_argument(
            "--with-data",
            action="store_true",
            help="bring participants, trials and events along; an open study comes back paused, a "
            "de-identified export as a draft only",
        )

    def run(self, **options: Any) -> None:
        made = import_study(
            options["file"],
            options["slug"],
            owner_name=options["owner"],
            with_data=options["with_data"],
        )
        for note in made.notes:
            self.note(f"note: {note}")
        what = made.study.get_state_display().lower() if options["with_data"] else "a draft"
        data = f", {counted(made.n_participants, 'participant')}, {counted(made.n_trials, 'trial')}"
        self.say(
            f"study {made.study.slug}, {what}: {counted(made.n_claims, 'claim')}, "
            f"{counted(made.n_results, 'ranking or selection', 'rankings and selections')}, "
            f"{counted(made.n_slots, 'slot')}{data if options['with_data'] else ''}"
        )
