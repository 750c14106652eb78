"""Submissions at Prolific and the runs they belong to."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import override_settings
from django.utils import timezone

from studyapp.domain.assignment import withdraw
from studyapp.domain.prolific_setup import set_up, try_connection
from studyapp.domain.prolific_submissions import differing, link_sessions
from studyapp.domain.prolific_sync import Synced, sync
from studyapp.enums import EnrolmentState, RunKind
from studyapp.errors import NoFreeSlot, StudyError
from studyapp.models import AuditEntry, Enrolment, ProlificLink, RecruiterSubmission, Study
from studyapp.recruiters.prolific_errors import ProlificError
from tests import factories
from tests.prolific_cast import (
    RECRUITING,
    arrive,
    connected,
    connected_study,
    state_of,
    status_of,
    tell,
)
from tests.prolific_server import STUDY_ID, TOKEN, Fault, ProlificServer

pytestmark = pytest.mark.django_db


def listed(study: Study, submission: str, person: str, status: str) -> Synced:
    """Read Prolific's list while it holds one submission."""
    with ProlificServer() as server, connected(server):
        server.add(submission, person, status)
        return sync(study)


def test_a_return_frees_the_place_at_once_and_keeps_the_data_marked() -> None:
    study = connected_study()
    first = arrive(study, "p1", "s1")
    arrive(study, "p2", "s2")
    with pytest.raises(NoFreeSlot):
        arrive(study, "p3", "s3")
    assert tell(study, "s1", "p1", "returned") == "ended"
    assert arrive(study, "p3", "s3").slot == first.slot
    ended = Enrolment.objects.get(pk=first.pk)
    assert (ended.state, ended.end_reason, ended.end_note) == (
        "returned",
        "returned",
        "RETURNED at Prolific",
    )
    assert AuditEntry.objects.latest("pk").details == {"slot": "1.1", "old_state": "consented"}


def test_messages_again_late_or_in_the_wrong_order_change_nothing() -> None:
    study = connected_study()
    run = arrive(study, "p1", "s1")
    now = timezone.now()
    assert tell(study, "s1", "p1", "returned", now) == "ended"
    n_entries = AuditEntry.objects.count()
    for status, at in [
        ("returned", now),
        ("returned", now + timedelta(minutes=1)),
        ("active", now + timedelta(minutes=2)),
        ("reserved", now - timedelta(minutes=2)),
        ("unknown", now + timedelta(minutes=3)),
    ]:
        assert tell(study, "s1", "p1", status, at) == "noted"
    assert (state_of(run), status_of("s1")) == ("returned", "returned")
    assert AuditEntry.objects.count() == n_entries


def test_of_one_stage_the_later_message_counts() -> None:
    study = connected_study()
    arrive(study, "p1", "s1")
    now = timezone.now()
    tell(study, "s1", "p1", "awaiting_review", now)
    tell(study, "s1", "p1", "timed_out", now - timedelta(seconds=1))
    assert status_of("s1") == "awaiting_review"
    tell(study, "s1", "p1", "timed_out", now + timedelta(seconds=1))
    assert status_of("s1") == "timed_out"


def test_a_submission_of_nobody_here_is_told_as_such_and_not_kept() -> None:
    study = connected_study()
    arrive(study, "p1", "s1")
    assert tell(study, "s9", "p9", "active") == "unmatched"
    assert tell(study, "s9", "", "returned") == "unmatched"
    assert RecruiterSubmission.objects.count() == 0


def test_an_earlier_submission_of_the_same_person_does_not_end_the_run() -> None:
    study = connected_study()
    run = arrive(study, "p1", "s2")
    assert tell(study, "s1", "p1", "returned") == "unmatched"
    assert state_of(run) == "consented"


def test_without_the_submission_in_the_link_the_list_means_the_only_run_of_a_person() -> None:
    study = connected_study(recruiting={"id_parameter": "PROLIFIC_PID"})
    run = arrive(study, "p1")
    assert listed(study, "s1", "p1", "RETURNED") == Synced(1, 0, n_ended=1)
    assert state_of(run) == "returned"


def test_without_the_submission_in_the_link_a_message_alone_means_nobody() -> None:
    study = connected_study(recruiting={"id_parameter": "PROLIFIC_PID"})
    run = arrive(study, "p1")
    assert tell(study, "s1", "p1", "returned") == "unmatched"
    assert (state_of(run), RecruiterSubmission.objects.count()) == ("consented", 0)
    listed(study, "s1", "p1", "ACTIVE")
    assert tell(study, "s1", "p1", "returned") == "ended"


def two_runs(study: Study, sessions: tuple[str, str]) -> list[Enrolment]:
    """A person with a finished run and one under way."""
    first = arrive(study, "p1", sessions[0])
    link_sessions(study, timezone.now())
    Enrolment.objects.filter(pk=first.pk).update(
        state=EnrolmentState.COMPLETED, ended_at=timezone.now()
    )
    return [first, arrive(study, "p1", sessions[1])]


def test_r029_of_two_runs_of_a_person_the_one_of_the_submission_is_ended() -> None:
    study = connected_study(8, recruiting=RECRUITING | {"repeats": 2}, n_subsets=4)
    first, second = two_runs(study, ("s1", "s2"))
    assert tell(study, "s1", "p1", "rejected") == "ended"
    assert (state_of(first), state_of(second)) == ("rejected", "consented")
    assert tell(study, "s2", "p1", "returned") == "ended"
    assert (state_of(first), state_of(second)) == ("rejected", "returned")


def test_of_two_runs_without_a_submission_in_the_link_none_is_guessed() -> None:
    study = connected_study(
        8, recruiting={"id_parameter": "PROLIFIC_PID", "repeats": 2}, n_subsets=4
    )
    first, second = two_runs(study, ("", ""))
    assert listed(study, "s1", "p1", "RETURNED") == Synced(1, 1, 0)
    assert (state_of(first), state_of(second)) == ("completed", "consented")


def test_pilot_runs_are_never_touched() -> None:
    study = connected_study(recruiting={"id_parameter": "PROLIFIC_PID"})
    run = arrive(study, "p1")
    Enrolment.objects.filter(pk=run.pk).update(run_kind=RunKind.PILOT)
    assert listed(study, "s1", "p1", "RETURNED") == Synced(1, 1, 0)
    assert state_of(run) == "consented"


def test_submissions_named_by_links_are_known_before_prolific_tells_of_them() -> None:
    study = connected_study()
    arrive(study, "p1", "s1")
    arrive(study, "p2", "x" * 65)
    now = timezone.now()
    assert [link_sessions(study, now), link_sessions(study, now)] == [1, 0]
    assert status_of("s1") == "unknown"


def test_a_message_that_names_another_person_than_the_runs_is_nobodys() -> None:
    study = connected_study(n_replications=3)
    run = arrive(study, "other", "s1")
    link_sessions(study, timezone.now())
    assert tell(study, "s1", "p1", "rejected") == "unmatched"
    assert (state_of(run), status_of("s1")) == ("consented", "unknown")
    assert listed(study, "s1", "p1", "REJECTED") == Synced(1, 1, 0)
    assert (state_of(run), status_of("s1")) == ("consented", "unknown")
    assert tell(study, "s1", "other", "returned") == "ended"


def taken_submission(study: Study) -> list[Enrolment]:
    """Somebody came with the id of a submission before the person whose it is."""
    other = arrive(study, "other", "s1")
    link_sessions(study, timezone.now())
    return [other, arrive(study, "p1", "s1")]


@pytest.mark.parametrize("by_list", [False, True])
def test_a_submission_in_two_links_is_that_of_the_person_prolific_names(by_list: bool) -> None:
    study = connected_study(n_replications=3)
    other, own = taken_submission(study)
    assert RecruiterSubmission.objects.get().enrolment == other
    if by_list:
        assert listed(study, "s1", "p1", "REJECTED") == Synced(1, 0, 1)
    else:
        assert tell(study, "s1", "p1", "rejected") == "ended"
    assert (state_of(other), state_of(own)) == ("consented", "rejected")
    assert RecruiterSubmission.objects.get().enrolment == own
    # Whoever brought it comes no further with it afterwards.
    assert link_sessions(study, timezone.now()) == 0


@pytest.mark.parametrize("people", [("other", "p1"), ("p1", "other")])
def test_of_two_people_with_the_same_submission_none_is_guessed(people: tuple[str, str]) -> None:
    study = connected_study(n_replications=3)
    runs = {person: arrive(study, person, "s1") for person in people}
    assert link_sessions(study, timezone.now()) == 0
    assert tell(study, "s1", "p1", "returned") == "ended"
    assert (state_of(runs["other"]), state_of(runs["p1"])) == ("consented", "returned")


def test_a_withdrawal_takes_the_submission_along_and_no_message_brings_it_back() -> None:
    study = connected_study()
    run = arrive(study, "p1", "s1")
    tell(study, "s1", "p1", "active")
    withdraw(run.token)
    assert tell(study, "s1", "p1", "returned") == "unmatched"
    assert link_sessions(study, timezone.now()) == 0
    assert RecruiterSubmission.objects.count() == 0


def test_what_differs_is_listed_in_one_query(django_assert_num_queries: Any) -> None:
    study = connected_study(8, n_subsets=4)
    for number, status in enumerate(["active", "awaiting_review", "approved"], start=1):
        arrive(study, f"p{number}", f"s{number}")
        tell(study, f"s{number}", f"p{number}", status)
    with django_assert_num_queries(1):
        found = [(row.submission_id, row.enrolment.participant.code) for row in differing(study)]
    assert [submission for submission, _ in found] == ["s2", "s3"]


# ---- reading the list ----------------------------------------------------------------------------


def test_reading_brings_all_runs_into_agreement_once() -> None:
    study = connected_study(8, n_subsets=4)
    runs = [arrive(study, f"p{number}", f"s{number}") for number in range(1, 5)]
    with ProlificServer() as server, connected(server):
        for number, status in enumerate(["ACTIVE", "RETURNED", "TIMED-OUT", "REJECTED"], start=1):
            server.add(f"s{number}", f"p{number}", status)
        server.add("s9", "p9")
        assert sync(study) == Synced(n_listed=5, n_unmatched=1, n_ended=3)
        assert sync(study) == Synced(n_listed=5, n_unmatched=1, n_ended=0)
    assert [state_of(run) for run in runs] == ["consented", "returned", "returned", "rejected"]
    link = ProlificLink.objects.get()
    assert (link.n_listed, link.n_unmatched, link.sync_error) == (5, 1, "")


def test_a_list_without_news_costs_the_same_queries_for_any_number_of_people(
    django_assert_num_queries: Any,
) -> None:
    study = connected_study(12, n_subsets=6)
    with ProlificServer() as server, connected(server):
        for number in (1, 2, 3, 4, 5, 6):
            arrive(study, f"p{number}", f"s{number}")
            server.add(f"s{number}", f"p{number}")
            if number in (2, 6):
                sync(study)
                with django_assert_num_queries(5):
                    sync(study)


def test_a_run_that_came_back_after_its_return_is_returned_again() -> None:
    study = connected_study()
    run = arrive(study, "p1", "s1")
    with ProlificServer() as server, connected(server):
        server.add("s1", "p1", "RETURNED")
        sync(study)
        Enrolment.objects.filter(pk=run.pk).update(state="consented", ended_at=None)
        assert sync(study).n_ended == 1
    assert state_of(run) == "returned"


def test_a_list_that_breaks_off_ends_nothing_by_absence_and_says_why() -> None:
    study = connected_study()
    run = arrive(study, "p1", "s1")
    with ProlificServer() as server, connected(server):
        server.add("s1", "p1", "ACTIVE")
        sync(study)
        server.submissions.clear()
        assert sync(study) == Synced(0, 0, 0)
        server.fault_of = lambda asked: Fault(401, {})
        with pytest.raises(ProlificError, match="does not accept the token"):
            sync(study)
    assert state_of(run) == "consented"
    assert "does not accept the token" in ProlificLink.objects.get().sync_error


def test_a_person_who_consents_after_the_return_is_returned_by_the_next_reading() -> None:
    study = connected_study()
    with ProlificServer() as server, connected(server):
        server.add("s1", "p1", "RETURNED")
        assert sync(study).n_unmatched == 1
        run = arrive(study, "p1", "s1")
        assert sync(study).n_ended == 1
    assert state_of(run) == "returned"


def test_without_a_token_or_an_id_it_is_said_what_to_do() -> None:
    study = factories.open_study(recruiting=RECRUITING)
    with pytest.raises(ProlificError, match="give its id first"):
        sync(study)
    set_up(study, study_ids=[STUDY_ID])
    with pytest.raises(ProlificError, match="set PROLIFIC_API_TOKEN"):
        sync(study)
    with pytest.raises(ProlificError, match="set PROLIFIC_API_TOKEN"):
        try_connection(study)


def test_a_token_that_names_the_study_goes_before_the_common_one() -> None:
    study = connected_study()
    with ProlificServer() as server, connected(server):
        with override_settings(PROLIFIC_API_TOKENS={"": ("wrong",), study.slug: (TOKEN,)}):
            assert [found.name for found in try_connection(study)] == ["Reading evidence"]
        with override_settings(PROLIFIC_API_TOKENS={"other": (TOKEN,)}):
            with pytest.raises(ProlificError, match="set PROLIFIC_API_TOKEN"):
                try_connection(study)


# ---- setting it up -------------------------------------------------------------------------------


def test_it_is_set_up_on_a_draft_and_on_an_open_study() -> None:
    for study in (factories.draft_study(), factories.open_study()):
        frozen = study.frozen
        set_up(study, study_ids=[STUDY_ID], screen_out_code=" X1 ", return_after_minutes=30)
        link, stored = ProlificLink.objects.get(study=study), Study.objects.get(pk=study.pk)
        assert (link.study_ids, link.screen_out_code) == ([STUDY_ID], "X1")
        assert stored.recruiting_setting("return_after_minutes") == 30
        assert stored.frozen == frozen
        assert AuditEntry.objects.latest("pk").details == {
            "prolific_studies": STUDY_ID,
            "return_after_minutes": 30,
        }


def test_what_is_not_given_stays() -> None:
    study = connected_study()
    set_up(study, return_after_minutes=5)
    link = ProlificLink.objects.get()
    assert (link.study_ids, link.screen_out_code) == ([STUDY_ID], "SCREENED1")
    set_up(study, study_ids=[])
    assert Study.objects.get().recruiting == RECRUITING | {"return_after_minutes": 5}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"study_ids": ["short"]}, "copy it from the address"),
        ({"study_ids": ["https://app.prolific.com/x"]}, "copy it from the address"),
        ({"study_ids": [STUDY_ID, STUDY_ID]}, "one is there twice"),
        ({"study_ids": [f"{n:024d}" for n in range(21)]}, "the most is 20"),
        ({"screen_out_code": "x" * 61}, "up to 60 signs"),
        ({"screen_out_code": "a\nb"}, "in one line"),
        ({"return_after_minutes": -1}, "a whole number from 0 to 10080"),
    ],
)
def test_what_cannot_be_used_changes_nothing(given: dict[str, Any], said: str) -> None:
    study = factories.draft_study()
    with pytest.raises(StudyError, match=said):
        set_up(study, **given)
    assert ProlificLink.objects.count() == 0
