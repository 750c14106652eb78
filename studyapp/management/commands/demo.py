from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command

from studyapp.domain import precompute, progress
from studyapp.domain.assignment import withdraw
from studyapp.domain.demo import demo_researcher, demo_study
from studyapp.domain.lifecycle import open_study, set_state
from studyapp.enums import EnrolmentState, RunKind, StudyState
from studyapp.errors import StudyError
from studyapp.management.base import StudyCommand, counted
from studyapp.models import Enrolment, Study
from studyapp.simulation.play import free_simulated_seats, simulate
from studyapp.simulation.server import free_port, start_web, stop, wait_until_up

EXAMPLE_SEED = 20260131


class Command(StudyCommand):
    help = "Set up the demo study and a finished example, then run web and worker until Ctrl-C."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument(
            "--port", type=int, default=8000, help="of the web server; another one if it is taken"
        )
        parser.add_argument("--once", action="store_true", help="set up, print the links and stop")

    def run(self, **options: Any) -> None:
        signal.signal(signal.SIGTERM, _interrupt)
        call_command("migrate", interactive=False, verbosity=0)
        name, password = demo_researcher()
        processes: list[subprocess.Popen[bytes]] = []
        try:
            port = free_port(options["port"])
            if options["port"] and port != options["port"]:
                self.note(f"port {options['port']} is taken, using {port}")
            base_url = f"http://127.0.0.1:{port}"
            processes.append(self._start_worker(base_url))
            web = start_web(port, public_url=base_url)
            processes.append(web)
            wait_until_up(web, port)
            study = self._prepare("demo", "Evidence demo")
            example = self._prepare("demo-example", "Evidence demo, finished example")
            self._finish_example(example, base_url)
            self.say("")
            self.say(f"Take part:    {base_url}/p/{study.code}/")
            self.say(f"Researcher:   {base_url}/   (name {name}, password {password})")
            self.say(f"Results:      {base_url}/studies/{example.slug}/measures/?simulated=on")
            self._say_address(base_url)
            self.say("Ctrl-C stops everything; the next start goes on where this one was.")
            self.stdout.flush()
            if not options["once"]:
                _watch(processes)
        except KeyboardInterrupt:
            self.say("\nstopping")
        finally:
            for process in reversed(processes):
                stop(process)

    def _say_address(self, base_url: str) -> None:
        """Commands in another shell cannot know the port, and print the links of their own."""
        if base_url == settings.PUBLIC_URL:
            return
        self.say(
            f"Commands in another shell print links to {settings.PUBLIC_URL}, which is not this "
            "demo, unless you set there:"
        )
        self.say(f"  export SUFFICE_PUBLIC_URL={base_url}")

    def _start_worker(self, public_url: str) -> subprocess.Popen[bytes]:
        log = open(Path(settings.DATA_DIR) / "worker.log", "ab")  # noqa: SIM115  (the child's)
        command = [sys.executable, "-m", "celery", "-A", "studyapp", "worker"]
        with log:
            return subprocess.Popen(
                [*command, "--concurrency", "2", "--loglevel", "INFO"],
                env=os.environ | {"SUFFICE_PUBLIC_URL": public_url},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _prepare(self, slug: str, title: str) -> Study:
        """Load, precompute in the worker, open; whatever is done already is left as it is."""
        study = demo_study(slug, title)
        if not study.is_draft:
            return study
        self.say(f"{slug}: {counted(study.claims.count(), 'claim')}, precomputing in the worker")
        precompute.queue_jobs(study)
        last_said = time.monotonic()
        while not progress.is_settled(study):
            precompute.ring_due(study)
            if time.monotonic() - last_said > 30:
                last_said = time.monotonic()
                self.note(f"still waiting for the worker; see {settings.DATA_DIR}/worker.log")
            time.sleep(0.3)
        failures = progress.failures_of(study)
        if failures:
            raise StudyError([f"claim {job.claim.claim_id}: {job.error}" for job in failures])
        return open_study(study)

    def _finish_example(self, example: Study, base_url: str) -> None:
        """Fill the simulated places, then close the study.

        A run left in the middle by an earlier start is taken out.
        """
        if example.state == StudyState.CLOSED:
            return
        unfinished = Enrolment.objects.filter(
            slot__study=example, run_kind=RunKind.SIMULATED
        ).exclude(state=EnrolmentState.COMPLETED)
        for token in unfinished.values_list("token", flat=True):
            withdraw(token)
        n_free = free_simulated_seats(example)
        if n_free:
            self.say(f"{example.slug}: simulated participants take part: {n_free}")
            simulate(
                example,
                participants=n_free,
                policy="noisy",
                seed=EXAMPLE_SEED,
                base_url=base_url,
            )
        set_state(example, StudyState.CLOSED, allowed_from=[StudyState.OPEN, StudyState.PAUSED])


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def _watch(processes: list[subprocess.Popen[bytes]]) -> None:
    """Wait until somebody interrupts; say so when a process ends by itself."""
    while True:
        for process in processes:
            if process.poll() is not None:
                raise StudyError(f"{process.args[2]} ended with status {process.returncode}.")
        time.sleep(0.5)
