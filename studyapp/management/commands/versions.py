from __future__ import annotations

import json
from typing import Any

from studyapp.domain.export_settings import exported_versions
from studyapp.domain.queries import study_by_slug
from studyapp.domain.versions import version_rows
from studyapp.management.base import StudyCommand


class Command(StudyCommand):
    help = "List the versions of a study: when, who, why, what they changed, and their runs."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug")
        parser.add_argument("--json", action="store_true", help="as study.json has them")

    def run(self, **options: Any) -> None:
        study = study_by_slug(options["slug"])
        if options["json"]:
            told = exported_versions(study)
            self.say(json.dumps(told, indent=2, sort_keys=True, ensure_ascii=False))
            return
        rows = version_rows(study)
        if not rows:
            self.note("There is no version yet: opening the study makes the first one.")
        for row in rows:
            version = row.version
            runs = f"{row.n_runs} run{'' if row.n_runs == 1 else 's'}"
            self.say(
                f"version {version.number}  {version.created_at:%Y-%m-%d %H:%M:%S} UTC  "
                f"{version.who or 'not recorded'}  {runs}  {version.name}"
            )
            if row.changes:
                self.say(f"  changed: {', '.join(change.setting for change in row.changes)}")
                self.say(f"  reason: {' '.join(version.reason.split())}")
