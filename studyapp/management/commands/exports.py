from __future__ import annotations

from typing import Any

from studyapp.domain import export_files, export_jobs
from studyapp.domain.export_times import utc_text
from studyapp.domain.queries import study_by_slug
from studyapp.enums import JobState
from studyapp.management.base import StudyCommand, counted
from studyapp.models import ExportJob


class Command(StudyCommand):
    help = "List the exports of a study that were asked for on its page, the newest first."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug")

    def run(self, **options: Any) -> None:
        study = study_by_slug(options["slug"])
        for job in export_jobs.exports_of(study):
            self.say(_line(job))


def _line(job: ExportJob) -> str:
    parts = [f"{job.pk}", utc_text(job.asked_at) or "", job.variant]
    if job.with_simulated:
        parts.append("with simulated runs")
    if job.state != JobState.DONE:
        parts.append(job.state + (f": {' '.join(job.error.split())}" if job.error else ""))
        return ", ".join(parts)
    path = export_files.sound_file(job)
    parts += [
        counted(sum(job.rows.values()), "row"),
        f"{job.n_bytes} bytes",
        f"sha256 {job.sha256}",
    ]
    parts.append(str(path) if path else "the file is missing or damaged")
    return ", ".join(parts)
