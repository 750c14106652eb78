"""Requests made at random from the OpenAPI document: no answer breaks it, and none is a 5xx.

Once is enough, so it runs on SQLite alone.
"""

from __future__ import annotations

from collections.abc import Iterator
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
EXAMPLES = 12


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
    factories.started(study)
    return study


def draft_study(owner: Any) -> Study:
    study = factories.draft_study(owner=owner)
    factories.add_claims(study, 2)
    factories.add_conditions(study)
    return study


@pytest.mark.parametrize("make", [running_study, draft_study])
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_every_answer_is_one_of_the_document(
    method: str, path: str, mode: Any, make: Any, ann: Any
) -> None:
    study = make(ann)
    participant = Participant.objects.first()
    known = {"slug": study.slug, "participant": participant.code if participant else "p1"}
    names = {name: value for name, value in known.items() if f"{{{name}}}" in path}
    headers = {"Authorization": f"Bearer {Api(ann).token}"}
    document_of_app = schemathesis.openapi.from_wsgi("/api/v1/schema/", get_wsgi_application())
    operation = document_of_app[path][method]
    cases = operation.as_strategy(generation_mode=mode, path_parameters=names or None)

    @settings(
        max_examples=EXAMPLES,
        database=None,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases)
    def ask(case: Any) -> None:
        case.call_and_validate(headers=headers, checks=CHECKS)

    with override_settings(API_RATE="999999999/s"):
        ask()
