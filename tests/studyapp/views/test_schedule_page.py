"""The schedule page: the proof in numbers, slots, claims, subsets, and the CSV."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from studyapp.domain import closing, schedule
from studyapp.domain.access import add_member
from studyapp.domain.schedule_csv import csv_lines
from studyapp.enums import Role
from studyapp.models import Claim, PlannedTrial, Slot, Study
from tests import bulk, factories
from tests.studyapp.views.setup_pages import client_of, researcher, words
from tests.studyapp.views.test_researcher import finish, rows_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> Client:
    return client_of()


def address(study: Study, name: str = "study-schedule", *more: Any) -> str:
    return reverse(name, args=[study.slug, *more])


def table(response: Any, kind: str) -> list[list[str]]:
    """The rows of the table of that class, without its head and foot."""
    page = response.content.decode()
    found = re.search(rf'<table class="{kind}">.*?<tbody>(.*?)</tbody>', page, flags=re.S)
    assert found, kind
    return rows_of(found.group(1))


def proof(response: Any) -> list[str]:
    return [" ".join(row) for row in table(response, "proof-table")]


def test_R053_two_conditions_and_six_claims_are_proved_for_twelve_participants(
    client: Client,
) -> None:
    study = factories.open_study(6, n_subsets=2, n_replications=6, owner=researcher())
    bulk.sit_all(study, list(study.slots.all()))
    response = client.get(address(study))
    assert proof(response) == [
        "Every claim is seen once under every condition in every cycle "
        "6 claims in 12 of 12 pairs of cycle and condition holds",
        "Nobody meets a claim twice 12 of 12 slots show each subset under one condition only holds",
        "Subsets differ by at most one claim 2 subsets of 3 claims holds",
        "Labels and gold set sizes are dealt evenly over the subsets "
        "subsets differ by at most one claim in 2 of 2 strata holds",
        "Every condition begins as many slots as any other, or one fewer "
        "ranking begins 6 slots and selection begins 6 slots holds",
        "Every condition has each position of a slot as often as any other, or once fewer "
        "even at 6 of 6 positions holds",
    ]
    positions = [row for row in rows_of(response.content.decode()) if row[1:] == ["6", "6"]]
    assert [row[0] for row in positions] == ["1", "2", "3", "4", "5", "6"]
    assert "Free 0 Held 0 Completed 12 Closed 0" in words(response)


def test_slots_are_drawn_with_their_subsets_and_states(client: Client) -> None:
    study = factories.open_study(8, n_subsets=4, owner=researcher())
    held = factories.joined(study)
    finish(factories.joined(study))
    free = Slot.objects.filter(study=study, enrolments=None).order_by("number")
    closing.close_slots(study, 1, free[0].number)
    response = client.get(address(study))
    rows = {row[0]: row for row in table(response, "slots")}
    assert list(rows) == ["1.1", "1.2", "1.3", "1.4"]
    assert rows["1.1"][2:6] == ["ranking", "1", "2", "4"]
    assert rows["1.2"][2:6] == ["selection", "2", "3", "4"]
    assert rows[str(held.slot)][6:] == ["Held", "Close"]
    assert rows[f"1.{free[0].number}"][6].startswith("Closed closed ")
    assert rows[f"1.{free[0].number}"][7] == "Open again"
    assert sorted(row[6].split()[0] for row in rows.values()) == [
        "Closed",
        "Completed",
        "Free",
        "Held",
    ]
    page = response.content.decode()
    # Two blocks a slot, one shape a fill; the second condition has a pattern, not a colour alone.
    assert page.count('<path class="ink-1" d="M') == 4
    assert page.count('fill="url(#fill-2)"') >= 4


@pytest.mark.parametrize(
    ("query", "slots"),
    [
        ("cycle=2", ["2.1", "2.2", "2.3", "2.4"]),
        ("cycle=2&subset=1", ["2.1", "2.3"]),
        ("state=held", ["1.1"]),
        ("state=odd&cycle=x&page=-1", None),
        ("cycle=9", []),
        ("page=2", []),
    ],
)
def test_slots_are_filtered_by_the_address(
    client: Client, query: str, slots: list[str] | None
) -> None:
    study = factories.open_study(8, n_subsets=4, n_replications=2, owner=researcher())
    run = factories.joined(study)
    response = client.get(f"{address(study)}?{query}")
    if slots == ["1.1"]:
        slots = [str(run.slot)]
    if slots == []:
        assert "No slot fits this filter" in words(response)
        return
    shown = [row[0] for row in table(response, "slots")]
    assert shown == slots if slots is not None else len(shown) == 8


def test_more_than_a_page_of_slots_is_paged_and_keeps_the_filter(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studyapp.views.schedule_page.PAGE", 3)
    study = factories.ready_study(8, n_subsets=4, n_replications=2, owner=researcher())
    first = client.get(f"{address(study)}?state=free")
    assert "Page 1 of 3 Next page" in words(first)
    link = re.search(r'<a href="\?([^"]+)" rel="next"', first.content.decode())
    assert link
    second = client.get(f"{address(study)}?{link.group(1).replace('&amp;', '&')}")
    assert [row[0] for row in table(second, "slots")] == ["1.4", "2.1", "2.2"]
    assert "Page before Page 2 of 3 Next page" in words(second)


def test_a_schedule_that_lost_its_balance_is_told_statement_by_statement(client: Client) -> None:
    study = factories.ready_study(6, n_subsets=3, owner=researcher())
    PlannedTrial.objects.filter(slot__study=study, slot__number=2, position__lte=2).delete()
    Claim.objects.filter(study=study, position=1).update(subset=None)
    response = client.get(address(study))
    assert "Not balanced" in words(response)
    said = proof(response)
    assert said[0].endswith(
        "6 claims in 1 of 2 pairs of cycle and condition; 4 in cycle 1 under selection "
        "does not hold"
    )
    assert "1 claim in none does not hold" in said[2]
    assert "most uneven at position 1: 2 slots apart" in said[5]


def test_an_interleaved_order_leaves_positions_to_chance_and_says_so(client: Client) -> None:
    study = factories.draft_study(owner=researcher(), order_policy="interleaved")
    factories.add_claims(study, 40)
    factories.add_conditions(study)
    schedule.lay_out(study, 4, 1, 1)
    response = client.get(address(study))
    assert "leaves it to chance" in proof(response)[5]
    assert "Balanced" in words(response)


def test_every_claim_is_shown_under_every_condition_in_a_cycle(client: Client) -> None:
    study = factories.ready_study(6, n_subsets=3, n_replications=2, owner=researcher())
    response = client.get(f"{address(study, 'schedule-claims')}?cycle=2")
    assert "Cycle 2: every claim under every condition" in words(response)
    for row in table(response, "matrix"):
        claim_id = row[0].split()[0]
        planned = {
            name: PlannedTrial.objects.get(
                replication=2, claim__claim_id=claim_id, condition__name=name
            )
            for name in ("ranking", "selection")
        }
        assert row[4:] == [f"2.{one.slot.number} at {one.position}" for one in planned.values()]
    PlannedTrial.objects.filter(claim__claim_id="c1").delete()
    again = client.get(f"{address(study, 'schedule-claims')}?claim=C1")
    [row] = table(again, "matrix")
    assert row[4:] == ["not shown", "not shown"]
    nothing = client.get(f"{address(study, 'schedule-claims')}?label=refuted&claim=c1")
    assert "No claim fits this filter" in words(nothing)


def test_subsets_say_how_their_slots_stand(client: Client) -> None:
    study = factories.open_study(8, n_subsets=4, owner=researcher())
    finish(factories.joined(study))
    closing.close_subset(study, 4)
    rows = rows_of(client.get(address(study, "schedule-subsets")).content.decode())[1:]
    assert [row[1] for row in rows] == ["2", "2", "2", "2"]
    assert all(sum(map(int, row[2:6])) == 2 for row in rows)
    assert rows[3][6].startswith("Closed ")
    assert rows[3][7] == "Open again"
    assert rows[0][6:] == ["Open", "Close"]


def test_the_table_is_downloaded_whole(client: Client) -> None:
    study = factories.ready_study(6, n_subsets=3, owner=researcher())
    response = client.get(address(study, "schedule-table"))
    assert response.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert f'filename="{study.slug}-schedule.csv"' in response.headers["Content-Disposition"]
    assert b"".join(response.streaming_content).decode() == "".join(csv_lines(study))


def test_a_study_without_a_schedule_says_what_to_do(client: Client) -> None:
    study = factories.draft_study(owner=researcher())
    for name in ("study-schedule", "schedule-claims", "schedule-subsets"):
        response = client.get(address(study, name))
        assert "No schedule yet" in words(response)
        assert reverse("setup-schedule", args=[study.slug]) in response.content.decode()


def test_a_viewer_is_offered_no_change(client: Client) -> None:
    study = factories.open_study(owner=researcher())
    add_member(study, researcher("vi"), Role.VIEWER)
    for name in ("study-schedule", "schedule-subsets"):
        page = client_of("vi").get(address(study, name)).content.decode()
        assert "/close/" not in page
        assert "/cycles/" not in page


def test_ids_and_texts_are_shown_as_text_without_inline_style(client: Client) -> None:
    study = factories.ready_study(owner=researcher())
    Claim.objects.filter(study=study, position=1).update(claim_id="<b>x</b>", text="<i>y</i>" * 40)
    for name in ("study-schedule", "schedule-claims", "schedule-subsets"):
        page = client.get(address(study, name)).content.decode()
        assert "<b>x" not in page
        assert "<i>y" not in page
        assert not re.search(r"<style|<script(?![^>]*src=)| style=| on[a-z]+=\"", page)
        assert all("scope=" in header for header in re.findall(r"<th[ >][^>]*", page))


@pytest.mark.parametrize(
    ("name", "n"), [("study-schedule", 11), ("schedule-claims", 7), ("schedule-subsets", 7)]
)
def test_the_pages_ask_as_often_whatever_the_study_holds(client: Client, name: str, n: int) -> None:
    for n_claims, n_replications in ((4, 1), (12, 3)):
        study = factories.open_study(
            n_claims, n_subsets=4, n_replications=n_replications, owner=researcher()
        )
        for _ in range(n_replications):
            finish(factories.joined(study))
        with CaptureQueriesContext(connection) as captured:
            assert client.get(address(study, name)).status_code == 200
        assert len(captured) == n
