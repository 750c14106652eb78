"""Cycles added while a study runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from studyapp.domain import lifecycle, schedule
from studyapp.domain.assignment import join
from studyapp.domain.balance import balance_of
from studyapp.domain.digests import schedule_digest
from studyapp.domain.export import export_study
from studyapp.domain.export_settings import study_versions
from studyapp.domain.join_forms import JoinForm
from studyapp.domain.trials import record_decision, start_next_trial
from studyapp.enums import EnrolmentState, StudyState
from studyapp.errors import NoFreeSlot, NotEditable
from studyapp.models import Enrolment, PlannedTrial, Study
from tests import factories
from tests.studyapp.domain import exported
from tests.studyapp.domain.test_trials import in_threads

pytestmark = pytest.mark.django_db


def planned(study: Study) -> list[tuple]:
    return list(
        PlannedTrial.objects.filter(slot__study=study)
        .order_by("slot__replication", "slot__number", "position")
        .values_list(
            "replication", "slot__number", "position", "claim__claim_id", "condition__name"
        )
    )


def again(study: Study) -> Study:
    return Study.objects.get(pk=study.pk)


def test_cycles_added_one_by_one_are_those_laid_out_at_once(db):
    slowly = factories.open_study(6, n_subsets=3)
    for n in (2, 4, 5):
        schedule.lay_out(again(slowly), 3, n, 7)
    at_once = factories.open_study(6, n_subsets=3, n_replications=5)
    assert planned(slowly) == planned(at_once)
    assert schedule_digest(slowly) == schedule_digest(at_once)
    assert list(slowly.slots.order_by("replication", "number").values_list("cells", flat=True)) == (
        list(at_once.slots.order_by("replication", "number").values_list("cells", flat=True))
    )


def test_the_freeze_record_stays_and_every_addition_is_recorded_beside_it(db):
    study = factories.open_study(6, n_subsets=3)
    frozen = study.frozen
    for n in (2, 4, 4):
        schedule.lay_out(again(study), 3, n, 7)
    now = again(study)
    assert {name: now.frozen[name] for name in frozen} == frozen
    added = now.frozen["cycles_added"]
    assert [(one["first_replication"], one["last_replication"]) for one in added] == [
        (2, 2),
        (3, 4),
    ]
    assert [one["schedule"] for one in added] == [
        schedule_digest(now, 2, 2),
        schedule_digest(now, 3, 4),
    ]
    assert all(one["at"].endswith("Z") for one in added)
    assert frozen["schedule"] == schedule_digest(now, 1, 1)


def test_trials_before_and_after_ran_under_the_same_version(db):
    study = factories.open_study(6, n_subsets=3)
    versions = study_versions(study)
    schedule.lay_out(study, 3, 2, 7)
    assert study_versions(again(study)) == versions
    assert list(versions) == [1]


def test_additions_are_exported(db, tmp_path: Path):
    study = factories.open_study(6, n_subsets=3)
    schedule.lay_out(study, 3, 2, 7)
    export_study(again(study), tmp_path / "x.zip")
    [settings] = exported.records(tmp_path / "x.zip", "study.json")
    assert settings["frozen"]["cycles_added"] == again(study).frozen["cycles_added"]
    assert settings["replications"] == 2


def test_a_draft_records_nothing(db):
    study = factories.ready_study()
    schedule.lay_out(study, 2, 3, 7)
    assert lifecycle.open_study(study).frozen.keys() & {"cycles_added"} == set()


def test_cycles_can_be_added_to_a_paused_study_and_not_to_a_closed_one(db):
    study = factories.open_study()
    Study.objects.filter(pk=study.pk).update(state=StudyState.PAUSED)
    schedule.lay_out(study, 2, 2, 7)
    assert again(study).slots.count() == 4
    Study.objects.filter(pk=study.pk).update(state=StudyState.CLOSED)
    with pytest.raises(NotEditable, match="closed"):
        schedule.add_cycles(study, 1)
    with pytest.raises(NotEditable, match="closed"):
        schedule.lay_out(study, 2, 3, 7)
    assert again(study).slots.count() == 4


def test_a_run_under_way_is_not_touched(db):
    study = factories.open_study()
    run, trial = factories.started(study)
    schedule.lay_out(study, 2, 3, 7)
    while trial is not None:
        trial = record_decision(run.token, trial.code, {"decision": "supported"})
    run.refresh_from_db()
    assert (run.state, run.trials.count()) == (EnrolmentState.COMPLETED, 4)
    assert start_next_trial(run.token) is None


@pytest.mark.usefixtures("committed_db")
def test_cycles_are_added_among_arrivals():
    """Each arrival gets a place of its own, and none is lost for want of an added cycle."""
    study = factories.open_study(4)

    def one(index: int):
        if index % 4 == 0:
            return schedule.lay_out(study, 2, 2 + index // 4, 7)
        return join(study.code, JoinForm(f"n{index}"))

    answers = in_threads(one, 16)
    refused = [answer for answer in answers if isinstance(answer, Exception)]
    # Whoever asks for fewer cycles than another has just added is told so; arrivals may be full.
    assert {type(answer).__name__ for answer in refused} <= {"NotEditable", "NoFreeSlot"}
    added = again(study).frozen["cycles_added"]
    ends = [(one["first_replication"], one["last_replication"]) for one in added]
    assert ends[0][0] == 2
    assert ends[-1][1] == 5
    assert all(ends[n][0] == ends[n - 1][1] + 1 for n in range(1, len(ends)))
    slots = list(Enrolment.objects.values_list("slot", flat=True))
    assert len(slots) == len(set(slots))
    while len(slots) < 10:
        slots.append(factories.joined(study).slot_id)
    assert len(set(slots)) == study.slots.count() == 10
    with pytest.raises(NoFreeSlot):
        factories.joined(study)
    assert balance_of(again(study)).is_balanced
