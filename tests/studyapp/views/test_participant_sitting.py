"""The pages of a whole sitting: practice, breaks, the questionnaire, and the way back."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from studyapp.domain import assignment, lifecycle
from studyapp.domain.join_forms import JoinForm
from studyapp.domain.recruiting import Recruited
from studyapp.domain.trials import record_decision, reveal_next, start_next_trial
from studyapp.enums import EnrolmentState, Interface, StudyState, TrialKind
from studyapp.models import (
    Candidate,
    Claim,
    Enrolment,
    QuestionnaireAnswer,
    Study,
    Trial,
    VerificationAnswer,
)
from tests import factories
from tests.studyapp.views.pages import (
    HTMX,
    counts,
    form_ending,
    forms_of,
    has_form,
    join,
    run_url,
    trial_url,
)
from tests.studyapp.views.test_participant_load import n_queries

pytestmark = pytest.mark.django_db

QUESTIONS: list[dict[str, Any]] = [
    {"name": "ease", "text": "How easy?", "kind": "scale", "min": 1, "max": 3, "required": True},
    {"name": "age", "text": "How old?", "kind": "number", "min": 16},
    {
        "name": "device",
        "text": "On what?",
        "kind": "choice",
        "options": ["A phone", "<b>Other</b>"],
    },
    {"name": "remarks", "text": "What else?", "kind": "text"},
]


def words_of(response: Any) -> str:
    """The text a reader sees, spaces made one."""
    page = re.sub(r"<head>.*?</head>", "", response.content.decode(), flags=re.S)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page)).strip()


def step(client: Client, page: Any, ending: str, **chosen: str) -> Any:
    """Send a form of the page as a browser without JavaScript does; the page that follows."""
    action, values = form_ending(page, ending)
    response = client.post(action, values | chosen)
    return client.get(response.headers["Location"]) if response.status_code == 303 else response


def decide_on(trial: Trial, decision: str | None = None, **more: Any) -> Trial | None:
    answer = {"decision": decision or trial.claim.label, **more}
    return record_decision(trial.enrolment.token, trial.code, answer)


def at_questionnaire(**fields: Any) -> Enrolment:
    sitting = {"questionnaire": QUESTIONS} | fields.pop("sitting", {})
    enrolment, trial = factories.started(factories.sitting_study(sitting=sitting, **fields))
    while trial is not None:
        trial = decide_on(trial)
    return enrolment


@pytest.mark.parametrize(
    ("lang", "n", "before", "at_end"),
    [
        ("en", 1, "One question follows at the end.", "One last question"),
        ("en", 1, "One question follows at the end.", "Answer this question, and you"),
        ("en", 2, "A few questions follow at the end.", "A few last questions"),
        ("de", 1, "Am Ende folgt eine Frage.", "Noch eine Frage"),
        ("de", 1, "Am Ende folgt eine Frage.", "Wenn Sie diese Frage beantwortet haben"),
        ("de", 2, "Am Ende folgen einige Fragen.", "Noch einige Fragen"),
    ],
)
def test_one_question_is_announced_as_one(
    client: Client, lang: str, n: int, before: str, at_end: str
) -> None:
    sitting = {"questionnaire": QUESTIONS[:n]}
    study = factories.sitting_study(sitting=sitting, lang=lang)
    assert before in words_of(client.get(join(client, study).headers["Location"]))
    assert at_end in words_of(client.get(run_url(at_questionnaire(sitting=sitting, lang=lang))))


# ---- a whole sitting -----------------------------------------------------------------------------


def test_a_whole_sitting_by_plain_forms(client: Client) -> None:
    study = factories.sitting_study(
        4,
        n_practice=1,
        n_attention=1,
        sitting={
            "break_every": 2,
            "questionnaire": QUESTIONS,
            "confidence": "required",
            "reason": "optional",
        },
    )
    page = client.get(join(client, study).headers["Location"])
    assert (
        "First comes 1 practice claim, which does not count. Then there are 5 trials. There are "
        "breaks in between. A few questions follow at the end."
    ) in words_of(page)
    page = step(client, page, "begin")
    assert "Practice 1 of 1" in words_of(page)
    wrong = "refuted" if Trial.objects.get().claim.label == "supported" else "supported"
    answer = {"confidence": "2", "reason": "Because."}
    page = step(client, page, "decide", decision=wrong, **answer)
    assert "You can try this claim once more." in words_of(page)
    page = step(client, page, "begin")
    right = Trial.objects.get(state="open").claim.label
    page = step(client, page, "decide", decision=right, **answer)
    assert "Right, but the sentences you had read did not show it yet" in words_of(page)
    page = step(client, page, "begin")
    seen = []
    while has_form(page, "decide"):
        seen.append(re.search(r"Trial \d of \d", words_of(page))[0])
        page = step(client, page, "decide", decision="cant_decide", **answer)
        if "Time for a break" in words_of(page):
            assert "You have done 3 of 5 trials" in words_of(page)
            seen.append("break")
            page = step(client, page, "begin")
    numbers = ["Trial 1 of 5", "Trial 2 of 5", "Trial 3 of 5", "break", "Trial 4 of 5"]
    assert seen == [*numbers, "Trial 5 of 5"]
    assert "A few last questions" in words_of(page)
    page = step(client, page, "questionnaire", **{"q-ease": "3", "q-remarks": "Fine."})
    assert study.completion_code in words_of(page)
    assert "All 5 trials are done" in words_of(page)
    assert dict(QuestionnaireAnswer.objects.values_list("name", "value")) == {
        "ease": "3",
        "remarks": "Fine.",
    }
    assert set(VerificationAnswer.objects.values_list("confidence", "reason")) == {(2, "Because.")}
    assert Enrolment.objects.get().state == EnrolmentState.COMPLETED


def test_looking_at_the_pages_between_stores_nothing(client: Client) -> None:
    study = factories.sitting_study(n_practice=1, sitting={"break_every": 1})
    enrolment, trial = factories.started(study)
    decide_on(trial)
    for heading in ("Your answer", "Time for a break"):
        before = counts()
        assert heading in words_of(client.get(run_url(enrolment)))
        for page in ("begin", "questionnaire", "help", "withdraw"):
            assert client.get(run_url(enrolment) + page).status_code in (200, 303)
        assert counts() == before
        decide_on(start_next_trial(enrolment.token))


# ---- practice ------------------------------------------------------------------------------------


def test_feedback_says_right_or_wrong_in_words_with_the_reason(client: Client) -> None:
    study = factories.ready_study()
    meta = {"explanation": "The second <sentence> says so."}
    factories.add_claims(study, 1, role=TrialKind.PRACTICE, meta=meta)
    enrolment, trial = factories.started(lifecycle.open_study(study))
    reveal_next(enrolment.token, trial.code, 2)
    decide_on(trial, "refuted")
    words = words_of(client.get(run_url(enrolment)))
    assert "That is not what the evidence says Your answer Refuted" in words
    assert "What the evidence says Supported The second &lt;sentence&gt; says so." in words
    assert "You can try this claim once more. Try again" in words
    trial = start_next_trial(enrolment.token)
    reveal_next(enrolment.token, trial.code, 2)
    decide_on(trial)
    words = words_of(client.get(run_url(enrolment)))
    assert "That is right Your answer Supported" in words
    assert "You read" not in words
    assert "Practice is over." in words
    assert "Begin the trials" in words


def feedback_after(client: Client, decision: str, n_read: int) -> str:
    """The page after a supported practice claim, whose second sentence settles it."""
    enrolment, trial = factories.started(factories.sitting_study(n_practice=1))
    for rank in range(2, n_read + 1):
        reveal_next(enrolment.token, trial.code, rank)
    decide_on(trial, decision)
    return words_of(client.get(run_url(enrolment)))


@pytest.mark.parametrize(
    ("decision", "n_read", "said"),
    [
        ("supported", 2, "That is right Your answer Supported"),
        (
            "supported",
            1,
            "Right, but the sentences you had read did not show it yet Your answer Supported What "
            "the evidence says Supported You read 1 of 5 sentences. In the study, go on reading "
            "until they do.",
        ),
        (
            "cant_decide",
            1,
            "What you read did not settle the claim yet Your answer Can&#x27;t decide What the "
            "evidence says Supported You read 1 of 5 sentences. “Can&#x27;t decide” fits what you "
            "read, but there was more to read: in the study, go on reading until the sentences "
            "settle the claim or all of them have been shown.",
        ),
        ("cant_decide", 2, "The evidence you read does settle this claim Your answer"),
        (
            "refuted",
            1,
            "That is not what the evidence says Your answer Refuted What the evidence says "
            "Supported You read 1 of 5 sentences. What you read did not settle the claim yet: in "
            "the study, go on reading until it does.",
        ),
        ("refuted", 5, "That is not what the evidence says Your answer Refuted"),
    ],
)
def test_feedback_depends_on_what_was_read(
    client: Client, decision: str, n_read: int, said: str
) -> None:
    words = feedback_after(client, decision, n_read)
    assert said in words
    assert ("You read 1 of" in words) == (n_read == 1)


def test_feedback_shows_what_was_not_read_with_its_numbers(client: Client) -> None:
    enrolment, trial = factories.started(factories.sitting_study(n_practice=1))
    reveal_next(enrolment.token, trial.code, 2)
    decide_on(trial, "refuted")
    html = client.get(run_url(enrolment)).content.decode()
    read, unread = html.split("What you had not read yet")
    numbers = [re.findall(r'<li id="sentence-(\d)"', part) for part in (read, unread)]
    assert numbers == [["1", "2"], ["3", "4", "5"]]
    assert 'start="3"' in unread
    assert [text in unread for text in ("Sentence 1 about", "Sentence 2 about")] == [False, True]


@pytest.mark.parametrize("kind", ["main", "attention"])
def test_no_other_trial_shows_what_was_not_read(client: Client, kind: str) -> None:
    study = factories.sitting_study(4, n_practice=1, n_attention=1, sitting={"break_every": 1})
    enrolment, trial = factories.started(study)
    decide_on(trial)
    trial = start_next_trial(enrolment.token)
    for _ in range(2):
        pages = [client.get(run_url(enrolment))]
        is_wanted = trial.kind == kind
        hidden = trial.claim.candidates.exclude(
            position__in=trial.stimulus["order"][: trial.n_steps]
        )
        texts = list(hidden.values_list("text", flat=True))
        following = decide_on(trial)
        pages.append(client.get(run_url(enrolment)))
        if is_wanted:
            assert texts
            assert not [text for text in texts for page in pages if text in words_of(page)]
        trial = following or start_next_trial(enrolment.token)


def test_an_explanation_finds_every_sentence_it_may_speak_of_on_the_page(client: Client) -> None:
    words = feedback_after(client, "cant_decide", 1)
    assert [f"Sentence {number} about claim 5." in words for number in range(5)] == [True] * 5


def test_a_late_decision_on_a_practice_trial_leads_to_the_feedback(client: Client) -> None:
    study = factories.sitting_study(n_practice=1)
    enrolment, trial = factories.started(study)
    url = trial_url(trial) + "decide"
    data = {"decision": "refuted", "n_shown": trial.n_steps}
    first = client.post(url, data, headers=HTMX)
    again = client.post(url, data | {"decision": "supported"}, headers=HTMX)
    assert (first.status_code, again.status_code) == (200, 409)
    assert "Your answer Refuted" in words_of(first)
    assert "the first answer stays" in words_of(again)
    assert "Your answer Refuted" in words_of(again)
    reveal = client.post(trial_url(trial) + "reveal", {"rank": 2}, headers=HTMX)
    assert (reveal.status_code, "Your answer Refuted" in words_of(reveal)) == (409, True)
    assert Trial.objects.count() == 1
    assert has_form(client.get(run_url(enrolment)), "begin")


def test_a_pause_in_practice_waits_and_then_shows_the_feedback(client: Client) -> None:
    study = factories.sitting_study(n_practice=1)
    enrolment, trial = factories.started(study)
    decide_on(trial)
    lifecycle.set_state(study, StudyState.PAUSED, allowed_from=[StudyState.OPEN])
    assert "This study is paused" in words_of(client.get(run_url(enrolment)))
    assert client.post(run_url(enrolment) + "begin", headers=HTMX).status_code == 409
    lifecycle.set_state(study, StudyState.OPEN, allowed_from=[StudyState.PAUSED])
    assert "Right, but the sentences" in words_of(client.get(run_url(enrolment)))


# ---- attention -----------------------------------------------------------------------------------


def page_without_its_content(client: Client, trial: Trial, number: int) -> str:
    """The page of a trial with its codes, claim, sentences and number taken out."""
    page = client.get(run_url(trial.enrolment)).content.decode()
    shown = trial.claim.candidates.filter(position__in=trial.stimulus["order"][: trial.n_steps])
    for text in [trial.claim.text, *shown.values_list("text", flat=True)]:
        page = page.replace(text, "TEXT")
    page = re.sub(r'<span class="from">.*?</bdi></span>', "", page)
    page = page.replace(trial.code, "CODE").replace(f"Trial {number} of", "Trial N of")
    return page.replace(f'value="{number - 1}" aria', 'value="N" aria')


@pytest.mark.parametrize("asked", ["off", "required"])
def test_nothing_on_its_page_tells_an_attention_trial(client: Client, asked: str) -> None:
    study = factories.sitting_study(
        2,
        n_subsets=1,
        n_attention=1,
        condition_policy="between",
        sitting={"confidence": asked, "reason": "optional" if asked == "required" else "off"},
    )
    Candidate.objects.update(title=None)
    _, first = factories.started_in(study, Interface.INCREMENTAL)
    before = page_without_its_content(client, first, 1)
    check = decide_on(first, confidence=3)
    assert check.kind == TrialKind.ATTENTION
    assert page_without_its_content(client, check, 2) == before
    last = decide_on(check, confidence=3)
    assert page_without_its_content(client, last, 3) == before


def test_the_help_page_says_nothing_of_attention_trials(client: Client) -> None:
    study = factories.sitting_study(n_practice=1, n_attention=1)
    enrolment = factories.joined(study)
    for page in ("", "help"):
        assert "attention" not in client.get(run_url(enrolment) + page).content.decode().lower()


# ---- confidence and reason -----------------------------------------------------------------------


def test_a_decision_without_its_confidence_keeps_what_was_typed(client: Client) -> None:
    study = factories.sitting_study(sitting={"confidence": "required", "reason": "optional"})
    _, trial = factories.started(study)
    data = {"decision": "refuted", "n_shown": trial.n_steps, "reason": "Since <x> & y"}
    for confidence in ("", "0", "6", "four"):
        answer = client.post(trial_url(trial) + "decide", data | {"confidence": confidence})
        assert answer.status_code == 422
        assert "Say how sure you are" in words_of(answer)
        assert ("refuted", True) in forms_of(answer).radios
        assert "Since &lt;x&gt; &amp; y</textarea>" in answer.content.decode()
    assert not VerificationAnswer.objects.exists()


def test_what_was_typed_stays_when_another_tab_showed_more(client: Client) -> None:
    study = factories.sitting_study(sitting={"confidence": "optional", "reason": "optional"})
    enrolment, trial = factories.started_in(study, Interface.INCREMENTAL)
    reveal_next(enrolment.token, trial.code, 2)
    data = {"decision": "refuted", "n_shown": 1, "reason": "Long thought", "confidence": "5"}
    answer = client.post(trial_url(trial) + "decide", data, headers=HTMX)
    assert answer.status_code == 409
    assert "Long thought</textarea>" in answer.content.decode()
    assert ("5", True) in forms_of(answer).radios
    assert ("refuted", False) in forms_of(answer).radios


def test_what_is_not_asked_is_not_on_the_page(client: Client) -> None:
    enrolment, _ = factories.started(factories.open_study())
    page = client.get(run_url(enrolment)).content.decode()
    assert "How sure" not in page
    assert "textarea" not in page


def test_without_confirmation_the_further_questions_come_before_the_buttons(client: Client) -> None:
    sitting = {"confidence": "required", "reason": "optional"}
    study = factories.sitting_study(confirms_decision=False, sitting=sitting)
    enrolment, _ = factories.started(study)
    page = client.get(run_url(enrolment)).content.decode()
    places = [page.index(text) for text in ('name="confidence"', "<textarea", 'name="decision"')]
    assert places == sorted(places)


# ---- the questionnaire ---------------------------------------------------------------------------


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_wrong_answers_are_named_beside_their_questions_and_all_are_kept(
    client: Client, headers: dict[str, str]
) -> None:
    enrolment = at_questionnaire()
    data = {"q-age": "12", "q-device": "<b>Other</b>", "q-remarks": "Very\r\n<good>"}
    answer = client.post(run_url(enrolment) + "questionnaire", data, headers=headers)
    assert answer.status_code == 422
    page = answer.content.decode()
    assert 'id="q-ease-fault">Choose one of the numbers.' in page
    assert 'id="q-age-fault">Write a number of at least 16.' in page
    assert 'value="12"' in page
    assert 'aria-invalid="true" aria-describedby="q-age-fault"' in page
    assert ("<b>Other</b>", True) in forms_of(answer).radios
    assert "&lt;good&gt;</textarea>" in page
    assert "Nothing is stored yet. Please look again at: How easy? How old?" in words_of(answer)
    assert not QuestionnaireAnswer.objects.exists()


def test_a_questionnaire_sent_twice_or_after_going_back_stays_as_it_was(client: Client) -> None:
    enrolment = at_questionnaire()
    url = run_url(enrolment) + "questionnaire"
    assert client.post(url, {"q-ease": "1"}).status_code == 303
    for headers in ({}, HTMX):
        again = client.post(url, {"q-ease": "2"}, headers=headers)
        assert again.status_code == (200 if headers else 303)
    assert list(QuestionnaireAnswer.objects.values_list("name", "value")) == [("ease", "1")]
    assert enrolment.slot.study.completion_code in words_of(client.get(run_url(enrolment)))


def test_a_questionnaire_that_is_too_early_changes_nothing(client: Client) -> None:
    study = factories.sitting_study(sitting={"questionnaire": QUESTIONS})
    enrolment, _ = factories.started(study)
    before = counts()
    answer = client.post(run_url(enrolment) + "questionnaire", {"q-ease": "1"}, headers=HTMX)
    assert (answer.status_code, "Trial 1 of 4" in words_of(answer)) == (409, True)
    assert counts() == before


@pytest.mark.parametrize("state", [StudyState.PAUSED, StudyState.CLOSED])
def test_a_study_that_stops_leaves_the_questionnaire_open(client: Client, state: str) -> None:
    enrolment = at_questionnaire()
    lifecycle.set_state(enrolment.slot.study, state, allowed_from=[StudyState.OPEN])
    page = client.get(run_url(enrolment))
    page = step(client, page, "questionnaire", **{"q-ease": "2"})
    assert enrolment.slot.study.completion_code in words_of(page)


def test_the_questionnaire_of_another_run_is_out_of_reach(client: Client) -> None:
    enrolment = at_questionnaire()
    other = factories.open_study()
    url = f"/p/{other.code}/r/{enrolment.token}/questionnaire"
    assert client.post(url, {"q-ease": "1"}).status_code == 404
    assert not QuestionnaireAnswer.objects.exists()


def test_the_withdrawal_page_names_the_answers_at_the_end(client: Client) -> None:
    enrolment = at_questionnaire()
    assert "questions at the end" not in words_of(client.get(run_url(enrolment) + "withdraw"))
    client.post(run_url(enrolment) + "questionnaire", {"q-ease": "1"})
    page = client.get(run_url(enrolment) + "withdraw")
    assert "what you answered to the questions at the end" in words_of(page)
    client.post(*form_ending(page, "withdraw"))
    assert counts()["QuestionnaireAnswer"] == 0


def test_withdrawing_counts_trials_apart_from_practice(client: Client) -> None:
    study = factories.sitting_study(4, n_practice=1, n_attention=1)
    enrolment, trial = factories.started(study)
    url = run_url(enrolment) + "withdraw"
    assert "your place in the study (you have given no answer yet)," in words_of(client.get(url))
    decide_on(trial, "cant_decide")
    trial = start_next_trial(enrolment.token)
    decide_on(trial)
    words = words_of(client.get(url))
    assert "once and for good: your answers in practice, which sentences" in words
    trial = start_next_trial(enrolment.token)
    while trial is not None:
        trial = decide_on(trial)
    words = words_of(client.get(url))
    assert "your answers to 5 trials, your answers in practice, which sentences" in words
    assert "no answer yet" not in words


# ---- coming back ---------------------------------------------------------------------------------


def test_the_pages_name_the_address_that_leads_back(client: Client) -> None:
    study = factories.sitting_study(4, sitting={"break_every": 1})
    enrolment = factories.joined(study)
    address = f'value="{settings.PUBLIC_URL}{run_url(enrolment)}" readonly'
    page = client.get(run_url(enrolment))
    assert "the address of this page brings you back to where you were" in words_of(page)
    assert address in page.content.decode()
    page = client.get(run_url(enrolment) + "help")
    assert "come back later by the address of this page" in words_of(page)
    assert address in page.content.decode()
    decide_on(start_next_trial(enrolment.token))
    page = client.get(run_url(enrolment))
    assert "Time for a break" in words_of(page)
    assert "its address brings you back here" in words_of(page)
    assert address in page.content.decode()


def test_a_link_with_an_id_is_said_to_lead_back(client: Client) -> None:
    study = factories.sitting_study(
        4, sitting={"break_every": 1}, recruiting={"id_parameter": "PROLIFIC_PID"}
    )
    joining = JoinForm("first", recruited=Recruited("A1B2"))
    enrolment = assignment.join(study.code, joining)
    pages = [client.get(run_url(enrolment) + page) for page in ("", "help")]
    decide_on(start_next_trial(enrolment.token))
    pages.append(client.get(run_url(enrolment)))
    for page in pages:
        assert "the link you were given" in words_of(page)
        assert 'id="address"' not in page.content.decode()
    # As it does, in another browser.
    back = Client().get(f"/p/{study.code}/?PROLIFIC_PID=A1B2")
    assert back.headers["Location"] == run_url(enrolment)


# ---- the end -------------------------------------------------------------------------------------

RETURN = {"return_url": "https://app.example.org/done?cc={code}&x=1"}


def finished(**fields: Any) -> tuple[Study, str]:
    study = factories.sitting_study(**fields)
    enrolment, trial = factories.started(study)
    while trial is not None:
        trial = decide_on(trial)
    return study, run_url(enrolment)


def test_the_last_page_debriefs_and_leads_back_with_the_code(client: Client) -> None:
    texts = {"debriefing": "We compared\n\n<two> ways."}
    _, url = finished(sitting=RETURN, completion_code="A/B 1", texts=texts)
    page = client.get(url).content.decode()
    assert "<p>&lt;two&gt; ways.</p>" in page
    assert "A/B 1" in page
    address = "https://app.example.org/done?cc=A%2FB%201&amp;x=1"
    assert f'href="{address}"' in page
    assert re.search(rf'<meta http-equiv="refresh" content="\d+;url={re.escape(address)}">', page)
    assert "Go back to app.example.org" in page


def test_the_last_page_stays_on_request(client: Client) -> None:
    _, url = finished(sitting=RETURN, completion_code="A/B 1")
    assert f'href="{url}?notice=stay"' in client.get(url).content.decode()
    page = client.get(f"{url}?notice=stay").content.decode()
    assert "A/B 1" in page
    assert "Go back to app.example.org" in page
    assert "refresh" not in page
    assert "seconds" not in page


def test_without_a_return_address_nobody_is_sent_anywhere(client: Client) -> None:
    _, url = finished()
    page = client.get(url).content.decode()
    assert "refresh" not in page
    assert "Go back to" not in page


def test_the_automatic_return_waits_for_a_long_text_to_be_read(client: Client) -> None:
    _, short = finished(sitting=RETURN)
    _, long = finished(sitting=RETURN, texts={"debriefing": "word " * 300})
    seconds = [
        int(re.search(r'content="(\d+);url', client.get(url).content.decode())[1])
        for url in (short, long)
    ]
    assert seconds[0] >= 20
    assert seconds[1] - seconds[0] == 100


def test_htmx_is_sent_to_a_whole_page_where_that_leads_back(client: Client) -> None:
    study = factories.sitting_study(2, n_subsets=2, sitting=RETURN)
    enrolment, trial = factories.started(study)
    while (following := decide_on(trial) if trial.position < 2 else None) is not None:
        trial = following
    data = {"decision": "supported", "n_shown": trial.n_steps}
    for status in (200, 200):  # and again, as after a lost answer
        answer = client.post(trial_url(trial) + "decide", data, headers=HTMX)
        assert (answer.status_code, answer.content) == (status, b"")
        assert answer.headers["HX-Redirect"] == run_url(enrolment)
        assert type(answer.headers["HX-Redirect"]) is str  # what a WSGI server insists on
    assert Enrolment.objects.get().state == EnrolmentState.COMPLETED


def test_who_declines_reads_the_studys_own_words_and_code(client: Client) -> None:
    study = factories.sitting_study(
        sitting={"declined_code": "NO <1>"}, texts={"declined": "What a pity.\n\nGoodbye."}
    )
    page = client.get(f"/p/{study.code}/declined").content.decode()
    assert "<p>What a pity.</p>" in page
    assert "NO &lt;1&gt;" in page
    plain = client.get(f"/p/{factories.open_study().code}/declined").content.decode()
    assert "Nothing about you was stored." in plain
    assert "Your code" not in plain


# ---- instructions and translation ----------------------------------------------------------------


def test_the_instructions_show_an_example_of_each_interface(client: Client) -> None:
    enrolment = factories.joined(factories.open_study())
    for page in ("", "help"):
        words = words_of(client.get(run_url(enrolment) + page))
        assert "Example: one sentence at a time." in words
        assert "Example: a set of sentences at once." in words
        assert words.count("Show next sentence") == 1


def test_who_meets_one_interface_sees_the_example_of_that_one(client: Client) -> None:
    study = factories.open_study(4, n_subsets=1, condition_policy="between")
    pages = [words_of(client.get(run_url(factories.joined(study)))) for _ in range(2)]
    assert ["one sentence at a time" in page for page in pages] == [True, False]
    assert ["a set of sentences at once" in page for page in pages] == [False, True]


@pytest.mark.parametrize("allows", [True, False])
def test_claim_and_evidence_are_translated_only_where_the_study_allows_it(
    client: Client, allows: bool
) -> None:
    study = factories.sitting_study(n_practice=1, sitting={"allows_translation": allows})
    enrolment, trial = factories.started(study)
    assert client.get(run_url(enrolment)).content.decode().count('translate="no"') == 2 * (
        not allows
    )
    decide_on(trial)
    # The claim, what was read and what was not.
    assert client.get(run_url(enrolment)).content.decode().count('translate="no"') == 3 * (
        not allows
    )


# ---- what it costs -------------------------------------------------------------------------------


def test_a_sitting_with_everything_costs_a_main_trial_no_query_more(client: Client) -> None:
    study = factories.sitting_study(
        8,
        n_practice=1,
        n_attention=1,
        sitting={"break_every": 4, "questionnaire": QUESTIONS, "confidence": "optional"},
    )
    enrolment, trial = factories.started(study)
    page = run_url(enrolment)
    # The place among the practice claims is one more.
    assert n_queries(lambda: client.get(page)) == 4
    decide_on(trial)
    first = start_next_trial(enrolment.token)
    assert first.kind == TrialKind.MAIN
    assert n_queries(lambda: client.get(page)) == 3
    data = {"decision": "supported", "n_shown": first.n_steps}
    url = trial_url(first) + "decide"
    assert n_queries(lambda: client.post(url, data, headers=HTMX)) == 10
    trial = Trial.objects.get(state="open")
    while trial is not None:
        trial = decide_on(trial)
    # Run, open trial, stage, how many are done, and how people come to the study.
    assert "Time for a break" in words_of(client.get(page))
    assert n_queries(lambda: client.get(page)) == 5


def test_the_claims_of_a_study_do_not_change_what_a_page_costs(client: Client) -> None:
    costs = []
    for n_claims in (4, 12):
        study = factories.sitting_study(n_claims, n_practice=2, n_attention=n_claims // 4)
        enrolment, trial = factories.started(study)
        page = run_url(enrolment)
        cost = [n_queries(lambda page=page: client.get(page))]
        decide_on(trial)
        cost.append(n_queries(lambda page=page: client.get(page)))
        cost.append(n_queries(lambda page=page: client.post(page + "begin", headers=HTMX)))
        costs.append(cost)
    assert costs[0] == costs[1]
    assert Claim.objects.filter(role=TrialKind.ATTENTION).count() == 4
