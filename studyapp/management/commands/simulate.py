from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import Any

from tqdm import tqdm

from studyapp.domain.queries import study_by_slug
from studyapp.errors import StudyError
from studyapp.management.base import StudyCommand, counted
from studyapp.models import PlannedTrial
from studyapp.simulation.play import simulate
from studyapp.simulation.readers import POLICIES
from studyapp.simulation.server import running_web


class Command(StudyCommand):
    help = "Play whole runs by simulated participants through the real pages."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug")
        parser.add_argument("--participants", type=int, required=True, metavar="N")
        parser.add_argument("--policy", choices=sorted(POLICIES), required=True)
        parser.add_argument("--seed", type=int, required=True, metavar="S")
        parser.add_argument("--base-url", help="a running server; without it one is started")

    def run(self, **options: Any) -> None:
        study = study_by_slug(options["slug"])
        if options["participants"] < 1:
            raise StudyError("--participants must be 1 or more.")
        per_slot = PlannedTrial.objects.filter(slot__study=study).count() // max(
            study.slots.count(), 1
        )
        server = nullcontext(options["base_url"]) if options["base_url"] else running_web()
        with (
            server as base_url,
            tqdm(
                total=per_slot * options["participants"],
                unit="trial",
                disable=not sys.stderr.isatty(),
            ) as bar,
        ):
            n_trials = simulate(
                study,
                participants=options["participants"],
                policy=options["policy"],
                seed=options["seed"],
                base_url=base_url,
                on_trial=bar.update,
            )
        self.say(
            f"{counted(options['participants'], 'simulated participant')} played "
            f"{counted(n_trials, 'trial')}"
        )
