"""What follows from a status at Prolific for a run of ours: every cell of the table."""

from __future__ import annotations

import pytest
from django.db import transaction

from studyapp.domain.prolific_decisions import ENDS, TABLE, Action, decide
from studyapp.enums import EnrolmentState
from studyapp.models import Enrolment
from studyapp.recruiters.prolific_statuses import SubmissionStatus
from tests.prolific_cast import arrive, connected_study, state_of, tell

#: The state after the message, by the state before it; what is not named stays as it was.
AFTER = {
    ("consented", "timed_out"): "returned",
    ("consented", "returned"): "returned",
    ("consented", "rejected"): "rejected",
    ("consented", "screened_out"): "screened_out",
    ("consented", "partially_approved"): "paid_partial",
    ("active", "timed_out"): "returned",
    ("active", "returned"): "returned",
    ("active", "rejected"): "rejected",
    ("active", "screened_out"): "screened_out",
    ("active", "partially_approved"): "paid_partial",
    ("completed", "rejected"): "rejected",
    ("timed_out", "rejected"): "rejected",
    ("timed_out", "partially_approved"): "paid_partial",
    ("returned", "rejected"): "rejected",
    ("returned", "partially_approved"): "paid_partial",
}
#: Where both sides say the same, so that nobody need look.
AGREED = {
    ("consented", "reserved"),
    ("consented", "active"),
    ("active", "reserved"),
    ("active", "active"),
    ("completed", "awaiting_review"),
    ("completed", "approved"),
    ("timed_out", "timed_out"),
    ("timed_out", "returned"),
    ("returned", "timed_out"),
    ("returned", "returned"),
    ("paid_partial", "timed_out"),
    ("paid_partial", "returned"),
    ("paid_partial", "partially_approved"),
    ("screened_out", "timed_out"),
    ("screened_out", "returned"),
    ("screened_out", "screened_out"),
    ("failed_checks", "timed_out"),
    ("failed_checks", "returned"),
    ("failed_checks", "rejected"),
    ("rejected", "timed_out"),
    ("rejected", "returned"),
    ("rejected", "rejected"),
}
CELLS = [
    (ours, theirs)
    for ours in EnrolmentState.values
    for theirs in SubmissionStatus.values
    if ours != EnrolmentState.WITHDRAWN
]


def test_every_state_of_ours_meets_every_status() -> None:
    told = [cell for cell in CELLS if cell[1] != SubmissionStatus.UNKNOWN]
    assert sorted(TABLE) == sorted(told)


@pytest.mark.django_db
@pytest.mark.parametrize("ours", dict.fromkeys(cell[0] for cell in CELLS))
def test_each_status_leads_to_the_state_of_its_cell(ours: str) -> None:
    study = connected_study()
    run = arrive(study, "p1", "s1")
    Enrolment.objects.filter(pk=run.pk).update(state=ours, ended_at=run.consented_at)
    found = {}
    for theirs in SubmissionStatus.values:
        with transaction.atomic():
            found[ours, theirs] = (tell(study, "s1", "p1", theirs), state_of(run))
            transaction.set_rollback(True)
    assert found == {
        cell: ("ended", AFTER[cell]) if cell in AFTER else ("noted", ours)
        for cell in CELLS
        if cell[0] == ours
    }


@pytest.mark.parametrize(("ours", "theirs"), CELLS)
def test_only_what_agrees_is_not_shown(ours: str, theirs: str) -> None:
    action = decide(ours, theirs)
    if theirs == SubmissionStatus.UNKNOWN or (ours, theirs) in AGREED:
        assert action == Action.AGREE
    else:
        assert action == Action.SHOW or (action in ENDS and (ours, theirs) in AFTER)


def test_a_completed_run_is_never_returned_timed_out_or_screened_out() -> None:
    for theirs in ("returned", "timed_out", "screened_out", "partially_approved"):
        assert decide("completed", theirs) == Action.SHOW


def test_no_action_starts_from_a_state_that_its_end_refuses() -> None:
    for (ours, _), action in TABLE.items():
        assert action not in ENDS or ours in ENDS[action].allowed_from
