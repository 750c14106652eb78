"""What a researcher can do to a run, by the names that addresses use.

A page and the API both act here. An action concerns the participant's last run and is done once,
however often it is sent: what was done already is told, not done again to an earlier run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from studyapp.domain import run_ends
from studyapp.domain.run_ends import End
from studyapp.errors import NotEditable, StudyError
from studyapp.models import Enrolment, Study
from studyapp.models.assignment import HOLDING, RUNNING

#: A place that is held this much shorter than asked for was held longer by the same request.
_TOLERANCE = timedelta(minutes=1)


@dataclass(frozen=True)
class RunAction:
    """One action: its name in addresses, its label, in full and short, and what is said once done.

    ``end`` is how it ends the run, None where it does not; ``allowed_from`` are the states of a run
    in which it can be done.
    """

    name: str
    label: str
    short: str
    done: str
    end: End | None
    allowed_from: tuple[str, ...]
    act: Callable[[Study, str, str, int], Enrolment]
    takes_note: bool = False
    needs_note: bool = False
    needs_minutes: bool = False


ACTIONS = {
    action.name: action
    for action in (
        RunAction(
            "extend",
            "Hold the place longer",
            "Hold longer",
            "The place is held longer",
            None,
            RUNNING,
            lambda study, code, note, minutes: run_ends.extend_run(study, code, minutes),
            needs_minutes=True,
        ),
        RunAction(
            "release",
            "Release the place",
            "Release",
            "The place is released",
            run_ends.RELEASE,
            run_ends.RELEASE.allowed_from,
            lambda study, code, note, minutes: run_ends.release_run(study, code),
        ),
        RunAction(
            "return",
            "Mark returned",
            "Returned",
            "The run is marked as returned",
            run_ends.RETURN,
            run_ends.RETURN.allowed_from,
            lambda study, code, note, minutes: run_ends.return_run(study, code),
        ),
        RunAction(
            "pay-partial",
            "Mark paid, partial",
            "Paid, partial",
            "The run is marked as paid in part",
            run_ends.PAY_PARTIAL,
            run_ends.PAY_PARTIAL.allowed_from,
            lambda study, code, note, minutes: run_ends.pay_run_partly(study, code, note),
            takes_note=True,
        ),
        RunAction(
            "reject",
            "Reject",
            "Reject",
            "The run is rejected",
            run_ends.REJECT,
            run_ends.REJECT.allowed_from,
            lambda study, code, note, minutes: run_ends.reject_run(study, code, note),
            takes_note=True,
            needs_note=True,
        ),
        RunAction(
            "restore",
            "Undo the end",
            "Undo",
            "The end is undone",
            None,
            run_ends.RESTORABLE,
            lambda study, code, note, minutes: run_ends.restore_run(study, code),
        ),
    )
}


@dataclass(frozen=True)
class Acted:
    """The run as it is now. ``is_new`` is False where the action had been done before."""

    run: Enrolment
    is_new: bool


def possible(state: str) -> list[RunAction]:
    """What can be done to a run in this state."""
    return [action for action in ACTIONS.values() if state in action.allowed_from]


def last_run(study: Study, participant: str) -> Enrolment | None:
    """The participant's last run, with its slot."""
    runs = Enrolment.objects.filter(slot__study=study, participant__code=participant)
    return runs.select_related("slot", "participant").order_by("-pk").first()


def act(
    study: Study,
    participant: str,
    action: RunAction,
    *,
    note: str = "",
    minutes: int = 0,
    run_id: int | None = None,
) -> Acted:
    """Do an action to the participant's last run, in one transaction.

    ``run_id`` is the run that was meant, by its primary key; None means whichever is the last.
    Raises NotEditable where the run is in a state in which it cannot be done, or another one is the
    last by now; StudyError where there is no such participant or the note or the minutes will not
    do.
    """
    with transaction.atomic():
        # Nobody joins, ends or withdraws between the look and the act.
        study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        run = last_run(study, participant)
        if run is None:
            raise StudyError(f"participant {participant!r}: there is no such run in this study.")
        if run_id not in (None, run.pk):
            raise NotEditable(
                f"participant {participant!r} has begun another run since, which is "
                f"{run.get_state_display().lower()}: nothing was changed. Look at the runs again."
            )
        if _is_done(run, action, minutes):
            return Acted(run, is_new=False)
        if run.state not in action.allowed_from:
            told = action.end.says if action.end else _SAYS[action.name]
            raise NotEditable(
                f"participant {participant!r} {told}: the run is {run.get_state_display().lower()}."
            )
        return Acted(action.act(study, participant, note, minutes), is_new=True)


def _is_done(run: Enrolment, action: RunAction, minutes: int) -> bool:
    if action.end is not None:
        return (run.state, run.end_reason) == (action.end.state, action.end.reason)
    if action.name == "restore":
        return run.state in HOLDING
    if not 1 <= minutes <= run_ends.MAX_EXTENSION:
        return False
    wanted = timezone.now() + timedelta(minutes=minutes)
    return run.state in RUNNING and run.lease_until >= wanted - _TOLERANCE


#: What is said of a run to which an action that ends nothing cannot be done.
_SAYS = {"extend": "holds no place", "restore": "has no run whose end can be undone"}
