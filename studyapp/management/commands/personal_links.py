from __future__ import annotations

from pathlib import Path
from typing import Any

from studyapp.domain.link_lists import (
    CHUNK,
    csv_of_links,
    link_named,
    links_of,
    make_links,
    renew_link,
    revoke_link,
)
from studyapp.domain.link_names import read_csv_names
from studyapp.domain.queries import study_by_slug
from studyapp.enums import RunKind
from studyapp.errors import StudyError
from studyapp.management.base import StudyCommand, counted
from studyapp.models import Study


class Command(StudyCommand):
    help = "Make links for the people in a CSV file, and print everybody's link and state as CSV."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug")
        parser.add_argument(
            "file", nargs="?", type=Path, help="CSV with the header name, or name,kind"
        )
        parser.add_argument(
            "--pilot", action="store_true", help="links without a kind are for pilot runs"
        )
        change = parser.add_mutually_exclusive_group()
        change.add_argument("--revoke", metavar="NAME", help="let a link open nothing any more")
        change.add_argument("--renew", metavar="NAME", help="replace a link by a new one")
        parser.add_argument("-o", "--output", type=Path, metavar="OUT.csv")

    def run(self, **options: Any) -> None:
        study = study_by_slug(options["slug"])
        if options["file"]:
            self._make(study, options["file"], RunKind.PILOT if options["pilot"] else RunKind.REAL)
        for name, change in (("revoke", revoke_link), ("renew", renew_link)):
            if options[name]:
                change(study, link_named(study, options[name]).pk)
        self._write(study, options["output"])

    def _make(self, study: Study, path: Path, run_kind: RunKind) -> None:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise StudyError(f"{path}: {error.strerror or error}") from None
        made = make_links(study, read_csv_names(data, path.name, run_kind))
        had = counted(made.n_known, "person", "people")
        self.note(f"{counted(made.n_new, 'link')} made; {had} had one.")

    def _write(self, study: Study, path: Path | None) -> None:
        text = "".join(csv_of_links(study, links_of(study).iterator(CHUNK)))
        if path is None:
            self.stdout.write(text, ending="")
            return
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise StudyError(f"{path}: {error.strerror or error}") from None
