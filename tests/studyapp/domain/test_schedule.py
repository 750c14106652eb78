from __future__ import annotations

import pytest

from studyapp.domain.balance import balance_of
from studyapp.domain.schedule import lay_out
from studyapp.enums import ConditionPolicy
from studyapp.errors import NotEditable, NotReady
from studyapp.models import PlannedTrial, Slot, Study
from tests import factories

pytestmark = pytest.mark.django_db


def plan_of(study: Study) -> list[tuple]:
    return list(
        PlannedTrial.objects.filter(slot__study=study)
        .order_by("slot__replication", "slot__number", "position")
        .values_list(
            "slot__replication",
            "slot__number",
            "position",
            "block",
            "claim__claim_id",
            "condition__name",
        )
    )


def study_of(n_claims: int, **fields) -> Study:
    study = factories.draft_study(**fields)
    factories.add_claims(study, n_claims)
    factories.add_conditions(study)
    return study


def test_the_paper_s_design_is_balanced():
    study = study_of(100)
    lay_out(study, 5, 1, seed=11)
    balance = balance_of(study)
    assert balance.is_balanced
    assert (balance.n_slots, balance.n_trials) == (5, 200)
    assert balance.subset_sizes == {1: 20, 2: 20, 3: 20, 4: 20, 5: 20}
    assert set(balance.claims_once.values()) == {100}
    assert [row["n_trials"] for row in balance.rows] == [40] * 5
    assert sorted(balance.first_condition.values()) == [2, 3]


def test_subsets_are_stratified_by_label():
    study = study_of(20)
    lay_out(study, 5, 1, seed=1)
    for subset in study.subsets.all():
        labels = list(subset.claims.values_list("label", flat=True))
        assert sorted(labels) == ["refuted", "refuted", "supported", "supported"]


def test_uneven_numbers_differ_by_one_and_are_still_balanced():
    study = study_of(13)
    lay_out(study, 4, 3, seed=1)
    balance = balance_of(study)
    assert balance.is_balanced
    assert sorted(balance.subset_sizes.values()) == [3, 3, 3, 4]
    assert balance.n_trials == 13 * 2 * 3


def test_equal_seeds_give_equal_plans_and_others_do_not():
    plans = []
    for seed in (1, 1, 2):
        study = study_of(12)
        lay_out(study, 3, 2, seed)
        plans.append(plan_of(study))
    assert plans[0] == plans[1]
    assert plans[0] != plans[2]


def test_between_participants_nobody_sees_two_conditions():
    study = study_of(6, condition_policy=ConditionPolicy.BETWEEN)
    lay_out(study, 3, 2, seed=1)
    balance = balance_of(study)
    assert balance.is_balanced
    assert balance.n_slots == 12
    for slot in Slot.objects.filter(study=study):
        assert slot.planned.values("condition").distinct().count() == 1


def test_a_draft_s_schedule_is_made_anew():
    study = study_of(6)
    lay_out(study, 3, 2, seed=1)
    study.refresh_from_db()
    lay_out(study, 2, 1, seed=5)
    assert Slot.objects.filter(study=study).count() == 2
    assert balance_of(study).is_balanced


def test_cycles_are_added_to_an_open_study_without_touching_the_first():
    study = factories.open_study(6, n_subsets=3)
    before = plan_of(study)
    factories.joined(study)
    lay_out(study, 3, 3, seed=7)
    after = plan_of(study)
    assert after[: len(before)] == before
    assert len(after) == 3 * len(before)
    assert balance_of(study).is_balanced


@pytest.mark.parametrize(("k", "r", "seed"), [(2, 2, 7), (3, 2, 8), (3, 0, 7)])
def test_an_open_study_s_design_is_frozen(k, r, seed):
    study = factories.open_study(6, n_subsets=3)
    before = plan_of(study)
    with pytest.raises((NotEditable, NotReady)):
        lay_out(study, k, r, seed)
    assert plan_of(study) == before


@pytest.mark.parametrize(
    ("n_claims", "k", "words"), [(4, 1, "at least 2 subsets"), (3, 4, "at least 4 claims")]
)
def test_impossible_numbers_are_refused_with_a_reason(n_claims, k, words):
    study = study_of(n_claims)
    with pytest.raises(NotReady, match=words):
        lay_out(study, k, 1, seed=1)
    assert not Slot.objects.filter(study=study).exists()


def test_a_study_without_claims_or_conditions_cannot_be_scheduled():
    study = factories.draft_study()
    with pytest.raises(NotReady, match="no claims"):
        lay_out(study, 1, 1, 1)
    factories.add_claims(study, 2)
    with pytest.raises(NotReady, match="no conditions"):
        lay_out(study, 1, 1, 1)


def test_a_missing_planned_trial_is_told():
    study = study_of(6)
    lay_out(study, 3, 1, seed=1)
    PlannedTrial.objects.filter(slot__study=study).first().delete()
    balance = balance_of(study)
    assert not balance.is_balanced
    assert "1 of 6 claims are not seen exactly once" in balance.problems[0]


@pytest.mark.parametrize("n_replications", [1, 3])
def test_the_balance_needs_the_same_number_of_queries(django_assert_num_queries, n_replications):
    study = study_of(6)
    lay_out(study, 3, n_replications, seed=1)
    with django_assert_num_queries(4):
        balance_of(study)
