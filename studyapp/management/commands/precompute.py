from __future__ import annotations

import sys
import time
from contextlib import suppress
from typing import Any

from tqdm import tqdm

from studyapp.domain import precompute, progress
from studyapp.domain.queries import study_by_slug
from studyapp.errors import BrokerAway, StudyError
from studyapp.management.base import StudyCommand
from studyapp.models import Study

#: Seconds without a worker before --wait says so.
SILENCE = 20


class Command(StudyCommand):
    help = "Queue the rankings and selections that a study lacks."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug")
        parser.add_argument("--wait", action="store_true", help="show progress until all are done")

    def run(self, **options: Any) -> None:
        study = study_by_slug(options["slug"])
        try:
            waiting = precompute.queue_jobs(study)
            self.say(f"{waiting} jobs queued")
        except BrokerAway as error:
            self.note(str(error))
        if options["wait"]:
            self._wait(study)
            self._report(study)

    def _wait(self, study: Study) -> None:
        total = sum(row.n_claims for row in progress.progress_of(study))
        last_answer = time.monotonic()
        said = False
        with tqdm(total=total, unit="claim", disable=not sys.stderr.isatty()) as bar:
            while True:
                rows = progress.progress_of(study)
                bar.n = sum(row.done + row.failed for row in rows)
                bar.refresh()
                if progress.is_settled(study):
                    return
                if progress.worker_answers():
                    last_answer, said = time.monotonic(), False
                elif not said and time.monotonic() - last_answer >= SILENCE:
                    said = True
                    self.note(
                        "No worker answers. Start one with: celery -A studyapp worker "
                        "(or make worker). The jobs are kept; still waiting."
                    )
                # An absent broker is no failure: the jobs are kept, so the waiting goes on.
                with suppress(BrokerAway):
                    precompute.ring_due(study)
                time.sleep(0.5)

    def _report(self, study: Study) -> None:
        for row in progress.progress_of(study):
            cached = "unknown" if row.cached_prompt_tokens is None else row.cached_prompt_tokens
            self.say(
                f"{row.condition.name}: {row.done} of {row.n_claims} done, {row.failed} failed, "
                f"{row.fallback} with fallback; {row.calls} calls, {row.prompt_tokens} prompt "
                f"tokens ({cached} cached), {row.completion_tokens} completion tokens"
            )
        failures = progress.failures_of(study)
        if failures:
            raise StudyError(
                [
                    f"{job.condition.name}, claim {job.claim.claim_id}: {job.error}"
                    for job in failures
                ]
            )
