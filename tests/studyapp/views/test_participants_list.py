"""The list of participants, its files, and the page of one participant."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.utils import timezone

from studyapp.domain import changing, run_ends
from studyapp.domain.access import add_member
from studyapp.domain.assignment import withdraw
from studyapp.domain.link_lists import make_links
from studyapp.domain.link_names import NewLink
from studyapp.domain.questionnaire import submit_questionnaire
from studyapp.domain.trials import record_decision, record_visibility, start_next_trial
from studyapp.enums import AuditAction, EnrolmentState, Role, RunKind
from studyapp.models import (
    AuditEntry,
    Enrolment,
    Participant,
    PersonalLink,
    RecruiterId,
    Study,
)
from studyapp.spreadsheets import safe_cell
from tests import factories
from tests.studyapp.views.console import (
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
    """4 claims, 2 subsets, 3 cycles: 6 slots of 4 trials."""
    return factories.open_study(n_replications=3, owner=ann)


@pytest.fixture
def people(study: Study) -> dict[str, Enrolment]:
    """Four real runs in different states, and a pilot run."""
    runs = {
        "done": finished(study),
        "active": played(study, 2),
        "returned": played(study, 1),
    }
    run_ends.return_run(study, runs["returned"].participant.code)
    return runs | {"new": factories.joined(study), "pilot": finished(study, RunKind.PILOT)}


def names(html: str, people: dict[str, Enrolment]) -> list[str]:
    """Whom a list shows, in its order."""
    by_code = {run.participant.code: name for name, run in people.items()}
    return [by_code[row[0]] for row in tables(html).get("Table of runs", [])[1:]]


def listing(client: Client, study: Study, query: str = "") -> str:
    return read(client, url("study-participants", study) + query)


def file_of(response: Any) -> list[dict[str, str]]:
    """The rows of a CSV file, by the names of its columns."""
    assert response.status_code == 200
    text = response.content.decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text)))


# ---- the list ------------------------------------------------------------------------------------


def test_a_run_is_told_with_its_slot_state_progress_and_times(
    client: Client, study: Study, people: dict[str, Enrolment]
) -> None:
    rows = tables(listing(client, study))["Table of runs"]
    assert [row[:5] for row in rows[1:]] == [
        [people["done"].participant.code, "1.1", "Real", "Completed", "4 of 4"],
        [people["active"].participant.code, "1.2", "Real", "In the trials", "2 of 4"],
        [people["returned"].participant.code, "2.1", "Real", "Returned", "1 of 4"],
        [people["new"].participant.code, "2.1", "Real", "Reading the instructions", "0 of 4"],
        [people["pilot"].participant.code, "1.1", "Pilot", "Completed", "4 of 4"],
    ]
    assert rows[2][6:] == ["just now", ""]
    assert rows[1][7] != ""


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("?state=completed", ["done", "pilot"]),
        ("?state=completed&kind=real", ["done"]),
        ("?kind=pilot", ["pilot"]),
        ("?slot=2.1", ["returned", "new"]),
        ("?slot=2.1&state=returned", ["returned"]),
        ("?slot=9.9", []),
        (
            "?state=odd&kind=odd&slot=x&sort=odd&page=x",
            ["done", "active", "returned", "new", "pilot"],
        ),
    ],
)
def test_filters_in_the_address_choose_runs(
    client: Client, study: Study, people: dict[str, Enrolment], query: str, found: list[str]
) -> None:
    html = listing(client, study, query)
    assert names(html, people) == found
    assert f"{len(found)} run" in words(html)
    if not found:
        assert "No run fits this filter." in html


def test_a_part_of_a_pseudonym_finds_its_run(
    client: Client, study: Study, people: dict[str, Enrolment]
) -> None:
    part = people["active"].participant.code[2:9]
    for typed in (part, part.upper()):
        assert names(listing(client, study, f"?pseudonym={typed}"), people) == ["active"]


def test_heads_sort_and_turn_around(
    client: Client, study: Study, people: dict[str, Enrolment]
) -> None:
    by_code = sorted(people, key=lambda name: people[name].participant.code)
    html = listing(client, study, "?sort=participant&kind=real")
    assert names(html, people) == [name for name in by_code if name != "pilot"]
    assert 'aria-sort="ascending"' in html
    assert 'href="?kind=real&amp;sort=-participant"' in html
    turned = listing(client, study, "?sort=-participant")
    assert names(turned, people) == by_code[::-1]
    assert 'aria-sort="descending"' in turned
    ended = names(listing(client, study, "?sort=ended"), people)
    assert ended == ["done", "returned", "pilot", "active", "new"] or ended[3:] == ["active", "new"]


def test_a_long_list_comes_in_pages_that_keep_the_filter(
    client: Client, study: Study, people: dict[str, Enrolment], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studyapp.views.researcher_participants.RUNS_PAGE", 3)
    first = listing(client, study, "?kind=real")
    assert names(first, people) == ["done", "active", "returned"]
    assert "1 to 3 of 4" in words(first)
    assert 'href="?kind=real&amp;page=2" rel="next"' in first
    second = listing(client, study, "?kind=real&page=2")
    assert names(second, people) == ["new"]
    assert 'href="?kind=real&amp;page=1"' not in second
    assert 'href="?kind=real" rel="prev"' in second


def test_who_withdrew_is_counted_and_nothing_else(
    client: Client, study: Study, people: dict[str, Enrolment]
) -> None:
    withdraw(people.pop("active").token)
    html = listing(client, study)
    assert "4 runs . 1 more run was withdrawn: the data are deleted" in words(html)
    gone = listing(client, study, "?state=withdrawn")
    assert "0 runs with this filter. 1 run was withdrawn" in words(gone)
    assert "withdrawn:" not in words(listing(client, study, "?kind=pilot"))


def test_the_list_asks_as_often_for_five_people_as_for_one(client: Client, study: Study) -> None:
    finished(study)
    played(study, 1)
    once = queries_of(client, url("study-participants", study))
    for _ in range(2):
        finished(study)
        played(study, 1)
    assert queries_of(client, url("study-participants", study)) == once <= 15


def test_an_empty_list_says_where_the_link_is(client: Client, study: Study) -> None:
    html = listing(client, study)
    assert "Nobody has joined yet." in html
    assert f'href="{url("study", study)}#participants"' in html


# ---- files ---------------------------------------------------------------------------------------


def test_the_filtered_list_is_saved_whole(
    client: Client, study: Study, people: dict[str, Enrolment], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studyapp.views.researcher_participants.RUNS_PAGE", 1)
    html = listing(client, study, "?kind=real&sort=-slot")
    assert 'href="?kind=real&amp;sort=-slot&amp;format=csv"' in html
    response = client.get(url("study-participants", study) + "?kind=real&sort=-slot&format=csv")
    assert f'filename="{study.slug}-participants.csv"' in response.headers["Content-Disposition"]
    rows = file_of(response)
    assert [(row["slot"], row["state"], row["trials_done"]) for row in rows] == [
        ("2.1", "returned", "1"),
        ("2.1", "consented", "0"),
        ("1.2", "active", "2"),
        ("1.1", "completed", "4"),
    ]
    assert rows[0]["end_reason"] == "returned"
    assert (rows[0]["held_until"], rows[1]["ended_at"]) == ("", "")
    assert rows[1]["held_until"].endswith("Z")


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@A1", "\t=1", "\r=1", " =1", "＝1", "\u200b@A"]
)
def test_no_cell_of_a_file_is_a_formula(text: str) -> None:
    assert safe_cell(text) == f"'{text}"
    assert (safe_cell("a=1"), safe_cell(None), safe_cell(0)) == ("a=1", "", "0")


def recruited(study: Study, run: Enrolment, value: str, **others: str) -> None:
    RecruiterId.objects.create(
        study=study,
        digest=value,
        value=value,
        others=others,
        participant=run.participant,
        first_seen=timezone.now(),
    )


def test_payments_hold_ids_and_no_pseudonym_and_are_logged(
    client: Client, study: Study, people: dict[str, Enrolment]
) -> None:
    recruited(study, people["done"], "=w1")
    recruited(study, people["active"], "w2")
    rejected = finished(study)
    recruited(study, rejected, "w3")
    run_ends.reject_run(study, rejected.participant.code, "copied")
    withdrawn = factories.joined(study)
    recruited(study, withdrawn, "w4")
    withdraw(withdrawn.token)
    response = client.get(url("study-payments", study))
    rows = file_of(response)
    told = ["recruiter_id", "state", "completion_code_issued", "trials_done", "trials_planned"]
    assert [[row[name] for name in told] for row in rows] == [
        ["'=w1", "completed", "yes", "4", "4"],
        ["w2", "active", "no", "2", "4"],
        ["w3", "rejected", "yes", "4", "4"],
    ]
    times = ["consented_at", "started_at", "ended_at"]
    assert list(rows[0]) == [told[0], "link_name", *told[1:], *times]
    assert {row["link_name"] for row in rows} == {""}
    done = Enrolment.objects.get(pk=people["done"].pk)
    moments = (done.consented_at, done.started_at, done.ended_at)
    assert [rows[0][name] for name in times] == [f"{moment:%Y-%m-%dT%H:%MZ}" for moment in moments]
    assert rows[1]["ended_at"] == ""
    text = response.content.decode()
    assert not any(person.code in text for person in Participant.objects.all())
    assert response.headers["Cache-Control"] == "no-store"
    entry = AuditEntry.objects.latest("pk")
    assert entry.who == "ann"
    assert (entry.action, entry.details) == (AuditAction.PAYMENTS_EXPORTED, {})


def named(study: Study, run: Enrolment, name: str) -> None:
    """Let a run be one of a personal link."""
    make_links(study, [NewLink(2, name, run.run_kind)])
    PersonalLink.objects.filter(name=name).update(participant=run.participant)


def test_payments_hold_people_of_personal_links_by_name_and_nothing_else_does(
    client: Client, study: Study, people: dict[str, Enrolment]
) -> None:
    """Whoever came by a link of their own was left out of payments.csv."""
    recruited(study, people["returned"], "w1")
    named(study, people["done"], "Ann Lee")
    named(study, people["active"], "=Bo")
    named(study, people["pilot"], "Cy")
    named(study, withdrawn := factories.joined(study), "Dee")
    withdraw(withdrawn.token)
    make_links(study, [NewLink(2, "Eve", RunKind.REAL)])
    elsewhere = factories.open_study()
    named(elsewhere, finished(elsewhere), "Fay")
    response = client.get(url("study-payments", study))
    told = ["recruiter_id", "link_name", "state", "completion_code_issued", "trials_done"]
    assert [[row[name] for name in told] for row in file_of(response)] == [
        ["w1", "", "returned", "no", "1"],
        ["", "'=Bo", "active", "no", "2"],
        ["", "Ann Lee", "completed", "yes", "4"],
        ["", "Cy", "completed", "yes", "4"],
    ]
    assert not any(person.code in response.content.decode() for person in Participant.objects.all())
    entry = AuditEntry.objects.latest("pk")
    assert (entry.action, entry.details) == (AuditAction.PAYMENTS_EXPORTED, {})
    listed = url("study-participants", study)
    for address in (listed, f"{listed}?format=csv", f"{listed}{people['done'].participant.code}/"):
        assert "Ann Lee" not in client.get(address).content.decode()
    assert url("study-payments", study) in listing(client, study)


def test_a_study_without_ids_and_links_offers_no_payments(client: Client, study: Study) -> None:
    assert url("study-payments", study) not in listing(client, study)
    assert file_of(client.get(url("study-payments", study))) == []


def test_a_viewer_is_offered_no_payments(client: Client, ann: Any) -> None:
    study = factories.open_study(owner=ann, recruiting={"id_parameter": "PROLIFIC_PID"})
    assert url("study-payments", study) in listing(client, study)
    viewer = get_user_model().objects.create_user("vi")
    add_member(study, viewer, Role.VIEWER)
    client.force_login(viewer)
    assert url("study-payments", study) not in listing(client, study)
    assert client.get(url("study-payments", study)).status_code == 403


# ---- one participant -----------------------------------------------------------------------------


def one(client: Client, study: Study, run: Enrolment) -> str:
    return read(client, url("study-participant", study, run.participant.code))


def test_a_participant_is_told_trial_by_trial_without_condition_while_a_blind_study_runs(
    client: Client, study: Study
) -> None:
    Study.objects.filter(pk=study.pk).update(blind=True)
    run = played(study, 1)
    trial = open_trial(run)
    record_visibility(run.token, trial.code, "page_hidden")
    html = one(client, study, run)
    rows = tables(html)["Trials of the run on slot 1.1"]
    done, now = rows[1], rows[2]
    first = run.trials.get(position=1)
    assert done[:3] == ["1", first.claim.claim_id, "Completed"]
    assert done[4] == str(first.n_steps)
    assert done[5].endswith(" s")
    assert done[5:] == [done[5], done[5], "–"]
    assert now[2] == "Open"
    assert now[5:] == ["–", "–", "–"]
    assert "The study is blind: conditions are shown once it is closed." in words(html)
    assert not any(name in words(html) for name in ("ranking", "selection"))
    told = facts(html)
    assert told["Trials done"] == "1 of 4"
    assert "Place held until" in told


def test_conditions_are_shown_of_pilot_runs_and_once_the_study_is_closed(
    client: Client, study: Study
) -> None:
    Study.objects.filter(pk=study.pk).update(blind=True)
    pilot, real = played(study, 1, RunKind.PILOT), played(study, 1)
    assert "ranking" in words(one(client, study, pilot))
    changing.close_study(study)
    rows = tables(one(client, study, real))["Trials of the run on slot 1.1"]
    assert rows[1][2] == "ranking"
    assert rows[1][5] == "1 of 5"


def test_a_trial_tells_hidden_time_and_silence(client: Client, study: Study) -> None:
    run, trial = factories.started(study)
    record_visibility(run.token, trial.code, "page_hidden")
    record_decision(run.token, trial.code, {"decision": "supported"})
    start, *_, hidden, decision = trial.events.order_by("seq")
    move_events([start], timedelta(minutes=-30))
    move_events([hidden], timedelta(minutes=-10))
    del decision
    # 30 minutes in all: 20 in view without a word, then 10 hidden.
    move_events(trial.events.filter(kind="reveal"), timedelta(minutes=-30))
    rows = tables(one(client, study, run))["Trials of the run on slot 1.1"]
    assert rows[1][6:] == ["30 min", "20 min", "20 min"]


def test_checks_practice_and_questionnaire_are_told(client: Client, ann: Any) -> None:
    questions = [
        {"name": "age", "text": "How old are you?", "kind": "number"},
        {"name": "more", "text": "Anything else?", "kind": "text", "required": False},
    ]
    study = factories.sitting_study(
        4, n_practice=1, n_attention=2, owner=ann, sitting={"questionnaire": questions}
    )
    run, trial = factories.started(study)
    n_checks = 0
    while trial is not None:
        n_checks += trial.kind == "attention"
        right = trial.kind != "attention" or n_checks == 1
        decision = trial.claim.label if right else "cant_decide"
        trial = record_decision(run.token, trial.code, {"decision": decision}) or (
            start_next_trial(run.token)
        )
    submit_questionnaire(run.token, {"age": "41"})
    html = one(client, study, run)
    assert "1 of 2 attention checks passed." in words(html)
    assert words(html).count(": passed") == 1
    assert words(html).count(": failed") == 1
    assert "1 practice try, 1 right." in words(html)
    told = facts(html)
    assert told["How old are you?"] == "41"
    assert told["Anything else?"] == "left empty"
    assert len(tables(html)["Trials of the run on slot 1.1"]) == 1 + 4


def test_the_recruiters_id_takes_a_deliberate_click_that_is_logged(
    client: Client, study: Study
) -> None:
    run = played(study, 1)
    recruited(study, run, "worker-17", SESSION_ID="s1")
    code = run.participant.code
    html = one(client, study, run)
    assert "worker-17" not in html
    assert "Show the recruiter's id" in html.replace("&#x27;", "'")
    before = AuditEntry.objects.count()
    response = client.post(url("participant-recruiter-id", study, code))
    assert "worker-17" in response.content.decode()
    assert "SESSION_ID s1" in response.content.decode()
    assert response.headers["Cache-Control"] == "no-store"
    entry = AuditEntry.objects.latest("pk")
    assert AuditEntry.objects.count() == before + 1
    assert (entry.action, entry.details) == (AuditAction.RECRUITER_ID_SHOWN, {})
    assert "worker-17" not in str(entry.__dict__)
    assert code not in str(entry.__dict__)


def test_a_viewer_is_not_told_that_there_is_an_id(client: Client, study: Study) -> None:
    run = played(study, 1)
    recruited(study, run, "worker-17")
    viewer = get_user_model().objects.create_user("vi")
    add_member(study, viewer, Role.VIEWER)
    client.force_login(viewer)
    html = one(client, study, run)
    assert "recruiter" not in html.lower()
    address = url("participant-recruiter-id", study, run.participant.code)
    assert client.post(address).status_code == 403


def test_nobody_is_found_under_a_pseudonym_of_another_study(client: Client, study: Study) -> None:
    other = played(factories.open_study(), 1).participant.code
    for code in (other, "nobody"):
        assert client.get(url("study-participant", study, code)).status_code == 404
        assert client.post(url("participant-recruiter-id", study, code)).status_code == 404
        for action in ("release", "odd"):
            assert client.get(url("participant-action", study, code, action)).status_code == 404


def test_a_participant_takes_as_many_queries_after_four_trials_as_after_one(
    client: Client, study: Study
) -> None:
    short, long = played(study, 1), finished(study)
    addresses = [url("study-participant", study, run.participant.code) for run in (short, long)]
    once, more = (queries_of(client, address) for address in addresses)
    assert once == more <= 15


def test_several_runs_of_a_person_are_told_the_last_one_first(client: Client, study: Study) -> None:
    first, second = finished(study), played(study, 1)
    Enrolment.objects.filter(pk=second.pk).update(participant=first.participant)
    html = one(client, study, first)
    assert [part.split("</h2>")[0] for part in html.split("<h2>")[1:]] == [
        "Real run on slot 1.2: In the trials",
        "Real run on slot 1.1: Completed",
    ]
    assert html.count("Release the place") == 1
    assert EnrolmentState(first.state) == EnrolmentState.COMPLETED
