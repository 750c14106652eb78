from __future__ import annotations

from typing import Any

from studyapp.domain.deleting import delete_study, what_goes
from studyapp.domain.queries import study_by_slug
from studyapp.errors import StudyError
from studyapp.management.base import StudyCommand, counted


class Command(StudyCommand):
    help = "Delete a draft or a closed study for good, with all data and files."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug")
        parser.add_argument("--yes", action="store_true", help="do it; without, only say what goes")

    def run(self, **options: Any) -> None:
        study = study_by_slug(options["slug"])
        if not options["yes"]:
            going = what_goes(study)
            raise StudyError(
                f"this deletes {_in_numbers(going, ' and ')} for good: say --yes, after an export."
            )
        going = delete_study(study)
        self.say(f"study {study.slug} deleted: {_in_numbers(going, ', ')}")


def _in_numbers(going: Any, last: str) -> str:
    """What goes with a study, the last part after ``last``."""
    return (
        f"{counted(going.n_claims, 'claim')}, {counted(going.n_participants, 'participant')}{last}"
        f"{counted(going.n_trials, 'trial')}"
    )
