"""What the commands share that close slots or open them again."""

from __future__ import annotations

from typing import Any

from studyapp.domain.queries import study_by_slug
from studyapp.management.base import StudyCommand
from studyapp.models import Study


class ClosingCommand(StudyCommand):
    """A command that closes, and with ``--reopen`` opens. Subclasses implement ``change``."""

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug")
        parser.add_argument("--reopen", action="store_true", help="give it out again")

    def run(self, **options: Any) -> None:
        self.say(self.change(study_by_slug(options["slug"]), **options))

    def change(self, study: Study, **options: Any) -> str:
        """Make the change and say what it is. Raises StudyError."""
        raise AssertionError("a command that closes implements change()")
