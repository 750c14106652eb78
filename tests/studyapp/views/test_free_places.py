"""How many places are free is one number, wherever it is said."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from studyapp.domain import closing, run_ends
from studyapp.domain.filling import filling_of
from studyapp.domain.places import Places, places_of
from studyapp.domain.schedule_table import slot_rows
from studyapp.enums import RunKind, SlotState
from studyapp.models import Slot, Study
from studyapp.simulation.play import free_simulated_seats
from tests import factories
from tests.studyapp.views.console import facts, finished, queries_of, read, url, words
from tests.studyapp.views.setup_pages import client_of, researcher

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> Client:
    return client_of()


@pytest.fixture
def study() -> Study:
    """Eight slots of one place each, and one more person in each once they are all taken."""
    return factories.open_study(
        8, n_subsets=4, n_replications=2, owner=researcher(), recruiting={"extra_places": 1}
    )


def agreed(client: Client, study: Study) -> tuple[Places, str]:
    """The places, told alike by every page and command, and the sentence on the study page."""
    places = places_of(study, RunKind.REAL)
    filling = filling_of(study, RunKind.REAL).all
    assert (filling.target, filling.free, filling.closed, filling.over) == (
        places.planned, places.free, places.closed, places.extra
    )  # fmt: skip
    rows = slot_rows(study)
    assert sum(row.free for row in rows if not row.is_closed) == places.free
    assert sum(row.taken for row in rows) == places.taken
    # One place a slot here: as many free slots as free places.
    n_free = sum(row.state == SlotState.FREE for row in rows)
    assert n_free == places.free
    assert f"Free {n_free} " in words(read(client, url("study-schedule", study)))
    monitor = facts(read(client, url("study-monitor", study)))
    assert monitor["Free"] == str(places.free)
    assert monitor.get("Closed", "0").split()[0] == str(places.closed)
    page = words(read(client, url("study", study)))
    assert f"{places.taken} of {places.planned} places taken" in page
    found = re.search(r"(\d+ places? free|Every planned place|No place is free)[^.]*\.", page)
    assert found
    return places, found.group()


def test_every_page_says_the_same_after_closing_releasing_and_recruiting_beyond(
    client: Client, study: Study, capsys: Any
) -> None:
    assert agreed(client, study) == (Places(8, 0, 8, 0, 0, 8), "8 places free.")
    closing.close_slots(study, 2, 4)
    places, says = agreed(client, study)
    assert (places, says) == (Places(8, 0, 7, 1, 0, 7), "7 places free, 1 closed.")
    run = finished(study)
    closing.close_subset(study, run.slot.cells[0][0])
    places, says = agreed(client, study)
    assert places.free + places.closed == 7
    assert says == f"{places.free} places free, {places.closed} closed."
    closing.reopen_subset(study, run.slot.cells[0][0])
    closing.reopen_slots(study, 2, 4)
    run_ends.reject_run(study, run.participant.code, "left it")
    assert agreed(client, study)[0].free == 8
    runs = [factories.joined(study) for _ in range(10)]
    places, says = agreed(client, study)
    assert places == Places(8, 8, 0, 0, extra=2, extra_free=6)
    assert says == "Every planned place is taken; 6 extra places free."
    # Whoever leaves a planned place frees it, though somebody sits beyond the plan in that slot.
    shared = next(run for run in runs[:8] if run.slot_id == runs[8].slot_id)
    run_ends.release_run(study, shared.participant.code)
    places, says = agreed(client, study)
    assert places == Places(8, 7, 1, 0, extra=2, extra_free=6)
    assert says == "1 place free."
    call_command("schedule", study.slug)
    assert "7 of 8 places taken, 1 free, 0 closed, 2 taken beyond" in capsys.readouterr().out


def test_places_that_are_closed_are_not_called_taken(client: Client) -> None:
    study = factories.open_study(4, owner=researcher())
    closing.close_slots(study, 1)
    page = words(read(client, url("study", study)))
    assert "No place is free: 2 are closed, and the others are taken." in page
    assert agreed(client, study)[0] == Places(2, 0, 0, 2, 0, 0)


def test_simulated_people_find_the_places_that_are_counted_for_them(study: Study) -> None:
    slot = Slot.objects.filter(study=study).first()
    assert slot
    closing.close_slots(study, slot.replication, slot.number)
    assert filling_of(study, RunKind.SIMULATED).all.free == 7
    assert free_simulated_seats(study) == 7 + 7


def test_the_study_page_asks_the_database_at_most_15_times(client: Client, study: Study) -> None:
    factories.joined(study)
    assert queries_of(client, url("study", study)) <= 15
