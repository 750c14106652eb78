"""What the page of one participant prints, and what an action says that it will do."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.urls import reverse

from studyapp.domain.held_slots import SILENCE
from studyapp.domain.one_participant import RunSeen, TrialSeen
from studyapp.domain.pace import tells_conditions
from studyapp.domain.run_actions import RunAction, possible
from studyapp.enums import EnrolmentState, TrialKind, TrialState
from studyapp.models import Study
from studyapp.models.assignment import HOLDING, RUNNING
from studyapp.views.researcher_participants import run_note
from studyapp.views.researcher_words import counted, duration, moment, number


def run_words(study: Study, seen: RunSeen, now: datetime, *, with_actions: bool) -> dict[str, Any]:
    """One run, ready to print."""
    run = seen.run
    tells = tells_conditions(study, run.run_kind)
    return {
        "slot": str(run.slot),
        "kind": run.get_run_kind_display(),
        "state": run.get_state_display(),
        "note": run_note(run, seen.n_done, now),
        "facts": _facts(seen),
        "trials": [_trial_words(trial, tells) for trial in seen.of_kind(TrialKind.MAIN)],
        "tells_conditions": tells,
        "checks": _check_words(seen.of_kind(TrialKind.ATTENTION)),
        "practice": _practice_words(seen.of_kind(TrialKind.PRACTICE)),
        "answers": _answers(study, seen),
        "gap_minutes": int(SILENCE.total_seconds() // 60),
        "actions": [
            {
                "label": action.label,
                "address": reverse(
                    "participant-action", args=[study.slug, run.participant.code, action.name]
                ),
            }
            for action in possible(run.state)
        ]
        if with_actions
        else [],
    }


def _facts(seen: RunSeen) -> list[tuple[str, str]]:
    run = seen.run
    facts = [
        ("Trials done", f"{number(seen.n_done)} of {number(run.slot.n_trials)}"),
        ("Consented", f"{moment(run.consented_at)} UTC"),
        ("Began", f"{moment(run.started_at)} UTC" if run.started_at else "not yet"),
    ]
    if run.state in RUNNING:
        facts.append(("Place held until", f"{moment(run.lease_until)} UTC"))
    if run.ended_at:
        facts.append(("Ended", f"{moment(run.ended_at)} UTC"))
    if run.started_at and run.ended_at:
        facts.append(("Took", duration(max((run.ended_at - run.started_at).total_seconds(), 0))))
    if run.end_reason:
        facts.append(("Reason of the end", run.end_reason.replace("_", " ")))
    if run.end_note:
        facts.append(("Note", run.end_note))
    return facts


def _trial_words(trial: TrialSeen, tells: bool) -> dict[str, str]:
    told = trial.told
    gap = trial.contact.longest_gap if trial.contact else None
    return {
        "position": number(trial.position),
        "claim": trial.claim_id,
        "condition": trial.condition if tells else "",
        "state": TrialState(trial.state).label,
        "started": moment(trial.started_at),
        # With how many there were, one could tell a set shown at once.
        "shown": number(trial.n_steps) + (f" of {number(trial.n_available)}" if tells else ""),
        "taken": duration(trial.taken.total_seconds()) if trial.taken is not None else "–",
        "active": duration(told.active_ms / 1000) if told.active_ms is not None else "–",
        "gap": duration(gap.total_seconds()) if gap is not None and gap > SILENCE else "–",
    }


def _check_words(checks: list[TrialSeen]) -> dict[str, Any]:
    if not checks:
        return {}
    n_passed = sum(check.is_passed is True for check in checks)
    return {
        "says": f"{number(n_passed)} of {counted(len(checks), 'attention check')} passed.",
        "rows": [
            {"claim": check.claim_id, "result": _result(check), "at": moment(check.started_at)}
            for check in checks
        ],
    }


def _result(check: TrialSeen) -> str:
    if check.state != TrialState.COMPLETED:
        return "not answered"
    return {True: "passed", False: "failed", None: "no right answer is offered"}[check.is_passed]


def _practice_words(tries: list[TrialSeen]) -> str:
    if not tries:
        return ""
    n_right = sum(each.is_passed is True for each in tries)
    tried = counted(len(tries), "practice try", "practice tries")
    return f"{tried}, {number(n_right)} right."


def _answers(study: Study, seen: RunSeen) -> list[tuple[str, str]]:
    """Questions with their answers; one that was left empty says so."""
    if not seen.answers:
        return []
    questions = study.sitting_setting("questionnaire")
    return [(each["text"], seen.answers.get(each["name"], "left empty")) for each in questions]


# ---- actions -------------------------------------------------------------------------------------


def asks(action: RunAction, seen: RunSeen) -> str:
    """The question that the page of an action asks."""
    who = seen.run.participant.code
    return {
        "extend": f"Hold the place of {who} longer?",
        "release": f"Release the place of {who}?",
        "return": f"Mark the run of {who} as returned?",
        "pay-partial": f"Mark the run of {who} as paid in part?",
        "reject": f"Reject the run of {who}?",
        "restore": f"Undo the end of the run of {who}?",
    }.get(action.name, f"{action.label}: {who}?")


def consequence(action: RunAction, seen: RunSeen) -> list[str]:
    """What will happen, in numbers: a line each."""
    run = seen.run
    if action.name == "restore":
        return _restoring(seen)
    if action.end is None:
        return [
            f"Slot {run.slot} is held until {moment(run.lease_until)} UTC now. The new time counts "
            "from this moment, and shortens nothing."
        ]
    n_open = sum(trial.state == TrialState.OPEN for trial in seen.trials)
    done = counted(seen.n_done, "finished trial")
    lines = [
        f"{done} of {number(run.slot.n_trials)} and {counted(_n_shown(seen), 'sentence')} shown "
        f"stay stored, marked as {EnrolmentState(action.end.state).label.lower()}."
    ]
    if n_open:
        lines.append(f"{counted(n_open, 'open trial')} becomes incomplete and gets no decision.")
    if run.state in HOLDING:
        lines.append(f"1 place, in slot {run.slot}, is free at once for the next arrival.")
    else:
        lines.append(f"No place changes: slot {run.slot} was given up before.")
    lines.append(
        "The run no longer counts in the balance. Its page tells the participant that it is over."
    )
    return lines


def _restoring(seen: RunSeen) -> list[str]:
    run = seen.run
    lines = [f"1 place, in slot {run.slot}, is taken again; without one left, this is refused."]
    if run.ended_from == EnrolmentState.COMPLETED:
        return [f"The run counts as completed again, with {counted(seen.n_done, 'trial')}.", *lines]
    n_open = sum(trial.state == TrialState.INCOMPLETE for trial in seen.trials)
    if n_open:
        lines.append(
            f"{counted(n_open, 'incomplete trial')} is open again, with the time between inside it."
        )
    done = f"{number(seen.n_done)} of {counted(run.slot.n_trials, 'trial')}"
    return [f"The run goes on after {done}, with a new lease.", *lines]


def _n_shown(seen: RunSeen) -> int:
    return sum(trial.n_steps for trial in seen.trials)
