"""Slots and subsets that are given to nobody any more."""

from __future__ import annotations

import pytest
from django.utils import timezone

from studyapp.domain import closing
from studyapp.domain.trials import record_decision, start_next_trial
from studyapp.enums import EnrolmentState, RunKind
from studyapp.errors import NoFreeSlot, NotEditable, StudyError
from studyapp.models import AuditEntry, Enrolment, Study
from tests import factories
from tests.studyapp.domain.test_assignment import expire

pytestmark = pytest.mark.django_db


def arrivals(study: Study) -> list[str]:
    """The slots of everybody who still gets one."""
    slots = []
    while True:
        try:
            slots.append(str(factories.joined(study).slot))
        except NoFreeSlot:
            return slots


def logged() -> list[tuple[str, dict]]:
    entries = AuditEntry.objects.filter(action__startswith="slots_").order_by("pk")
    return list(entries.values_list("action", "details"))


def test_a_closed_slot_is_given_to_nobody_of_any_kind_until_it_is_opened_again(study):
    assert closing.close_slots(study, 1, 1) == 1
    assert arrivals(study) == ["1.2"]
    assert str(factories.joined(study, RunKind.PILOT).slot) == "1.2"
    assert closing.reopen_slots(study, 1, 1) == 1
    assert arrivals(study) == ["1.1"]
    assert logged() == [("slots_closed", {"slot": "1.1"}), ("slots_reopened", {"slot": "1.1"})]


def test_a_whole_replication_can_be_closed(db):
    study = factories.open_study(n_replications=2)
    closing.close_slots(study, 1, 2)
    assert closing.close_slots(study, 1) == 1
    assert arrivals(study) == ["2.1", "2.2"]
    assert closing.reopen_slots(study, 1) == 2
    assert arrivals(study) == ["1.1", "1.2"]
    assert [details for _, details in logged()] == [{"slot": "1.2"}, {"slot": "1"}, {"slot": "1"}]


def test_a_closed_subset_closes_every_slot_that_shows_it(db):
    study = factories.open_study(8, n_subsets=4)
    cells = dict(study.slots.values_list("number", "cells"))
    closing.close_subset(study, 3)
    left = [n for n, of_slot in cells.items() if 3 not in {subset for subset, _ in of_slot}]
    assert len(left) == 2
    assert arrivals(study) == [f"1.{number}" for number in left]
    closing.close_slots(study, 1, 3)
    closing.reopen_subset(study, 3)
    assert arrivals(study) == [f"1.{n}" for n in cells if n not in left and n != 3]
    assert logged() == [
        ("slots_closed", {"subset": 3}),
        ("slots_closed", {"slot": "1.3"}),
        ("slots_reopened", {"subset": 3}),
    ]


def test_a_run_under_way_in_a_closed_slot_goes_on_to_its_end(study):
    run = factories.joined(study)
    closing.close_slots(study, 1, 1)
    closing.close_subset(study, 1)
    trial = start_next_trial(run.token)
    while trial is not None:
        trial = record_decision(run.token, trial.code, {"decision": "supported"})
    run.refresh_from_db()
    assert run.state == EnrolmentState.COMPLETED


def test_an_expired_place_in_a_closed_slot_is_not_taken(study):
    run = factories.joined(study)
    factories.joined(study)
    closing.close_slots(study, 1, 1)
    expire(run)
    with pytest.raises(NoFreeSlot):
        factories.joined(study)
    assert set(Enrolment.objects.values_list("state", flat=True)) == {EnrolmentState.CONSENTED}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda study: closing.close_slots(study, 1, 1), "slot 1.1: closed already."),
        (lambda study: closing.reopen_slots(study, 1, 2), "slot 1.2: not closed."),
        (lambda study: closing.close_slots(study, 1, 9), "slot 1.9: the schedule of this study"),
        (lambda study: closing.close_slots(study, 9), "slots of replication 9: the schedule"),
        (lambda study: closing.close_subset(study, 2), "subset 2: closed already."),
        (lambda study: closing.reopen_subset(study, 1), "subset 1: not closed."),
        (lambda study: closing.reopen_subset(study, 9), "subset 9: the schedule of this study"),
    ],
)
def test_a_change_that_changes_nothing_is_refused_and_not_logged(study, change, problem):
    other = factories.open_study()
    closing.close_slots(study, 1, 1)
    closing.close_subset(study, 2)
    with pytest.raises(StudyError, match=problem):
        change(study)
    assert len(logged()) == 2
    assert arrivals(other) == ["1.1", "1.2"]


@pytest.mark.parametrize(
    "change",
    [
        lambda study: closing.close_slots(study, 1, 2),
        lambda study: closing.reopen_slots(study, 1, 1),
        lambda study: closing.close_subset(study, 2),
        lambda study: closing.reopen_subset(study, 1),
    ],
)
def test_in_a_closed_study_nothing_is_closed_or_opened_again(change):
    study = factories.open_study(n_subsets=2)
    closing.close_slots(study, 1, 1)
    closing.close_subset(study, 1)
    before = closing.closed_of(study)
    Study.objects.filter(pk=study.pk).update(state="closed", closed_at=timezone.now())
    with pytest.raises(NotEditable, match="the study is closed"):
        change(study)
    assert closing.closed_of(study) == before
