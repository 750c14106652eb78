"""Adding cycles, closing slots and subsets: asked first with numbers, then done."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from studyapp.domain import changing, closing
from studyapp.models import AuditEntry, Slot, Study, Subset
from tests import factories
from tests.studyapp.views.setup_pages import client_of, researcher, words
from tests.studyapp.views.test_researcher import finish

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> Client:
    return client_of()


@pytest.fixture
def study() -> Study:
    return factories.open_study(8, n_subsets=4, owner=researcher())


def address(study: Study, name: str, *more: Any) -> str:
    return reverse(name, args=[study.slug, *more])


def test_what_cycles_add_is_said_in_numbers_before_they_are_added(
    client: Client, study: Study
) -> None:
    where = address(study, "schedule-cycles")
    assert "Show what this adds" in words(client.get(where))
    said = words(client.get(f"{where}?further=2"))
    assert "8 slots with 32 trials, so up to 8 further participants." in said
    assert (
        "Each of the 8 claims is judged 2 more times under each of the 2 conditions: 3 times "
        "instead of 1." in said
    )
    assert f"manage.py schedule {study.slug} --add-cycles 2" in said
    assert study.slots.count() == 4


def test_a_form_sent_twice_adds_its_cycles_once(client: Client, study: Study) -> None:
    where = address(study, "schedule-cycles")
    for _ in range(2):
        response = client.post(where, {"further": 2, "before": 1})
        assert (response.status_code, response["Location"]) == (
            303,
            address(study, "study-schedule"),
        )
    assert study.slots.count() == 12
    assert "2 cycles added." in words(client.get(response["Location"]))
    late = client.post(where, {"further": 1, "before": 1})
    assert late.status_code == 409
    assert "The study has 3 cycles by now" in words(late)
    assert study.slots.count() == 12
    assert AuditEntry.objects.filter(action="scheduled", who="ann").count() == 1


@pytest.mark.parametrize("further", ["", "0", "x", "1001"])
def test_odd_numbers_are_said_beside_the_field(client: Client, study: Study, further: str) -> None:
    response = client.post(address(study, "schedule-cycles"), {"further": further, "before": 1})
    assert response.status_code == 422
    assert "field-error" in response.content.decode()
    assert client.get(f"{address(study, 'schedule-cycles')}?further={further}").status_code == 200
    assert study.slots.count() == 4


def test_a_schedule_that_would_be_too_large_is_refused(
    client: Client, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studyapp.domain.schedule.MAX_PLANNED", 40)
    response = client.post(address(study, "schedule-cycles"), {"further": 2, "before": 1})
    assert response.status_code == 409
    assert "This schedule would have 48 trials; the most is 40" in words(response)
    assert study.slots.count() == 4


def test_a_closed_study_and_one_without_a_schedule_take_no_cycles(client: Client) -> None:
    closed = factories.open_study(owner=researcher())
    changing.close_study(closed)
    empty = factories.draft_study(owner=researcher())
    for study, why in ((closed, "The study is closed"), (empty, "no schedule yet")):
        assert why in words(client.get(address(study, "schedule-cycles")))
        response = client.post(address(study, "schedule-cycles"), {"further": 1})
        assert response.status_code == 409
        assert why in words(response)


def test_closing_a_slot_is_asked_in_numbers_and_done(client: Client, study: Study) -> None:
    run = factories.joined(study)
    free = Slot.objects.filter(study=study, enrolments=None).earliest("number")
    said = words(client.get(address(study, "slot-close", 1, free.number)))
    assert f"Close slot 1.{free.number}?" in said
    assert "It has 4 trials; free: 1 of 1 place." in said
    assert "its 4 claims miss 1 judgement each, and cycle 1 stays incomplete." in said
    assert "1 person under way in it can finish" in words(
        client.get(address(study, "slot-close", 1, run.slot.number))
    )
    assert not Slot.objects.filter(closed_at__isnull=False).exists()
    response = client.post(address(study, "slot-close", 1, free.number))
    assert (response.status_code, response["Location"]) == (303, address(study, "study-schedule"))
    assert list(Slot.objects.filter(closed_at__isnull=False)) == [free]
    again = client.post(address(study, "slot-close", 1, free.number))
    assert again.status_code == 400
    assert "closed already" in words(again)
    asked = words(client.get(address(study, "slot-reopen", 1, free.number)))
    assert "1 place with 4 trials can be taken again." in asked
    client.post(address(study, "slot-reopen", 1, free.number))
    assert not Slot.objects.filter(closed_at__isnull=False).exists()
    assert set(AuditEntry.objects.filter(action__startswith="slots_").values_list("who")) == {
        ("ann",)
    }


def test_closing_a_subset_counts_the_slots_it_takes_along(client: Client, study: Study) -> None:
    finish(factories.joined(study))
    done = Slot.objects.get(study=study, enrolments__isnull=False)
    subset = done.cells[0][0]
    said = words(client.get(address(study, "subset-close", subset)))
    assert "Claims in it: 2. Slots that show them: 2." in said
    assert "1 free slot will be given to nobody while it is closed." in said
    assert "Completed slots, which stay and count: 1." in said
    response = client.post(address(study, "subset-close", subset))
    assert (response.status_code, response["Location"]) == (303, address(study, "schedule-subsets"))
    assert Subset.objects.get(study=study, closed_at__isnull=False).number == subset
    asked = words(client.get(address(study, "subset-reopen", subset)))
    assert "1 slot can be taken again" in asked
    other = next(slot for slot in study.slots.all() if slot != done and subset in dict(slot.cells))
    closing.close_slots(study, 1, other.number)
    asked = words(client.get(address(study, "subset-reopen", subset)))
    assert "0 slots can be taken again" in asked
    client.post(address(study, "subset-reopen", subset))
    assert not Subset.objects.filter(closed_at__isnull=False).exists()


@pytest.mark.parametrize(
    ("name", "numbers"),
    [("slot-close", (2, 1)), ("slot-reopen", (1, 10**30)), ("subset-close", (10**30,))],
)
@pytest.mark.parametrize("method", ["get", "post"])
def test_a_part_that_is_not_there_is_not_found(
    client: Client, study: Study, name: str, numbers: tuple[int, ...], method: str
) -> None:
    assert getattr(client, method)(address(study, name, *numbers)).status_code == 404
