"""A whole study of 200 places of 25 trials: bursts of arrivals, drop-outs, replacements, no hand.

On PostgreSQL alone, where the people of several threads really act at the same moment.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import Count, F, QuerySet
from django.utils import timezone

from studyapp.domain import lifecycle, run_ends, schedule
from studyapp.domain.assignment import join, withdraw
from studyapp.domain.join_forms import JoinForm
from studyapp.domain.places import Places, places_of
from studyapp.domain.trials import record_decision, start_next_trial
from studyapp.enums import EnrolmentState, Interface, RunKind, TrialKind, TrialState
from studyapp.errors import NoFreeSlot
from studyapp.models import Enrolment, Slot, Study, Trial
from studyapp.models.assignment import HOLDING, RUNNING
from tests import backends, factories
from tests.studyapp.domain.test_trials import in_threads

N_CLAIMS, N_SUBSETS, N_CONDITIONS, N_CYCLES = 50, 10, 5, 20
N_SLOTS = N_SUBSETS * N_CYCLES
N_TRIALS = N_CLAIMS * N_CONDITIONS // N_SUBSETS
N_THREADS = 6
DROP_OUT = 0.3
#: In one of twenty finished runs the researcher finds that it cannot stay.
REJECTED = 0.05
ENDS = ("returned", "paid_partial", "withdrawn", "expired", "gone")


def five_conditions() -> Study:
    study = factories.draft_study()
    factories.add_claims(study, N_CLAIMS)
    for number in range(1, N_CONDITIONS + 1):
        is_ranked = number % 2
        lifecycle.add_condition(
            study,
            f"condition-{number}",
            Interface.INCREMENTAL if is_ranked else Interface.ALL_AT_ONCE,
            "document_order" if is_ranked else "top_k",
        )
    factories.add_evidence(study)
    schedule.lay_out(study, N_SUBSETS, N_CYCLES, 200)
    return lifecycle.open_study(study)


class People:
    """Those who come through one door, a burst at a time.

    ``gone`` holds the runs of people behind all doors who left without a word.
    """

    def __init__(self, study: Study, number: int, gone: set[int]):
        self.study = study
        self.number = number
        self.gone = gone
        self.chance = random.Random(f"door {number}")
        self.n_joined = 0
        self.ends: Counter[str] = Counter()

    def come(self) -> None:
        """Let people come until every place is filled by a finished run."""
        hurry()
        while not is_done(self.study):
            here = [run for run in (self.join() for _ in range(self.chance.randint(1, 6))) if run]
            if not here:
                self.pass_time()
            # Those of a burst take turns, a few trials at a time.
            playing = [self.play(run) for run in here]
            while playing:
                playing = [run for run in playing if next(run, None) is not None]

    def join(self) -> Enrolment | None:
        try:
            run = join(self.study.code, JoinForm(f"{self.number}-{time.monotonic_ns()}"))
        except NoFreeSlot:
            self.ends["found it full"] += 1
            return None
        self.n_joined += 1
        return run

    def play(self, run: Enrolment) -> Iterator[bool]:
        """The trials of one person, up to the end or to where they drop out."""
        drops = self.chance.random() < DROP_OUT
        stops_after = self.chance.randrange(N_TRIALS) if drops else N_TRIALS
        trial = start_next_trial(run.token)
        for n in range(stops_after):
            assert trial is not None
            trial = record_decision(run.token, trial.code, {"decision": "cant_decide"})
            if n % 5 == 4:
                yield True
        if drops:
            self.drop_out(run)
            return
        assert trial is None
        is_rejected = self.chance.random() < REJECTED
        self.ends["rejected" if is_rejected else "completed"] += 1
        if is_rejected:
            run_ends.reject_run(self.study, run.participant.code, "answers without reading")

    def drop_out(self, run: Enrolment) -> None:
        end = self.chance.choice(ENDS)
        self.ends[end] += 1
        code = run.participant.code
        if end == "returned":
            run_ends.return_run(self.study, code)
        elif end == "paid_partial":
            run_ends.pay_run_partly(self.study, code)
        elif end == "withdrawn":
            withdraw(run.token)
        elif end == "expired":
            forget(Enrolment.objects.filter(pk=run.pk))
        else:
            self.gone.add(run.pk)

    def pass_time(self) -> None:
        """Whoever finds it full comes again later; by then the leases of who left are over."""
        forget(Enrolment.objects.filter(pk__in=list(self.gone), state__in=RUNNING))
        time.sleep(0.05)


def forget(runs: QuerySet[Enrolment]) -> None:
    """Let leases run out, as time would."""
    runs.update(lease_until=timezone.now() - timedelta(minutes=1))


def hurry() -> None:
    """This connection does not wait for the disk: no power fails here."""
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit TO off")


def is_done(study: Study) -> bool:
    done = Enrolment.objects.filter(slot__study=study, state=EnrolmentState.COMPLETED)
    return done.values("slot").distinct().count() == N_SLOTS


def watch(study: Study, stop: threading.Event, seen: list) -> None:
    """Look all the time for a slot with more holders than places, or a seat with two."""
    while not stop.wait(0.02):
        holds = Enrolment.objects.filter(slot__study=study, state__in=HOLDING)
        crowded = holds.values("slot").annotate(n=Count("pk")).filter(n__gt=F("slot__target"))
        shared = holds.values("slot", "seat").annotate(n=Count("pk")).filter(n__gt=1)
        seen.append([*crowded, *shared])
    connection.close()


@pytest.mark.skipif(backends.BACKEND != "postgres", reason="needs writers at the same moment")
def test_two_hundred_places_are_filled_exactly_without_a_hand(committed_db: None) -> None:
    study = five_conditions()
    assert set(study.slots.values_list("n_trials", flat=True)) == {N_TRIALS} == {25}
    assert study.slots.count() == N_SLOTS == 200
    gone: set[int] = set()
    doors = [People(study, number, gone) for number in range(N_THREADS)]
    stop, seen = threading.Event(), []
    watcher = threading.Thread(target=watch, args=(study, stop, seen))
    watcher.start()
    begun = time.monotonic()
    answers = in_threads(lambda number: doors[number].come(), N_THREADS)
    stop.set()
    watcher.join()
    assert answers == [None] * N_THREADS
    assert len(seen) > 20
    assert not any(seen)

    ends = sum((door.ends for door in doors), Counter())
    print(f"{time.monotonic() - begun:.0f} s, {sum(d.n_joined for d in doors)} people: {ends}")
    assert places_of(study, RunKind.REAL) == Places(N_SLOTS, N_SLOTS, 0, 0, 0, 0)
    assert ends["completed"] == N_SLOTS
    assert all(ends[end] for end in (*ENDS, "rejected"))
    finished = Trial.objects.filter(
        enrolment__state=EnrolmentState.COMPLETED, kind=TrialKind.MAIN, state=TrialState.COMPLETED
    )
    cells = Counter(
        finished.values_list("claim_id", "condition_id", "enrolment__slot__replication")
    )
    assert set(cells.values()) == {1}
    assert len(cells) == N_CLAIMS * N_CONDITIONS * N_CYCLES == Slot.objects.count() * N_TRIALS
