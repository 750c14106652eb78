"""How many queries a page takes, and what happens when many come at the same moment."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from studyapp.enums import EnrolmentState, Interface
from studyapp.models import Enrolment, Event, Participant, Study, Trial, VerificationAnswer
from tests import factories
from tests.studyapp.views.pages import HTMX, field_of, run_url, trial_url, welcome_url

TRANSACTION_CONTROL = ("SAVEPOINT", "RELEASE", "ROLLBACK", "BEGIN", "COMMIT")


def n_queries(action: Callable[[], Any], status: int = 200) -> int:
    """How many statements an action takes, transaction control aside."""
    with CaptureQueriesContext(
        connection,
    ) as captured:
        response = action()
    assert response.status_code == status
    return sum(
        not query["sql"].startswith(TRANSACTION_CONTROL) for query in captured.captured_queries
    )


def test_a_run_page_takes_three_queries_however_many_sentences(
    study: Study, client: Client
) -> None:
    _, trial = factories.started_in(study, Interface.INCREMENTAL)
    page = run_url(trial.enrolment)
    assert n_queries(lambda: client.get(page)) == 3
    for rank in (2, 3, 4):
        client.post(trial_url(trial) + "reveal", {"rank": rank})
    assert n_queries(lambda: client.get(page)) == 3


def test_a_reveal_takes_four_queries(study: Study, client: Client) -> None:
    _, trial = factories.started_in(study, Interface.INCREMENTAL)
    url = trial_url(trial) + "reveal"
    for rank in (2, 3):
        assert n_queries(lambda rank=rank: client.post(url, {"rank": rank}, headers=HTMX)) == 4
    # A repetition reads and writes nothing new.
    assert n_queries(lambda: client.post(url, {"rank": 3}, headers=HTMX)) == 2


def test_a_decision_takes_ten_queries(study: Study, client: Client) -> None:
    """Lock, answer, event, trial; then plan, evidence, gold sets, trial, events, sentences."""
    _, trial = factories.started_in(study, Interface.INCREMENTAL)
    data = {"decision": "supported", "n_shown": trial.n_steps}
    url = trial_url(trial) + "decide"
    assert n_queries(lambda: client.post(url, data, headers=HTMX)) == 10


def test_the_welcome_page_takes_one_query(study: Study, client: Client) -> None:
    assert n_queries(lambda: client.get(welcome_url(study))) == 1


def at_the_same_moment(actions: list[Callable[[], Any]]) -> list[Any]:
    """Run every action in a thread of its own, all let go at once."""
    barrier = Barrier(len(actions))

    def run(action: Callable[[], Any]) -> Any:
        barrier.wait()
        try:
            return action()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(actions)) as pool:
        return list(pool.map(run, actions))


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_five_identical_decisions_at_once_store_one(
    committed_db: None, headers: dict[str, str]
) -> None:
    study = factories.open_study()
    enrolment, trial = factories.started(study)
    data = {"decision": "supported", "n_shown": trial.n_steps}
    url = trial_url(trial) + "decide"
    answers = at_the_same_moment([lambda: Client().post(url, data, headers=headers)] * 5)
    codes = sorted(response.status_code for response in answers)
    assert codes == ([200, 409, 409, 409, 409] if headers else [303] * 5)
    if headers:
        assert all("Trial 2 of 4" in response.content.decode() for response in answers)
    assert VerificationAnswer.objects.count() == 1
    assert Trial.objects.filter(enrolment=enrolment).count() == 2
    assert Event.objects.filter(trial=trial, kind="decision_submitted").count() == 1


def test_five_identical_reveals_at_once_show_one_sentence(committed_db: None) -> None:
    study = factories.open_study()
    _, trial = factories.started_in(study, Interface.INCREMENTAL)
    url = trial_url(trial) + "reveal"
    answers = at_the_same_moment([lambda: Client().post(url, {"rank": 2}, headers=HTMX)] * 5)
    assert [response.status_code for response in answers] == [200] * 5
    assert len({response.content for response in answers}) == 1
    trial.refresh_from_db()
    assert (trial.n_steps, trial.events.count()) == (2, 3)


def test_arrivals_at_once_get_different_slots_and_the_one_too_many_a_friendly_page(
    committed_db: None,
) -> None:
    study = factories.open_study(n_replications=3)
    n_slots = study.slots.count()
    forms = [field_of(Client().get(welcome_url(study)), "form") for _ in range(n_slots + 1)]
    answers = at_the_same_moment(
        [
            lambda form=form: Client().post(
                f"/p/{study.code}/join", {"form": form, "consent": "yes"}
            )
            for form in forms
        ]
    )
    assert sorted(response.status_code for response in answers) == [303] * n_slots + [409]
    full = next(response for response in answers if response.status_code == 409)
    assert "Every place is taken" in full.content.decode()
    assert Participant.objects.count() == n_slots
    held = Enrolment.objects.filter(state=EnrolmentState.CONSENTED).values_list("slot", flat=True)
    assert len(set(held)) == n_slots


def test_one_form_sent_five_times_at_once_joins_once(committed_db: None) -> None:
    study = factories.open_study(n_replications=3)
    form = field_of(Client().get(welcome_url(study)), "form")
    data = {"form": form, "consent": "yes"}
    answers = at_the_same_moment([lambda: Client().post(f"/p/{study.code}/join", data)] * 5)
    assert len({response.headers["Location"] for response in answers}) == 1
    assert Participant.objects.count() == 1
