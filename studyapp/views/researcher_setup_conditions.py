"""Setting up: the conditions, each a method of the registry with its parameters."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from rankers.method_info import MethodInfo
from rankers.registry import METHODS
from studyapp.domain.draft_conditions import (
    change_condition,
    move_condition,
    remove_condition,
    stored_counts,
)
from studyapp.domain.lifecycle import add_condition
from studyapp.enums import Interface
from studyapp.errors import NotEditable, StudyError
from studyapp.models import Condition, Study
from studyapp.setup_forms_conditions import ConditionForm, interface_of, needs_of
from studyapp.views.researcher_schedule import fill_of
from studyapp.views.researcher_setup_pages import is_editable, saved, setup_page, setup_view
from studyapp.views.researcher_words import counted

FORM_TEMPLATE = "researcher/setup/condition.html"
MOVES = {"up": -1, "down": 1}
_MAIN = ("name", "model", "embedder")


@setup_view("GET", "HEAD")
def conditions(request: HttpRequest, study: Study) -> HttpResponse:
    """The conditions in order, and the methods that another one can have."""
    rows = list(study.conditions.order_by("position"))
    stored = stored_counts(study)
    context = {
        "rows": [_row(row, stored.get(row.pk, 0), len(rows)) for row in rows],
        "contrast": f"{rows[0].name} minus {rows[1].name}" if len(rows) > 1 else "",
        "groups": [
            {
                "title": "One sentence at a time",
                "help": "Rankers: participants ask for the next sentence until they know enough.",
                "methods": _methods(Interface.INCREMENTAL),
            },
            {
                "title": "All at once",
                "help": "Selectors: participants see one set of sentences in reading order.",
                "methods": _methods(Interface.ALL_AT_ONCE),
            },
        ],
        "has_schedule": bool(study.n_replications),
        "can_change": is_editable(study) and not study.n_replications,
        "can_go_on": len(rows) > 1 or bool(study.n_replications),
    }
    return setup_page(request, study, "conditions", context)


@setup_view("GET", "HEAD", "POST")
def new_condition(request: HttpRequest, study: Study, method: str) -> HttpResponse:
    """A condition with one method: name, model, embedder, parameters."""
    info = METHODS.get(method)
    if info is None:
        raise Http404("There is no such method.")
    form = ConditionForm(info, request.POST or None, initial={"name": _free_name(study, info)})
    if request.method == "POST" and form.is_valid():
        try:
            condition = add_condition(study, **form.condition_fields())
        except NotEditable:
            raise
        except StudyError as error:
            form.add_error(None, "\n".join(map(str, error.problems)))
        else:
            return saved(request, study, "conditions", f"{condition.name} was added.")
    return _form_page(request, study, form, None)


@setup_view("GET", "HEAD", "POST")
def condition(request: HttpRequest, study: Study, condition_id: int) -> HttpResponse:
    """Change a condition's name, model, embedder or parameters."""
    stored = _condition_or_404(study, condition_id)
    form = ConditionForm(METHODS[stored.method], request.POST or None, condition=stored)
    if request.method == "POST" and form.is_valid():
        try:
            changed = change_condition(stored, **form.condition_fields())
        except NotEditable:
            raise
        except StudyError as error:
            form.add_error(None, "\n".join(map(str, error.problems)))
        else:
            return saved(request, study, "conditions", f"{changed.name} was saved.")
    return _form_page(request, study, form, stored)


@setup_view("POST")
def move(request: HttpRequest, study: Study, condition_id: int) -> HttpResponse:
    """Let a condition change places with its neighbour."""
    stored = _condition_or_404(study, condition_id)
    move_condition(stored, MOVES.get(request.POST.get("to", ""), 0))
    return saved(request, study, "conditions", "The order is saved.")


@setup_view("GET", "HEAD", "POST")
def remove(request: HttpRequest, study: Study, condition_id: int) -> HttpResponse:
    """Say what goes with a condition; POST removes it."""
    stored = _condition_or_404(study, condition_id)
    n_stored = stored_counts(study).get(stored.pk, 0)
    if request.method == "POST":
        remove_condition(stored)
        says = f"{stored.name} was removed. {_removes(n_stored, done=True)}"
        return saved(request, study, "conditions", says)
    context = {
        "condition": stored,
        "says": _removes(n_stored, done=False),
        "can_change": is_editable(study) and not study.n_replications,
    }
    template = "researcher/setup/condition_remove.html"
    return setup_page(request, study, "conditions", context, template=template)


def _form_page(
    request: HttpRequest, study: Study, form: ConditionForm, stored: Condition | None
) -> HttpResponse:
    n_stored = stored_counts(study).get(stored.pk, 0) if stored else 0
    context = {
        "form": form,
        "condition": stored,
        "method": form.info.name,
        "summary": form.info.summary,
        "interface": Interface(interface_of(form.info)).label,
        "needs": needs_of(form.info),
        "main_fields": [form[name] for name in _MAIN if name in form.fields],
        "param_fields": form.param_fields(),
        "losing": (
            f"Its {counted(n_stored, 'stored ranking')} will be deleted if you change anything but "
            "the name."
            if n_stored
            else ""
        ),
        "can_change": is_editable(study) and not study.n_replications,
        "has_schedule": bool(study.n_replications),
    }
    status = 422 if request.method == "POST" else 200
    return setup_page(request, study, "conditions", context, template=FORM_TEMPLATE, status=status)


def _row(condition: Condition, n_stored: int, n_all: int) -> dict[str, object]:
    defaults = {param.name: param.default for param in METHODS[condition.method].params}
    params = ", ".join(
        f"{name}={value}"
        for name, value in sorted(condition.params.items())
        if defaults.get(name) != value
    )
    return {
        "id": condition.pk,
        "name": condition.name,
        "fill": fill_of(condition.position),
        "interface": condition.get_interface_display(),
        "method": condition.method,
        "model": condition.model or condition.embedder,
        "params": params or ("default parameters" if defaults else ""),
        "stored": counted(n_stored, "stored", "stored") if n_stored else "–",
        "is_first": condition.position == 1,
        "is_last": condition.position == n_all,
    }


def _methods(interface: Interface) -> list[dict[str, object]]:
    return [
        {
            "name": info.name,
            "summary": f"{info.summary[:1].upper()}{info.summary[1:]}.",
            "needs": needs_of(info),
        }
        for info in METHODS.values()
        if interface_of(info) == interface
    ]


def _free_name(study: Study, info: MethodInfo) -> str:
    """A first proposal for a name: what the condition is, if that is free."""
    taken = set(study.conditions.values_list("name", flat=True))
    plain = "ranking" if interface_of(info) == Interface.INCREMENTAL else "selection"
    for name in (plain, info.name, *(f"{info.name}-{number}" for number in range(2, 100))):
        if name not in taken:
            return name
    return ""


def _removes(n_stored: int, *, done: bool) -> str:
    if not n_stored:
        return "Nothing was stored for it." if done else "Nothing is stored for it yet."
    rankings = counted(n_stored, "stored ranking")
    return f"{rankings} went with it." if done else f"{rankings} will be deleted with it."


def _condition_or_404(study: Study, condition_id: int) -> Condition:
    return get_object_or_404(Condition, pk=condition_id, study=study)
