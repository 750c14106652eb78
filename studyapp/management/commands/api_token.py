from __future__ import annotations

from typing import Any

from studyapp.domain.accounts import user_named
from studyapp.domain.api_tokens import end_token, issue_token
from studyapp.management.base import StudyCommand


class Command(StudyCommand):
    help = "Make a token for the REST API and print it, once."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("user", help="user name of a researcher")
        what = parser.add_mutually_exclusive_group()
        what.add_argument(
            "--new", action="store_true", help="end the user's present token, if there is one"
        )
        what.add_argument("--end", action="store_true", help="end the token and make no other")

    def run(self, **options: Any) -> None:
        if options["end"]:
            had_one = end_token(user_named(options["user"]))
            self.say("the token is ended" if had_one else "there was no token")
            return
        token = issue_token(options["user"], replaces=options["new"])
        self.note("Keep it like a password: it is not shown again.")
        self.say(token)
