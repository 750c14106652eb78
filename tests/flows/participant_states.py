"""Every page a participant can meet, in every state: how to come to see it in a browser.

The texts are those of a real study in length and tone, because layout depends on them.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.utils import timezone
from playwright.sync_api import expect

from studyapp.domain import lifecycle
from studyapp.domain.assignment import join, withdraw
from studyapp.domain.join_forms import JoinForm
from studyapp.domain.recruiting import Recruited
from studyapp.domain.run_ends import fail_checks_of_run, return_run
from studyapp.domain.trials import record_decision, reveal_next, start_next_trial
from studyapp.enums import EnrolmentState, Interface, StudyState
from studyapp.models import Candidate, Claim, Enrolment, Ranking, Study, Trial
from tests import factories
from tests.flows.visits import Visit

TITLE = "Reading evidence about places and buildings"
CLAIM = "The lighthouse of Lindholm was lit for the first time before the harbour was opened."
SENTENCES = (
    "The harbour of Lindholm was opened in 1902, after six years of work on its two piers.",
    "A lighthouse of white brick stands at the end of the northern pier; it was designed by the "
    "engineer Karla Voss, who had built two others on the same coast.",
    "It was lit for the first time on 3 November 1904.",
    "Fishing boats and the ferry to the islands use the harbour all year round.",
    "The town has had a school of navigation since 1911.",
)
TEXTS = {
    "contact": "Karla Voss, Department of Reading, University of Lindholm\nreading@example.org",
    "debriefing": "We compare ways to choose and order sentences of evidence. Nothing was hidden "
    "from you except which way was used for which claim.",
}
QUESTIONS = [
    {"name": "ease", "text": "How easy was it to judge the claims?", "kind": "scale",
     "min": 1, "max": 7, "required": True},
    {"name": "age", "text": "How old are you?", "kind": "number", "min": 16},
    {"name": "on", "text": "What did you read on?", "kind": "choice",
     "options": ["A computer", "A tablet", "A phone"]},
    {"name": "else", "text": "Is there anything else you want to tell us?", "kind": "text"},
]  # fmt: skip
EXPLANATION = "The first sentence gives 1902 for the harbour, the third 1904 for the light."

#: So that an incomplete form reaches the server.
UNCHECKED = "for (const field of document.querySelectorAll(':required')) field.required = false"

Opener = Callable[[Visit], None]

#: Name of a state -> what brings a browser there.
STATES: dict[str, Opener] = {}


def state(opener: Opener) -> Opener:
    """Register a function under its name, in words."""
    STATES[opener.__name__.strip("_").replace("_", " ")] = opener
    return opener


# ---- studies -------------------------------------------------------------------------------------


def _open(n_claims: int = 4, *, n_practice: int = 0, **options: Any) -> Study:
    study = factories.ready_study(
        n_claims, title=TITLE, texts=TEXTS, completion_code="C7QX-41MB", **options
    )
    factories.add_claims(study, n_practice, role="practice", meta={"explanation": EXPLANATION})
    Claim.objects.update(text=CLAIM)
    for position, text in enumerate(SENTENCES):
        Candidate.objects.filter(position=position).update(text=text, title="Lindholm")
    Ranking.objects.update(order=[0, 1, 2, 3, 4])
    return lifecycle.open_study(study)


def _trial(me: Visit, interface: str = Interface.INCREMENTAL, **options: Any) -> Trial:
    enrolment, trial = factories.started_in(_open(**options), interface)
    me.open_run(enrolment)
    return trial


def _reveal(me: Visit, n_sentences: int) -> None:
    for count in range(2, n_sentences + 1):
        me.next_button.click()
        expect(me.sentences).to_have_count(count)


def _decide_all(enrolment: Enrolment, trial: Trial | None, n_trials: int | None = None) -> None:
    """Decide trial after trial until none follows by itself, or ``n_trials`` are done."""
    while trial is not None and n_trials != 0:
        given = {"decision": "supported", "confidence": "", "reason": ""}
        following = record_decision(enrolment.token, trial.code, given, n_steps=trial.n_steps)
        trial = following
        n_trials = None if n_trials is None else n_trials - 1


def _open_welcome(me: Visit, study: Study, query: str = "") -> None:
    me.page.goto(f"{me.server}/p/{study.code}/{query}")


# ---- before the trials ---------------------------------------------------------------------------


@state
def consent(me: Visit) -> None:
    _open_welcome(me, _open())


@state
def consent_not_given(me: Visit) -> None:
    _open_welcome(me, _open())
    me.page.evaluate(UNCHECKED)
    me.page.get_by_role("button", name="Take part").click()
    expect(me.page.locator("#consent-problem")).to_be_visible()


@state
def preview(me: Visit) -> None:
    _open_welcome(me, _open(), "?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE")


@state
def declined(me: Visit) -> None:
    study = _open(sitting={"declined_code": "NO-THANKS"})
    me.page.goto(f"{me.server}/p/{study.code}/declined")


@state
def ready(me: Visit) -> None:
    me.open_run(factories.joined(_open(n_practice=1)))


@state
def full(me: Visit) -> None:
    study = _open()
    for _ in range(study.slots.count()):
        factories.joined(study)
    _open_welcome(me, study)
    me.page.get_by_role("checkbox").check()
    me.page.get_by_role("button", name="Take part").click()


@state
def not_open_yet(me: Visit) -> None:
    _open_welcome(me, factories.ready_study(title=TITLE))


@state
def link_without_an_id(me: Visit) -> None:
    _open_welcome(me, _open(recruiting={"id_parameter": "PROLIFIC_PID"}))


@state
def link_that_is_not_one_s_own(me: Visit) -> None:
    _open_welcome(me, _open(recruiting={"personal_links": "only"}))


@state
def link_that_cannot_be_sent_back(me: Visit) -> None:
    _open_welcome(me, _open(recruiting={"source": "mturk"}), "?workerId=A1B2")


@state
def nothing_left_for_an_id(me: Visit) -> None:
    study = _open(recruiting={"id_parameter": "PROLIFIC_PID", "repeats": 2})
    enrolment = join(study.code, JoinForm("first", recruited=Recruited("A1B2")))
    _decide_all(enrolment, start_next_trial(enrolment.token))
    _open_welcome(me, study, "?PROLIFIC_PID=A1B2")
    me.page.get_by_role("checkbox").check()
    me.page.get_by_role("button", name="Take part").click()


# ---- practice ------------------------------------------------------------------------------------


@state
def practice_trial(me: Visit) -> None:
    enrolment, _ = factories.started(_open(n_practice=1))
    me.open_run(enrolment)


@state
def practice_feedback(me: Visit) -> None:
    practice_trial(me)
    me.decide("Refuted")
    expect(me.page.locator(".verdict")).to_be_visible()


# ---- trials --------------------------------------------------------------------------------------


@state
def trial_with_its_first_sentence(me: Visit) -> None:
    _trial(me)


@state
def trial_grown(me: Visit) -> None:
    _trial(me)
    _reveal(me, 3)


@state
def trial_with_all_sentences_shown(me: Visit) -> None:
    _trial(me, shows_total=True)
    _reveal(me, 5)


@state
def trial_with_an_answer_chosen(me: Visit) -> None:
    trial_grown(me)
    me.page.get_by_role("radio", name="Refuted").check()


@state
def trial_all_at_once(me: Visit) -> None:
    _trial(me, Interface.ALL_AT_ONCE)


@state
def trial_of_four_answers_without_confirmation(me: Visit) -> None:
    study = factories.ready_study(title=TITLE, confirms_decision=False)
    Claim.objects.filter(position=1).update(label="partially_supported")
    enrolment, _ = factories.started(lifecycle.open_study(study))
    me.open_run(enrolment)


@state
def trial_with_confidence_and_reason(me: Visit) -> None:
    _trial(me, sitting={"confidence": "required", "reason": "optional"})


@state
def trial_with_its_confidence_left_out(me: Visit) -> None:
    trial_with_confidence_and_reason(me)
    me.decide("Refuted")
    expect(me.page.locator("#sure-fault")).to_be_visible()


@state
def trial_with_confidence_and_without_confirmation(me: Visit) -> None:
    _trial(me, sitting={"confidence": "required"}, confirms_decision=False)


@state
def trial_not_saved(me: Visit) -> None:
    _trial(me)
    me.page.route("**/reveal", lambda route: route.abort())
    me.next_button.click()
    expect(me.page.get_by_text("Not saved yet.")).to_be_visible()


@state
def trial_with_a_notice(me: Visit) -> None:
    enrolment, _ = factories.started_in(_open(), Interface.INCREMENTAL)
    me.open_run(enrolment)
    me.page.goto(f"{me.page.url}?notice=moved")


@state
def trial_with_a_long_claim(me: Visit) -> None:
    study = factories.ready_study(title=TITLE)
    Claim.objects.update(text=f"{CLAIM} It is said that this can be read on a stone. " * 6)
    enrolment, _ = factories.started_in(lifecycle.open_study(study), Interface.INCREMENTAL)
    me.open_run(enrolment)


@state
def trial_with_a_long_claim_opened(me: Visit) -> None:
    trial_with_a_long_claim(me)
    me.page.get_by_role("button", name="Show the whole claim").click()


@state
def trial_of_sixty_sentences(me: Visit) -> None:
    study = factories.ready_study(title=TITLE)
    Claim.objects.update(text=CLAIM, n_candidates=60)
    Candidate.objects.bulk_create(
        Candidate(claim=claim, position=position, text="", title="Lindholm")
        for claim in study.claims.all()
        for position in range(factories.N_CANDIDATES, 60)
    )
    for candidate in Candidate.objects.all():
        candidate.text = SENTENCES[candidate.position % len(SENTENCES)]
        candidate.save()
    Ranking.objects.update(order=list(range(60)), origins=["judged"] * 60)
    enrolment, trial = factories.started_in(lifecycle.open_study(study), Interface.INCREMENTAL)
    for rank in range(2, 60):
        reveal_next(enrolment.token, trial.code, rank)
    me.open_run(enrolment)
    me.next_button.click()
    expect(me.sentences).to_have_count(60)


# ---- after the trials ----------------------------------------------------------------------------


@state
def break_(me: Visit) -> None:
    enrolment, trial = factories.started(_open(sitting={"break_every": 2}))
    _decide_all(enrolment, trial)
    me.open_run(enrolment)


@state
def questionnaire(me: Visit) -> None:
    enrolment, trial = factories.started(_open(sitting={"questionnaire": QUESTIONS}))
    _decide_all(enrolment, trial)
    me.open_run(enrolment)


@state
def questionnaire_with_errors(me: Visit) -> None:
    questionnaire(me)
    me.page.evaluate(UNCHECKED)
    me.page.get_by_label("How old are you?").fill("twelve")
    me.page.get_by_role("button", name="Send and finish").click()
    expect(me.page.locator(".fault:not(:empty)")).to_have_count(2)


@state
def questionnaire_left_out(me: Visit) -> None:
    questionnaire(me)
    me.page.get_by_role("button", name="Send and finish").click()
    expect(me.page.locator("#q-ease-fault")).to_be_visible()


@state
def finished_and_staying(me: Visit) -> None:
    finished_and_leading_back(me)
    me.page.get_by_role("link", name="Stay on this page").click()
    expect(me.page.get_by_role("link", name="Stay on this page")).to_have_count(0)


@state
def finished_and_leading_back(me: Visit) -> None:
    sitting = {"return_url": "https://recruiter.example/done?cc={code}"}
    enrolment, trial = factories.started(_open(sitting=sitting))
    _decide_all(enrolment, trial)
    me.open_run(enrolment)


@state
def finished_and_sent_back(me: Visit) -> None:
    study = _open(recruiting={"source": "mturk"})
    others = {"assignmentId": "3ABC", "turkSubmitTo": "https://workersandbox.mturk.com"}
    enrolment = join(study.code, JoinForm("first", recruited=Recruited("A1B2", others)))
    _decide_all(enrolment, start_next_trial(enrolment.token))
    me.open_run(enrolment)


@state
def screened_out(me: Visit) -> None:
    sitting = {"practice_must_pass": True, "practice_tries": 1}
    enrolment, trial = factories.started(_open(n_practice=1, sitting=sitting))
    wrong = {"decision": "cant_decide", "confidence": "", "reason": ""}
    record_decision(enrolment.token, trial.code, wrong, n_steps=trial.n_steps)
    me.open_run(enrolment)
    expect(me.page.get_by_role("heading", name="The study ends here for you")).to_be_visible()


@state
def failed_checks_and_leading_back(me: Visit) -> None:
    sitting = {
        "failed_checks_code": "C0FF-33",
        "return_url": "https://recruiter.example/done?cc={code}",
    }
    study = _open(sitting=sitting)
    enrolment, _ = factories.started(study)
    fail_checks_of_run(study, enrolment.participant.code)
    me.open_run(enrolment)


# ---- around the run ------------------------------------------------------------------------------


@state
def help_(me: Visit) -> None:
    _trial(me)
    me.page.get_by_role("link", name="Help").click()
    expect(me.page.get_by_role("heading", name="What to do")).to_be_visible()


@state
def withdraw_question(me: Visit) -> None:
    _trial(me)
    me.page.get_by_role("link", name="Withdraw").click()
    expect(me.page.get_by_role("heading", name="Withdraw")).to_be_visible()


@state
def gone(me: Visit) -> None:
    enrolment = factories.joined(_open())
    withdraw(enrolment.token)
    me.open_run(enrolment)


def _in_study_of_state(me: Visit, study_state: str) -> None:
    study = _open()
    enrolment = factories.joined(study)
    Study.objects.filter(pk=study.pk).update(state=study_state)
    me.open_run(enrolment)


@state
def paused(me: Visit) -> None:
    _in_study_of_state(me, StudyState.PAUSED)


@state
def closed(me: Visit) -> None:
    _in_study_of_state(me, StudyState.CLOSED)


@state
def expired(me: Visit) -> None:
    enrolment, _ = factories.started(_open())
    long_ago = timezone.now() - timedelta(days=2)
    Enrolment.objects.filter(pk=enrolment.pk).update(
        state=EnrolmentState.TIMED_OUT, ended_at=long_ago
    )
    me.open_run(enrolment)


@state
def returned(me: Visit) -> None:
    study = _open()
    enrolment, _ = factories.started(study)
    return_run(study, enrolment.participant.code)
    me.open_run(enrolment)


@state
def a_link_that_does_not_work(me: Visit) -> None:
    me.page.goto(f"{me.server}/p/{_open().code}/r/nobody/")


@state
def an_address_that_is_not_there(me: Visit) -> None:
    me.page.goto(f"{me.server}/p/one/two/three/four")
