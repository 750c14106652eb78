"""The schedule page: the proof of balance, every slot, every claim, every subset, and the CSV."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from studyapp.access import researcher_only
from studyapp.domain import schedule_table
from studyapp.domain.balance import SlotKey, counted_balance, stored_cells
from studyapp.domain.schedule_csv import csv_lines
from studyapp.domain.schedule_table import ClaimRow, SlotRow
from studyapp.enums import Label, SlotState
from studyapp.models import Condition, Study
from studyapp.schedule_forms import ClaimFilterForm, FilterForm, SlotFilterForm
from studyapp.views.researcher_card import manage
from studyapp.views.researcher_layout import page
from studyapp.views.researcher_schedule import (
    STRIP_HEIGHT,
    STRIP_WIDTH,
    condition_sums,
    fill_of,
    paths_of,
    policy_of,
)
from studyapp.views.researcher_words import counted, moment, number
from studyapp.views.schedule_proof import statements, stratum_rows

#: Slots, claims or subsets on one page.
PAGE = 100
#: Positions listed one by one; the CSV has all.
MAX_POSITIONS = 200
#: Characters of a claim shown beside its id.
MAX_CLAIM = 120


@require_safe
@researcher_only
def schedule(request: HttpRequest, slug: str) -> HttpResponse:
    """The proof of balance, and the slots, filtered and in pages."""
    study: Study = request.study
    conditions = list(study.conditions.order_by("position"))
    slots = schedule_table.slot_rows(study)
    if not slots:
        return _schedule_page(request, "slots", {"has_schedule": False})
    chosen = SlotFilterForm.chosen(request.GET)
    found = [slot for slot in slots if _fits(slot, chosen)]
    context = {
        "has_schedule": True,
        "proof": _proof(study, conditions),
        "states": _state_links(slots, chosen),
        "legend": _legend(conditions),
        "names": [condition.name for condition in conditions],
        "strip": {"width": STRIP_WIDTH, "height": STRIP_HEIGHT},
        "rows": _slot_lines(_page_of(found, chosen), conditions),
        "n_found": counted(len(found), "slot"),
        "chosen": chosen,
        "is_filtered": _is_filtered(chosen),
        "cycles": range(1, study.n_replications + 1),
        "pages": _page_links(chosen, len(found)),
        "command": manage("schedule", study.slug),
    }
    return _schedule_page(request, "slots", context)


@require_safe
@researcher_only
def claims(request: HttpRequest, slug: str) -> HttpResponse:
    """Every claim under every condition in one cycle: in which slot, at which position."""
    study: Study = request.study
    chosen = ClaimFilterForm.chosen(request.GET)
    cycle = min(chosen["cycle"] or 1, max(study.n_replications, 1))
    conditions = list(study.conditions.order_by("position"))
    found = schedule_table.claims_found(
        study,
        subset=chosen["subset"],
        label=chosen["label"] or "",
        text=chosen["claim"] or "",
    )
    n_found = found.count()
    shown = list(_page_of(found.select_related("subset"), chosen))
    context = {
        "has_schedule": bool(study.n_replications),
        "cycle": cycle,
        "legend": _legend(conditions),
        "rows": [_claim_line(row, conditions) for row in schedule_table.claim_rows(shown, cycle)],
        "n_found": counted(n_found, "claim"),
        "chosen": chosen,
        "is_filtered": _is_filtered(chosen, but=("cycle",)),
        "cycles": range(1, study.n_replications + 1),
        "labels": Label.choices,
        "pages": _page_links(chosen, n_found),
        "command": manage("schedule_table", study.slug, "-o F.csv"),
    }
    return _schedule_page(request, "claims", context)


@require_safe
@researcher_only
def subsets(request: HttpRequest, slug: str) -> HttpResponse:
    """Every subset: its claims, how its slots stand, and whether it is closed."""
    study: Study = request.study
    chosen = FilterForm.chosen(request.GET)
    states: dict[int, Counter[SlotState]] = {}
    for slot in schedule_table.slot_rows(study):
        for subset in slot.subsets:
            states.setdefault(subset, Counter())[slot.state] += 1
    rows = schedule_table.subset_rows(study)
    context = {
        "has_schedule": bool(rows),
        "state_names": [state.label for state in SlotState],
        "rows": [
            {
                "number": row.number,
                "n_claims": number(row.n_claims),
                "states": [number(states.get(row.number, Counter())[s]) for s in SlotState],
                "closed": f"Closed {moment(row.closed_at)} UTC" if row.closed_at else "Open",
                "is_closed": row.closed_at is not None,
            }
            for row in _page_of(rows, chosen)
        ],
        "pages": _page_links(chosen, len(rows)),
    }
    return _schedule_page(request, "subsets", context)


@require_safe
@researcher_only
def table(request: HttpRequest, slug: str) -> StreamingHttpResponse:
    """The whole table as CSV, sent while it is read."""
    response = StreamingHttpResponse(
        csv_lines(request.study), content_type="text/csv; charset=utf-8"
    )
    name = f"{request.study.slug}-schedule.csv"
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


#: The parts of the page: the name of the address, and what it is called.
PARTS = (("slots", "study-schedule", "Slots"), ("claims", "schedule-claims", "Claims"),
         ("subsets", "schedule-subsets", "Subsets"))  # fmt: skip


def _schedule_page(request: HttpRequest, part: str, context: dict[str, Any]) -> HttpResponse:
    study: Study = request.study
    common = {
        "parts": [
            {"url": reverse(name, args=[study.slug]), "title": title, "is_current": key == part}
            for key, name, title in PARTS
        ],
        "can_add": bool(study.n_replications) and study.closed_at is None,
        "policy": policy_of(study),
    }
    return page(request, f"researcher/schedule/{part}.html", common | context)


# ---- the proof -----------------------------------------------------------------------------------


def _proof(study: Study, conditions: list[Condition]) -> dict[str, Any]:
    names = [condition.name for condition in conditions]
    strata = schedule_table.strata_of(study)
    n_claims = sum(sum(stratum.per_subset.values()) for stratum in strata)
    balance = counted_balance(stored_cells(study), names, n_claims, study.n_replications)
    positions = schedule_table.position_counts(study)
    return {
        "is_balanced": balance.is_balanced,
        "size": (
            f"{counted(balance.n_slots, 'slot')} with {counted(balance.n_trials, 'trial')}: "
            f"{counted(n_claims, 'claim')} in {counted(study.n_subsets, 'subset')}, "
            f"{counted(len(names), 'condition')}, {counted(study.n_replications, 'cycle')}."
        ),
        "statements": statements(study, balance, strata, positions),
        "sums": condition_sums(balance, conditions, n_claims),
        "n_trials": number(balance.n_trials),
        "strata": stratum_rows(study, strata),
        "positions": [
            {"position": number(place), "counts": [number(counts[name]) for name in names]}
            for place, counts in list(positions.items())[:MAX_POSITIONS]
        ],
        "hidden_positions": max(0, len(positions) - MAX_POSITIONS),
    }


# ---- slots ---------------------------------------------------------------------------------------


def _fits(slot: SlotRow, chosen: dict[str, Any]) -> bool:
    return (
        chosen["cycle"] in (None, slot.key[0])
        and (not chosen["state"] or slot.state == chosen["state"])
        and (chosen["subset"] is None or chosen["subset"] in slot.subsets)
    )


def _state_links(slots: list[SlotRow], chosen: dict[str, Any]) -> list[dict[str, Any]]:
    counts = Counter(slot.state for slot in slots)
    return [
        {
            "label": state.label,
            "value": state.value,
            "n": number(counts[state]),
            "query": urlencode({"state": state.value}),
            "is_current": chosen["state"] == state,
        }
        for state in SlotState
    ]


def _slot_lines(slots: Sequence[SlotRow], conditions: list[Condition]) -> list[dict[str, Any]]:
    orders = schedule_table.trial_orders(slots)
    names = {condition.position: condition.name for condition in conditions}
    return [
        {
            "slot": name_of(slot.key),
            "replication": slot.key[0],
            "number": slot.key[1],
            "shapes": paths_of(orders[slot.pk]),
            "begins": names[orders[slot.pk][0]] if orders[slot.pk] else "–",
            "subsets": [
                ", ".join(map(str, slot.subsets_under(condition.position))) or "–"
                for condition in conditions
            ],
            "n_trials": number(slot.n_trials),
            "state": slot.state.label,
            "tone": slot.state.value,
            "note": _slot_note(slot),
            "is_closed": slot.closed_at is not None,
            "can_close": slot.state != SlotState.COMPLETED,
        }
        for slot in slots
    ]


def _slot_note(slot: SlotRow) -> str:
    """What the state alone does not say: several places, and what closed it."""
    notes = []
    if slot.target > 1:
        notes.append(f"{number(slot.taken)} of {counted(slot.target, 'place')} taken")
    if slot.closed_at is not None:
        notes.append(f"closed {moment(slot.closed_at)} UTC")
    if slot.closed_subsets:
        notes.append(f"subset {', '.join(map(str, slot.closed_subsets))} is closed")
    return "; ".join(notes)


def name_of(slot: SlotKey) -> str:
    """A slot as researchers write it: cycle.number."""
    return f"{slot[0]}.{slot[1]}"


# ---- claims --------------------------------------------------------------------------------------


def _claim_line(row: ClaimRow, conditions: list[Condition]) -> dict[str, Any]:
    claim = row.claim
    return {
        "claim_id": claim.claim_id,
        "text": claim.text if len(claim.text) <= MAX_CLAIM else f"{claim.text[:MAX_CLAIM]}…",
        "lang": claim.lang,
        "label": claim.get_label_display(),
        "size": number(claim.gold_min_size),
        "subset": claim.subset.number if claim.subset else "–",
        "places": [
            "; ".join(
                f"{name_of(slot)} at {number(position)}"
                for slot, position in row.places.get(condition.name, [])
            )
            or "not shown"
            for condition in conditions
        ],
    }


# ---- filters and pages ---------------------------------------------------------------------------


def _page_of(rows: Any, chosen: dict[str, Any]) -> Any:
    first = ((chosen["page"] or 1) - 1) * PAGE
    return rows[first : first + PAGE]


def _page_links(chosen: dict[str, Any], n_found: int) -> dict[str, str]:
    """Where this page stands, and the queries of the pages before and after it."""
    at, last = chosen["page"] or 1, max(1, -(-n_found // PAGE))

    def query(to: int) -> str:
        return urlencode({name: value for name, value in (chosen | {"page": to}).items() if value})

    return {
        "says": f"Page {number(at)} of {number(last)}" if last > 1 or at > 1 else "",
        "before": query(min(at - 1, last)) if at > 1 else "",
        "after": query(at + 1) if at < last else "",
    }


def _is_filtered(chosen: dict[str, Any], but: Sequence[str] = ()) -> bool:
    return any(value for name, value in chosen.items() if name not in ("page", *but))


def _legend(conditions: list[Condition]) -> list[tuple[str, int]]:
    return [(condition.name, fill_of(place)) for place, condition in enumerate(conditions, 1)]
