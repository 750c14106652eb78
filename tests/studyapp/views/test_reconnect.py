"""A database that restarts between two requests costs nobody an error page."""

from __future__ import annotations

import psycopg
import pytest
from django.contrib.auth import get_user_model
from django.db import connection

from studyapp.models import Event
from tests import backends, factories

pytestmark = [
    pytest.mark.usefixtures("committed_db"),
    pytest.mark.skipif(backends.POSTGRES is None, reason="SQLite has no connection to lose"),
]


def drop_connection() -> None:
    """End this process's database session from outside, as a restart of the server does."""
    pid = connection.connection.info.backend_pid
    with psycopg.connect(backends.POSTGRES.url(), autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])


def test_a_participant_s_reveal_is_run_again_and_stored_once(client):
    study = factories.open_study()
    enrolment, trial = factories.started_in(study, "incremental")
    drop_connection()
    address = f"/p/{study.code}/r/{enrolment.token}/t/{trial.code}/reveal"
    answer = client.post(address, {"rank": 2}, headers={"HX-Request": "true"})
    assert answer.status_code == 200
    assert Event.objects.filter(trial=trial, kind="reveal").count() == 2


def test_a_researcher_s_page_is_answered(client):
    client.force_login(get_user_model().objects.create_superuser("r", password="x"))
    drop_connection()
    assert client.get("/").status_code == 200
