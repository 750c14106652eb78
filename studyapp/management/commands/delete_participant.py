from __future__ import annotations

from typing import Any

from studyapp.domain.assignment import Deletion, delete_participant, deletion_of
from studyapp.domain.queries import study_by_slug
from studyapp.errors import StudyError
from studyapp.management.base import StudyCommand, counted


class Command(StudyCommand):
    help = "Delete everything a participant left in a study, as if that person had withdrawn."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug")
        parser.add_argument("participant", help="the participant_id")
        parser.add_argument("--yes", action="store_true", help="really delete, for good")

    def run(self, **options: Any) -> None:
        study = study_by_slug(options["slug"])
        participant = options["participant"]
        if not options["yes"]:
            told = _in_numbers(deletion_of(study, participant))
            raise StudyError(f"This would delete {told}. Nothing was deleted: add --yes to do it.")
        self.say(f"deleted {_in_numbers(delete_participant(study, participant))}")


def _in_numbers(deletion: Deletion) -> str:
    return (
        f"1 participant with {counted(deletion.n_runs, 'run')} and "
        f"{counted(deletion.n_trials, 'trial')}, and "
        f"{counted(deletion.n_exports, 'stored export file')}"
    )
