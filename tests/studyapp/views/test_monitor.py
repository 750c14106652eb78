"""The monitor: states, places, held slots, connections, pace, and claims by condition."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.utils import timezone

from studyapp.domain import changing, run_ends
from studyapp.domain.access import add_member
from studyapp.domain.filling import Places, filling_of
from studyapp.enums import EnrolmentState, Role, RunKind, StudyState
from studyapp.models import Enrolment, RecruiterId, RefusedId, Slot, Study, Subset, Trial
from tests import factories
from tests.studyapp.views.console import (
    expire,
    facts,
    finished,
    move_events,
    open_trial,
    played,
    queries_of,
    read,
    tables,
    url,
    words,
)
from tests.studyapp.views.pages import HTMX

pytestmark = pytest.mark.django_db


@pytest.fixture
def ann() -> Any:
    return get_user_model().objects.create_user("ann")


@pytest.fixture
def client(ann: Any) -> Client:
    client = Client()
    client.force_login(ann)
    return client


@pytest.fixture
def study(ann: Any) -> Study:
    """8 claims, 2 subsets, 2 cycles: 4 slots of 8 trials."""
    return factories.open_study(8, n_replications=2, owner=ann)


def monitor(client: Client, study: Study, query: str = "") -> str:
    return read(client, url("study-monitor", study) + query)


# ---- the page that renews itself -----------------------------------------------------------------


def test_the_fragment_is_the_page_without_what_stands_around_it(
    client: Client, study: Study
) -> None:
    played(study, 1)
    address = url("study-monitor", study)
    page = read(client, address)
    answer = client.get(address, headers=HTMX)
    fragment = answer.content.decode()
    assert fragment.startswith('<div id="monitor"')
    assert tables(fragment) == tables(page)
    assert "<html" not in fragment
    assert "HX-Request" in answer.headers["Vary"]


@pytest.mark.parametrize("state", [StudyState.OPEN, StudyState.PAUSED])
def test_it_asks_for_news_every_15_seconds_until_it_is_told_to_stop(
    client: Client, study: Study, state: str
) -> None:
    Study.objects.filter(pk=study.pk).update(state=state)
    html = monitor(client, study)
    assert f'hx-get="{url("study-monitor", study)}?kind=real" hx-trigger="every 15s"' in html
    still = monitor(client, study, "?kind=real&live=off")
    assert "hx-trigger" not in still
    assert "Renew by itself" in still


def test_it_asks_for_no_news_of_a_closed_study(client: Client, study: Study) -> None:
    changing.close_study(study)
    html = monitor(client, study)
    assert "hx-trigger" not in html
    assert "Renew by itself" not in html


def test_a_draft_has_a_monitor_that_says_what_is_missing(client: Client, ann: Any) -> None:
    draft = factories.draft_study(owner=ann)
    html = monitor(client, draft)
    assert "There is no schedule yet." in html
    assert "Nobody is under way." in html
    assert "No trial is finished yet." in html
    assert "hx-trigger" not in html


def test_it_asks_the_database_as_often_for_four_people_as_for_one(client: Client, ann: Any) -> None:
    ids = {"id_parameter": "PROLIFIC_PID"}
    study = factories.open_study(8, n_replications=3, owner=ann, recruiting=ids)
    finished(study, RunKind.PILOT)
    played(study, 1, RunKind.PILOT)
    addresses = [url("study-monitor", study) + "?kind=pilot", url("monitor-claims", study)]
    once = [queries_of(client, address) for address in addresses]
    for kind in (RunKind.PILOT, RunKind.SIMULATED, RunKind.SIMULATED):
        finished(study, kind)
        played(study, 2, kind)
    assert [queries_of(client, address) for address in addresses] == once
    assert max(once) <= 15


# ---- states and places ---------------------------------------------------------------------------


def test_every_run_is_in_one_state_and_links_to_the_list_of_its_state(
    client: Client, study: Study
) -> None:
    finished(study)
    played(study, 2)
    run_ends.return_run(study, played(study, 1).participant.code)
    factories.joined(study, RunKind.PILOT)
    html = monitor(client, study)
    assert tables(html)["Runs by state and kind"] == [
        ["State", "Real", "Pilot"],
        ["Reading the instructions", "0", "1"],
        ["In the trials", "1", "0"],
        ["Completed", "1", "0"],
        ["Timed out", "0", "0"],
        ["Returned", "1", "0"],
        ["Paid, partial", "0", "0"],
        ["Screened out", "0", "0"],
        ["Failed checks", "0", "0"],
        ["Rejected", "0", "0"],
        ["Withdrawn", "0", "0"],
        ["All who joined", "3", "1"],
    ]
    assert f'href="{url("study-participants", study)}?state=returned&amp;kind=real"' in html


def test_places_are_counted_by_what_they_are_now(client: Client, study: Study) -> None:
    finished(study)
    expire(played(study, 1), timezone.now() - timedelta(minutes=1))
    last = study.slots.order_by("-pk").first()
    assert last is not None
    Slot.objects.filter(pk=last.pk).update(closed_at=timezone.now())
    told = facts(monitor(client, study))
    assert {name: told[name] for name in ("Places", "Completed", "Running", "Free", "Closed")} == {
        "Places": "4",
        "Completed": "1",
        "Running": "1 (1 lease ran out: the next arrival may get the place)",
        "Free": "1",
        "Closed": "1 (not given out)",
    }
    assert "Beyond the target" not in told


def test_a_closed_subset_closes_its_places(study: Study) -> None:
    Subset.objects.filter(study=study, number=1).update(closed_at=timezone.now())
    assert filling_of(study, RunKind.REAL).all == Places(target=4, closed=4)


def test_places_add_up_to_the_target_also_where_a_slot_has_too_many(study: Study) -> None:
    first, second = finished(study), finished(study)
    Enrolment.objects.filter(pk=second.pk).update(slot=first.slot, seat=2)
    places = filling_of(study, RunKind.REAL).all
    assert places == Places(target=4, completed=2, free=3, over=1)
    assert places.target == places.completed + places.running + places.free - places.over


def test_cells_are_filled_by_runs_that_hold_their_place(client: Client, study: Study) -> None:
    finished(study)
    played(study, 3)
    html = monitor(client, study)
    assert tables(html)["Subsets by condition"] == [
        ["Subset", "ranking", "selection"],
        ["Completed", "Running", "Still to fill"] * 2,
        ["1", "1 of 2", "0", "1", "0 of 2", "1", "1"],
        ["2", "0 of 2", "1", "1", "1 of 2", "0", "1"],
        ["All", "1 of 4", "1", "2", "1 of 4", "1", "2"],
    ]
    assert "Each cell is planned for 1 person in each of 2 cycles." in words(html)


def test_each_kind_of_run_fills_places_of_its_own(client: Client, study: Study) -> None:
    finished(study, RunKind.PILOT)
    played(study, 5)
    pilot = monitor(client, study, "?kind=pilot")
    assert facts(pilot)["Completed"] == "1"
    assert facts(pilot)["Running"] == "0"
    assert tables(pilot)["Finished trials by kind of run"] == [
        ["Finished trials", "ranking", "selection", "All"],
        ["Real runs", "4", "1", "5"],
        ["Pilot runs", "4", "4", "8"],
    ]
    assert facts(monitor(client, study, "?kind=odd"))["Completed"] == "0"


def test_claims_are_told_page_by_page_and_condition_by_condition(
    client: Client, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studyapp.views.researcher_monitor.CLAIMS_PAGE", 5)
    finished(study)
    run = played(study, 1)
    done = Trial.objects.get(enrolment=run, state="completed")
    gone = finished(study)
    run_ends.reject_run(study, gone.participant.code, "too fast")
    first = read(client, url("monitor-claims", study))
    second = read(client, url("monitor-claims", study) + "?page=2")
    assert "1 to 5 of 8" in words(first)
    assert 'rel="next"' in first
    assert 'rel="next"' not in second
    rows = {
        row[0].split()[0]: row[1:]
        for html in (first, second)
        for row in tables(html)["Claims by condition"][2:]
    }
    assert sorted(rows) == [f"c{number}" for number in range(1, 9)]
    # Two people of four hold a place: every claim has one of them under each condition.
    held = {tuple(cells) for claim, cells in rows.items() if claim != done.claim.claim_id}
    assert held == {("1 of 2", "0", "0 of 2", "1"), ("0 of 2", "1", "1 of 2", "0")}
    assert rows[done.claim.claim_id] == ["1 of 2", "0", "1 of 2", "0"]
    assert words(read(client, url("monitor-claims", study) + "?page=99")) == words(second)


# ---- held slots and connections ------------------------------------------------------------------


def test_held_slots_say_who_since_when_and_until_when_expired_ones_first(
    client: Client, study: Study
) -> None:
    now = timezone.now()
    early, late = played(study, 1), played(study, 2)
    expire(late, now - timedelta(minutes=5))
    finished(study)
    rows = tables(monitor(client, study))["Who holds which slot"]
    assert [row[:4] for row in rows[1:]] == [
        [late.participant.code, "1.2", "Real", "2 of 8"],
        [early.participant.code, "1.1", "Real", "1 of 8"],
    ]
    assert rows[1][5].endswith("ran out")
    code = late.participant.code
    assert rows[1][7] == " ".join(
        f"{what} {code}"
        for what in ("Hold longer", "Release", "Returned", "Paid, partial", "Reject")
    )


def test_a_viewer_is_offered_no_action(client: Client, study: Study) -> None:
    played(study, 1)
    viewer = get_user_model().objects.create_user("vi")
    add_member(study, viewer, Role.VIEWER)
    client.force_login(viewer)
    html = monitor(client, study)
    assert "Who holds which slot" in html
    assert "What to do" not in html
    assert "/release/" not in html


def test_who_has_only_the_questions_left_never_runs_out(client: Client, ann: Any) -> None:
    question = {"name": "age", "text": "How old?", "kind": "number"}
    study = factories.open_study(owner=ann, sitting={"questionnaire": [question]})
    run = finished(study)
    assert run.state == EnrolmentState.ACTIVE
    expire(run, timezone.now() - timedelta(hours=1))
    html = monitor(client, study)
    [_, row] = tables(html)["Who holds which slot"]
    assert row[5].endswith("at the last questions")
    assert "1 slot held, 0 with a lease that ran out" in html


def test_a_page_in_view_that_says_nothing_is_silent_and_one_that_is_hidden_is_not(
    client: Client, study: Study
) -> None:
    from studyapp.domain.trials import record_visibility

    silent, hidden = played(study, 1), played(study, 1)
    record_visibility(hidden.token, open_trial(hidden).code, "page_hidden")
    for run in (silent, hidden):
        move_events(open_trial(run).events.all(), timedelta(minutes=-11))
    html = monitor(client, study)
    assert facts(html)["Silent now"] == "1"
    rows = {row[0]: row[6] for row in tables(html)["Who holds which slot"][1:]}
    assert rows == {
        silent.participant.code: "11 min ago silent",
        hidden.participant.code: "11 min ago",
    }
    assert "Silent: a trial is open and its page in view" in html


def test_a_page_that_is_heard_from_again_came_back(client: Client, study: Study) -> None:
    from studyapp.domain.trials import record_visibility

    run = played(study, 1)
    trial = open_trial(run)
    move_events(trial.events.all(), timedelta(minutes=-25))
    record_visibility(run.token, trial.code, "page_hidden")
    told = facts(monitor(client, study))
    assert (told["Silent now"], told["Back after silence"]) == ("0", "1")
    assert "back after 25 min" in monitor(client, study)


# ---- pace ----------------------------------------------------------------------------------------


def take_seconds(trials: list[Trial], seconds: list[float]) -> None:
    for trial, length in zip(trials, seconds, strict=True):
        assert trial.ended_at is not None
        started = trial.ended_at - timedelta(seconds=length)
        Trial.objects.filter(pk=trial.pk).update(started_at=started)


def blinded(study: Study) -> None:
    Study.objects.filter(pk=study.pk).update(blind=True)


def test_times_are_told_for_all_conditions_together_while_a_blind_study_runs(
    client: Client, study: Study
) -> None:
    blinded(study)
    run = finished(study)
    trials = list(Trial.objects.filter(enrolment=run).order_by("position"))
    take_seconds(trials, [40 * k for k in range(1, 9)])
    html = monitor(client, study)
    assert tables(html)["Active time of a trial"][1:] == [
        ["All conditions", "8", "3 min", "1 min 50 s to 4 min 10 s"]
    ]
    assert "By condition once the study is closed" in html


@pytest.mark.parametrize("is_blind", [False, True])
def test_times_are_told_by_condition_where_nobody_is_to_stay_blind(
    client: Client, study: Study, is_blind: bool
) -> None:
    run = finished(study)
    trials = list(Trial.objects.filter(enrolment=run).order_by("position"))
    take_seconds(trials, [40 * k for k in range(1, 9)])
    if is_blind:
        blinded(study)
        changing.close_study(study)
    assert tables(monitor(client, study))["Active time of a trial"][1:] == [
        ["All conditions", "8", "3 min", "1 min 50 s to 4 min 10 s"],
        ["ranking", "4", "1 min 40 s", "1 min 10 s to 2 min 10 s"],
        ["selection", "4", "4 min 20 s", "3 min 50 s to 4 min 50 s"],
    ]


def test_hidden_time_is_no_time_of_a_trial(client: Client, study: Study) -> None:
    from studyapp.domain.trials import record_decision, record_visibility

    run, trial = factories.started(study)
    record_visibility(run.token, trial.code, "page_hidden")
    Trial.objects.filter(pk=trial.pk).update(started_at=timezone.now() - timedelta(seconds=100))
    move_events(trial.events.filter(kind="page_hidden"), timedelta(seconds=-70))
    record_decision(run.token, trial.code, {"decision": "supported"})
    [_, row, *_] = tables(monitor(client, study))["Active time of a trial"]
    assert row == ["All conditions", "1", "30 s", "30 s to 30 s"]


def test_trials_are_drawn_hour_by_hour_with_the_same_in_words(client: Client, study: Study) -> None:
    now = timezone.now()
    Study.objects.filter(pk=study.pk).update(opened_at=now - timedelta(hours=5))
    run = finished(study)
    trials = list(Trial.objects.filter(enrolment=run).values_list("pk", flat=True))
    Trial.objects.filter(pk__in=trials[:3]).update(ended_at=now - timedelta(hours=4))
    html = monitor(client, study)
    assert html.count('<rect x="') == 2
    assert "8 trials in 6 hours; the most, 5, in the hour of" in html
    assert "5 in the last hour shown." in html


def test_a_long_study_is_drawn_day_by_day(client: Client, study: Study) -> None:
    now = timezone.now()
    Study.objects.filter(pk=study.pk).update(opened_at=now - timedelta(days=9))
    run = finished(study)
    trials = list(Trial.objects.filter(enrolment=run).values_list("pk", flat=True))
    Trial.objects.filter(pk__in=trials[:6]).update(ended_at=now - timedelta(days=3))
    html = monitor(client, study)
    assert "Finished trials per day" in html
    assert "8 trials in 10 days; the most, 6," in html


# ---- recruiting ----------------------------------------------------------------------------------


def test_who_stopped_at_consent_is_counted_beside_the_states(client: Client, ann: Any) -> None:
    study = factories.open_study(owner=ann, recruiting={"id_parameter": "PROLIFIC_PID"})
    RecruiterId.objects.create(study=study, digest="1", first_seen=timezone.now())
    RefusedId.objects.create(study=study, kind="missing", n=3)
    told = facts(monitor(client, study))
    assert told["Stopped at consent"].startswith("1 (the last one came first")
    assert told["Links turned away"] == "3 (3 without an id)"
    assert Enrolment.objects.count() == 0
