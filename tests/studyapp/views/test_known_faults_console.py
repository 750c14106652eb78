"""Faults that researchers met in the consoles of other study platforms, each tried on ours."""

from __future__ import annotations

import csv
import io
import random
import zipfile
from collections import Counter
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.utils import timezone

from studyapp.domain import run_ends
from studyapp.domain.assignment import withdraw
from studyapp.domain.export import export_study
from studyapp.domain.filling import filling_of
from studyapp.domain.queries import run_counts_of
from studyapp.domain.trials import record_decision, record_visibility, reveal_next
from studyapp.enums import EnrolmentState, Interface, RunKind
from studyapp.errors import NoFreeSlot
from studyapp.models import Enrolment, RecruiterId, Trial
from tests import factories
from tests.studyapp.api.asking import Api
from tests.studyapp.views.console import (
    expire,
    facts,
    finished,
    move_events,
    played,
    read,
    tables,
    url,
    words,
)
from tests.studyapp.views.pages import join, welcome_url

pytestmark = pytest.mark.django_db


@pytest.fixture
def ann() -> Any:
    return get_user_model().objects.create_superuser("ann")


@pytest.fixture
def client(ann: Any) -> Client:
    client = Client()
    client.force_login(ann)
    return client


def totals(html: str, table: str) -> dict[str, dict[str, int]]:
    """The counts of a table of states: kind of run, then state."""
    head, *rows = tables(html)[table]
    return {
        kind: {row[0]: int(row[column]) for row in rows}
        for column, kind in enumerate(head[1:], start=1)
    }


# ---- status --------------------------------------------------------------------------------------


def test_r041_every_person_is_in_one_state_and_the_sums_agree_everywhere(
    client: Client, ann: Any, tmp_path: Path
) -> None:
    study = factories.open_study(12, n_subsets=4, n_replications=3, owner=ann)
    done = [finished(study) for _ in range(4)]
    run_ends.reject_run(study, done[3].participant.code, "answers within a second")
    active, returned, paid = (played(study, 1) for _ in range(3))
    run_ends.return_run(study, returned.participant.code)
    run_ends.pay_run_partly(study, paid.participant.code)
    withdraw(played(study, 1).token)
    for kind in (RunKind.PILOT, RunKind.SIMULATED):
        finished(study, kind)
    expected = {
        "real": {"completed": 3, "rejected": 1, "active": 1, "returned": 1, "paid_partial": 1}
        | {"withdrawn": 1},
        "pilot": {"completed": 1},
        "simulated": {"completed": 1},
    }

    # One function counts; the pages show what it says.
    counts = run_counts_of(study)
    assert {kind: +Counter(counts.by_kind[kind]) for kind in expected} == expected
    by_label = {
        RunKind(kind).label: {EnrolmentState(state).label: n for state, n in states.items()}
        | {"All who joined": sum(states.values())}
        for kind, states in expected.items()
    }
    for name, table in (
        ("study-monitor", "Runs by state and kind"),
        ("study", "Where everybody is"),
    ):
        told = totals(read(client, url(name, study)), table)
        assert {kind: +Counter(states) for kind, states in told.items()} == by_label
    assert "4 of 12 places taken, 3 completed" in words(read(client, url("study", study)))
    assert "3 of 12" in words(read(client, "/"))
    places = facts(read(client, url("study-monitor", study)))
    assert [places[name] for name in ("Places", "Completed", "Running", "Free")] == [
        "12",
        "3",
        "1",
        "8",
    ]

    # Every filter of the list, the file and the API: the same numbers, nobody twice.
    api = Api(ann)
    seen: list[str] = []
    for state, kind in [*product(EnrolmentState.values, [""]), *product([""], RunKind.values)]:
        query = "?" + urlencode({"state": state, "kind": kind})
        page = read(client, url("study-participants", study) + query)
        codes = [row[0] for row in tables(page).get("Table of runs", [])[1:]]
        stored = [(each, k, n) for k, states in expected.items() for each, n in states.items()]
        assert len(codes) == sum(
            n
            for each, k, n in stored
            if each != "withdrawn" and state in ("", each) and kind in ("", k)
        )
        seen += codes if state else []
        file = client.get(url("study-participants", study) + f"{query}&format=csv")
        rows = list(csv.DictReader(io.StringIO(file.content.decode("utf-8-sig"))))
        assert [row["participant"] for row in rows] == codes
        if state != "withdrawn":
            wanted = {"simulated": "true", "state": state, "kind": kind}
            given = urlencode({name: value for name, value in wanted.items() if value})
            told = api.rows(f"studies/{study.slug}/participants/?{given}")
            assert sorted(row["participant_id"] for row in told) == sorted(codes)
    assert len(seen) == len(set(seen)) == 7 + 2
    withdrawn = words(read(client, url("study-participants", study) + "?state=withdrawn"))
    assert "0 runs with this filter. 1 run was withdrawn" in withdrawn

    # The export holds the same people under the words of the tables.
    exported = export_study(study, tmp_path / "x.zip", include_simulated=True)
    assert exported is not None
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        text = archive.read("participants.csv").decode()
    statuses = Counter(
        row["participant_status"]
        for row in csv.DictReader(io.StringIO(text))
        if row["simulated"] == "false" and row["pilot"] == "false"
    )
    assert statuses == {"completed": 3, "excluded": 1, "active": 1, "dropped_out": 2}
    assert active.participant.code in seen


# ---- balance -------------------------------------------------------------------------------------


def test_r045_sixty_arrivals_of_whom_a_third_drop_out_fill_every_cell_exactly(
    client: Client, ann: Any
) -> None:
    # 2 subsets, each seen by 20 people: 10 under either condition.
    study = factories.open_study(2, n_subsets=2, n_replications=10, owner=ann)
    numbers = random.Random(45)
    n_turned_away = 0
    for _ in range(60):
        try:
            run, trial = factories.started(study, RunKind.SIMULATED)
        except NoFreeSlot:
            n_turned_away += 1
            continue
        if numbers.random() < 0.3:
            run_ends.return_run(study, run.participant.code)
            continue
        next_trial: Trial | None = trial
        while next_trial is not None:
            next_trial = record_decision(run.token, next_trial.code, {"decision": "supported"})
        filled = filling_of(study, RunKind.SIMULATED).cells.values()
        assert all(cell.completed + cell.running <= 10 for cell in filled)
    html = read(client, url("study-monitor", study) + "?kind=simulated")
    assert [row[1:] for row in tables(html)["Subsets by condition"][2:]] == [
        ["10 of 10", "0", "0", "10 of 10", "0", "0"],
        ["10 of 10", "0", "0", "10 of 10", "0", "0"],
        ["20 of 20", "0", "0", "20 of 20", "0", "0"],
    ]
    assert n_turned_away > 0
    # Nobody of another kind was counted for it.
    real = read(client, url("study-monitor", study))
    assert tables(real)["Subsets by condition"][-1] == ["All", *["0 of 20", "0", "20"] * 2]


def test_r049_a_run_paid_in_part_leaves_the_balance_and_its_slot_and_keeps_its_data(
    client: Client, ann: Any
) -> None:
    study = factories.open_study(owner=ann)
    run = played(study, 3)
    before = Trial.objects.filter(enrolment=run, state="completed").count()
    client.post(
        url("participant-action", study, run.participant.code, "pay-partial"), {"note": "half"}
    )
    html = read(client, url("study-monitor", study))
    assert tables(html)["Subsets by condition"][-1] == ["All", *["0 of 2", "0", "2"] * 2]
    assert tables(html)["Finished trials by kind of run"][1] == ["Real runs", "0", "0", "0"]
    cells = tables(read(client, url("monitor-claims", study)))["Claims by condition"][2:]
    assert {tuple(row[1:]) for row in cells} == {("0 of 1", "0", "0 of 1", "0")}
    assert Trial.objects.filter(enrolment=run, state="completed").count() == before == 3
    assert "3 of 4" in read(client, url("study-participants", study) + "?state=paid_partial")
    assert factories.joined(study).slot == run.slot


# ---- leases --------------------------------------------------------------------------------------


def test_r057_when_everybody_left_the_monitor_lists_held_slots_and_an_arrival_gets_work(
    client: Client, ann: Any
) -> None:
    study = factories.open_study(owner=ann)
    gone = [played(study, 1), played(study, 2)]
    with pytest.raises(NoFreeSlot):
        factories.joined(study)
    code = gone[1].participant.code
    html = read(client, url("study-monitor", study))
    assert len(tables(html)["Who holds which slot"]) == 1 + 2
    address = url("participant-action", study, code, "release")
    assert f'href="{address}?back=monitor"' in html
    assert client.post(address, {"back": "monitor"}).status_code == 302
    assert factories.joined(study).slot == gone[1].slot
    for run in Enrolment.objects.filter(state__in=("active", "consented")):
        expire(run, timezone.now() - timedelta(minutes=1))
    told = read(client, url("study-monitor", study))
    assert "2 slots held, 2 with a lease that ran out." in words(told)
    arrival = factories.joined(study)
    assert arrival.slot in (gone[0].slot, gone[1].slot)
    assert Enrolment.objects.filter(state=EnrolmentState.TIMED_OUT).count() == 2


# ---- clocks and progress -------------------------------------------------------------------------


def test_r103_no_duration_is_negative_or_huge_whatever_clocks_say(client: Client, ann: Any) -> None:
    study = factories.open_study(owner=ann)
    run, trial = factories.started_in(study, Interface.INCREMENTAL)
    reveal_next(run.token, trial.code, 2, client_ms=3_600_000)
    record_visibility(run.token, trial.code, "page_hidden", client_ms=5)
    # The server's clock is set back by an hour in the middle of the trial.
    move_events(trial.events.exclude(kind="trial_started").filter(step=2), timedelta(hours=-1))
    record_decision(run.token, trial.code, {"decision": "supported"}, client_ms=0)
    ended = Trial.objects.get(pk=trial.pk).ended_at
    assert ended is not None
    Trial.objects.filter(pk=trial.pk).update(ended_at=ended - timedelta(hours=1))
    Enrolment.objects.filter(pk=run.pk).update(ended_at=timezone.now() - timedelta(hours=1))
    slot = Enrolment.objects.get(pk=run.pk).slot
    page = read(client, url("study-participant", study, run.participant.code))
    row = tables(page)[f"Trials of the run on slot {slot}"][1]
    assert all(is_short(told) for told in row[-3:-1])
    assert row[-1] == "–"
    assert facts(page)["Took"] == "0.0 s"
    [_, times, *_] = tables(read(client, url("study-monitor", study)))["Active time of a trial"]
    assert times[1] == "1"
    assert is_short(times[2])


def is_short(told: str) -> bool:
    """Whether a duration is one of this test: no hour of a clock is in it."""
    length, unit = told.split(maxsplit=1)
    return unit == "s" and 0 <= float(length) < 20


def test_r105_progress_counts_trials_and_not_what_was_clicked(client: Client, ann: Any) -> None:
    study = factories.open_study(owner=ann)
    run, trial = factories.started_in(study, Interface.INCREMENTAL)
    for rank in range(2, factories.N_CANDIDATES + 1):
        reveal_next(run.token, trial.code, rank)
    record_visibility(run.token, trial.code, "page_hidden")
    record_visibility(run.token, trial.code, "page_visible")
    record_decision(run.token, trial.code, {"decision": "supported"})
    assert trial.events.count() >= 9
    code = run.participant.code
    list_row = next(
        row
        for row in tables(read(client, url("study-participants", study)))["Table of runs"]
        if row[0] == code
    )
    held_row = next(
        row
        for row in tables(read(client, url("study-monitor", study)))["Who holds which slot"]
        if row[0] == code
    )
    page = read(client, url("study-participant", study, code))
    assert list_row[4] == held_row[3] == facts(page)["Trials done"] == "1 of 4"


# ---- consent -------------------------------------------------------------------------------------


def test_r137_who_stopped_at_consent_is_seen_and_can_still_take_part_a_week_later(
    client: Client, ann: Any
) -> None:
    study = factories.open_study(owner=ann, recruiting={"id_parameter": "PROLIFIC_PID"})
    link = f"{welcome_url(study)}?PROLIFIC_PID=5f0c1e2d3b4a596877869504"
    Client().get(link)
    RecruiterId.objects.update(first_seen=timezone.now() - timedelta(days=7))
    told = facts(read(client, url("study-monitor", study)))["Stopped at consent"]
    assert told == "1 (the last one came first 7 d ago)"
    assert join(Client(), study, link).status_code == 303
    html = read(client, url("study-monitor", study))
    assert facts(html)["Stopped at consent"] == "0"
    assert totals(html, "Runs by state and kind")["Real"]["All who joined"] == 1
