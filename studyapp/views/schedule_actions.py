"""What can be done to a schedule: add cycles, close slots and subsets, open them again.

Each asks first, with what it does in numbers; the form that is sent then does it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from studyapp.access import researcher_only
from studyapp.domain import closing, schedule_table
from studyapp.domain.queries import main_claims
from studyapp.domain.schedule import add_cycles
from studyapp.domain.schedule_table import SlotRow
from studyapp.enums import Role, SlotState
from studyapp.errors import StudyError
from studyapp.models import Study
from studyapp.schedule_forms import CyclesForm
from studyapp.views.researcher_card import manage
from studyapp.views.researcher_layout import page
from studyapp.views.researcher_words import counted, number
from studyapp.views.schedule_page import name_of


@dataclass(frozen=True)
class Question:
    """A page that asks before something is done: what, what it does in numbers, where it leads."""

    title: str
    says: list[str]
    button: str
    back: str
    command: str


# ---- cycles --------------------------------------------------------------------------------------


@require_http_methods(["GET", "HEAD", "POST"])
@researcher_only(read=Role.EDITOR)
def cycles(request: HttpRequest, slug: str) -> HttpResponse:
    """Ask how many further cycles, say what they add, and add them."""
    study: Study = request.study
    if request.method != "POST":
        asked = request.GET if "further" in request.GET else None
        return _cycles_page(request, study, CyclesForm(asked, initial={"further": 1}))
    form = CyclesForm(request.POST)
    if not form.is_valid():
        return _cycles_page(request, study, form, status=422)
    further = form.cleaned_data["further"]
    try:
        add_cycles(study, further, n_before=form.cleaned_data["before"])
    except StudyError as error:
        return _refused(request, study, error)
    messages.success(request, f"{counted(further, 'cycle')} added.")
    return _to(reverse("study-schedule", args=[study.slug]))


def _cycles_page(
    request: HttpRequest, study: Study, form: CyclesForm, status: int = 200
) -> HttpResponse:
    is_asked = form.is_bound and form.is_valid()
    further = form.cleaned_data["further"] if is_asked else 0
    context = {
        "form": form,
        "further": further,
        "before": study.n_replications,
        "adds": _adds(study, further) if further else [],
        "can_add": bool(study.n_replications) and study.closed_at is None,
        "is_closed": study.closed_at is not None,
        "command": manage("schedule", study.slug, f"--add-cycles {further or 1}"),
    }
    return page(request, "researcher/schedule/cycles.html", context, status=status)


def _adds(study: Study, further: int) -> list[str]:
    """What so many cycles add, in numbers."""
    n_claims, n_conditions = main_claims(study).count(), study.conditions.count()
    n_slots = study.slots.filter(replication=1).count()
    now = study.n_replications
    return [
        f"{counted(further * n_slots, 'slot')} with "
        f"{counted(further * n_claims * n_conditions, 'trial')}, so up to "
        f"{counted(further * n_slots, 'further participant')}.",
        f"Each of the {counted(n_claims, 'claim')} is judged {counted(further, 'more time')} under "
        f"each of the {counted(n_conditions, 'condition')}: {number(now + further)} times instead "
        f"of {number(now)}.",
        "Slots that are there, and the people in them, stay as they are. Cycles cannot be taken "
        "away once the study has opened.",
    ]


# ---- closing and opening again -------------------------------------------------------------------


@require_http_methods(["GET", "HEAD", "POST"])
@researcher_only(read=Role.EDITOR)
def slot(request: HttpRequest, slug: str, replication: int, number: int, do: str) -> HttpResponse:
    """Ask before a slot is closed or opened again, and do it."""
    study: Study = request.study
    row = _one([s for s in schedule_table.slot_rows(study) if s.key == (replication, number)])
    act = closing.close_slots if do == "close" else closing.reopen_slots
    name = name_of(row.key)
    question = Question(
        title=f"Close slot {name}?" if do == "close" else f"Open slot {name} again?",
        says=_closes_slot(row) if do == "close" else _reopens_slot(row),
        button=f"Close slot {name}" if do == "close" else f"Open slot {name} again",
        back=reverse("study-schedule", args=[study.slug]),
        command=manage("close_slot", study.slug, name, *_reopen_option(do)),
    )
    done = f"Slot {name} is {'closed' if do == 'close' else 'open again'}."
    return _asked(request, study, question, lambda: act(study, replication, number), done)


@require_http_methods(["GET", "HEAD", "POST"])
@researcher_only(read=Role.EDITOR)
def subset(request: HttpRequest, slug: str, number: int, do: str) -> HttpResponse:
    """Ask before a subset is closed or opened again, and do it."""
    study: Study = request.study
    row = _one([s for s in schedule_table.subset_rows(study) if s.number == number])
    slots = [s for s in schedule_table.slot_rows(study) if number in s.subsets]
    act = closing.close_subset if do == "close" else closing.reopen_subset
    question = Question(
        title=f"Close subset {number}?" if do == "close" else f"Open subset {number} again?",
        says=_closes_subset(row.n_claims, slots)
        if do == "close"
        else _reopens_subset(number, row.n_claims, slots),
        button=f"Close subset {number}" if do == "close" else f"Open subset {number} again",
        back=reverse("schedule-subsets", args=[study.slug]),
        command=manage("close_subset", study.slug, str(number), *_reopen_option(do)),
    )
    done = f"Subset {number} is {'closed' if do == 'close' else 'open again'}."
    return _asked(request, study, question, lambda: act(study, number), done)


def _asked(
    request: HttpRequest,
    study: Study,
    question: Question,
    act: Callable[[], Any],
    done: str,
) -> HttpResponse:
    """GET: the question. POST: do it and go back, or say why it was refused."""
    if request.method != "POST":
        return page(request, "researcher/schedule/question.html", {"question": question})
    try:
        act()
    except StudyError as error:
        return _refused(request, study, error)
    messages.success(request, done)
    return _to(question.back)


def _closes_slot(row: SlotRow) -> list[str]:
    free = row.free
    says = [
        f"It has {counted(row.n_trials, 'trial')}; free: {number(free)} of "
        f"{counted(row.target, 'place')}."
    ]
    if free:
        says.append(
            f"While it is closed nobody new gets it: its {counted(row.n_trials, 'claim')} miss "
            f"{counted(free, 'judgement')} each, and cycle {row.key[0]} stays incomplete."
        )
    if row.n_running:
        says.append(
            f"{counted(row.n_running, 'person', 'people')} under way in it can finish; whoever "
            "leaves is not replaced."
        )
    if row.n_completed:
        says.append(f"{counted(row.n_completed, 'finished run')} in it stays and counts.")
    return says


def _reopens_slot(row: SlotRow) -> list[str]:
    free = row.free
    says = [f"{counted(free, 'place')} with {counted(row.n_trials, 'trial')} can be taken again."]
    if row.closed_subsets:
        subsets = ", ".join(map(str, row.closed_subsets))
        says.append(f"It stays out of reach while subset {subsets} is closed.")
    return says


def _closes_subset(n_claims: int, slots: list[SlotRow]) -> list[str]:
    n = _by_state(slots)
    return [
        f"Claims in it: {number(n_claims)}. Slots that show them: {number(len(slots))}.",
        f"{counted(n[SlotState.FREE], 'free slot')} will be given to nobody while it is closed.",
        f"Held slots, which can be finished: {number(n[SlotState.HELD])}. Completed slots, which "
        f"stay and count: {number(n[SlotState.COMPLETED])}.",
    ]


def _reopens_subset(subset: int, n_claims: int, slots: list[SlotRow]) -> list[str]:
    freed = [
        row
        for row in slots
        if row.state == SlotState.CLOSED
        and row.closed_at is None
        and row.closed_subsets == [subset]
    ]
    return [
        f"Claims in it: {number(n_claims)}. Slots that show them: {number(len(slots))}.",
        f"{counted(len(freed), 'slot')} can be taken again; slots that are closed by themselves or "
        "by another subset stay closed.",
    ]


def _by_state(slots: list[SlotRow]) -> dict[SlotState, int]:
    return {state: sum(row.state == state for row in slots) for state in SlotState}


def _reopen_option(do: str) -> list[str]:
    return ["--reopen"] if do == "reopen" else []


def _one(rows: list[Any]) -> Any:
    if not rows:
        raise Http404("The schedule of this study has no such part.")
    return rows[0]


def _refused(request: HttpRequest, study: Study, error: StudyError) -> HttpResponse:
    context = {"study": study, "problems": error.problems}
    return page(request, "researcher/setup/refused.html", context, error.status)


def _to(url: str) -> HttpResponse:
    response = redirect(url)
    response.status_code = 303
    return response
