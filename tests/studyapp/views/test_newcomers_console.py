"""What a newcomer stumbled over in the console: each page says what it is about and where to go."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from studyapp.domain import precompute, prolific_setup, schedule
from studyapp.models import Study
from tests import factories
from tests.studyapp.views.console import read, url, words
from tests.studyapp.views.setup_pages import client_of, researcher

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> Client:
    return client_of()


@pytest.fixture
def draft() -> Study:
    study = factories.draft_study(owner=researcher())
    factories.add_claims(study, 4)
    factories.add_conditions(study)
    schedule.lay_out(study, 2, 1, 1)
    return Study.objects.get(pk=study.pk)


def test_the_review_leads_to_the_rankings_page_and_names_its_button(
    client: Client, draft: Study
) -> None:
    html = read(client, url("setup-review", draft))
    assert "4 of 4 claims have no ranking yet; press “Prepare the … missing” on the page" in html
    assert f'<a class="go" href="{url("study-rankings", draft)}">Rankings</a>' in html
    assert "Prepare the 8 missing" in words(read(client, url("study-rankings", draft)))


@pytest.mark.usefixtures("quiet_bells")
def test_what_is_being_prepared_is_not_told_as_a_count_that_ages(
    client: Client, draft: Study
) -> None:
    precompute.queue_jobs(draft)
    page = words(read(client, url("study", draft)))
    assert "condition ranking: claims have no ranking yet; they are being prepared" in page
    assert "4 of 4 claims have no" not in page


@pytest.fixture
def quiet_bells(monkeypatch: pytest.MonkeyPatch) -> None:
    """No message leaves the test."""
    monkeypatch.setattr("studyapp.tasks.prepare.delay", lambda _: None)


def test_two_codes_for_the_screened_out_are_told_apart_and_warned_of_where_they_differ(
    client: Client,
) -> None:
    recruiting = {"source": "prolific", "id_parameter": "PROLIFIC_PID"}
    study = factories.open_study(
        owner=researcher(), recruiting=recruiting, sitting={"screened_out_code": "MINE"}
    )
    assert "Two codes for screened-out people differ" not in read(
        client, url("study-prolific", study)
    )
    prolific_setup.set_up(study, screen_out_code="THEIRS")
    page = words(read(client, url("study-prolific", study)))
    assert "Two codes for screened-out people differ" in page
    assert "Sent by this server to Prolific" in page
    prolific_setup.set_up(study, screen_out_code="MINE")
    assert "codes for screened-out people differ" not in read(client, url("study-prolific", study))
    codes = words(read(client, url("setup-ending", study)))
    assert "Shown to participants, who take it back themselves." in codes
    assert "one of the two is enough" in codes


@pytest.mark.parametrize("address", ["/studies/nowhere/", "/studies/nowhere/setup/x", "/new/x"])
def test_an_address_of_researchers_that_is_not_there_speaks_to_researchers(
    client: Client, address: str
) -> None:
    page = words(read(client, address, 404))
    assert "it belongs to a study of which you are no member" in page
    assert "To your studies" in page
    assert "taking part" not in page


def test_a_wrong_address_that_anybody_may_have_still_helps_participants(client: Client) -> None:
    assert "If you were taking part in a study" in words(read(client, "/nowhere", 404))


def test_the_account_page_has_a_way_out(client: Client) -> None:
    html = read(client, reverse("two_factor:profile"))
    assert 'action="/logout/"' in html
    assert "Log out" in html


def test_a_cycle_is_explained_as_a_replication_where_it_first_appears(
    client: Client, draft: Study, capsys: Any
) -> None:
    assert "Cycles (replications)" in read(client, url("setup-schedule", draft))
    for name in ("study-schedule", "schedule-claims"):
        assert "A cycle (replication in files and commands) is one copy of the Latin square" in (
            words(read(client, url(name, draft))).replace("( ", "(")
        )
    assert "In every cycle (replication)" in read(client, url("schedule-cycles", draft))
    with pytest.raises(SystemExit):
        call_command("schedule", "--help")
    assert "N further cycles (replications)" in " ".join(capsys.readouterr().out.split())
