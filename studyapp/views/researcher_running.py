"""The cards from the opening on: opening, measures, export."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count
from django.urls import reverse

from studyapp.domain.blinding import hides_results
from studyapp.domain.cycles import ADDED, frozen_at_opening
from studyapp.domain.imported_runs import imported_under_way
from studyapp.domain.lifecycle import opening_problems, opening_warnings
from studyapp.domain.study_facts import StudyFacts
from studyapp.enums import RunKind, StudyState, TrialKind, TrialState
from studyapp.forms import CloseForm
from studyapp.models import Study, Trial
from studyapp.views.researcher_card import Card, Command, Tone
from studyapp.views.researcher_people import People
from studyapp.views.researcher_words import counted, listed, moment, number


@dataclass(frozen=True)
class OpeningStatus:
    """What the opening card says: problems and warnings of a draft, the state of any other."""

    state: str
    tone: Tone
    says: str
    problems: list[str]
    warnings: list[str]
    can_open: bool
    can_pause: bool
    can_resume: bool
    can_close: bool
    can_delete: bool
    close_says: str
    close_form: CloseForm | None
    frozen: list[tuple[str, str]]


def opening_status(
    study: Study,
    people: People | None = None,
    close_form: CloseForm | None = None,
    facts: StudyFacts | None = None,
) -> OpeningStatus:
    """Read the opening card. ``close_form`` is the one with a mistake, if there was one."""
    facts = facts or StudyFacts(study)
    problems = opening_problems(study, facts) if study.is_draft else []
    n_imported = imported_under_way(study, RunKind.REAL)
    n_under_way = people.n_under_way - n_imported if people else 0
    state, tone, says = _words(study, problems, n_under_way)
    can_close = study.state in (StudyState.OPEN, StudyState.PAUSED)
    return OpeningStatus(
        state=state,
        tone=tone,
        says=f"{says} {imported_says(n_imported)}".strip(),
        problems=problems,
        warnings=opening_warnings(study, facts) if study.is_draft and not problems else [],
        can_open=study.is_draft and not problems,
        can_pause=study.is_open,
        can_resume=study.state == StudyState.PAUSED,
        can_close=can_close,
        can_delete=study.state in (StudyState.DRAFT, StudyState.CLOSED),
        close_says=_close_says(n_under_way),
        close_form=(close_form or CloseForm(study)) if can_close else None,
        frozen=_frozen_rows(study),
    )


def _frozen_rows(study: Study) -> list[tuple[str, str]]:
    """What was frozen at the opening, and every addition to the schedule since."""
    rows = [(name, str(value)) for name, value in frozen_at_opening(study.frozen).items()]
    for added in study.frozen.get(ADDED, []):
        first, last = added["first_replication"], added["last_replication"]
        cycles = f"cycle {first}" if first == last else f"cycles {first} to {last}"
        rows.append((f"{cycles}, added {added['at']}", added["schedule"]))
    return rows


def opening_card(study: Study, status: OpeningStatus) -> Card:
    """Open, pause, resume, close."""
    return Card(
        anchor="opening",
        title="Opening",
        tone=status.tone,
        state=status.state,
        template="researcher/_opening.html",
        is_open=study.is_draft or study.state == StudyState.PAUSED or _has_mistake(status),
        content=status,
    )


def _has_mistake(status: OpeningStatus) -> bool:
    return bool(status.close_form and status.close_form.is_bound and status.close_form.errors)


def _words(study: Study, problems: list[str], n_under_way: int) -> tuple[str, Tone, str]:
    if study.is_draft:
        if problems:
            return (
                f"Not ready: {counted(len(problems), 'thing')} missing",
                Tone.WAITING,
                "",
            )
        return (
            "Ready to open",
            Tone.NEXT,
            "Opening freezes claims, conditions, rankings and schedule for good, keeps texts and "
            "settings as version 1, and lets participants in. The exact content of all is hashed "
            "and exported.",
        )
    opened = f"Opened {moment(study.opened_at)} UTC" if study.opened_at else "Opened"
    if study.is_open:
        return (
            opened,
            Tone.DONE,
            "Pausing lets nobody new in. "
            + (
                f"{counted(n_under_way, 'person', 'people')} under way can finish the trial they "
                "are in; the next one starts after you resume."
                if n_under_way
                else "Nobody is under way now."
            ),
        )
    if study.state == StudyState.PAUSED:
        return (
            "Paused",
            Tone.PROBLEM,
            "Nobody can join and no new trial starts. Places and answers are kept.",
        )
    closed = f"Closed {moment(study.closed_at)} UTC" if study.closed_at else "Closed"
    return closed, Tone.DONE, "The study takes no participants and starts no trial any more."


def imported_says(n: int) -> str:
    """What is said of runs that an import brought under way; empty without any."""
    if not n:
        return ""
    were, them = ("run was", "it") if n == 1 else ("runs were", "them")
    return (
        f"{number(n)} imported {were} under way in the original, and nobody can go on with {them} "
        "here."
    )


def _close_says(n_under_way: int) -> str:
    if not n_under_way:
        return "Closing is for good: nobody can join afterwards. Nobody is under way now."
    people = counted(n_under_way, "person", "people")
    return (
        f"Closing is for good: nobody can join afterwards, and {people} under way will get no "
        "further trial. Every answer is kept."
    )


# ---- measures and export -------------------------------------------------------------------------


def completed_trials(study: Study) -> dict[str, int]:
    """How many main trials were finished, by kind of run. A draft has none: no query."""
    if study.is_draft:
        return dict.fromkeys(RunKind.values, 0)
    completed = Trial.objects.filter(
        enrolment__slot__study=study, state=TrialState.COMPLETED, kind=TrialKind.MAIN
    )
    return dict.fromkeys(RunKind.values, 0) | dict(
        completed.values_list("enrolment__run_kind").annotate(n=Count("id")).order_by()
    )


def measures_card(study: Study, completed: dict[str, int]) -> Card:
    """The paper's table; while the study runs, only for who asks to see it."""
    n_real, n_simulated = completed[RunKind.REAL], completed[RunKind.SIMULATED]
    is_running = study.state in (StudyState.OPEN, StudyState.PAUSED)
    page = reverse("study-measures", args=[study.slug])
    # Without participants there would be nothing but simulated runs to show.
    counts_simulated = "simulated=on" if n_simulated and not n_real else ""
    if n_real:
        state = f"{counted(n_real, 'completed trial')}"
    elif n_simulated:
        state = counted(n_simulated, "simulated trial")
    else:
        state = "No completed trials yet"
    return Card(
        anchor="measures",
        title="Results",
        tone=Tone.PLAIN if n_real else Tone.WAITING,
        state=state,
        template="researcher/_measures_card.html",
        is_open=bool(n_real or n_simulated),
        content={
            "is_blind": hides_results(study),
            "has_any": bool(n_real or n_simulated),
            "is_running": bool(n_real) and is_running,
            "running_word": "running" if study.is_open else "paused",
            "shows_at_once": not (n_real and is_running),
            "address": f"{page}?{'&'.join(filter(None, [counts_simulated, 'part=table']))}",
            "page": page + (f"?{counts_simulated}" if counts_simulated else ""),
        },
    )


def export_card(study: Study, n_claims: int, completed: dict[str, int]) -> Card:
    """The way to the exports, and the command that writes the report of one."""
    archive = f"{study.slug}.zip"
    kinds = [
        counted(completed[kind], word)
        for kind, word in (
            (RunKind.REAL, "completed trial"),
            (RunKind.PILOT, "pilot trial"),
            (RunKind.SIMULATED, "simulated trial"),
        )
        if completed[kind]
    ]
    return Card(
        anchor="export",
        title="Export",
        tone=Tone.PLAIN if n_claims else Tone.WAITING,
        state=listed(kinds)
        if kinds
        else ("No trials yet" if n_claims else "Nothing to export yet"),
        template="researcher/_export.html",
        is_open=bool(kinds),
        command=Command(
            "Write the report from the file:",
            f"python -m analysis report {archive} -o REPORT",
        )
        if n_claims
        else None,
        content={
            "has_claims": bool(n_claims),
            "is_blind": hides_results(study),
        },
    )
