from __future__ import annotations

from pathlib import Path
from typing import Any

from studyapp.domain.queries import study_by_slug
from studyapp.domain.schedule_csv import csv_lines, write_csv
from studyapp.management.base import StudyCommand


class Command(StudyCommand):
    help = "Print the whole schedule as CSV: claim, condition, slot and position of every trial."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug")
        parser.add_argument("-o", "--output", type=Path, metavar="F.csv")

    def run(self, **options: Any) -> None:
        study = study_by_slug(options["slug"])
        if options["output"] is None:
            for line in csv_lines(study):
                self.stdout.write(line, ending="")
            return
        n_trials = write_csv(study, options["output"])
        self.say(f"{options['output']}: {n_trials} planned trials")
