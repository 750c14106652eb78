"""Requests made at random from the OpenAPI document: no answer breaks it, and none is a 5xx.

Once is enough, so it runs on SQLite alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from django.test import override_settings
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from studyapp.api.schema import document
from studyapp.domain import export_jobs
from studyapp.domain.trials import record_decision
from studyapp.models import Participant, Study
from tests import backends, factories
from tests.studyapp.api.asking import Api, researcher

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(backends.BACKEND != "sqlite", reason="once is enough"),
]

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
OPERATIONS = [
    (method.upper(), path) for path, methods in document()["paths"].items() for method in methods
]
#: Requests for each operation, state of the study and kind of request.
EXAMPLES = 8


@pytest.fixture
def kept_connection() -> Iterator[None]:
    """The end of a request must not close the connection that the test's transaction is on."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def ann(monkeypatch: pytest.MonkeyPatch, kept_connection: None) -> Any:
    monkeypatch.setattr("studyapp.tasks.prepare.delay", lambda job_id: None)
    return researcher("ann")


def running_study(owner: Any) -> Study:
    study = factories.open_study(owner=owner)
    enrolment, trial = factories.started(study)
    record_decision(enrolment.token, trial.code, {"decision": "supported"})
    export_jobs.ask(study, export_jobs.Wanted(), owner)
    return study


def draft_study(owner: Any) -> Study:
    study = factories.draft_study(owner=owner)
    factories.add_claims(study, 2)
    factories.add_conditions(study)
    return study


@cache
def operations() -> Any:
    """The document as the application serves it, read once."""
    return schemathesis.openapi.from_wsgi("/api/v1/schema/", get_wsgi_application())


@pytest.mark.parametrize(
    ("mode", "make"),
    [
        (GenerationMode.POSITIVE, running_study),
        (GenerationMode.POSITIVE, draft_study),
        (GenerationMode.NEGATIVE, running_study),
    ],
    ids=["right-running", "right-draft", "wrong-running"],
)
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_every_answer_is_one_of_the_document(
    method: str, path: str, mode: Any, make: Any, ann: Any
) -> None:
    study = make(ann)
    participant = Participant.objects.first()
    export = study.exports.first()
    known = {
        "slug": study.slug,
        "participant": participant.code if participant else "p1",
        "action": "extend",
        "export_id": export.pk if export else 1,
    }
    names = {name: value for name, value in known.items() if f"{{{name}}}" in path}
    headers = {"Authorization": f"Bearer {Api(ann).token}"}
    cases = operations()[path][method].as_strategy(
        generation_mode=mode, path_parameters=names or None
    )

    @settings(
        max_examples=EXAMPLES,
        database=None,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases)
    def ask(case: Any) -> None:
        response = case.call_and_validate(headers=headers, checks=CHECKS)
        statuses.add(response.status_code)

    statuses: set[int] = set()
    with override_settings(API_RATE="999999999/s"):
        ask()
    if mode is GenerationMode.POSITIVE and method == "GET" and make is running_study:
        assert 200 in statuses
