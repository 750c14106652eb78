from __future__ import annotations

from typing import Any

from django.utils import timezone

from studyapp.domain.prolific_calls import fill_outbox, run_due
from studyapp.domain.prolific_sync import sync
from studyapp.domain.queries import study_by_slug
from studyapp.management.base import StudyCommand, counted


class Command(StudyCommand):
    help = "Read a study's submissions at Prolific now, and do what follows from them."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug")

    def run(self, **options: Any) -> None:
        study = study_by_slug(options["slug"])
        synced = sync(study)
        self.say(
            f"{counted(synced.n_listed, 'submission')} read, {synced.n_unmatched} without a run "
            f"here; {counted(synced.n_ended, 'run')} ended"
        )
        n_new = fill_outbox(study, timezone.now())
        self.say(f"{counted(n_new, 'call')} written down, {run_due(study)} done")
