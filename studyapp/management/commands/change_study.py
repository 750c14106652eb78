from __future__ import annotations

from pathlib import Path
from typing import Any

from studyapp.domain.changing import change_draft
from studyapp.domain.configuration import read_configuration
from studyapp.domain.queries import study_by_slug
from studyapp.errors import StudyError
from studyapp.management.base import StudyCommand

#: What other commands change.
ELSEWHERE = {"conditions": "add_condition and remove_condition", "subsets": "schedule",
             "replications": "schedule", "seed": "schedule", "order_policy": "schedule",
             "condition_policy": "schedule"}  # fmt: skip


class Command(StudyCommand):
    help = "Change texts and settings of a draft, by a file of what shall change (see study.json)."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug")
        parser.add_argument("--config", type=Path, metavar="STUDY.json", required=True)

    def run(self, **options: Any) -> None:
        study = study_by_slug(options["slug"])
        changes = read_configuration(options["config"])
        problems = [
            f"field {name}: changed by {ELSEWHERE[name]}" for name in changes if name in ELSEWHERE
        ]
        if problems:
            raise StudyError(problems)
        change_draft(study, changes)
        self.say(f"study {study.slug}: changed")
