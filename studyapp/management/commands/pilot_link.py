from __future__ import annotations

from typing import Any

from studyapp.domain.link_lists import make_pilot_link
from studyapp.domain.queries import study_by_slug
from studyapp.management.base import StudyCommand


class Command(StudyCommand):
    help = "Print a link for one pilot run of the team; it works once."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug")

    def run(self, **options: Any) -> None:
        self.say(make_pilot_link(study_by_slug(options["slug"])))
