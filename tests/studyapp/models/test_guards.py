"""What the database itself refuses, on SQLite and PostgreSQL alike."""

from __future__ import annotations

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.utils import timezone

from studyapp.domain import audit
from studyapp.domain.assignment import withdraw
from studyapp.enums import AuditAction, EnrolmentState, EventKind, RunKind, TrialKind, TrialState
from studyapp.models import (
    AuditEntry,
    ConsentText,
    Enrolment,
    Event,
    Participant,
    PlannedTrial,
    QuestionnaireAnswer,
    Ranking,
    Selection,
    Slot,
    Trial,
    VerificationAnswer,
)
from tests import factories
from tests.backends import BACKEND

pytestmark = pytest.mark.django_db


def refused(action) -> str:
    """The database's words when ``action`` breaks a rule."""
    with pytest.raises(IntegrityError) as caught, transaction.atomic():
        action()
    return str(caught.value)


def test_events_cannot_be_changed(study):
    _, trial = factories.started(study)
    event = trial.events.first()
    words = refused(lambda: Event.objects.filter(pk=event.pk).update(kind="reveal"))
    assert "events are insert only" in words


def test_events_cannot_be_deleted_while_the_participant_takes_part(study):
    _, trial = factories.started(study)
    words = refused(lambda: trial.events.all().delete())
    assert "on withdrawal only" in words
    assert trial.events.count() >= 2


def test_withdrawal_deletes_this_participants_rows_and_no_others(study):
    enrolment, trial = factories.started(study)
    _, other = factories.started(study)
    withdraw(enrolment.token)
    assert not Trial.objects.filter(pk=trial.pk).exists()
    assert not Event.objects.filter(trial_id=trial.pk).exists()
    assert not Participant.objects.filter(pk=enrolment.participant_id).exists()
    assert other.events.count() >= 2
    assert study.withdrawals.get().n_trials == 1


@pytest.mark.skipif(BACKEND != "postgres", reason="SQLite has no TRUNCATE")
@pytest.mark.usefixtures("committed_db")
def test_events_cannot_be_truncated():
    factories.started(factories.open_study())
    words = refused(lambda: connection.cursor().execute("TRUNCATE studyapp_event CASCADE"))
    assert "events are insert only" in words
    for model in (VerificationAnswer, QuestionnaireAnswer):
        statement = f"TRUNCATE {model._meta.db_table}"
        words = refused(lambda statement=statement: connection.cursor().execute(statement))
        assert "cannot be changed" in words


@pytest.mark.parametrize("step", [0, 1, 3, 9])
def test_steps_of_a_trial_are_consecutive(study, step):
    _, trial = factories.started_in(study, "incremental")
    refused(
        lambda: Event.objects.create(
            trial=trial, seq=7, kind="reveal", step=step, server_at=timezone.now()
        )
    )
    Event.objects.create(trial=trial, seq=2, kind="reveal", step=2, server_at=timezone.now())


def test_two_events_never_share_a_place_in_the_history(study):
    _, trial = factories.started(study)
    refused(
        lambda: Event.objects.create(
            trial=trial, seq=0, kind=EventKind.PAGE_HIDDEN, server_at=timezone.now()
        )
    )


def test_a_participant_never_gets_a_claim_twice(study):
    enrolment, trial = factories.started(study)
    planned = PlannedTrial.objects.get(slot=enrolment.slot, position=2)
    refused(
        lambda: Trial.objects.create(
            enrolment=enrolment,
            participant=enrolment.participant,
            planned=planned,
            claim=trial.claim,
            condition=planned.condition,
            protocol="verification",
            state=TrialState.INCOMPLETE,
            block=1,
            position=2,
            stimulus={"order": [0]},
            n_steps=1,
            n_events=1,
            started_at=timezone.now(),
        )
    )


def test_a_run_has_one_open_trial_at_most(study):
    enrolment, _ = factories.started(study)
    planned = PlannedTrial.objects.get(slot=enrolment.slot, position=2)
    refused(
        lambda: Trial.objects.create(
            enrolment=enrolment,
            participant=enrolment.participant,
            planned=planned,
            claim=planned.claim,
            condition=planned.condition,
            protocol="verification",
            block=1,
            position=2,
            stimulus={"order": [0]},
            n_steps=1,
            n_events=1,
            started_at=timezone.now(),
        )
    )


def test_a_trial_has_one_decision_and_it_stays(study):
    _, trial = factories.started(study)
    answer = {"decision": "supported", "is_correct": True, "n_shown": 1}
    VerificationAnswer.objects.create(trial=trial, **answer)
    refused(lambda: VerificationAnswer.objects.create(trial=trial, **answer))
    words = refused(lambda: VerificationAnswer.objects.update(decision="refuted"))
    assert "cannot be changed" in words
    assert "on withdrawal only" in refused(lambda: VerificationAnswer.objects.all().delete())


def test_the_frozen_stimulus_never_changes(study):
    _, trial = factories.started(study)
    words = refused(lambda: Trial.objects.update(stimulus={"order": [4, 3, 2, 1, 0]}))
    assert "frozen" in words
    Trial.objects.filter(pk=trial.pk).update(n_steps=trial.n_steps)


def test_a_slot_is_held_by_one_participant_of_a_kind(study):
    held = factories.joined(study)
    factories.joined(study, RunKind.SIMULATED)
    values = {
        "participant": Participant.objects.create(study=study),
        "slot": held.slot,
        "consent_version": "v",
        "consented_at": timezone.now(),
        "lease_until": timezone.now(),
    }
    refused(lambda: Enrolment.objects.create(join_nonce="another", **values))
    Enrolment.objects.create(join_nonce="late", state=EnrolmentState.TIMED_OUT, **values)


@pytest.mark.parametrize(
    "order",
    [[0, 1, 2, 3], [0, 1, 2, 3, 3], [1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5], [], ["0", 1, 2, 3, 4]],
)
def test_a_ranking_orders_every_candidate_once(db, order):
    study = factories.draft_study()
    (claim,) = factories.add_claims(study, 1)
    condition, _ = factories.add_conditions(study)
    values = {"condition": condition, "claim": claim, "method": "x", "status": "complete"}
    words = refused(lambda: Ranking.objects.create(order=order, origins=[], **values))
    assert "every candidate once" in words
    kept = Ranking.objects.create(order=[4, 3, 2, 1, 0], origins=[], **values)
    refused(lambda: Ranking.objects.filter(pk=kept.pk).update(order=order))


def test_an_object_is_no_ranking(db):
    study = factories.draft_study()
    (claim,) = factories.add_claims(study, 1)
    condition, _ = factories.add_conditions(study)
    order = {str(rank): rank for rank in range(5)}
    with pytest.raises(DatabaseError), transaction.atomic():
        Ranking.objects.create(
            condition=condition, claim=claim, method="x", status="complete", order=order, origins=[]
        )


@pytest.mark.skipif(BACKEND != "sqlite", reason="only SQLite can replace a row by inserting")
def test_replacing_does_not_slip_past_the_guards(study):
    _, trial = factories.started(study)
    event = trial.events.first()
    VerificationAnswer.objects.create(trial=trial, decision="supported", is_correct=True, n_shown=1)
    for table, key in (
        (Event._meta.db_table, f"id = {event.pk}"),
        (VerificationAnswer._meta.db_table, f"trial_id = {trial.pk}"),
    ):
        statement = f"INSERT OR REPLACE INTO {table} SELECT * FROM {table} WHERE {key}"
        words = refused(lambda statement=statement: connection.cursor().execute(statement))
        assert "on withdrawal only" in words


@pytest.mark.parametrize("selected", [[], [1, 0], [1, 1], [-1, 2], [3, 5], ["1"], [0.5]])
def test_a_selection_holds_ascending_positions(db, selected):
    study = factories.draft_study()
    (claim,) = factories.add_claims(study, 1)
    _, condition = factories.add_conditions(study)
    values = {"condition": condition, "claim": claim, "method": "x", "status": "complete"}
    words = refused(lambda: Selection.objects.create(selected=selected, **values))
    assert "ascending" in words
    Selection.objects.create(selected=[0, 4], **values)


def test_a_cycle_never_shows_a_claim_twice_under_a_condition(study):
    planned = PlannedTrial.objects.filter(slot__study=study).first()
    other = Slot.objects.filter(study=study).exclude(pk=planned.slot_id).first()
    refused(
        lambda: PlannedTrial.objects.create(
            slot=other,
            replication=planned.replication,
            position=99,
            block=1,
            claim=planned.claim,
            condition=planned.condition,
        )
    )


# ---- practice, attention, questionnaire ----------------------------------------------------------


def other_trial(enrolment, kind: str, claim, **changes):
    """Insert a finished trial outside the plan."""
    values = {
        "enrolment": enrolment,
        "participant": enrolment.participant,
        "claim": claim,
        "condition": claim.study.conditions.first(),
        "protocol": "verification",
        "kind": kind,
        "state": TrialState.INCOMPLETE,
        "block": 0,
        "position": 0,
        "stimulus": {"order": [0]},
        "n_steps": 1,
        "n_events": 1,
        "started_at": timezone.now(),
    }
    return Trial.objects.create(**(values | changes))


def test_a_practice_claim_may_be_tried_again_and_an_attention_claim_is_met_once(study):
    enrolment, _ = factories.started(study)
    practice, attention = factories.add_claims(study, 2, role=TrialKind.PRACTICE)
    for _ in range(2):
        other_trial(enrolment, TrialKind.PRACTICE, practice)
    other_trial(enrolment, TrialKind.ATTENTION, attention)
    refused(lambda: other_trial(enrolment, TrialKind.ATTENTION, attention))
    assert Trial.objects.filter(enrolment=enrolment, position=0).count() == 3


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("main", {}),
        ("main", {"position": 9}),
        ("practice", {"position": 9}),
        ("attention", {"block": 1}),
    ],
)
def test_only_main_trials_are_planned_and_have_a_position(study, kind, changes):
    enrolment, _ = factories.started(study)
    (claim,) = factories.add_claims(study, 1, role=TrialKind.PRACTICE)
    refused(lambda: other_trial(enrolment, kind, claim, **changes))


def test_two_main_trials_of_a_run_never_share_a_position(study):
    enrolment, trial = factories.started(study)
    planned = PlannedTrial.objects.get(slot=enrolment.slot, position=2)
    same_place = {"planned": planned, "block": 1, "position": trial.position}
    refused(lambda: other_trial(enrolment, TrialKind.MAIN, planned.claim, **same_place))


def test_an_answer_to_the_questionnaire_stays_until_its_participant_withdraws(study):
    enrolment, other = factories.joined(study), factories.joined(study)
    for run in (enrolment, other):
        QuestionnaireAnswer.objects.create(
            enrolment=run, name="age", value="41", answered_at=timezone.now()
        )
    refused(
        lambda: QuestionnaireAnswer.objects.create(
            enrolment=enrolment, name="age", value="42", answered_at=timezone.now()
        )
    )
    assert "cannot be changed" in refused(lambda: QuestionnaireAnswer.objects.update(value="1"))
    assert "on withdrawal only" in refused(lambda: QuestionnaireAnswer.objects.all().delete())
    withdraw(enrolment.token)
    assert QuestionnaireAnswer.objects.get().enrolment == other


def test_the_audit_log_can_only_grow(study):
    words = refused(lambda: AuditEntry.objects.update(who="somebody else"))
    assert "the audit log is insert only" in words
    entry = AuditEntry.objects.first()
    assert "insert only" in refused(lambda: AuditEntry.objects.filter(pk=entry.pk).delete())
    assert AuditEntry.objects.filter(pk=entry.pk, who="command").exists()


def test_the_audit_log_outlives_its_study(db):
    draft = factories.draft_study()
    audit.record(AuditAction.STUDY_CREATED, draft)
    number = draft.pk
    draft.delete()
    assert AuditEntry.objects.get(study_number=number).study_slug == draft.slug


def test_a_kept_consent_text_cannot_be_changed(study):
    words = refused(lambda: ConsentText.objects.update(text="another"))
    assert "cannot be changed" in words
