from __future__ import annotations

from pathlib import Path
from typing import Any

from rankers import formats
from studyapp.domain.importing import import_claims
from studyapp.domain.queries import study_by_slug
from studyapp.enums import TrialKind
from studyapp.errors import StudyError
from studyapp.management.base import StudyCommand, counted


def format_of(path: Path) -> str:
    """The format that a file's ending speaks of: flat CSV, or the interchange format."""
    return "csv" if path.suffix.lower() == ".csv" else "interchange"


class Command(StudyCommand):
    help = "Import claims into a draft, all or nothing."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug")
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--format", choices=sorted(formats.FORMATS), help="csv for *.csv, else interchange"
        )
        parser.add_argument("--limit", type=int, metavar="N", help="take the first N good claims")
        parser.add_argument(
            "--skip-invalid", action="store_true", help="import the good claims and list the bad"
        )

        parser.add_argument(
            "--role",
            choices=TrialKind.values,
            default=TrialKind.MAIN.value,
            help="the trials these claims are for: main (the default), practice before them, or "
            "attention checks between them, where the label is the expected decision",
        )

    def run(self, **options: Any) -> None:
        if options["limit"] is not None and options["limit"] < 1:
            raise StudyError("--limit must be 1 or more.")
        report = import_claims(
            study_by_slug(options["slug"]),
            options["file"],
            options["format"] or format_of(options["file"]),
            limit=options["limit"],
            skip_invalid=options["skip_invalid"],
            role=options["role"],
        )
        for line in report.notices:
            self.note(line)
        for line in report.skipped:
            self.note(f"skipped: {line}")
        for reason, count in sorted(report.left_out.items()):
            self.note(f"left out: {count} ({reason})")
        if report.n_repeated:
            self.say(f"there already and skipped: {counted(report.n_repeated, 'claim')}")
        kind = "" if options["role"] == TrialKind.MAIN else f"{options['role']} "
        self.say(f"{counted(report.n_imported, f'{kind}claim')} imported")
