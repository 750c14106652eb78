from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tqdm import tqdm

from studyapp.domain import audit
from studyapp.domain.blinding import hides_results
from studyapp.domain.export import Shape, export_study
from studyapp.domain.queries import study_by_slug
from studyapp.enums import AuditAction, ExportVariant
from studyapp.management.base import StudyCommand, counted


class Command(StudyCommand):
    help = "Write a study to one zip: tables, evidence, settings, schedule and codebook."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug")
        parser.add_argument("-o", "--output", type=Path, required=True, metavar="EXPORT.zip")
        parser.add_argument(
            "--simulated",
            action="store_true",
            help="include simulated runs, marked (pilot runs are always included and marked)",
        )
        parser.add_argument(
            "--deidentified",
            action="store_true",
            help="without free text and real times of participants, and under other pseudonyms",
        )
        parser.add_argument(
            "--spreadsheet",
            action="store_true",
            help="also copies of the tables that are safe to open in a spreadsheet program",
        )
        parser.add_argument(
            "--no-bom", action="store_true", help="do not mark those copies as UTF-8 for Excel"
        )
        parser.add_argument("--jsonl", action="store_true", help="also the tables as JSON Lines")

    def run(self, **options: Any) -> None:
        study = study_by_slug(options["slug"])
        if options["no_bom"] and not options["spreadsheet"]:
            self.note("note: --no-bom is about the copies of --spreadsheet; it is ignored")
        shape = Shape(
            deidentified=options["deidentified"],
            jsonl=options["jsonl"],
            spreadsheet=options["spreadsheet"],
            has_bom=not options["no_bom"],
        )
        with tqdm(unit=" rows", disable=not sys.stderr.isatty()) as bar:
            summary = export_study(
                study, options["output"], options["simulated"], shape=shape, advance=bar.update
            )
        variant = ExportVariant.DEIDENTIFIED if shape.deidentified else ExportVariant.RAW
        audit.record(
            AuditAction.STUDY_EXPORTED,
            study,
            variant=str(variant),
            simulated=options["simulated"],
            hash=summary.sha256,
        )
        for name, count in summary.rows.items():
            self.say(f"{name}: {counted(count, 'row')}")
        self.say(f"{summary.path}: {summary.n_bytes} bytes")
        self.say(f"sha256 {summary.sha256}")
        if hides_results(study):
            self.note(
                "The study is blind, and this file is not: whoever opens it can work out the "
                "results."
            )
