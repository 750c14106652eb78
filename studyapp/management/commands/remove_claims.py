from __future__ import annotations

from typing import Any

from studyapp.domain.draft_claims import remove_claims
from studyapp.domain.queries import study_by_slug
from studyapp.management.base import StudyCommand, counted


class Command(StudyCommand):
    help = "Delete every claim of a draft, with the rankings stored for them."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug")

    def run(self, **options: Any) -> None:
        removal = remove_claims(study_by_slug(options["slug"]))
        self.say(
            f"{counted(removal.n_claims, 'claim')} and "
            f"{counted(removal.n_evidence, 'stored ranking')} deleted"
        )
