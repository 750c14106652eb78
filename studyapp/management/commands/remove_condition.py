from __future__ import annotations

from typing import Any

from studyapp.domain.draft_conditions import remove_condition, stored_counts
from studyapp.domain.queries import study_by_slug
from studyapp.errors import StudyError
from studyapp.management.base import StudyCommand


class Command(StudyCommand):
    help = "Remove a condition from a draft, with every ranking stored for it."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug")
        parser.add_argument("name")

    def run(self, **options: Any) -> None:
        study = study_by_slug(options["slug"])
        condition = study.conditions.filter(name=options["name"]).first()
        if condition is None:
            names = ", ".join(study.conditions.values_list("name", flat=True)) or "none"
            raise StudyError(f"no condition {options['name']!r}; there are: {names}.")
        n_stored = stored_counts(study).get(condition.pk, 0)
        remove_condition(condition)
        self.say(f"condition {options['name']}: removed, with {n_stored} stored rankings")
