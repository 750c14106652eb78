"""What the set-up pages share: the list of steps, who may change what, and saving."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, NamedTuple

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from studyapp.access import researcher_only, rights
from studyapp.domain.texts import own_texts
from studyapp.enums import StudyState
from studyapp.errors import NotEditable, StudyError
from studyapp.models import Claim, Study
from studyapp.views.researcher_card import Tone
from studyapp.views.researcher_layout import page
from studyapp.views.researcher_words import counted, moment

StudyView = Callable[..., HttpResponse]


@dataclass(frozen=True)
class Step:
    """One step of setting up: its page and what it is called."""

    name: str
    title: str

    @property
    def url_name(self) -> str:
        """The name of its address."""
        return f"setup-{self.name}"


STEPS = (
    Step("basics", "Title and language"),
    Step("texts", "Texts"),
    Step("claims", "Claims"),
    Step("conditions", "Conditions"),
    Step("schedule", "Schedule"),
    Step("sitting", "Sitting"),
    Step("questionnaire", "Questionnaire"),
    Step("recruiting", "Recruiting"),
    Step("ending", "Codes and return"),
    Step("analysis", "Preregistration"),
    Step("review", "Review and open"),
)


class Counts(NamedTuple):
    """How many claims of all roles, conditions and slots a study has."""

    claims: int
    conditions: int
    slots: int


#: The steps of which a new version of an opened study can change something.
CHANGEABLE_STEPS = frozenset(
    {"basics", "texts", "sitting", "questionnaire", "recruiting", "ending"}
)


@dataclass(frozen=True)
class StepLink:
    """One line of the list of steps, ready to print."""

    url: str
    title: str
    state: str
    tone: str
    is_current: bool


def setup_view(*methods: str) -> Callable[[StudyView], StudyView]:
    """Mark a set-up page: members look, editors change; a refused change is a page that says why.

    The view is called with the study in place of its slug. What a POST may change is the domain's
    decision; it is asked again there, under a lock.
    """

    def decorate(view: StudyView) -> StudyView:
        @require_http_methods(list(methods))
        @researcher_only
        @wraps(view)
        def guarded(request: HttpRequest, slug: str, *args: Any, **kwargs: Any) -> HttpResponse:
            study = request.study
            try:
                if request.method == "POST" and not study.is_draft:
                    raise NotEditable(frozen_reason(study))
                return view(request, study, *args, **kwargs)
            except StudyError as error:
                return refused_page(request, study, error)

        return guarded

    return decorate


def frozen_reason(study: Study) -> str:
    """Why a study that is no draft cannot be changed."""
    when = f" on {moment(study.opened_at)} UTC" if study.opened_at else ""
    return (
        f"The study opened{when}, and was frozen then: claims, conditions, schedule, texts and "
        "settings stay as they are, for those who are under way and for the report."
    )


def is_editable(study: Study) -> bool:
    """Whether who asks may change this study now."""
    return study.is_draft and rights(study)["may_edit"]


def locked_reason(study: Study) -> str:
    """Why nothing can be changed on a page by who asks; empty where it can."""
    if not study.is_draft:
        return frozen_reason(study)
    if not rights(study)["may_edit"]:
        return "You are a viewer of this study: its editors and owners change what is set here."
    return ""


def setup_page(
    request: HttpRequest,
    study: Study,
    step: str,
    context: dict[str, Any],
    *,
    template: str | None = None,
    status: int = 200,
    counts: Counts | None = None,
) -> HttpResponse:
    """The page of one step, with the list of steps beside it.

    ``counts`` is what the study holds, where the caller has counted it already.
    """
    names = [one.name for one in STEPS]
    place = names.index(step)
    common = {
        "study": study,
        "steps": step_links(study, step, counts),
        "step": STEPS[place],
        "step_number": place + 1,
        "n_steps": len(STEPS),
        "next_step": STEPS[place + 1] if place + 1 < len(STEPS) else None,
        "is_editable": is_editable(study),
        "locked": locked_reason(study),
        **_version_hints(study, step),
    }
    template = template or f"researcher/setup/{step}.html"
    return page(request, template, common | context, status)


def _version_hints(study: Study, step: str) -> dict[str, Any]:
    """What a page of an opened study says about changing what is on it."""
    if study.is_draft:
        return {}
    if step not in CHANGEABLE_STEPS:
        return {"version_says": "No new version changes what is on this page."}
    is_running = study.state in (StudyState.OPEN, StudyState.PAUSED)
    return {
        "version_says": f"This is version {study.version}."
        + (
            " A new version can change most of this page for those who come later."
            if is_running
            else ""
        ),
        "can_make_version": is_running and rights(study)["may_edit"],
    }


def refused_page(request: HttpRequest, study: Study, error: StudyError) -> HttpResponse:
    """What says that a change was refused and why."""
    study.refresh_from_db()
    context = {"study": study, "problems": error.problems}
    return page(request, "researcher/setup/refused.html", context, error.status)


def saved(request: HttpRequest, study: Study, step: str, says: str) -> HttpResponse:
    """Say what was saved, and stay or go on, as the button said."""
    messages.success(request, says)
    names = [one.name for one in STEPS]
    if request.POST.get("then") == "next":
        step = names[min(names.index(step) + 1, len(names) - 1)]
    return to_step(study, step)


def to_step(study: Study, step: str) -> HttpResponse:
    """A redirect to the page of a step."""
    response = redirect(f"setup-{step}", slug=study.slug)
    response.status_code = 303
    return response


def step_links(study: Study, current: str, counts: Counts | None = None) -> list[StepLink]:
    """The list of steps with what each holds: three queries where this was not counted yet."""
    states = _states(study, counts or _counts(study))
    return [
        StepLink(
            url=reverse(step.url_name, args=[study.slug]),
            title=step.title,
            state=states[step.name][0],
            tone=states[step.name][1],
            is_current=step.name == current,
        )
        for step in STEPS
    ]


def _counts(study: Study) -> Counts:
    n_claims = Claim.objects.filter(study=study).count()
    return Counts(n_claims, study.conditions.count(), study.slots.count())


def _states(study: Study, counts: Counts) -> dict[str, tuple[str, Tone]]:
    n_claims, n_conditions, n_slots = counts
    n_texts = len(own_texts(study.texts, study.lang))
    n_questions = len(study.sitting_setting("questionnaire"))
    has_all = bool(n_claims and n_conditions)
    return {
        "basics": ("", Tone.DONE),
        "texts": (counted(n_texts, "own text") if n_texts else "standard texts", Tone.DONE),
        "claims": _counted_or_due(n_claims, "claim", Tone.NEXT),
        "conditions": _counted_or_due(n_conditions, "condition", Tone.NEXT),
        "schedule": _counted_or_due(n_slots, "slot", Tone.NEXT if has_all else Tone.WAITING),
        "sitting": ("", Tone.DONE),
        "questionnaire": (
            counted(n_questions, "question") if n_questions else "none",
            Tone.DONE,
        ),
        "recruiting": (study.recruiting_setting("id_parameter") or "open link", Tone.DONE),
        "ending": ("own code" if study.completion_code else "code is made", Tone.DONE),
        "analysis": ("stated" if study.preregistered else "nothing stated", Tone.DONE),
        "review": (
            study.get_state_display() if not study.is_draft else "",
            Tone.PLAIN if study.is_draft else Tone.DONE,
        ),
    }


def _counted_or_due(n: int, word: str, due: Tone) -> tuple[str, Tone]:
    return (counted(n, word), Tone.DONE) if n else ("none yet", due)
