"""One participant: what happened in every run, and what a researcher can do about it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from studyapp.access import researcher_only, rights
from studyapp.domain import run_actions
from studyapp.domain.one_participant import (
    RunSeen,
    has_recruiter_id,
    recruiter_id_of,
    runs_seen,
)
from studyapp.domain.prolific_submissions import ends_again
from studyapp.domain.run_actions import ACTIONS, RunAction
from studyapp.domain.run_ends import restored_state
from studyapp.enums import Role
from studyapp.errors import StudyError
from studyapp.models import Enrolment, Study
from studyapp.run_forms import RunActionForm
from studyapp.views.participant_words import asks, consequence, run_words
from studyapp.views.researcher_layout import page
from studyapp.views.researcher_words import counted, moment

#: What a researcher is offered first for a place that is held longer.
HOUR = 60


@require_safe
@researcher_only
def study_participant(request: HttpRequest, slug: str, participant: str) -> HttpResponse:
    """Every run of a participant, by pseudonym."""
    return _participant_page(request, participant)


@require_POST
@researcher_only
def participant_recruiter_id(request: HttpRequest, slug: str, participant: str) -> HttpResponse:
    """The same page with the recruiter's id on it; that it was looked at is logged."""
    try:
        found = recruiter_id_of(request.study, participant)
    except StudyError as error:
        raise Http404(str(error)) from error
    others = ", ".join(f"{name} {value}" for name, value in sorted(found.others.items()))
    response = _participant_page(request, participant, {"value": found.value, "others": others})
    response.headers["Cache-Control"] = "no-store"
    return response


@require_http_methods(["GET", "HEAD", "POST"])
@researcher_only(read=Role.EDITOR)
def participant_action(
    request: HttpRequest, slug: str, participant: str, action: str
) -> HttpResponse:
    """GET: what the action will do, and the button that does it. POST: do it, once."""
    study = request.study
    wanted = ACTIONS.get(action)
    seen = runs_seen(study, participant, timezone.now())
    if wanted is None or not seen:
        raise Http404("There is no such run or action in this study.")
    needs = {"needs_note": wanted.needs_note, "needs_minutes": wanted.needs_minutes}
    if request.method != "POST":
        back = request.GET.get("back", "")
        form = RunActionForm(
            initial={"back": back, "minutes": HOUR, "run": seen[0].run.pk}, **needs
        )
        return _action_page(request, seen[0], wanted, form)
    form = RunActionForm(request.POST, **needs)
    if not form.is_valid():
        return _action_page(request, seen[0], wanted, form, status=422)
    given = form.cleaned_data
    try:
        acted = run_actions.act(
            study,
            participant,
            wanted,
            note=given["note"],
            minutes=given["minutes"] or 0,
            run_id=given["run"],
        )
    except StudyError as error:
        seen = runs_seen(study, participant, timezone.now())
        if not seen:
            raise Http404("There is no such run in this study.") from error
        return _action_page(
            request, seen[0], wanted, form, refused=error.problems, status=error.status
        )
    until = f", until {moment(acted.run.lease_until)} UTC" if wanted.needs_minutes else ""
    already = "" if acted.is_new else " It was so before: nothing was changed."
    messages.success(request, f"{participant}: {wanted.done}{until}.{already}")
    for warning in _ends_again(wanted, acted.run, acted.run.state):
        messages.warning(request, f"{participant}: {warning}")
    return redirect(_back(study, participant, given["back"]))


def _ends_again(action: RunAction, run: Enrolment, state: str) -> list[str]:
    """What is said of an undone end that does not last."""
    return ends_again(run, state) if action.name == "restore" else []


def _back(study: Study, participant: str, back: str) -> str:
    if back == "monitor":
        return reverse("study-monitor", args=[study.slug]) + "#held"
    return reverse("study-participant", args=[study.slug, participant])


def _participant_page(
    request: HttpRequest, participant: str, recruiter_id: dict[str, str] | None = None
) -> HttpResponse:
    study = request.study
    now = timezone.now()
    seen = runs_seen(study, participant, now)
    if not seen:
        raise Http404("There is no such participant in this study.")
    may_edit = rights(study)["may_edit"]
    context = {
        "participant": participant,
        "n_runs": counted(len(seen), "run"),
        "runs": [
            run_words(study, each, now, with_actions=may_edit and index == 0)
            for index, each in enumerate(seen)
        ],
        "recruiter_id": recruiter_id,
        "has_recruiter_id": may_edit and has_recruiter_id(study, participant),
    }
    return page(request, "researcher/participant.html", context)


def _action_page(
    request: HttpRequest,
    seen: RunSeen,
    action: RunAction,
    form: RunActionForm,
    *,
    refused: list[str] | None = None,
    status: int = 200,
) -> HttpResponse:
    study = request.study
    is_possible = seen.run.state in action.allowed_from
    lines = consequence(action, seen) + _ends_again(action, seen.run, restored_state(seen.run))
    context: dict[str, Any] = {
        "participant": seen.run.participant.code,
        "action": action,
        "asks": asks(action, seen),
        "consequence": lines if is_possible else [],
        "is_possible": is_possible,
        "state": seen.run.get_state_display().lower(),
        "form": form,
        # A page that says why it was refused shows the last run: its form is about that one.
        "run": seen.run.pk if refused or "run" in form.errors else form["run"].value(),
        "back": _back(study, seen.run.participant.code, form["back"].value() or ""),
        "needs_minutes": action.needs_minutes,
        "refused": refused,
    }
    return page(request, "researcher/participant_action.html", context, status)
