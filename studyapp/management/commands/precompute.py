from __future__ import annotations

import math
import sys
import time
from argparse import ArgumentTypeError
from contextlib import suppress
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from studyapp.domain import estimating, precompute, progress, spending
from studyapp.domain.queries import study_by_slug
from studyapp.errors import BrokerAway, StudyError
from studyapp.management.base import StudyCommand
from studyapp.models import Study


def whole(text: str) -> int:
    """A whole number, 0 or more, for a limit."""
    if not (text.isascii() and text.isdigit()):
        raise ArgumentTypeError(f"{text!r} is no whole number, 0 or more")
    return int(text)


def amount(text: str) -> float:
    """An amount of money, 0 or more."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < math.inf:
        raise ArgumentTypeError(f"{text!r} is no number, 0 or more")
    return value


#: Seconds without a worker before --wait says so.
SILENCE = 20


class Command(StudyCommand):
    help = "Queue the rankings and selections that a study lacks."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug")
        parser.add_argument("--wait", action="store_true", help="show progress until all are done")
        limits = parser.add_argument_group(
            "limits", "for all that the study ever asks of a server; kept until they are changed"
        )
        limits.add_argument("--max-calls", type=whole, metavar="N", help="calls")
        limits.add_argument(
            "--max-tokens", type=whole, metavar="N", help="tokens, sent and received"
        )
        limits.add_argument("--max-cost", type=amount, metavar="X", help="money; needs prices")
        limits.add_argument(
            "--price",
            metavar="IN,CACHED,OUT",
            help="prices of a million tokens: sent, sent and found in a cache, received",
        )
        limits.add_argument("--no-limit", action="store_true", help="take all limits away")
        parser.add_argument(
            "--estimate",
            action="store_true",
            help="say what is still to come and queue nothing",
        )

    def run(self, **options: Any) -> None:
        study = study_by_slug(options["slug"])
        self._set_limits(study, options)
        if options["estimate"]:
            self._estimate(study)
            return
        try:
            waiting = precompute.queue_jobs(study)
            self.say(f"{waiting} jobs queued")
        except BrokerAway as error:
            self.note(str(error))
        if options["wait"]:
            self._wait(study)
            self._report(study)

    def _set_limits(self, study: Study, options: dict[str, Any]) -> None:
        given = {name: options[name] for name in spending.LIMITS if options[name] is not None}
        if options["no_limit"]:
            if given:
                raise CommandError(
                    "--no-limit takes limits away: give it without another one", returncode=2
                )
            given = dict.fromkeys(spending.LIMITS)
        if options["price"] is not None:
            given["prices"] = spending.prices_from(options["price"])
        if given:
            spending.set_limits(study, **given)

    def _estimate(self, study: Study) -> None:
        rows = estimating.estimates_of(study)
        for row in rows:
            self.say(f"{row.condition.name}: {estimating.in_words(row)}")
        if not rows:
            self.say("no condition asks a server: preparing costs no money")

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
        problems = [
            f"{job.condition.name}, claim {job.claim.claim_id}: {job.error}"
            for job in progress.failures_of(study)
        ]
        if n_held := progress.held_jobs(study):
            reached = spending.account_of(study).reached
            problems.append(
                f"{n_held} jobs wait: the study's limit of {reached} is reached; raise it "
                "(--max-calls, --max-tokens, --max-cost) and they go on"
            )
        if problems:
            raise StudyError(problems)
