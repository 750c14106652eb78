"""The whole sitting: practice, attention trials, breaks and the questionnaire, in their places."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone, translation

from studyapp.domain.assignment import withdraw
from studyapp.domain.lifecycle import open_study, set_state
from studyapp.domain.practice import feedback_of
from studyapp.domain.questionnaire import plain_text, read_answers, submit_questionnaire
from studyapp.domain.sitting import Plan, Stage, place_of, stage_of
from studyapp.domain.trials import (
    find_run,
    open_trial_of,
    record_decision,
    reveal_next,
    start_next_trial,
)
from studyapp.enums import EnrolmentState, StudyState
from studyapp.errors import BadAnswer, BadAnswers, BadLink, NoFreeSlot, NotOpen, StalePage
from studyapp.models import Enrolment, QuestionnaireAnswer, Study, Trial, VerificationAnswer
from tests import factories
from tests.studyapp.domain.test_trials import in_threads

pytestmark = pytest.mark.django_db

QUESTIONS = [
    {"name": "ease", "text": "How easy?", "kind": "scale", "min": 1, "max": 5, "required": True},
    {"name": "age", "text": "How old?", "kind": "number", "min": 16, "max": 120},
    {"name": "device", "text": "On what?", "kind": "choice", "options": ["A phone", "A laptop"]},
    {"name": "remarks", "text": "What else?", "kind": "text"},
]


def right(trial: Trial) -> str:
    return trial.claim.label


def wrong(trial: Trial) -> str:
    return "refuted" if trial.claim.label == "supported" else "supported"


def decide(trial: Trial, decision: str | None = None, **more) -> Trial | None:
    answer = {"decision": decision or right(trial), **more}
    return record_decision(trial.enrolment.token, trial.code, answer)


def stage(enrolment: Enrolment) -> Stage:
    return stage_of(find_run(enrolment.token))


def play_on(enrolment: Enrolment, trial: Trial | None) -> None:
    """Decide rightly and press Continue until there are no more trials."""
    while trial is not None:
        trial = decide(trial) or start_next_trial(enrolment.token)


def course(enrolment: Enrolment) -> list[tuple[str, str, str, int]]:
    """Every trial of a run in the order of meeting: kind, claim, interface, position."""
    trials = Trial.objects.filter(enrolment=enrolment).order_by("pk")
    return list(trials.values_list("kind", "claim__claim_id", "condition__interface", "position"))


# ---- the plan ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_main", "n_attention"), [(40, 3), (7, 2), (4, 4), (2, 5), (1, 2)])
def test_every_trial_has_its_number_and_none_is_left_out(n_main: int, n_attention: int):
    plan = Plan(n_main, n_attention)
    n_done, numbers = [0, 0], []
    while (step := plan.step(*n_done)) != "end":
        n_done[step == "attention"] += 1
        numbers.append(
            plan.number_of_attention(n_done[1])
            if step == "attention"
            else plan.number_of_main(n_done[0])
        )
    assert n_done == [n_main, n_attention]
    assert numbers == list(range(1, n_main + n_attention + 1))


def test_attention_trials_are_spread_evenly():
    assert [Plan(40, 3).attention_after(index) for index in (1, 2, 3)] == [10, 20, 30]
    assert [Plan(40, 1).attention_after(1)] == [20]
    assert [Plan(3, 5).attention_after(index) for index in range(1, 6)] == [1, 1, 1, 2, 2]


def test_breaks_lie_between_main_trials_only():
    plan = Plan(8, 0, 4)
    assert [position for position in range(9) if plan.has_break_after(position)] == [4]
    assert not any(Plan(8).has_break_after(position) for position in range(9))


# ---- practice ------------------------------------------------------------------------------------


def test_practice_comes_first_one_claim_after_the_other_in_changing_interfaces():
    study = factories.sitting_study(n_practice=3)
    enrolment, trial = factories.started(study)
    play_on(enrolment, trial)
    assert course(enrolment)[:3] == [
        ("practice", "c5", "incremental", 0),
        ("practice", "c6", "all_at_once", 0),
        ("practice", "c7", "incremental", 0),
    ]
    assert [row[0] for row in course(enrolment)[3:]] == ["main"] * 4
    assert [row[3] for row in course(enrolment)[3:]] == [1, 2, 3, 4]
    assert Enrolment.objects.get().state == EnrolmentState.COMPLETED


def test_a_practice_claim_may_name_its_interface():
    study = factories.ready_study()
    meta = {"interface": "all_at_once"}
    factories.add_claims(study, 2, role="practice", meta=meta)
    enrolment, trial = factories.started(open_study(study))
    play_on(enrolment, trial)
    assert [row[2] for row in course(enrolment)[:2]] == ["all_at_once", "all_at_once"]


def test_who_meets_one_condition_only_practises_that_one():
    study = factories.sitting_study(4, n_practice=2, n_subsets=1, condition_policy="between")
    for interface in ("incremental", "all_at_once"):
        enrolment, trial = factories.started_in(study, interface)
        play_on(enrolment, trial)
        assert {row[2] for row in course(enrolment)} == {interface}


def test_practice_shows_the_candidates_in_the_order_of_the_file():
    study = factories.sitting_study(n_practice=2)
    enrolment, trial = factories.started(study)
    assert trial.stimulus == {"order": [0, 1, 2, 3, 4], "msr": 2}
    assert trial.n_steps == 1
    reveal_next(enrolment.token, trial.code, 2)
    assert trial.events.get(step=2).data == {"candidate": 1}
    decide(trial)
    second = start_next_trial(enrolment.token)
    assert (second.n_steps, second.stimulus["order"]) == (5, [0, 1, 2, 3, 4])


def test_nothing_starts_after_a_practice_trial_until_the_participant_goes_on():
    study = factories.sitting_study(n_practice=1)
    enrolment, trial = factories.started(study)
    assert decide(trial) is None
    assert Trial.objects.count() == 1
    assert stage(enrolment) == Stage.FEEDBACK
    first = start_next_trial(enrolment.token)
    assert (first.kind, first.position) == ("main", 1)
    assert start_next_trial(enrolment.token).pk == first.pk


def test_a_practice_claim_is_tried_again_until_it_is_right_or_the_tries_are_used_up():
    study = factories.sitting_study(n_practice=2, sitting={"practice_tries": 3})
    enrolment, trial = factories.started(study)
    told = []
    for decision in (wrong, right, wrong, wrong, wrong):
        decide(trial, decision(trial))
        feedback = feedback_of(find_run(enrolment.token))
        told.append((feedback.number, feedback.is_right, feedback.n_left, feedback.is_last))
        trial = start_next_trial(enrolment.token)
    assert told == [
        (1, False, 2, False),
        (1, True, 0, False),
        (2, False, 2, False),
        (2, False, 1, False),
        (2, False, 0, True),
    ]
    assert [row[1] for row in course(enrolment)[:5]] == ["c5", "c5", "c6", "c6", "c6"]
    assert trial.kind == "main"


def test_feedback_says_what_was_chosen_what_is_right_and_why():
    study = factories.ready_study()
    factories.add_claims(study, 1, role="practice", meta={"explanation": "Sentence 2 says so."})
    enrolment, trial = factories.started(open_study(study))
    decide(trial, "cant_decide")
    feedback = feedback_of(find_run(enrolment.token))
    assert (feedback.decision, feedback.label) == ("cant_decide", "supported")
    assert (feedback.explanation, feedback.n_left) == ("Sentence 2 says so.", 1)


def test_a_practice_claim_without_a_right_button_is_shown_once():
    study = factories.ready_study()
    factories.add_claims(study, 1, role="practice", label="partially_supported")
    enrolment, trial = factories.started(open_study(study))
    decide(trial, "supported")
    assert feedback_of(find_run(enrolment.token)).is_right is None
    assert start_next_trial(enrolment.token).kind == "main"


def test_a_second_decision_on_a_practice_trial_is_refused():
    study = factories.sitting_study(n_practice=1)
    _, trial = factories.started(study)
    decide(trial, wrong(trial))
    with pytest.raises(StalePage, match="already decided"):
        decide(trial, right(trial))
    assert VerificationAnswer.objects.get().is_correct is False


# ---- attention -----------------------------------------------------------------------------------


def test_attention_trials_come_in_their_places_in_the_interface_before_them():
    study = factories.sitting_study(8, n_attention=3)
    enrolment, trial = factories.started(study)
    places = []
    while trial is not None:
        places.append(str(place_of(trial)))
        trial = decide(trial)
    rows = course(enrolment)
    assert [row[0] for row in rows] == [
        "main", "main", "attention", "main", "main", "attention", "main", "main", "attention",
        "main", "main",
    ]  # fmt: skip
    assert [rows[at][1] for at in (2, 5, 8)] == ["c9", "c10", "c11"]
    assert all(rows[at][2] == rows[at - 1][2] for at in (2, 5, 8))
    assert [row[3] for row in rows if row[0] == "main"] == list(range(1, 9))
    assert places == [f"Trial {number} of 11" for number in range(1, 12)]
    assert Enrolment.objects.get().state == EnrolmentState.COMPLETED


def test_an_attention_trial_shows_every_candidate_in_order():
    study = factories.sitting_study(2, n_subsets=1, n_attention=1, condition_policy="between")
    for interface, n_first in (("incremental", 1), ("all_at_once", 5)):
        _, trial = factories.started_in(study, interface)
        check = decide(trial)
        assert check.kind == "attention"
        assert (check.stimulus["order"], check.n_steps) == ([0, 1, 2, 3, 4], n_first)


def test_a_pause_before_an_attention_trial_goes_on_with_it():
    study = factories.sitting_study(4, n_attention=1)
    enrolment, trial = factories.started(study)
    trial = decide(trial)
    set_state(study, StudyState.PAUSED, allowed_from=[StudyState.OPEN])
    assert decide(trial) is None
    with pytest.raises(NotOpen):
        start_next_trial(enrolment.token)
    set_state(study, StudyState.OPEN, allowed_from=[StudyState.PAUSED])
    check = start_next_trial(enrolment.token)
    assert (check.kind, str(place_of(check))) == ("attention", "Trial 3 of 5")
    assert decide(check).position == 3


# ---- breaks --------------------------------------------------------------------------------------


def test_a_break_waits_for_the_participant():
    study = factories.sitting_study(5, n_subsets=5, sitting={"break_every": 1})
    enrolment, trial = factories.started(study)
    assert Plan(enrolment.slot.n_trials).n_main == 2
    assert decide(trial) is None
    assert stage(enrolment) == Stage.BREAK
    assert open_trial_of(enrolment) is None
    second = start_next_trial(enrolment.token)
    assert second.position == 2
    assert start_next_trial(enrolment.token).pk == second.pk
    assert decide(second) is None
    assert Enrolment.objects.get().state == EnrolmentState.COMPLETED


def test_an_attention_trial_comes_before_the_break_at_its_place():
    study = factories.sitting_study(4, n_attention=1, sitting={"break_every": 2})
    enrolment, trial = factories.started(study)
    check = decide(decide(trial))
    assert check.kind == "attention"
    assert decide(check) is None
    assert stage(enrolment) == Stage.BREAK
    assert start_next_trial(enrolment.token).position == 3


# ---- confidence and reason -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "given", "kept"),
    [("off", 4, None), ("optional", 4, 4), ("optional", None, None), ("required", 1, 1)],
)
def test_confidence_is_kept_where_it_is_asked(asked: str, given: int | None, kept: int | None):
    study = factories.sitting_study(sitting={"confidence": asked})
    _, trial = factories.started(study)
    decide(trial, confidence=given, reason="Unasked")
    answer = VerificationAnswer.objects.get()
    assert (answer.confidence, answer.reason) == (kept, "")


@pytest.mark.parametrize("given", [None, 0, 6, "3", ""])
def test_a_required_confidence_that_is_none_stores_nothing(given):
    study = factories.sitting_study(sitting={"confidence": "required"})
    _, trial = factories.started(study)
    with pytest.raises(BadAnswer, match="how sure"):
        decide(trial, confidence=given)
    assert not VerificationAnswer.objects.exists()


def test_a_reason_is_kept_up_to_its_length():
    study = factories.sitting_study(sitting={"reason": "optional"})
    _, trial = factories.started(study)
    with pytest.raises(BadAnswer, match="at most 1000 characters; these are 1001"):
        decide(trial, reason="x" * 1001)
    assert not VerificationAnswer.objects.exists()
    decide(trial, reason="=1+1\nbecause 🌍")
    assert VerificationAnswer.objects.get().reason == "=1+1\nbecause 🌍"


# ---- the questionnaire ---------------------------------------------------------------------------


def at_questionnaire(**options) -> Enrolment:
    study = factories.sitting_study(sitting={"questionnaire": QUESTIONS}, **options)
    enrolment, trial = factories.started(study)
    play_on(enrolment, trial)
    return Enrolment.objects.get(pk=enrolment.pk)


def answers() -> dict[str, str]:
    return dict(QuestionnaireAnswer.objects.values_list("name", "value"))


def test_the_questionnaire_comes_after_the_last_trial_and_completes_the_run():
    enrolment = at_questionnaire()
    assert enrolment.state == EnrolmentState.ACTIVE
    assert stage(enrolment) == Stage.QUESTIONNAIRE
    assert start_next_trial(enrolment.token) is None
    submit_questionnaire(
        enrolment.token,
        {"ease": "4", "age": " 41,5 ", "device": "", "remarks": "One\r\ntwo\0", "other": "x"},
    )
    assert answers() == {"ease": "4", "age": "41.5", "remarks": "One\ntwo"}
    enrolment.refresh_from_db()
    assert enrolment.state == EnrolmentState.COMPLETED
    assert set(QuestionnaireAnswer.objects.values_list("answered_at", flat=True)) == {
        enrolment.ended_at
    }


def test_a_questionnaire_sent_again_changes_nothing():
    enrolment = at_questionnaire()
    submit_questionnaire(enrolment.token, {"ease": "4"})
    submit_questionnaire(enrolment.token, {"ease": "1", "remarks": "late"})
    assert answers() == {"ease": "4"}


def test_wrong_answers_are_named_and_nothing_is_stored():
    enrolment = at_questionnaire()
    given = {"age": "old", "device": "A fridge", "remarks": "x" * 1001}
    with pytest.raises(BadAnswers) as caught:
        submit_questionnaire(enrolment.token, given)
    assert caught.value.faults == {
        "ease": "Choose one of the numbers.",
        "age": "Write a number in digits.",
        "device": "Choose one of the answers.",
        "remarks": "Write at most 1000 characters; these are 1001.",
    }
    assert answers() == {}
    assert stage(enrolment) == Stage.QUESTIONNAIRE


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("ease", "0", "Choose one of the numbers."),
        ("ease", "6", "Choose one of the numbers."),
        ("ease", "-0", "Choose one of the numbers."),
        ("ease", "3.0", "Choose one of the numbers."),
        ("ease", "٣", "Choose one of the numbers."),
        ("age", "15", "Write a number of at least 16."),
        ("age", "1e2", "Write a number in digits."),
        ("age", "121", "Write a number of at most 120."),
        ("age", "inf", "Write a number in digits."),
        ("age", "٤٢", "Write a number in digits."),
        ("age", "1.2.3", "Write a number in digits."),
        (
            "age",
            "1,000",
            "This can be read as two numbers. Write 1000 or 1,0000, whichever you mean.",
        ),
        (
            "age",
            " -12.500 ",
            "This can be read as two numbers. Write -12500 or -12.5000, whichever you mean.",
        ),
    ],
)
def test_an_answer_outside_its_question_is_refused(name: str, value: str, words: str):
    enrolment = at_questionnaire()
    with pytest.raises(BadAnswers) as caught:
        submit_questionnaire(enrolment.token, {"ease": "1", name: value})
    assert caught.value.faults == {name: words}


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("1000", "1000"),
        ("1,0000", "1.0000"),
        ("12,5", "12.5"),
        ("1.25", "1.25"),
        ("0,125", "0.125"),
        ("-0.125", "-0.125"),
        ("00.125", "00.125"),
    ],
)
def test_a_number_that_can_be_read_in_one_way_is_kept(value: str, kept: str):
    question = {"name": "n", "text": "How many?", "kind": "number"}
    assert read_answers([question], {"n": value}) == {"n": kept}


def test_what_to_write_for_an_ambiguous_number_is_said_in_german():
    question = {"name": "n", "text": "Wie viele?", "kind": "number"}
    with translation.override("de"), pytest.raises(BadAnswers) as caught:
        read_answers([question], {"n": "1.000"})
    with translation.override("de"):
        assert str(caught.value.faults["n"]) == (
            "Das lässt sich als zwei verschiedene Zahlen lesen. Schreiben Sie 1000 oder 1.0000, "
            "je nachdem, was Sie meinen."
        )


def test_half_characters_in_an_answer_become_the_sign_for_what_cannot_be_read():
    assert plain_text("a\ud800b\udfff \U0001f600\0\r\n") == "a\ufffdb\ufffd \U0001f600\n"


def test_a_questionnaire_without_any_answer_completes_where_none_is_required():
    study = factories.sitting_study(sitting={"questionnaire": QUESTIONS[1:]})
    enrolment, trial = factories.started(study)
    play_on(enrolment, trial)
    submit_questionnaire(enrolment.token, {})
    assert Enrolment.objects.get().state == EnrolmentState.COMPLETED
    assert answers() == {}


def test_nobody_reaches_the_end_before_the_last_trial():
    study = factories.sitting_study(n_practice=1, sitting={"questionnaire": QUESTIONS})
    enrolment = factories.joined(study)
    for _ in range(3):
        with pytest.raises(StalePage):
            submit_questionnaire(enrolment.token, {"ease": "4"})
        trial = start_next_trial(enrolment.token)
        with pytest.raises(StalePage):
            submit_questionnaire(enrolment.token, {"ease": "4"})
        decide(trial)
    with pytest.raises(BadLink):
        submit_questionnaire("nobody", {"ease": "4"})
    assert answers() == {}


@pytest.mark.parametrize("state", [StudyState.PAUSED, StudyState.CLOSED])
def test_who_has_done_every_trial_may_finish_whatever_the_study_does(state: str):
    enrolment = at_questionnaire()
    set_state(enrolment.slot.study, state, allowed_from=[StudyState.OPEN])
    assert start_next_trial(enrolment.token) is None
    submit_questionnaire(enrolment.token, {"ease": "4"})
    assert Enrolment.objects.get().state == EnrolmentState.COMPLETED


def test_withdrawing_deletes_the_answers():
    enrolment = at_questionnaire()
    submit_questionnaire(enrolment.token, {"ease": "4"})
    withdraw(enrolment.token)
    assert answers() == {}
    assert not Enrolment.objects.exists()


def test_who_has_only_the_questionnaire_left_keeps_the_place():
    enrolment = at_questionnaire()
    study = enrolment.slot.study
    factories.joined(study)
    Enrolment.objects.update(lease_until=timezone.now() - timedelta(minutes=1))
    other = factories.joined(study)
    assert other.slot_id != enrolment.slot_id
    with pytest.raises(NoFreeSlot):
        factories.joined(study)
    submit_questionnaire(enrolment.token, {"ease": "4"})
    enrolment.refresh_from_db()
    assert enrolment.state == EnrolmentState.COMPLETED


# ---- the whole, and what it costs ----------------------------------------------------------------


def test_a_whole_sitting_in_order():
    study = factories.sitting_study(
        4, n_practice=1, n_attention=1, sitting={"break_every": 3, "questionnaire": QUESTIONS}
    )
    enrolment, trial = factories.started(study)
    stages = []
    while True:
        trial = decide(trial)
        if trial is None:
            stages.append((stage(enrolment), len(course(enrolment))))
            trial = start_next_trial(enrolment.token)
            if trial is None:
                break
    assert [row[0] for row in course(enrolment)] == [
        "practice", "main", "main", "attention", "main", "main",
    ]  # fmt: skip
    assert stages == [(Stage.FEEDBACK, 1), (Stage.BREAK, 5), (Stage.QUESTIONNAIRE, 6)]


def statements(action) -> int:
    with CaptureQueriesContext(connection) as captured:
        action()
    return sum(
        not query["sql"].startswith(("SAVEPOINT", "RELEASE")) for query in captured.captured_queries
    )


def test_a_main_trial_costs_the_same_whatever_else_a_sitting_has():
    """Lock, answer, event, trial; then plan, evidence, gold sets, trial, events."""
    plain = factories.open_study(4)
    full = factories.sitting_study(
        4,
        n_practice=1,
        n_attention=1,
        sitting={
            "break_every": 3,
            "questionnaire": QUESTIONS,
            "confidence": "required",
            "reason": "optional",
        },
    )
    _, trial = factories.started(plain)
    assert statements(lambda: decide(trial)) == 9
    enrolment, practice = factories.started(full)
    assert statements(lambda: decide(practice, confidence=3)) == 4
    first = start_next_trial(enrolment.token)
    assert statements(lambda: decide(first, confidence=3)) == 9
    # In the place of plan and evidence: the check's claim and the interface before it.
    second = open_trial_of(find_run(enrolment.token))
    second.enrolment = enrolment
    assert statements(lambda: decide(second, confidence=3)) == 9
    check = open_trial_of(find_run(enrolment.token))
    check.enrolment = enrolment
    assert check.kind == "attention"
    # And one to know which check it was.
    assert statements(lambda: decide(check, confidence=3)) == 10


def test_the_place_of_a_main_trial_costs_nothing(django_assert_num_queries):
    study = factories.sitting_study(4, n_attention=2)
    _, trial = factories.started(study)
    with django_assert_num_queries(0):
        assert str(place_of(trial)) == "Trial 1 of 6"


# ---- at the same moment --------------------------------------------------------------------------


@pytest.mark.usefixtures("committed_db")
def test_five_equal_practice_decisions_at_once_store_one_and_start_nothing():
    _, trial = factories.started(factories.sitting_study(n_practice=1))
    found = in_threads(lambda _: decide(trial), 5)
    assert found.count(None) == 1
    assert sum(isinstance(answer, StalePage) for answer in found) == 4
    assert (VerificationAnswer.objects.count(), Trial.objects.count()) == (1, 1)


@pytest.mark.usefixtures("committed_db")
def test_going_on_in_five_tabs_starts_one_trial():
    sitting = {"break_every": 1}
    study = factories.sitting_study(4, n_practice=1, n_attention=1, sitting=sitting)
    enrolment, trial = factories.started(study)
    for n_started in range(2, 5):
        decide(trial, wrong(trial))
        found = in_threads(lambda _: start_next_trial(enrolment.token), 5)
        assert len({answer.pk for answer in found}) == 1
        assert Trial.objects.count() == n_started
        trial = found[0]


@pytest.mark.usefixtures("committed_db")
def test_a_questionnaire_sent_five_times_at_once_is_stored_once():
    enrolment = at_questionnaire()
    found = in_threads(
        lambda number: submit_questionnaire(enrolment.token, {"ease": str(number + 1)}), 5
    )
    assert found == [None] * 5
    assert QuestionnaireAnswer.objects.count() == 1
    assert Enrolment.objects.get().state == EnrolmentState.COMPLETED


@pytest.mark.usefixtures("committed_db")
def test_withdrawing_while_the_questionnaire_is_sent_leaves_nothing():
    for _ in range(4):
        enrolment = at_questionnaire()

        def one(number: int, token: str = enrolment.token) -> None:
            if number:
                return submit_questionnaire(token, {"ease": "4"})
            return withdraw(token)

        found = in_threads(one, 4)
        assert all(answer is None or isinstance(answer, BadLink) for answer in found)
        assert answers() == {}
        assert not Study.objects.get(pk=enrolment.slot.study_id).participants.exists()
