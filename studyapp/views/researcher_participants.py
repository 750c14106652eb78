"""The list of participants: filtered, sorted, page by page, and as files."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_safe

from studyapp.access import researcher_only
from studyapp.domain.export_times import utc_text
from studyapp.domain.held_slots import finished_main_trials
from studyapp.domain.payments import COLUMNS, has_payments, payment_rows
from studyapp.domain.queries import RunCounts, run_counts_of
from studyapp.domain.run_list import Progress, chosen, listed, progress_of
from studyapp.enums import EnrolmentState, Role, RunKind
from studyapp.models import Enrolment, Study
from studyapp.models.assignment import RUNNING
from studyapp.run_forms import RunFilter, RunFilterForm
from studyapp.spreadsheets import csv_download
from studyapp.views.researcher_layout import page
from studyapp.views.researcher_paging import pages_of
from studyapp.views.researcher_words import ago, counted, moment, number

#: Runs on a page.
RUNS_PAGE = 100
#: Columns of the list that sort it, by the name in the address.
HEADS = (
    ("participant", "Participant"),
    ("slot", "Slot"),
    ("kind", "Kind"),
    ("state", "State"),
    ("", "Trials done"),
    ("joined", "Joined, UTC"),
    ("", "Last activity"),
    ("ended", "Ended, UTC"),
)
CSV_COLUMNS = (
    "participant",
    "slot",
    "kind",
    "state",
    "end_reason",
    "trials_done",
    "trials_planned",
    "consented_at",
    "started_at",
    "ended_at",
    "held_until",
)


@require_safe
@researcher_only
def study_participants(request: HttpRequest, slug: str) -> HttpResponse:
    """The runs that fit the filter of the address; ``format=csv`` saves all of them."""
    study = request.study
    wanted = RunFilterForm.chosen(request.GET)
    runs = chosen(listed(study, wanted.sort, descending=wanted.is_descending), **wanted.filters)
    if wanted.format == "csv":
        return csv_download(f"{study.slug}-participants.csv", CSV_COLUMNS, _csv_rows(runs))
    return page(request, "researcher/participants.html", _list_context(study, wanted, runs))


@require_GET
@researcher_only(read=Role.EDITOR)
def study_payments(request: HttpRequest, slug: str) -> HttpResponse:
    """Recruiter ids and names of links with how their runs ended; the download is logged."""
    study = request.study
    return csv_download(f"{study.slug}-payments.csv", COLUMNS, payment_rows(study))


def _list_context(study: Study, wanted: RunFilter, runs: Any) -> dict[str, Any]:
    counts = run_counts_of(study)
    n_found = runs.count()
    pages = pages_of(n_found, wanted.page, RUNS_PAGE, lambda n: "?" + wanted.query(page=str(n)))
    shown = list(runs[pages.first : pages.last])
    progress = progress_of([run.pk for run in shown])
    now = timezone.now()
    base = reverse("study-participants", args=[study.slug])
    return {
        "rows": [_row(base, run, progress.get(run.pk), now) for run in shown],
        "heads": [_head(wanted, name, label) for name, label in HEADS],
        "pages": pages,
        "found": f"{counted(n_found, 'run')}",
        "filter": wanted.filters,
        "is_filtered": any(wanted.filters.values()),
        "sort": wanted.query(page="", **dict.fromkeys(wanted.filters, "")),
        "sort_value": ("-" if wanted.is_descending else "") + wanted.sort,
        "states": _choices(EnrolmentState, wanted.filters["state"]),
        "kinds": _choices(RunKind, wanted.filters["kind"]),
        "withdrawn": _withdrawn(counts, wanted.filters),
        "csv": "?" + wanted.query(page="", format="csv"),
        "has_payments": has_payments(study),
    }


def _choices(names: Any, chosen_value: str) -> list[tuple[str, str, bool]]:
    return [(name.value, name.label, name.value == chosen_value) for name in names]


def _withdrawn(counts: RunCounts, filters: dict[str, str]) -> str:
    """What is said of those who withdrew, who are counted and not listed."""
    if filters["slot"] or filters["pseudonym"]:
        return ""
    if filters["state"] not in ("", EnrolmentState.WITHDRAWN):
        return ""
    kinds = [filters["kind"]] if filters["kind"] else RunKind.values
    n = sum(counts.of(kind, EnrolmentState.WITHDRAWN) for kind in kinds)
    if not n:
        return ""
    more = "" if filters["state"] else "more "
    runs = counted(n, f"{more}run was", f"{more}runs were")
    return f"{runs} withdrawn: the data are deleted, only the number is kept."


def _head(wanted: RunFilter, name: str, label: str) -> dict[str, str]:
    """A column's head: where it leads, and how it sorts now."""
    is_now = bool(name) and wanted.sort == name
    turned = f"-{name}" if is_now and not wanted.is_descending else name
    return {
        "label": label,
        "address": "?" + wanted.query(sort=turned, page="") if name else "",
        "sorted": ("descending" if wanted.is_descending else "ascending") if is_now else "",
        "is_number": "yes" if label == "Trials done" else "",
    }


def _row(base: str, run: Enrolment, progress: Progress | None, now: datetime) -> dict[str, str]:
    heard_at = progress.heard_at if progress else run.consented_at
    n_done = progress.n_done if progress else 0
    return {
        "participant": run.participant.code,
        "address": f"{base}{run.participant.code}/",
        "slot": str(run.slot),
        "kind": run.get_run_kind_display(),
        "state": run.get_state_display(),
        "note": run_note(run, n_done, now),
        "done": f"{number(n_done)} of {number(run.slot.n_trials)}",
        "joined": moment(run.consented_at),
        "heard": ago(heard_at, now),
        "heard_at": f"{moment(heard_at)} UTC",
        "ended": moment(run.ended_at) if run.ended_at else "",
    }


def run_note(run: Enrolment, n_done: int, now: datetime) -> str:
    """What there is to know of a run under way."""
    if run.state not in RUNNING:
        return ""
    if run.slot.n_trials and n_done >= run.slot.n_trials:
        return "all trials done, at the last questions"
    return "place expired: the next arrival may get it" if run.lease_until < now else ""


def _csv_rows(runs: Any) -> Iterator[tuple[Any, ...]]:
    for run in runs.annotate(n_done=finished_main_trials()):
        yield (
            run.participant.code,
            str(run.slot),
            run.run_kind,
            run.state,
            run.end_reason,
            run.n_done,
            run.slot.n_trials,
            utc_text(run.consented_at),
            utc_text(run.started_at),
            utc_text(run.ended_at),
            utc_text(run.lease_until) if run.state in RUNNING else None,
        )
