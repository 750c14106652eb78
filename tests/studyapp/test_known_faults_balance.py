"""Faults of balance and of places that people met in other study platforms, tried here."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import httpx
import pytest
from django.core.management import call_command

from studyapp.domain import lifecycle, run_ends, schedule
from studyapp.domain.assignment import join, move_to_free_slot, withdraw
from studyapp.domain.export import export_study
from studyapp.domain.join_forms import JoinForm
from studyapp.domain.places import Places, places_of
from studyapp.domain.trials import record_decision, start_next_trial
from studyapp.enums import EnrolmentState, Interface, RunKind, TrialState
from studyapp.errors import NoFreeSlot, StudyError
from studyapp.models import Enrolment, Participant, Slot, Study, Trial
from studyapp.models.assignment import HOLDING
from tests import factories
from tests.studyapp.domain import exported
from tests.studyapp.domain.test_assignment import expire
from tests.studyapp.domain.test_restoring import finish
from tests.studyapp.domain.test_trials import in_threads
from tests.studyapp.views.pages import field_of
from tests.studyapp.views.test_known_faults_participants import web_on_the_test_database


def arrive_at_once(base_url: str, study: Study, n: int) -> list[httpx.Response]:
    """Open the consent form in ``n`` browsers, then send all of them at the same moment."""
    together = Barrier(n)

    def one(_: int) -> httpx.Response:
        with httpx.Client(base_url=base_url, timeout=60, verify=False) as browser:
            form = field_of(browser.get(f"/p/{study.code}/"), "form")
            together.wait(60)
            return browser.post(f"/p/{study.code}/join", data={"form": form, "consent": "yes"})

    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(one, range(n)))


def test_r043_arrivals_at_the_same_moment_get_a_slot_each_or_a_friendly_page(
    committed_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two people got the same slot, others an error."""
    with web_on_the_test_database(monkeypatch) as base_url:
        for n, n_full in ((20, 0), (50, 30)):
            study = factories.open_study(n_replications=10)
            answers = arrive_at_once(base_url, study, n) + arrive_at_once(base_url, study, 1)
            statuses = Counter(answer.status_code for answer in answers)
            assert statuses == {303: 20, 409: n_full + 1}
            full = [answer.text for answer in answers if answer.status_code == 409]
            assert all("Every place is taken" in page for page in full)
            held = list(study.slots.values_list("enrolments", "enrolments__seat", "pk"))
            assert len(held) == len({pk for *_, pk in held}) == 20
            assert {seat for _, seat, _ in held} == {1}
            assert Participant.objects.filter(study=study).count() == 20


def one_condition_study(n_replications: int, target: int, **fields: Any) -> Study:
    """Two claims in two subsets under one condition: every slot is one trial of one subset."""
    study = factories.draft_study(**fields)
    factories.add_claims(study, 2)
    lifecycle.add_condition(study, "selection", Interface.ALL_AT_ONCE, "top_k")
    factories.add_evidence(study)
    schedule.lay_out(study, 2, n_replications, 7)
    study.slots.update(target=target)
    return lifecycle.open_study(study)


def by_subset(study: Study, states: tuple[str, ...]) -> dict[int, int]:
    """Runs in these states by the number of the subset that they show."""
    runs = Enrolment.objects.filter(slot__study=study, state__in=states).select_related("slot")
    return Counter(run.slot.cells[0][0] for run in runs)


#: Ways to drop out, in turn: the last one is simply never heard of again.
DROPS: tuple[Callable[[Study, Enrolment], object], ...] = (
    lambda study, run: run_ends.return_run(study, run.participant.code),
    lambda study, run: run_ends.pay_run_partly(study, run.participant.code),
    lambda study, run: withdraw(run.token),
    lambda study, run: expire(run),
)


@pytest.mark.parametrize(("n_replications", "target"), [(1, 20), (20, 1)])
def test_r045_with_drop_outs_every_subset_is_completed_exactly_as_planned(
    db: None, n_replications: int, target: int
) -> None:
    """Drop-outs left one subset short and another over its target."""
    study = one_condition_study(n_replications, target)
    chance = random.Random(45)
    drops_out = [True] * 18 + [False] * 38
    chance.shuffle(drops_out)
    # Who comes at the very end may find it full, so it must not be the drop-outs.
    drops_out += [False] * 4
    under_way: list[tuple[Enrolment, bool]] = []
    dropped = 0

    def somebody_ends() -> None:
        nonlocal dropped
        run, drops = under_way.pop(chance.randrange(len(under_way)))
        start_next_trial(run.token)
        if drops:
            DROPS[dropped % len(DROPS)](study, run)
            dropped += 1
        else:
            finish(run)

    turned_away = 0
    for drops in drops_out:
        if len(under_way) == 10:
            somebody_ends()
        while True:
            try:
                under_way.append((factories.joined(study), drops))
                break
            except NoFreeSlot:
                if not under_way:
                    turned_away += 1
                    break
                somebody_ends()
        held = by_subset(study, HOLDING)
        assert max(held.values()) <= 20
    while under_way:
        somebody_ends()
    assert by_subset(study, (EnrolmentState.COMPLETED,)) == {1: 20, 2: 20}
    assert (dropped, turned_away) == (18, 2)


def test_r045_places_beyond_the_target_only_where_they_are_allowed(
    db: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seats beyond the plan come last, are balanced too, and can be told apart."""
    study = one_condition_study(1, 2, recruiting={"extra_places": 1})
    runs = [factories.joined(study) for _ in range(6)]
    assert [(str(run.slot), run.seat) for run in runs] == [
        ("1.1", 1), ("1.2", 1), ("1.1", 2), ("1.2", 2), ("1.1", 3), ("1.2", 3)
    ]  # fmt: skip
    with pytest.raises(NoFreeSlot):
        factories.joined(study)
    assert places_of(study, RunKind.REAL) == Places(4, 4, 0, 0, extra=2, extra_free=0)
    call_command("schedule", study.slug)
    assert "4 of 4 places taken, 0 free, 0 closed, 2 taken beyond" in capsys.readouterr().out
    # A place within the plan that comes free is filled before anything else.
    run_ends.return_run(study, runs[1].participant.code)
    assert [(run.slot_id, run.seat) for run in [factories.joined(study)]] == [(runs[1].slot_id, 1)]
    export_study(study, tmp_path / "x.zip")
    rows = exported.table(tmp_path / "x.zip", "participants.csv")
    [settings] = exported.records(tmp_path / "x.zip", "study.json")
    targets = {slot["slot"]: slot["target"] for slot in settings["schedule"]["slots"]}
    beyond = [row for row in rows if int(row["seat"]) > targets[int(row["slot"])]]
    assert sorted(row["participant_id"] for row in beyond) == sorted(
        run.participant.code for run in runs[4:]
    )


def test_r045_an_expired_place_is_taken_only_after_the_extra_ones(db: None) -> None:
    study = one_condition_study(1, 1, recruiting={"extra_places": 1})
    runs = [factories.joined(study) for _ in range(2)]
    expire(runs[1])
    seats = [(run.slot_id, run.seat) for run in (factories.joined(study) for _ in range(3))]
    first, second = (run.slot_id for run in runs)
    assert seats == [(first, 2), (second, 2), (second, 1)]
    with pytest.raises(NoFreeSlot):
        factories.joined(study)


def test_r045_nobody_is_sent_beyond_the_plan_while_another_place_is_free(db: None) -> None:
    """For somebody with claims behind them only some places are new; the rest are still free."""
    recruiting = {"id_parameter": "id", "repeats": 2, "extra_places": 1}
    study = factories.open_study(recruiting=recruiting)
    run = join(study.code, JoinForm("first", recruited=recruited("ann")))
    finish(run)
    with pytest.raises(NoFreeSlot):
        join(study.code, JoinForm("second", recruited=recruited("ann")))


def recruited(value: str) -> Any:
    from studyapp.domain.recruiting import Recruited

    return Recruited(value)


def completed_by_row(study: Study) -> list[int]:
    counts = Counter(
        Enrolment.objects.filter(slot__study=study, state=EnrolmentState.COMPLETED).values_list(
            "slot__number", flat=True
        )
    )
    return [counts[number] for number in range(1, 5)]


def test_r047_a_row_on_which_everybody_drops_out_gets_the_next_arrivals(db: None) -> None:
    """A row was left behind for good, and the others were filled."""
    study = factories.open_study(8, n_subsets=4)
    study.slots.update(target=16)
    for _ in range(16):
        run = factories.joined(study)
        if run.slot.number == 2:
            run_ends.return_run(study, run.participant.code)
        else:
            finish(run)
        counts = completed_by_row(study)
        assert max(counts) - min(counts) <= 1
    for _ in range(7):
        finish(factories.joined(study))
    assert completed_by_row(study) == [2, 2, 2, 2]


def test_r047_drop_outs_of_a_row_are_replaced_in_it(db: None) -> None:
    study = factories.open_study(8, n_subsets=4, n_replications=4)
    for run in [factories.joined(study) for _ in range(16)]:
        if run.slot.number == 2:
            run_ends.return_run(study, run.participant.code)
        else:
            finish(run)
    assert completed_by_row(study) == [4, 0, 4, 4]
    for _ in range(4):
        finish(factories.joined(study))
    assert completed_by_row(study) == [4, 4, 4, 4]


def test_r049_a_run_paid_in_part_is_out_of_the_balance_with_its_data_kept(
    db: None, tmp_path: Path
) -> None:
    """Paid, partial runs kept their slot, or their answers were lost."""
    study = factories.open_study()
    run, trial = factories.started(study)
    record_decision(run.token, trial.code, {"decision": "supported"})
    assert places_of(study, RunKind.REAL) == Places(2, 1, 1, 0, 0, 0)
    run_ends.pay_run_partly(study, run.participant.code)
    assert places_of(study, RunKind.REAL) == Places(2, 0, 2, 0, 0, 0)
    assert factories.joined(study).slot_id == run.slot_id
    export_study(study, tmp_path / "x.zip")
    kept = [
        (row["participant_status"], row["trial_status"], row["decision"])
        for row in exported.table(tmp_path / "x.zip", "trials.csv")
    ]
    assert kept == [("dropped_out", "completed", "supported"), ("dropped_out", "incomplete", "")]
    [row, _] = exported.table(tmp_path / "x.zip", "participants.csv")
    assert (row["end_reason"], row["n_trials"]) == ("paid_partial", "2")


def test_r057_after_everybody_left_in_mid_trial_an_arrival_gets_work(db: None) -> None:
    """A study whose places were all held by people long gone took nobody."""
    study = factories.open_study(n_replications=2)
    gone = [factories.started(study)[0] for _ in range(4)]
    with pytest.raises(NoFreeSlot):
        factories.joined(study)
    for run in (gone[2], gone[0]):
        expire(run)
    arrival = factories.joined(study)
    assert arrival.slot_id == gone[2].slot_id
    assert start_next_trial(arrival.token) is not None
    assert Trial.objects.get(enrolment=gone[2]).state == TrialState.INCOMPLETE
    # The places of the others can be taken back by hand, without waiting.
    call_command("release_run", study.slug, gone[3].participant.code)
    assert factories.joined(study).slot_id == gone[3].slot_id


def test_r057_of_expired_places_the_one_is_taken_that_is_missed_most(db: None) -> None:
    study = one_condition_study(1, 3)
    runs = [factories.joined(study) for _ in range(6)]
    for run in (runs[1], runs[0], runs[2]):
        expire(run)
    taken = [factories.joined(study) for _ in range(2)]
    assert [str(run.slot) for run in taken] == ["1.1", "1.2"]


def test_r059_late_starters_and_arrivals_at_once_never_share_a_place(committed_db: None) -> None:
    """Whoever came back late shared a slot with whoever had taken it."""
    study = factories.open_study(10, n_subsets=5, n_replications=2)
    late = [factories.joined(study) for _ in range(10)]
    for run in late:
        expire(run)
    takers = [factories.joined(study) for _ in range(6)]
    for run in takers[:3]:
        run_ends.return_run(study, run.participant.code)

    def one(index: int) -> Any:
        if index < 10:
            move_to_free_slot(late[index].token)
            return start_next_trial(late[index].token)
        return join(study.code, JoinForm(f"more-{index}"))

    answers = in_threads(one, 16)
    faults = [a for a in answers if isinstance(a, Exception) and not isinstance(a, StudyError)]
    assert faults == []
    held = list(Enrolment.objects.filter(state__in=HOLDING).values_list("slot", "seat"))
    assert len(held) == len(set(held)) == Slot.objects.count() == 10
    running = Trial.objects.filter(state=TrialState.OPEN).values_list("enrolment__slot", flat=True)
    assert len(running) == len(set(running))
