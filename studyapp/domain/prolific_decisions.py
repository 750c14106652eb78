"""What follows from a submission's status at Prolific for our run: a table, cell by cell.

A run that is completed is never returned, and nothing is undone: where both sides disagree beyond
what an end of the run can settle, the researcher is shown it.
"""

from __future__ import annotations

from enum import StrEnum

from studyapp.domain import run_ends
from studyapp.enums import EnrolmentState as Ours
from studyapp.recruiters.prolific_statuses import SubmissionStatus as Theirs


class Action(StrEnum):
    """What to do about a run."""

    #: Both sides say the same.
    AGREE = "agree"
    #: They differ, and it is the researcher's to look at.
    SHOW = "show"
    RETURN = "return"
    REJECT = "reject"
    SCREEN_OUT = "screen out"
    PAY_PARTLY = "pay partly"


#: How a run is ended for an action.
ENDS = {
    Action.RETURN: run_ends.RETURN,
    Action.REJECT: run_ends.REJECT,
    Action.SCREEN_OUT: run_ends.SCREEN_OUT,
    Action.PAY_PARTLY: run_ends.PAY_PARTIAL,
}

_COLUMNS = (
    Theirs.RESERVED,
    Theirs.ACTIVE,
    Theirs.TIMED_OUT,
    Theirs.AWAITING_REVIEW,
    Theirs.RETURNED,
    Theirs.REJECTED,
    Theirs.SCREENED_OUT,
    Theirs.PARTIALLY_APPROVED,
    Theirs.APPROVED,
)
#: One row a state of ours, one letter a column above.
_ROWS = {
    #                      reserved active timed_out review returned rejected screened partly appr.
    Ours.CONSENTED: "        =        =      R        ?       R        X        S        P      ?",
    Ours.ACTIVE: "           =        =      R        ?       R        X        S        P      ?",
    Ours.COMPLETED: "        ?        ?      ?        =       ?        X        ?        ?      =",
    Ours.TIMED_OUT: "        ?        ?      =        ?       =        X        ?        P      ?",
    Ours.RETURNED: "         ?        ?      =        ?       =        X        ?        P      ?",
    Ours.PAID_PARTIAL: "     ?        ?      =        ?       =        ?        ?        =      ?",
    Ours.SCREENED_OUT: "     ?        ?      =        ?       =        ?        =        ?      ?",
    Ours.FAILED_CHECKS: "    ?        ?      =        ?       =        =        ?        ?      ?",
    Ours.REJECTED: "         ?        ?      =        ?       =        =        ?        ?      ?",
}
_LETTERS = {
    "=": Action.AGREE,
    "?": Action.SHOW,
    "R": Action.RETURN,
    "X": Action.REJECT,
    "S": Action.SCREEN_OUT,
    "P": Action.PAY_PARTLY,
}
TABLE = {
    (ours, theirs): _LETTERS[letter]
    for ours, row in _ROWS.items()
    for theirs, letter in zip(_COLUMNS, row.split(), strict=True)
}


def decide(ours: str, theirs: str) -> Action:
    """The action for a run in state ``ours`` whose submission has the status ``theirs``."""
    if theirs == Theirs.UNKNOWN:
        return Action.AGREE
    return TABLE[Ours(ours), Theirs(theirs)]
