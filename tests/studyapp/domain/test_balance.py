"""The balance counted by the database, against a count by hand."""

from __future__ import annotations

from collections import Counter

import pytest

from studyapp.domain import closing
from studyapp.domain.balance import balance_of, stored_cells
from studyapp.domain.schedule import add_cycles, lay_out
from studyapp.domain.study_facts import StudyFacts, claim_counts
from studyapp.enums import ConditionPolicy, TrialKind
from studyapp.errors import NotEditable, NotReady
from studyapp.models import Claim, PlannedTrial, Study
from tests import factories
from tests.studyapp.domain.test_schedule import plan_of, study_of

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("order", ["blocked", "interleaved"])
@pytest.mark.parametrize("policy", ["within", "between"])
def test_the_counts_are_those_of_the_planned_trials(order: str, policy: str) -> None:
    study = study_of(13, condition_policy=policy, order_policy=order)
    lay_out(study, 4, 3, seed=1)
    planned = list(
        PlannedTrial.objects.filter(slot__study=study).values_list(
            "replication", "slot__number", "position", "claim_id", "condition__name"
        )
    )
    balance = balance_of(study)
    assert balance.problems == []
    assert (balance.n_slots, balance.n_trials) == (study.slots.count(), len(planned))
    seen = Counter((row[0], row[4]) for row in planned)
    assert balance.claims_once == dict(seen)
    for name in ("ranking", "selection"):
        positions = [row[2] for row in planned if row[4] == name]
        assert balance.mean_position[name] == sum(positions) / len(positions)
        assert balance.trials_of[name] == len(positions)
        first = sum(row[2] == 1 and row[4] == name for row in planned)
        assert balance.first_condition[name] == first
    by_slot = Counter((row[0], row[1]) for row in planned)
    assert [(row["replication"], row["slot"], row["n_trials"]) for row in balance.rows] == [
        (*slot, by_slot[slot]) for slot in sorted(by_slot)
    ]


def test_a_cycle_that_is_missing_altogether_is_told() -> None:
    study = study_of(6)
    lay_out(study, 3, 2, seed=1)
    PlannedTrial.objects.filter(slot__study=study, replication=2).delete()
    assert balance_of(study).problems == [
        "replication 2, ranking: 6 of 6 claims are not seen exactly once",
        "replication 2, selection: 6 of 6 claims are not seen exactly once",
    ]


def test_a_claim_that_is_no_main_claim_does_not_count() -> None:
    study = study_of(6)
    lay_out(study, 3, 1, seed=1)
    Claim.objects.filter(study=study, position=1).update(role=TrialKind.PRACTICE)
    factories.add_claims(study, 1)
    assert balance_of(study).problems == [
        "replication 1, ranking: 1 of 6 claims are not seen exactly once",
        "replication 1, selection: 1 of 6 claims are not seen exactly once",
    ]


def test_a_subset_under_two_conditions_in_one_slot_is_told() -> None:
    study = study_of(6)
    lay_out(study, 3, 1, seed=1)
    subsets = list(study.subsets.all())
    study.claims.filter(subset=subsets[1]).update(subset=subsets[0])
    balance = balance_of(study)
    assert balance.n_repeating == 1
    assert balance.problems == ["slots that show the same claims under two conditions: 1"]


def test_closed_slots_and_subsets_are_marked_and_leave_the_balance_as_it_is() -> None:
    study = factories.open_study(6, n_subsets=3)
    closing.close_slots(study, 1, 3)
    closing.close_subset(study, 1)
    balance = balance_of(study)
    with_first = [[1] in row["subsets"].values() for row in balance.rows]
    assert [row["closed"] for row in balance.rows] == [
        has_first or row["slot"] == 3
        for has_first, row in zip(with_first, balance.rows, strict=True)
    ]
    assert balance.is_balanced


def test_cells_are_one_query_and_the_facts_seven(django_assert_num_queries) -> None:
    study = factories.ready_study(12, n_subsets=4, n_replications=3)
    with django_assert_num_queries(1):
        cells = stored_cells(study)
    assert len(cells) == 2 * study.slots.count()
    with django_assert_num_queries(7):
        facts = StudyFacts(study)
        assert facts.balance.is_balanced
        assert [row.done for row in facts.progress] == [12, 12]
        assert (facts.claims.n, len(facts.conditions)) == (12, 2)


def test_claims_are_counted_by_role_label_size_and_licence() -> None:
    study = factories.draft_study()
    factories.add_claims(study, 3, license="CC0")
    factories.add_claims(study, 1, license=None, label="partially_supported")
    factories.add_claims(study, 2, role=TrialKind.PRACTICE, label="refuted", license="X")
    counts = claim_counts(study)
    assert (counts.n, counts.n_practice, counts.n_attention) == (4, 2, 0)
    assert counts.by_label == {"supported": 2, "refuted": 1, "partially_supported": 1}
    assert counts.by_license == {"not said": 1, "CC0": 3}
    assert (counts.by_gold_size, counts.mean_candidates) == ({1: 4}, 5.0)
    assert counts.other_labels == {"refuted"}


def test_cycles_are_added_to_a_draft_and_to_an_open_study_alike() -> None:
    plans = []
    for make in (factories.ready_study, factories.open_study):
        study = make(6, n_subsets=3)
        assert add_cycles(study, 2) == 3
        plans.append(plan_of(study))
        assert Study.objects.get(pk=study.pk).n_replications == 3
        assert balance_of(study).is_balanced
    assert plans[0] == plans[1]


def test_cycles_asked_for_twice_with_what_was_known_are_added_once() -> None:
    study = factories.open_study(6, n_subsets=3)
    assert add_cycles(study, 2, n_before=1) == add_cycles(study, 2, n_before=1) == 3
    assert study.slots.count() == 9
    with pytest.raises(NotEditable, match="has 3 cycles by now"):
        add_cycles(study, 1, n_before=1)
    assert study.slots.count() == 9


def test_cycles_need_a_schedule_and_a_number() -> None:
    study = study_of(6, condition_policy=ConditionPolicy.WITHIN)
    with pytest.raises(NotReady, match="no schedule yet"):
        add_cycles(study, 1)
    lay_out(study, 3, 1, seed=1)
    with pytest.raises(NotReady, match="at least one cycle"):
        add_cycles(study, 0)
