from __future__ import annotations

from datetime import timedelta

import pytest
from django.core import signing
from django.utils import timezone

from studyapp.domain import assignment, join_forms
from studyapp.domain.assignment import join, move_to_free_slot, withdraw
from studyapp.domain.closing import close_slots
from studyapp.domain.join_forms import JoinForm
from studyapp.domain.trials import record_decision, reveal_next
from studyapp.enums import EnrolmentState, RunKind, TrialState
from studyapp.errors import BadLink, NoFreeSlot, NotOpen, StalePage
from studyapp.models import Enrolment, Participant, Trial
from tests import factories
from tests.studyapp.domain.test_trials import in_threads

pytestmark = pytest.mark.django_db


def expire(enrolment: Enrolment) -> None:
    Enrolment.objects.filter(pk=enrolment.pk).update(
        lease_until=timezone.now() - timedelta(minutes=1)
    )


def test_arrivals_take_the_slots_in_order_and_the_next_one_finds_it_full(study):
    slots = [str(factories.joined(study).slot) for _ in range(2)]
    assert slots == ["1.1", "1.2"]
    with pytest.raises(NoFreeSlot):
        factories.joined(study)
    assert Participant.objects.count() == 2


def test_a_form_sent_twice_joins_once(study):
    form = JoinForm("same-nonce")
    assert join(study.code, form).pk == join(study.code, form).pk
    assert Participant.objects.count() == 1


def test_kinds_of_run_fill_their_own_copies_of_the_slots(study):
    for kind in RunKind.values:
        for _ in range(2):
            factories.joined(study, kind)
    assert Enrolment.objects.count() == 6


def test_a_target_of_two_lets_two_people_fill_a_slot(study):
    study.slots.update(target=2)
    seats = [(str(e.slot), e.seat) for e in (factories.joined(study) for _ in range(4))]
    assert seats == [("1.1", 1), ("1.2", 1), ("1.1", 2), ("1.2", 2)]
    with pytest.raises(NoFreeSlot):
        factories.joined(study)


@pytest.mark.parametrize("n_replications", [1, 30])
def test_an_arrival_takes_eight_queries_however_many_slots(
    django_assert_num_queries, n_replications
):
    """The study, the form before and its withdrawal; subsets, slots, holders; person and run."""
    study = factories.open_study(n_replications=n_replications)
    # With the savepoint of its transaction, and the consent text that the form is made with.
    with django_assert_num_queries(8 + 2 + 1):
        factories.joined(study)
    for _ in range(2 * n_replications - 1):
        factories.joined(study)
    assert study.slots.filter(enrolments__isnull=True).count() == 0
    Enrolment.objects.update(lease_until=timezone.now() - timedelta(minutes=1))
    with django_assert_num_queries(11 + 2 + 1):  # and the expired ones, one of which is ended
        factories.joined(study)


def test_arrivals_go_where_the_cells_are_least_filled(db):
    """Cells are shared by the slots of all cycles: a gap is filled in another where it must be."""
    study = factories.open_study(8, n_subsets=4, n_replications=3)
    runs = [factories.joined(study) for _ in range(8)]
    assert [str(run.slot) for run in runs] == [f"{r}.{n}" for r in (1, 2) for n in range(1, 5)]
    withdraw(runs[1].token)
    close_slots(study, 1, 2)
    slots = [factories.joined(study).slot for _ in range(4)]
    assert [str(slot) for slot in slots] == ["3.2", "3.4", "3.1", "3.3"]
    gap = runs[1].slot.cells
    assert [sum(cell in gap for cell in slot.cells) for slot in slots] == [1, 1, 0, 0]


def test_other_kinds_of_run_do_not_count_where_the_next_one_goes(study):
    study.slots.update(target=2)
    kinds = [RunKind.REAL, RunKind.PILOT, RunKind.PILOT, RunKind.REAL, RunKind.PILOT]
    slots = [str(factories.joined(study, kind).slot) for kind in kinds]
    assert slots == ["1.1", "1.1", "1.2", "1.2", "1.1"]


def test_a_study_that_is_not_open_takes_nobody(db):
    study = factories.ready_study()
    with pytest.raises(NotOpen):
        factories.joined(study)
    assert not Participant.objects.exists()


def test_a_form_must_come_from_this_study(study):
    other = factories.open_study()
    signed = join_forms.issue_join_form(study, None)
    assert join_forms.read_join_form(study, signed).run_kind == RunKind.REAL
    with pytest.raises(BadLink):
        join_forms.read_join_form(other, signed)
    with pytest.raises(BadLink):
        join_forms.read_join_form(study, signed[:-1] + ("A" if signed[-1] != "A" else "B"))
    with pytest.raises(BadLink):
        join_forms.read_join_form(study, "")


def test_a_run_kind_cannot_be_claimed_without_an_invitation(study):
    forged = signing.dumps({"study": study.code, "kind": "simulated", "nonce": "x"})
    with pytest.raises(BadLink):
        join_forms.issue_join_form(study, forged)


def test_an_invitation_works_once(study):
    invitation = join_forms.invite(study, RunKind.SIMULATED)
    first = join_forms.read_join_form(study, join_forms.issue_join_form(study, invitation))
    second = join_forms.read_join_form(study, join_forms.issue_join_form(study, invitation))
    assert join(study.code, first).run_kind == RunKind.SIMULATED
    with pytest.raises(BadLink, match="used before"):
        join(study.code, second)


def test_withdrawal_makes_neither_form_nor_invitation_good_again(study):
    invitation = join_forms.invite(study, RunKind.SIMULATED)
    form = join_forms.read_join_form(study, join_forms.issue_join_form(study, invitation))
    withdraw(join(study.code, form).token)
    again = join_forms.read_join_form(study, join_forms.issue_join_form(study, invitation))
    with pytest.raises(BadLink, match="used before"):
        join(study.code, again)
    with pytest.raises(BadLink, match="withdrawn"):
        join(study.code, form)
    assert not Participant.objects.exists()


def test_an_expired_place_goes_to_the_next_arrival_and_the_data_stay(study):
    enrolment, trial = factories.started(study)
    factories.joined(study)
    record_decision(enrolment.token, trial.code, {"decision": "supported"})
    expire(enrolment)
    late = factories.joined(study)
    enrolment.refresh_from_db()
    assert late.slot_id == enrolment.slot_id
    assert (enrolment.state, enrolment.end_reason) == (EnrolmentState.TIMED_OUT, "timed_out")
    states = Trial.objects.filter(enrolment=enrolment).values_list("state", flat=True)
    assert sorted(states) == [TrialState.COMPLETED, TrialState.INCOMPLETE]


def test_a_place_that_nobody_took_is_kept_by_acting(study):
    enrolment, trial = factories.started_in(study, "incremental")
    expire(enrolment)
    reveal_next(enrolment.token, trial.code, 2)
    enrolment.refresh_from_db()
    assert enrolment.lease_until > timezone.now()


def test_who_lost_the_place_can_do_nothing_more_in_it(study):
    enrolment, trial = factories.started(study)
    factories.joined(study)
    expire(enrolment)
    factories.joined(study)
    with pytest.raises(StalePage):
        record_decision(enrolment.token, trial.code, {"decision": "supported"})


def test_who_lost_the_place_before_the_first_trial_gets_another_free_one(study):
    early = factories.joined(study)
    expire(early)
    gone = factories.joined(study)
    taker = factories.joined(study)
    assert taker.slot_id == early.slot_id
    with pytest.raises(NoFreeSlot):
        move_to_free_slot(early.token)
    withdraw(gone.token)
    moved = move_to_free_slot(early.token)
    assert moved.slot_id == gone.slot_id
    assert moved.state == EnrolmentState.CONSENTED


def test_withdrawal_frees_the_slot_and_keeps_a_count(study):
    enrolment, _ = factories.started(study)
    factories.joined(study)
    withdraw(enrolment.token)
    assert assignment.has_withdrawn(enrolment.token, study.code)
    assert not assignment.has_withdrawn(enrolment.token, factories.open_study().code)
    assert not Enrolment.objects.filter(pk=enrolment.pk).exists()
    assert str(factories.joined(study).slot) == "1.1"
    with pytest.raises(BadLink):
        withdraw(enrolment.token)
    assert study.withdrawals.count() == 1


@pytest.mark.usefixtures("committed_db")
def test_arrivals_at_the_same_moment_get_different_slots_and_the_rest_finds_it_full():
    study = factories.open_study(8, n_subsets=4)
    answers = in_threads(lambda i: join(study.code, JoinForm(f"n{i}")), 10)
    slots = [answer.slot_id for answer in answers if isinstance(answer, Enrolment)]
    assert len(slots) == len(set(slots)) == 4
    assert sum(isinstance(answer, NoFreeSlot) for answer in answers) == 6
    assert Participant.objects.count() == 4
