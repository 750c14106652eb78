from __future__ import annotations

from typing import Any

from studyapp.domain.api_tokens import issue_token
from studyapp.management.base import StudyCommand


class Command(StudyCommand):
    help = "Make a token for the REST API and print it, once."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("user", help="user name of a researcher")
        parser.add_argument(
            "--new", action="store_true", help="end the user's present token, if there is one"
        )

    def run(self, **options: Any) -> None:
        token = issue_token(options["user"], replaces=options["new"])
        self.note("Keep it like a password: it is not shown again.")
        self.say(token)
