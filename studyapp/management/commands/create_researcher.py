from __future__ import annotations

from typing import Any

from studyapp.domain.accounts import create_researcher, renew_password
from studyapp.errors import StudyError
from studyapp.management.base import StudyCommand


class Command(StudyCommand):
    help = "Create a researcher's account and print the one-time link that sets its password."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("name")
        parser.add_argument(
            "--reset", action="store_true", help="a new link for an account that exists"
        )
        parser.add_argument(
            "--without-second-factor",
            action="store_true",
            help="with --reset: take the second factor off too, for a lost phone",
        )

    def run(self, **options: Any) -> None:
        if options["without_second_factor"] and not options["reset"]:
            raise StudyError("--without-second-factor goes with --reset.")
        if options["reset"]:
            link = renew_password(
                options["name"], without_second_factor=options["without_second_factor"]
            )
        else:
            link = create_researcher(options["name"])
        self.note("This link sets the password once, within three days. Hand it over in private.")
        self.say(link)
