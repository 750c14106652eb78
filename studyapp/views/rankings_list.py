"""The list of the rankings page: every claim under every condition, filtered and paged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from studyapp.domain.claim_states import ClaimState, EvidenceState, claim_states, count_of
from studyapp.domain.progress import ConditionProgress
from studyapp.models import Study
from studyapp.views.researcher_words import counted, number

#: Entries on one page.
PAGE = 50
STATES = {
    "": "All",
    EvidenceState.MISSING: "Not queued",
    EvidenceState.WAITING: "Waiting",
    EvidenceState.RUNNING: "Running",
    EvidenceState.FAILED: "Failed",
    EvidenceState.FALLBACK: "Fallback",
    EvidenceState.DONE: "Done",
}


@dataclass(frozen=True)
class FilterLink:
    """One choice of a filter: its words, how many entries it lets through, and its address."""

    key: str
    words: str
    n: str
    url: str
    is_chosen: bool


@dataclass(frozen=True)
class Entry:
    """A claim under a condition, ready to print; ``key`` changes with every new failure of it."""

    key: str
    job_id: int | None
    condition: str
    claim_id: str
    text: str
    state: str
    words: str
    reason: str
    attempts: str
    has_reply: bool
    preview_url: str


@dataclass(frozen=True)
class ClaimList:
    """One page of the list, with the filters around it."""

    entries: list[Entry]
    states: list[FilterLink]
    conditions: list[FilterLink]
    says: str
    #: The filter as the query of an address, for forms that come back to it.
    query: str
    previous_url: str
    next_url: str


def claim_list(study: Study, rows: list[ConditionProgress], chosen: dict[str, Any]) -> ClaimList:
    """The page of the list that ``chosen`` (see ``ListForm``) asks for."""
    state, name = chosen["state"], chosen["condition"]
    listed = [row for row in rows if row.condition.name == name] or rows
    name = name if len(listed) < len(rows) or len(rows) == 1 else ""
    total = sum(count_of(row, state) for row in listed)
    page = min(chosen["page"], max(1, -(-total // PAGE)))
    start = (page - 1) * PAGE
    held = {row.condition.pk for row in rows if row.is_held}
    entries = [_entry(study, one, held) for one in claim_states(listed, state, start, PAGE)]
    return ClaimList(
        entries=entries,
        states=[
            FilterLink(
                str(key),
                words,
                number(sum(count_of(row, key) for row in listed)),
                _url(study, key, name),
                key == state,
            )
            for key, words in STATES.items()
        ],
        conditions=_condition_links(study, rows, state, name),
        says=_says(start, len(entries), total),
        query=_query(state, name, page),
        previous_url=_url(study, state, name, page - 1) if page > 1 else "",
        next_url=_url(study, state, name, page + 1) if start + PAGE < total else "",
    )


def _condition_links(
    study: Study, rows: list[ConditionProgress], state: str, name: str
) -> list[FilterLink]:
    if len(rows) < 2:
        return []
    every = [("", "All conditions", rows)] + [
        (row.condition.name, row.condition.name, [row]) for row in rows
    ]
    return [
        FilterLink(
            key,
            words,
            number(sum(count_of(row, state) for row in of)),
            _url(study, state, key),
            key == name,
        )
        for key, words, of in every
    ]


def _entry(study: Study, one: ClaimState, held: set[int]) -> Entry:
    words = STATES[one.state]
    if one.state == EvidenceState.WAITING and one.condition.pk in held:
        words = "Waiting: limit reached"
    is_failed = one.state == EvidenceState.FAILED
    finished = int(one.finished_at.timestamp() * 1000) if one.finished_at else 0
    return Entry(
        key=f"{one.job_id}-{finished}",
        job_id=one.job_id,
        condition=one.condition.name,
        claim_id=one.claim_id,
        text=one.text,
        state=one.state,
        words=words,
        reason=(one.reason or "no reason was recorded") if is_failed else "",
        attempts=counted(one.n_attempts, "attempt"),
        has_reply=is_failed and one.has_reply,
        preview_url=reverse(
            "rankings-preview", args=[study.slug, one.condition.name, one.position]
        ),
    )


def _says(start: int, n: int, total: int) -> str:
    if not total:
        return ""
    return f"{number(start + 1)} to {number(start + n)} of {number(total)}"


def _query(state: str, condition: str, page: int = 1) -> str:
    given = {"state": str(state), "condition": condition, "page": page if page > 1 else ""}
    return urlencode({name: value for name, value in given.items() if value})


def _url(study: Study, state: str, condition: str, page: int = 1) -> str:
    query = _query(state, condition, page)
    return reverse("study-rankings", args=[study.slug]) + (f"?{query}" if query else "")
