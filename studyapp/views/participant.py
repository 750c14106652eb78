"""A run: its page, and what a participant does there. Every write is committed before the answer.

With htmx an action answers the changed part; without it, a redirect to the run's page.
"""

from __future__ import annotations

import logging
from typing import Any

from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext_lazy as _

from studyapp.domain.assignment import has_withdrawn, move_to_free_slot, withdraw
from studyapp.domain.events import clean_client_ms
from studyapp.domain.markdown import as_html
from studyapp.domain.personal_links import has_link
from studyapp.domain.questionnaire import submit_questionnaire
from studyapp.domain.trials import (
    find_run,
    open_trial_of,
    record_decision,
    record_visibility,
    reveal_next,
    start_next_trial,
)
from studyapp.enums import Decision, EnrolmentState, EventKind, TrialKind, TrialState
from studyapp.errors import BadAnswer, BadAnswers, BadLink, NotOpen, StalePage
from studyapp.models import Enrolment, QuestionnaireAnswer, Study, Trial, VerificationAnswer
from studyapp.participant_forms import read_decision, read_questionnaire, read_reveal, read_texts
from studyapp.views.htmx import Region, fragment, is_htmx, region_or_page
from studyapp.views.participant_ending import allow_its_form, needs_whole_page
from studyapp.views.participant_guard import PAGE, participant_view
from studyapp.views.participant_join import cookie_name, cookie_path
from studyapp.views.participant_language import speak
from studyapp.views.participant_sitting import example_values, questionnaire_region
from studyapp.views.participant_state import (
    NOTICES,
    reveal_values,
    run_region,
    run_url,
    run_values,
    trial_region,
    what_stays_of_a_person,
    withdrawn_region,
)
from studyapp.views.participant_values import way_back_values

logger = logging.getLogger(__name__)

VISIBILITY_KINDS = (EventKind.PAGE_HIDDEN, EventKind.PAGE_VISIBLE)


@participant_view("GET", "HEAD")
def run(request: HttpRequest, study_code: str, token: str) -> HttpResponse:
    """The true current state of a run. Stores nothing."""
    enrolment = _run_or_none(study_code, token)
    if enrolment is None:
        return _gone(request, study_code, token)
    region = run_region(enrolment, request.GET.get("notice", ""))
    return allow_its_form(region_or_page(request, region, PAGE), region)


@participant_view("GET", "HEAD", "POST")
def begin(request: HttpRequest, study_code: str, token: str) -> HttpResponse:
    """Start the first trial, or the next one after a pause."""
    if request.method != "POST":
        return _to_run(study_code, token)
    enrolment = _run_or_none(study_code, token)
    if enrolment is None:
        return _gone(request, study_code, token)
    notice = ""
    try:
        if enrolment.state == EnrolmentState.TIMED_OUT and enrolment.started_at is None:
            move_to_free_slot(token)
            notice = "moved"
        trial = start_next_trial(token)
    except StalePage:
        return _current_state(request, study_code, token, "stale")
    except NotOpen:
        return _current_state(request, study_code, token, "")
    except BadLink:
        return _gone(request, study_code, token)
    if is_htmx(request) and trial is not None:
        return region_or_page(request, trial_region(trial, notice), PAGE)
    return _current_state(request, study_code, token, notice, status=200)


@participant_view("GET", "HEAD", "POST")
def reveal(request: HttpRequest, study_code: str, token: str, trial_code: str) -> HttpResponse:
    """Show the next sentence; a rank that is shown already changes nothing."""
    if request.method != "POST":
        return _to_run(study_code, token)
    try:
        asked = read_reveal(request.POST)
        revealed = reveal_next(
            token, trial_code, asked.rank, client_ms=asked.client_ms, study_code=study_code
        )
    except StalePage:
        return _stale(request, study_code, token, trial_code, "stale")
    except BadAnswer as error:
        return _refused_input(request, study_code, token, error)
    except BadLink:
        return _gone(request, study_code, token)
    if not is_htmx(request):
        return _to_run(study_code, token)
    speak(revealed.trial.enrolment.slot.study)
    return _reveal_fragment(revealed.trial, asked.rank)


@participant_view("GET", "HEAD", "POST")
def decide(request: HttpRequest, study_code: str, token: str, trial_code: str) -> HttpResponse:
    """Store the decision that ends a trial, and show the next trial."""
    if request.method != "POST":
        return _to_run(study_code, token)
    try:
        answer = read_decision(request.POST)
        trial = record_decision(
            token,
            trial_code,
            {
                "decision": answer.decision,
                "confidence": answer.confidence,
                "reason": answer.reason,
            },
            n_steps=answer.n_shown,
            client_ms=answer.client_ms,
            study_code=study_code,
        )
    except StalePage:
        return _stale(request, study_code, token, trial_code, "elsewhere")
    except BadAnswer as error:
        return _refused_input(request, study_code, token, error)
    except BadLink:
        return _gone(request, study_code, token)
    if is_htmx(request) and trial is not None:
        speak(trial.enrolment.slot.study)
        return region_or_page(request, trial_region(trial), PAGE)
    return _current_state(request, study_code, token, "", status=200)


@participant_view("GET", "HEAD", "POST")
def questionnaire(request: HttpRequest, study_code: str, token: str) -> HttpResponse:
    """Store the answers after the last trial, which completes the run."""
    if request.method != "POST":
        return _to_run(study_code, token)
    enrolment = _run_or_none(study_code, token)
    if enrolment is None:
        return _gone(request, study_code, token)
    given = read_questionnaire(request.POST)
    try:
        submit_questionnaire(token, given)
    except BadAnswers as error:
        region = questionnaire_region(enrolment, given=given, error=error)
        return region_or_page(request, region, PAGE)
    except StalePage:
        return _current_state(request, study_code, token, "stale")
    except BadLink:
        return _gone(request, study_code, token)
    return _current_state(request, study_code, token, "", status=200)


@participant_view("POST")
def seen(request: HttpRequest, study_code: str, token: str, trial_code: str) -> HttpResponse:
    """Note that the trial's page was hidden or is visible again. Answers nothing."""
    kind = request.POST.get("kind", "")
    if kind not in VISIBILITY_KINDS:
        raise BadAnswer(_("Nothing was stored: kind must be page_hidden or page_visible."))
    client_ms, late_ms = (
        clean_client_ms(request.POST.get(name)) for name in ("client_ms", "late_ms")
    )
    record_visibility(
        token, trial_code, kind, client_ms=client_ms, late_ms=late_ms, study_code=study_code
    )
    return HttpResponse(status=204)


@participant_view("GET", "HEAD")
def help_page(request: HttpRequest, study_code: str, token: str) -> HttpResponse:
    """Instructions, consent and contact, to read again in the middle of a run."""
    enrolment = _run_or_none(study_code, token)
    if enrolment is None:
        return _gone(request, study_code, token)
    texts = enrolment.slot.study.texts
    context = run_values(enrolment) | {
        "instructions": as_html(texts.get("instructions", "")),
        **example_values(enrolment),
        **way_back_values(enrolment),
        "consent": as_html(texts.get("consent", "")),
    }
    return region_or_page(request, Region("participant/_help.html", context), PAGE)


@participant_view("GET", "HEAD", "POST")
def withdraw_run(request: HttpRequest, study_code: str, token: str) -> HttpResponse:
    """Ask, saying what will be deleted; then delete it."""
    enrolment = _run_or_none(study_code, token)
    if enrolment is None:
        if request.method == "POST" and has_withdrawn(token, study_code):
            return _to_run(study_code, token)
        return _gone(request, study_code, token)
    if request.method == "POST":
        try:
            withdraw(token)
        except BadLink:  # another tab was faster
            return _to_run(study_code, token)
        response = _to_run(study_code, token)
        response.delete_cookie(cookie_name(study_code), path=cookie_path(study_code))
        return response
    context = run_values(enrolment) | _what_goes(enrolment)
    return region_or_page(request, Region("participant/_withdraw.html", context), PAGE)


def _what_goes(enrolment: Enrolment) -> dict[str, Any]:
    """What a withdrawal deletes of all runs of the person: three queries."""
    runs = Enrolment.objects.filter(participant_id=enrolment.participant_id)
    done = Q(trials__state=TrialState.COMPLETED)
    practised = Q(trials__kind=TrialKind.PRACTICE)
    numbers = runs.aggregate(
        n_runs=Count("pk", distinct=True),
        # Attention trials are counted as their participant counts them: like any other.
        n_answers=Count("trials", done & ~practised),
        n_practised=Count("trials", done & practised),
    )
    return numbers | {
        "has_practised": bool(numbers["n_practised"]),
        "has_questionnaire": QuestionnaireAnswer.objects.filter(enrolment__in=runs).exists(),
        "what_stays_of_an_id": what_stays_of_a_person(
            enrolment.slot.study, has_link=has_link(enrolment.participant_id)
        ),
    }


def _run(study_code: str, token: str) -> Enrolment:
    """The run behind a token; the request is answered in its study's language.

    Raises BadLink where there is none, or it is one of another study.
    """
    enrolment = find_run(token)
    if enrolment.slot.study.code != study_code:
        raise BadLink(_("It belongs to no run of this study. Nothing was stored."))
    speak(enrolment.slot.study)
    return enrolment


def _run_or_none(study_code: str, token: str) -> Enrolment | None:
    """The run, or None where the token or its study is wrong or the data are deleted."""
    try:
        return _run(study_code, token)
    except BadLink:
        return None


def _gone(request: HttpRequest, study_code: str, token: str) -> HttpResponse:
    """An address without a run, or with another run's trial. Raises BadLink unless withdrawn."""
    if has_withdrawn(token, study_code):
        study = Study.objects.filter(code=study_code).first()
        if study is not None:
            speak(study)
        return region_or_page(request, withdrawn_region(study), PAGE)
    raise BadLink(_("It belongs to no run of this study. Nothing was stored."))


def _to_run(study_code: str, token: str, notice: str = "") -> HttpResponse:
    """Send the browser to the run's page by GET, so that a reload repeats nothing."""
    address = run_url(study_code, token) + (f"?notice={notice}" if notice in NOTICES else "")
    response = HttpResponseRedirect(address)
    response.status_code = 303
    return response


def _current_state(
    request: HttpRequest, study_code: str, token: str, notice: str, status: int = 409
) -> HttpResponse:
    """The true state: the whole region for htmx, else a redirect to it."""
    if not is_htmx(request):
        return _to_run(study_code, token, notice)
    enrolment = _run(study_code, token)
    if needs_whole_page(enrolment):
        response = HttpResponse(status=200)
        response.headers["HX-Redirect"] = _to_run(study_code, token).headers["Location"]
        return response
    region = run_region(enrolment, notice)
    region = Region(region.template, region.context, max(region.status, status))
    return region_or_page(request, region, PAGE)


def _stale(
    request: HttpRequest, study_code: str, token: str, trial_code: str, notice: str
) -> HttpResponse:
    """A page older than what is stored. ``notice`` is for a trial that is still open."""
    enrolment = _run(study_code, token)
    trial = open_trial_of(enrolment)
    if trial is None or trial.code != trial_code:
        if _is_stored(enrolment, trial_code, request.POST.get("decision", "")):
            return _current_state(request, study_code, token, "stored")
        logger.warning("Refused a late request for trial %s, which is over.", trial_code)
        return _current_state(request, study_code, token, "answered")
    if not is_htmx(request):
        return _to_run(study_code, token, notice)
    trial.enrolment = enrolment
    # The decision is to be made anew; what was typed beside it is not lost.
    kept = read_texts(request.POST) | {"decision": ""}
    return region_or_page(request, trial_region(trial, notice, given=kept, status=409), PAGE)


def _is_stored(enrolment: Enrolment, trial_code: str, decision: str) -> bool:
    """Whether this very decision was stored before, so that a repetition contradicts nothing."""
    if decision not in Decision.values:
        return False
    stored = VerificationAnswer.objects.filter(trial__code=trial_code, trial__enrolment=enrolment)
    return stored.filter(decision=decision).exists()


def _refused_input(
    request: HttpRequest, study_code: str, token: str, error: BadAnswer
) -> HttpResponse:
    """The trial again, with what was chosen and why it was refused."""
    enrolment = _run(study_code, token)
    trial = open_trial_of(enrolment)
    if trial is None:
        return _current_state(request, study_code, token, "stale")
    trial.enrolment = enrolment
    given = read_texts(request.POST)
    region = trial_region(trial, given=given, message=str(error), status=error.status)
    return region_or_page(request, region, PAGE)


def _reveal_fragment(trial: Trial, first: int) -> HttpResponse:
    """The sentences from rank ``first`` on, and the button as it is now."""
    context = reveal_values(trial, first=first)
    # After the last one the note takes the place of the button.
    name, place = ("_revealed", "#shown") if context["has_more"] else ("_revealed_all", "#reveal")
    response = fragment(f"participant/{name}.html", context)
    # Named in any case: by this the page knows that the study answered, not a proxy.
    response.headers["HX-Retarget"] = place
    return response
