"""The trial, exactly: every step is idempotent and nothing is lost, repeated or skipped."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from studyapp.domain.lifecycle import set_state
from studyapp.domain.trials import (
    find_run,
    record_decision,
    record_visibility,
    reveal_next,
    start_next_trial,
)
from studyapp.enums import EnrolmentState, StudyState, TrialState
from studyapp.errors import BadAnswer, BadLink, NotOpen, StalePage
from studyapp.models import Enrolment, Event, PlannedTrial, Ranking, Trial, VerificationAnswer
from tests import factories

pytestmark = pytest.mark.django_db


def history(trial: Trial) -> list[tuple]:
    return list(trial.events.order_by("seq").values_list("seq", "kind", "step", "data"))


def decide(enrolment, trial, decision="supported", **options):
    return record_decision(enrolment.token, trial.code, {"decision": decision}, **options)


def test_the_first_sentence_is_visible_at_the_start(study):
    _, trial = factories.started_in(study, "incremental")
    assert history(trial) == [
        (0, "trial_started", None, {}),
        (1, "reveal", 1, {"candidate": 3}),
    ]
    assert (trial.n_steps, trial.n_events) == (1, 2)
    assert trial.stimulus == {"order": [3, 0, 2, 1, 4], "msr": 3}


def test_a_set_is_visible_at_once_in_reading_order(study):
    _, trial = factories.started_in(study, "all_at_once")
    reveals = [row for row in history(trial) if row[1] == "reveal"]
    assert [(row[2], row[3]["candidate"]) for row in reveals] == [(1, 0), (2, 2), (3, 3)]
    assert trial.n_steps == 3
    assert len(set(trial.events.values_list("server_at", flat=True))) == 1
    assert trial.stimulus["msr"] == 2


def test_a_trial_stores_how_far_it_is_when_it_starts(study):
    _, trial = factories.started_in(study, "all_at_once")
    stored = Trial.objects.get(pk=trial.pk)
    assert (stored.n_steps, stored.n_events) == (3, 4)


def test_beginning_twice_starts_one_trial(study):
    enrolment, trial = factories.started(study)
    assert start_next_trial(enrolment.token).pk == trial.pk
    assert Trial.objects.filter(enrolment=enrolment).count() == 1


def test_each_reveal_shows_the_next_sentence_of_the_order(study):
    enrolment, trial = factories.started_in(study, "incremental")
    for rank in (2, 3):
        assert reveal_next(enrolment.token, trial.code, rank, client_ms=rank * 100).is_new
    reveals = [row for row in history(trial) if row[1] == "reveal"]
    assert [(row[2], row[3]["candidate"]) for row in reveals] == [(1, 3), (2, 0), (3, 2)]
    assert trial.events.get(step=3).client_ms == 300


def test_a_rank_already_shown_changes_nothing(study):
    enrolment, trial = factories.started_in(study, "incremental")
    reveal_next(enrolment.token, trial.code, 2)
    before = history(trial)
    for rank in (1, 2):
        answer = reveal_next(enrolment.token, trial.code, rank)
        assert not answer.is_new
        assert answer.trial.n_steps == 2
    assert history(trial) == before


@pytest.mark.parametrize("rank", [3, 6, 99])
def test_no_rank_is_skipped(study, rank):
    enrolment, trial = factories.started_in(study, "incremental")
    before = history(trial)
    with pytest.raises(StalePage):
        reveal_next(enrolment.token, trial.code, rank)
    assert history(trial) == before


def test_nothing_is_revealed_beyond_the_last_sentence(study):
    enrolment, trial = factories.started_in(study, "incremental")
    for rank in range(2, factories.N_CANDIDATES + 1):
        reveal_next(enrolment.token, trial.code, rank)
    with pytest.raises(StalePage):
        reveal_next(enrolment.token, trial.code, factories.N_CANDIDATES + 1)
    assert Trial.objects.get(pk=trial.pk).n_steps == factories.N_CANDIDATES


def test_a_set_reveals_nothing_more(study):
    enrolment, trial = factories.started_in(study, "all_at_once")
    with pytest.raises(StalePage):
        reveal_next(enrolment.token, trial.code, 4)


def test_a_decision_ends_the_trial_and_starts_the_next(study):
    enrolment, trial = factories.started_in(study, "incremental")
    following = decide(enrolment, trial, trial.claim.label, client_ms=900)
    trial.refresh_from_db()
    assert trial.state == TrialState.COMPLETED
    assert trial.verification_answer.decision == trial.claim.label
    assert trial.verification_answer.is_correct is True
    assert trial.verification_answer.n_shown == 1
    assert history(trial)[-1][1] == "decision_submitted"
    assert trial.events.last().server_at == trial.ended_at
    assert following.position == 2
    assert following.events.count() >= 2


def test_the_first_decision_stays(study):
    enrolment, trial = factories.started(study)
    decide(enrolment, trial, "supported")
    with pytest.raises(StalePage, match="already decided"):
        decide(enrolment, trial, "refuted")
    assert VerificationAnswer.objects.get(trial=trial).decision == "supported"
    assert Trial.objects.filter(enrolment=enrolment).count() == 2


@pytest.mark.parametrize("decision", [None, "", "true", "partially_supported", "Supported"])
def test_an_answer_that_is_none_stores_nothing(study, decision):
    enrolment, trial = factories.started(study)
    before = history(trial)
    with pytest.raises(BadAnswer):
        decide(enrolment, trial, decision)
    assert not VerificationAnswer.objects.exists()
    assert history(trial) == before
    assert Trial.objects.get(pk=trial.pk).state == TrialState.OPEN


def test_a_page_with_fewer_sentences_than_stored_decides_nothing(study):
    enrolment, trial = factories.started_in(study, "incremental")
    reveal_next(enrolment.token, trial.code, 2)
    with pytest.raises(StalePage):
        decide(enrolment, trial, n_steps=1)
    assert not VerificationAnswer.objects.exists()
    decide(enrolment, trial, n_steps=2)


def test_a_trial_of_another_run_is_out_of_reach(study):
    enrolment, _ = factories.started(study)
    _, other = factories.started(study)
    for action in (
        lambda: reveal_next(enrolment.token, other.code, 2),
        lambda: decide(enrolment, other),
        lambda: record_visibility(enrolment.token, other.code, "page_hidden"),
    ):
        with pytest.raises(BadLink):
            action()
    assert not VerificationAnswer.objects.exists()
    assert Trial.objects.get(pk=other.pk).n_events == other.n_events


def test_a_wrong_token_opens_nothing(study):
    _, trial = factories.started(study)
    with pytest.raises(BadLink):
        find_run("0" * 32)
    with pytest.raises(BadLink):
        start_next_trial("")
    with pytest.raises(BadLink):
        reveal_next("0" * 32, trial.code, 2)


def test_a_whole_run_meets_every_planned_claim_once_and_completes(study):
    enrolment, trial = factories.started(study)
    while trial is not None:
        trial = decide(enrolment, trial, "cant_decide")
    enrolment.refresh_from_db()
    assert enrolment.state == EnrolmentState.COMPLETED
    assert enrolment.ended_at is not None
    planned = PlannedTrial.objects.filter(slot=enrolment.slot).order_by("position")
    done = Trial.objects.filter(enrolment=enrolment).order_by("position")
    assert list(done.values_list("claim_id", "condition_id", "position", "block")) == list(
        planned.values_list("claim_id", "condition_id", "position", "block")
    )
    assert set(done.values_list("state", flat=True)) == {TrialState.COMPLETED}
    assert start_next_trial(enrolment.token) is None


def test_a_later_ranking_never_touches_a_trial_that_has_started(study):
    enrolment, trial = factories.started_in(study, "incremental")
    Ranking.objects.filter(claim=trial.claim).update(order=[4, 3, 2, 1, 0])
    reveal_next(enrolment.token, trial.code, 2)
    assert trial.events.get(step=2).data == {"candidate": 0}


def test_visibility_is_noted_in_order_and_only_while_the_trial_is_open(study):
    enrolment, trial = factories.started(study)
    n_before = trial.n_events
    assert record_visibility(enrolment.token, trial.code, "page_hidden", client_ms=5)
    assert record_visibility(enrolment.token, trial.code, "page_visible", client_ms=9)
    kinds = [row[1] for row in history(trial)[n_before:]]
    assert kinds == ["page_hidden", "page_visible"]
    decide(enrolment, trial)
    assert not record_visibility(enrolment.token, trial.code, "page_hidden")
    with pytest.raises(StalePage):
        record_visibility(enrolment.token, trial.code, "reveal")


def test_a_pause_keeps_the_decision_and_starts_nothing_new(study):
    enrolment, trial = factories.started(study)
    set_state(study, StudyState.PAUSED, allowed_from=[StudyState.OPEN])
    assert decide(enrolment, trial) is None
    assert VerificationAnswer.objects.filter(trial=trial).exists()
    with pytest.raises(NotOpen):
        start_next_trial(enrolment.token)
    set_state(study, StudyState.OPEN, allowed_from=[StudyState.PAUSED])
    assert start_next_trial(enrolment.token).position == 2


def test_a_claim_whose_label_is_no_option_is_not_scorable(db):
    study = factories.ready_study(response_options=["supported", "refuted", "cant_decide"])
    study.claims.update(label="partially_supported")
    from studyapp.domain.lifecycle import open_study

    study = open_study(study)
    enrolment, trial = factories.started(study)
    decide(enrolment, trial, "supported")
    assert VerificationAnswer.objects.get(trial=trial).is_correct is None


def test_a_reveal_needs_four_queries_at_most(study, django_assert_max_num_queries):
    from studyapp.domain.queries import shown_sentences

    enrolment, trial = factories.started_in(study, "incremental")
    with django_assert_max_num_queries(4 + 2):  # and the savepoint of the test's transaction
        revealed = reveal_next(enrolment.token, trial.code, 2)
        sentences = shown_sentences(revealed.trial, first=2)
    assert [sentence.rank for sentence in sentences] == [2]


def in_threads(action, n: int) -> list:
    """Run ``action(i)`` in n threads at once; results or exceptions in order."""

    def call(index):
        try:
            return action(index)
        except Exception as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(call, range(n)))


@pytest.mark.usefixtures("committed_db")
def test_five_equal_decisions_at_once_store_one():
    enrolment, trial = factories.started(factories.open_study())
    answers = in_threads(lambda _: decide(enrolment, trial, "supported"), 5)
    assert sum(isinstance(answer, Trial) for answer in answers) == 1
    assert sum(isinstance(answer, StalePage) for answer in answers) == 4
    assert VerificationAnswer.objects.count() == 1
    assert Event.objects.filter(kind="decision_submitted").count() == 1
    assert Trial.objects.filter(enrolment=enrolment).count() == 2


@pytest.mark.usefixtures("committed_db")
def test_five_equal_reveals_at_once_show_one_sentence():
    enrolment, trial = factories.started_in(factories.open_study(), "incremental")
    answers = in_threads(lambda _: reveal_next(enrolment.token, trial.code, 2), 5)
    assert sorted(answer.is_new for answer in answers) == [False] * 4 + [True]
    assert list(trial.events.filter(kind="reveal").values_list("step", flat=True)) == [1, 2]


@pytest.mark.usefixtures("committed_db")
def test_beginning_in_five_tabs_starts_one_trial():
    enrolment = factories.joined(factories.open_study())
    answers = in_threads(lambda _: start_next_trial(enrolment.token), 5)
    assert len({answer.pk for answer in answers}) == 1
    assert Enrolment.objects.get(pk=enrolment.pk).state == EnrolmentState.ACTIVE
