"""Setting up: the schedule, with its balance before anything is laid out."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse

from studyapp.domain.queries import main_claims
from studyapp.domain.schedule import lay_out, remove_schedule
from studyapp.domain.schedule_preview import SchedulePlan, plan_schedule
from studyapp.enums import ConditionPolicy, Label
from studyapp.errors import NotReady
from studyapp.models import Study
from studyapp.setup_forms import ScheduleForm
from studyapp.views.researcher_schedule import STRIP_WIDTH, fill_of, strip_of
from studyapp.views.researcher_setup_pages import saved, setup_page, setup_view
from studyapp.views.researcher_words import counted, number

#: Columns of subsets that a table can hold.
MAX_COLUMNS = 12


@setup_view("GET", "HEAD", "POST")
def schedule(request: HttpRequest, study: Study) -> HttpResponse:
    """Subsets, cycles, seed and order; POST shows the balance or lays the schedule out."""
    n_claims, n_conditions = main_claims(study).count(), study.conditions.count()
    form = ScheduleForm(request.POST or None, initial=_proposal(study, n_claims, n_conditions))
    wants_preview = "preview" in request.POST
    status = 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            if not wants_preview and (answer := _laid_out(request, study, form)):
                return answer
            status = 200 if wants_preview else 422
    plan = _plan(study, form) if n_claims and n_conditions else None
    if request.method == "POST" and plan is None:
        status = 422
    context = {
        "form": form,
        "has_all": bool(n_claims and n_conditions),
        "missing": [
            step for step, n in (("claims", n_claims), ("conditions", n_conditions)) if not n
        ],
        "is_laid_out": bool(study.n_replications),
        "plan": _shown(plan) if plan else None,
        "size": f"{counted(n_claims, 'claim')}, {counted(n_conditions, 'condition')}",
        "again_says": _again_says(study),
    }
    return setup_page(request, study, "schedule", context, status=status)


@setup_view("POST")
def remove(request: HttpRequest, study: Study) -> HttpResponse:
    """Take the schedule away, so that claims and conditions can change again."""
    remove_schedule(study)
    return saved(
        request,
        study,
        "schedule",
        "The schedule was removed. Claims and conditions can be changed again.",
    )


def _laid_out(request: HttpRequest, study: Study, form: ScheduleForm) -> HttpResponse | None:
    """Lay it out and say so; None with the reason in the form when it is not possible."""
    data = form.cleaned_data
    try:
        lay_out(
            study,
            data["subsets"],
            data["replications"],
            data["seed"],
            order_policy=data["order_policy"],
            condition_policy=data["condition_policy"],
        )
    except NotReady as error:
        for problem in error.problems:
            form.add_error("subsets", problem)
        return None
    n_slots = study.slots.count()
    return saved(request, study, "schedule", f"Laid out: {counted(n_slots, 'slot')}.")


def _proposal(study: Study, n_claims: int, n_conditions: int) -> dict[str, Any]:
    """The schedule that is there, or one that suits what is there."""
    least = n_conditions if study.condition_policy == ConditionPolicy.WITHIN else 1
    return {
        "subsets": study.n_subsets or max(min(5, n_claims), least, 1),
        "replications": study.n_replications or 1,
        "seed": study.seed,
        "order_policy": study.order_policy,
        "condition_policy": study.condition_policy,
    }


def _plan(study: Study, form: ScheduleForm) -> SchedulePlan | None:
    """What the numbers in the form would make; None with the reason in the form."""
    data = form.initial
    if form.is_bound:
        if not form.is_valid():
            return None
        data = form.cleaned_data
    wanted = Study(
        pk=study.pk,
        order_policy=data["order_policy"],
        condition_policy=data["condition_policy"],
    )
    try:
        return plan_schedule(wanted, data["subsets"], data["replications"], data["seed"])
    except NotReady as error:
        if form.is_bound and not form.errors:
            for problem in error.problems:
                form.add_error("subsets", problem)
        return None


def _shown(plan: SchedulePlan) -> dict[str, Any]:
    n_columns = min(len(plan.sizes), MAX_COLUMNS)
    return {
        "columns": list(range(1, n_columns + 1)),
        "hidden_columns": len(plan.sizes) - n_columns,
        "strata": [
            {
                "label": Label(stratum.label).label,
                "size": number(stratum.gold_min_size),
                "counts": [number(n) for n in stratum.per_subset[:n_columns]],
                "total": number(sum(stratum.per_subset)),
            }
            for stratum in plan.strata
        ],
        "sizes": [number(size) for size in plan.sizes[:n_columns]],
        "total": number(sum(plan.sizes)),
        "names": plan.conditions,
        "legend": [(name, fill_of(place)) for place, name in enumerate(plan.conditions, start=1)],
        "slots": [
            {
                "slot": f"{slot.replication}.{slot.number}",
                "strip": strip_of(slot.order),
                "subsets": [", ".join(map(str, subsets)) or "–" for subsets in slot.subsets],
                "n_trials": number(len(slot.order)),
            }
            for slot in plan.slots
        ],
        "hidden_slots": (
            counted(plan.n_slots - len(plan.slots), "further slot")
            if plan.n_slots > len(plan.slots)
            else ""
        ),
        "says": (
            f"{counted(plan.n_slots, 'participant')}, {counted(plan.n_trials, 'trial')}: "
            "each claim once under each condition in every cycle, and nobody meets a claim twice."
        ),
        "strip_width": STRIP_WIDTH,
    }


def _again_says(study: Study) -> str:
    """What laying out anew changes."""
    if not study.n_replications:
        return ""
    return (
        f"The study has a schedule: {counted(study.n_subsets, 'subset')}, "
        f"{counted(study.n_replications, 'cycle')}, seed {study.seed}. Laying it out again deals "
        "the claims anew and replaces every slot; claims, conditions and rankings stay."
    )
