"""The client of Prolific's API, against a server that speaks real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from studyapp.recruiters.prolific import Prolific, ProlificStudy, Submission
from studyapp.recruiters.prolific_answers import retry_seconds
from studyapp.recruiters.prolific_errors import ProlificError
from studyapp.recruiters.prolific_statuses import (
    STAGES,
    SubmissionStatus,
    read_status,
    supersedes,
)
from tests.prolific_server import SCREEN_OUT_CODE, STUDY_ID, TOKEN, Fault, ProlificServer


@pytest.fixture
def server() -> Iterator[ProlificServer]:
    with ProlificServer() as running:
        yield running


class Naps(list[float]):
    """Pauses that are noted instead of slept."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def client(server: ProlificServer, **options: Any) -> Prolific:
    options = {"timeout": 5.0, "sleep": Naps()} | options
    return Prolific(server.url, options.pop("token", TOKEN), **options)


def refused(action: Any) -> ProlificError:
    with pytest.raises(ProlificError) as caught:
        action()
    return caught.value


def test_a_study_and_a_submission_are_read(server: ProlificServer) -> None:
    server.add("s1", "p1", "AWAITING REVIEW")
    assert client(server).study(STUDY_ID) == ProlificStudy(STUDY_ID, "Reading evidence", "ACTIVE")
    assert client(server).submission("s1") == Submission(
        "s1", "p1", SubmissionStatus.AWAITING_REVIEW, False
    )


@pytest.mark.parametrize("tells", [{"_links", "meta"}, {"_links"}, {"meta"}])
def test_a_list_is_read_to_its_end_whatever_pages_say_of_it(
    server: ProlificServer, tells: set[str]
) -> None:
    for number in range(25):
        server.add(f"s{number}", f"p{number}")
    server.page_size, server.tells = 10, tells
    found = [each.id for each in client(server).submissions(STUDY_ID)]
    assert found == [f"s{number}" for number in range(25)]
    assert [each.query["offset"] for each in server.asked] == ["0", "10", "20"]


def test_pages_that_overlap_yield_each_submission_once(server: ProlificServer) -> None:
    for number in range(25):
        server.add(f"s{number}", f"p{number}")
    server.page_size, server.overlap = 10, 3
    found = [each.id for each in client(server).submissions(STUDY_ID)]
    assert sorted(found) == sorted(server.submissions)
    assert len(found) == 25


def test_a_list_that_repeats_itself_ends(server: ProlificServer) -> None:
    server.add("s1", "p1")
    page = {"results": [server.submissions["s1"]], "_links": {"next": {"href": "?offset=1"}}}
    server.fault_of = lambda asked: Fault(200, page)
    assert [each.id for each in client(server).submissions(STUDY_ID)] == ["s1"]


def test_a_return_is_asked_for_with_reasons(server: ProlificServer) -> None:
    server.add("s1", "p1")
    said = client(server).request_return("s1", ["Didn't finish the study"])
    assert said == "asked to return; status ACTIVE"
    assert [(each.path, each.body) for each in server.asked] == [
        (
            "submissions/s1/request-return/",
            {"request_return_reasons": ["Didn't finish the study"]},
        )
    ]
    assert client(server).submission("s1").is_return_requested


def test_a_screen_out_completes_with_its_code(server: ProlificServer) -> None:
    server.add("s1", "p1")
    assert client(server).screen_out("s1", SCREEN_OUT_CODE) == "screened out; status SCREENED OUT"
    error = refused(lambda: client(server).screen_out("s1", "WRONG"))
    assert str(error) == (
        "Prolific refused this (status 400). It said: completion_code: Not a valid code."
    )
    assert (error.is_worth_retry, error.code) == (False, 400)


def test_a_wrong_token_says_what_to_set_and_never_the_token(server: ProlificServer) -> None:
    error = refused(lambda: client(server, token="secret-of-ann").study(STUDY_ID))
    assert str(error).startswith("Prolific does not accept the token: set PROLIFIC_API_TOKEN")
    assert "secret-of-ann" not in str(error)
    assert (error.is_worth_retry, len(server.asked)) == (False, 1)


def test_too_many_requests_wait_as_long_as_the_server_says(server: ProlificServer) -> None:
    naps = Naps()
    server.faults = [Fault(429, {}, {"Retry-After": "7"})]
    assert client(server, sleep=naps).study(STUDY_ID).status == "ACTIVE"
    assert naps == [7.0]


def test_a_longer_wait_is_left_to_the_caller(server: ProlificServer) -> None:
    naps = Naps()
    server.faults = [Fault(429, {}, {"Retry-After": "600"})]
    error = refused(lambda: client(server, sleep=naps).study(STUDY_ID))
    assert (naps, error.retry_after, error.is_worth_retry) == ([], 600.0, True)


def test_reading_is_tried_again_after_faults_with_longer_pauses(server: ProlificServer) -> None:
    naps = Naps()
    server.faults = [Fault(500, b"<html>"), Fault(cuts=True)]
    assert client(server, sleep=naps).study(STUDY_ID).status == "ACTIVE"
    assert naps == [0.5, 1.0]
    server.faults = [Fault(502)] * 3
    error = refused(lambda: client(server).study(STUDY_ID))
    assert (error.code, error.is_worth_retry) == (502, True)


@pytest.mark.parametrize("fault", [Fault(500), Fault(cuts=True), Fault(status=200, body=b"x")])
def test_what_may_have_been_done_is_not_asked_twice_at_once(
    server: ProlificServer, fault: Fault
) -> None:
    server.add("s1", "p1")
    fault.works_first = True
    server.faults = [fault]
    error = refused(lambda: client(server).request_return("s1", ["late"]))
    assert (error.is_worth_retry, error.may_have_worked) == (True, True)
    assert len(server.asked) == 1


def test_what_was_turned_away_unread_is_asked_again(server: ProlificServer) -> None:
    server.add("s1", "p1")
    server.faults = [Fault(429), Fault(503)]
    client(server).request_return("s1", ["late"])
    assert len(server.asked) == 3


def test_a_slow_server_is_given_up(server: ProlificServer) -> None:
    server.fault_of = lambda asked: Fault(seconds=1.0)
    error = refused(lambda: client(server, timeout=0.1, tries=1).study(STUDY_ID))
    assert str(error) == "Prolific did not answer in time (ReadTimeout). It is asked again later."


def test_a_server_that_is_away_is_said(server: ProlificServer) -> None:
    gone = Prolific("http://127.0.0.1:9/api/v1", TOKEN, tries=1, timeout=2.0)
    error = refused(lambda: gone.study(STUDY_ID))
    assert (str(error), error.may_have_worked) == (
        "Prolific is away (ConnectError). It is asked again later.",
        False,
    )


def test_a_redirection_is_not_followed_with_the_token(server: ProlificServer) -> None:
    server.faults = [Fault(302, {}, {"Location": f"{server.url}/elsewhere"})]
    assert refused(lambda: client(server).study(STUDY_ID)).code == 302
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"[]", "cannot be read"),
        (b"[" * 100_000, "cannot be read"),
        ({"results": "none"}, "holds no list"),
        ({"results": [{"status": "ACTIVE"}]}, "a submission without an id"),
        ({"results": [None]}, "a submission without an id"),
    ],
)
def test_an_answer_of_another_shape_is_refused(
    server: ProlificServer, body: Any, said: str
) -> None:
    server.fault_of = lambda asked: Fault(200, body)
    assert said in str(refused(lambda: list(client(server, tries=1).submissions(STUDY_ID))))


@pytest.mark.parametrize("name", ["", "../users/me", "a/b", "s1?x=1", "s 1", "é"])
def test_what_is_no_id_reaches_no_address(server: ProlificServer, name: str) -> None:
    assert "no id" in str(refused(lambda: client(server).submission(name)))
    assert server.asked == []


@pytest.mark.parametrize("header", ["", "soon", "nan", "inf", "Mon, 99 Foo"])
def test_a_pause_that_cannot_be_read_is_none(header: str) -> None:
    assert retry_seconds(header) is None


def test_a_pause_may_be_a_date() -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    assert 80 < (retry_seconds(soon) or 0) <= 90
    assert retry_seconds("-5") == 0.0


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("AWAITING REVIEW", "awaiting_review"),
        ("AWAITING_REVIEW", "awaiting_review"),
        ("TIMED-OUT", "timed_out"),
        ("SCREENED OUT", "screened_out"),
        ("PARTIALLY APPROVED", "partially_approved"),
        ("Returned", "returned"),
        ("PROCESSING", "unknown"),
        (None, "unknown"),
        (["RETURNED"], "unknown"),
    ],
)
def test_a_status_is_read_however_it_is_written(word: Any, status: str) -> None:
    assert read_status(word) == status


def test_a_status_never_moves_backwards() -> None:
    early, late = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
    for new in SubmissionStatus:
        for old in SubmissionStatus:
            later, sooner = supersedes(new, late, old, early), supersedes(new, early, old, late)
            if STAGES[new] != STAGES[old]:
                assert later == sooner == (STAGES[new] > STAGES[old])
            else:
                assert (later, sooner) == (new != old, False)
