"""What the tests of the researchers' console share: people who play, and how pages are read."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from studyapp.domain.trials import record_decision, start_next_trial
from studyapp.enums import RunKind
from studyapp.models import Enrolment, Event, Study, Trial
from studyapp.triggers import install_triggers, remove_triggers
from tests import factories

Rows = list[list[str]]


def played(study: Study, n_trials: int, run_kind: str = RunKind.REAL) -> Enrolment:
    """A participant who decided so many trials and is in the next one, or at the end."""
    run, trial = factories.started(study, run_kind)
    for _ in range(n_trials):
        trial = record_decision(run.token, trial.code, {"decision": "supported"})
    return Enrolment.objects.select_related("participant", "slot").get(pk=run.pk)


def finished(study: Study, run_kind: str = RunKind.REAL) -> Enrolment:
    """A participant who has done everything."""
    run, trial = factories.started(study, run_kind)
    while trial is not None:
        trial = record_decision(run.token, trial.code, {"decision": "cant_decide"})
    return Enrolment.objects.select_related("participant", "slot").get(pk=run.pk)


def open_trial(run: Enrolment) -> Trial:
    trial = start_next_trial(run.token)
    assert trial is not None
    return trial


def move_events(events: Any, by: timedelta) -> None:
    """Let events have happened at another time, which the database refuses to everybody else."""
    remove_triggers(connection)
    for event in events:
        Event.objects.filter(pk=event.pk).update(server_at=event.server_at + by)
    install_triggers(connection)


def expire(run: Enrolment, at: datetime) -> None:
    Enrolment.objects.filter(pk=run.pk).update(lease_until=at)


def url(name: str, study: Study, *more: str) -> str:
    return reverse(name, args=[study.slug, *more])


def read(client: Client, address: str, status: int = 200) -> str:
    response = client.get(address)
    assert response.status_code == status, response.content
    return response.content.decode()


def words(html: str) -> str:
    """The text of a piece of HTML, with single spaces."""
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def tables(html: str) -> dict[str, Rows]:
    """The cells of every table of a page, by the name of the region that it scrolls in."""
    found = re.findall(r'role="region" aria-label="([^"]*)">(.*?)</table>', html, flags=re.S)
    return {
        name: [
            [words(cell) for cell in re.findall(r"<t[hd][ >].*?</t[hd]>", row, flags=re.S)]
            for row in re.findall(r"<tr.*?</tr>", table, flags=re.S)
        ]
        for name, table in found
    }


def facts(html: str) -> dict[str, str]:
    """Every fact of a page's lists of facts."""
    found = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", html, flags=re.S)
    return {words(name): words(value) for name, value in found}


def queries_of(client: Client, address: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        read(client, address)
    return len([q for q in captured.captured_queries if "SAVEPOINT" not in q["sql"]])
