"""A study's settings from a file: every wrong field is named, and nothing is half-made."""

from __future__ import annotations

import json

import pytest
from django.core.management import call_command

from studyapp.domain.configuration import create_study, read_configuration
from studyapp.errors import BrokerAway, StudyError
from studyapp.models import PrecomputeJob, Study
from tests import factories

pytestmark = pytest.mark.django_db

CONDITION = {"name": "ranking", "interface": "incremental", "method": "bm25"}


def refused(tmp_path, content: str | bytes) -> list[str]:
    file = tmp_path / "study.json"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(StudyError) as caught:
        create_study("new", configuration=read_configuration(file))
    assert not Study.objects.exists()
    return caught.value.problems


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\xff{}", "not UTF-8"),
        ('{"title": "a"', "cut off"),
        ("[1]", "one JSON object"),
        ('{"title": "a", "title": "b"}', "twice"),
        ('{"preregistered": {"a": NaN}}', "NaN"),
        ('{"preregistered": {"a": 1e999}}', "number"),
        ('{"seed": ' + "9" * 5000 + "}", "digits"),
        ('{"preregistered": ' + '{"a":' * 500 + "1" + "}" * 501, "deep"),
        ('{"preregistered": {"a": "x\\u0000"}}', "U+0000"),
        ('{"texts": {"welcome": "\\ud800"}}', "half a character"),
        ('{"title": "\\udfff"}', "half a character"),
    ],
)
def test_a_file_that_cannot_be_kept_is_refused(tmp_path, content, words):
    assert words in "\n".join(refused(tmp_path, content))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("title", "   "),
        ("title", "x" * 201),
        ("lang", "x" * 21),
        ("seed", 2**63),
        ("seed", True),
        ("completion_code", "x" * 61),
        ("order_policy", "sideways"),
        ("response_options", ["supported"]),
        ("non_inferiority_margin", 1),
        ("nonsense", 1),
    ],
)
def test_a_wrong_field_is_named(tmp_path, field, value):
    (problem,) = refused(tmp_path, json.dumps({field: value}))
    assert problem.startswith(f"field {field}")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("method", {}),
        ("method", "magic"),
        ("name", 5),
        ("name", "x" * 41),
        ("interface", ["incremental"]),
        ("model", 5),
        ("model", ["a"]),
        ("model", "x" * 201),
        ("embedder", {}),
        ("params", "text"),
        ("params", [1]),
        ("params", {"k1": "high"}),
    ],
)
def test_a_wrong_condition_is_named(tmp_path, field, value):
    content = {"conditions": [CONDITION | {field: value}]}
    problems = refused(tmp_path, json.dumps(content))
    assert any(field in p or "method" in p or "condition" in p for p in problems), problems


@pytest.mark.parametrize("title", ["", " ", "x" * 201, "half \udcff"])
def test_a_title_that_cannot_be_kept_is_refused(title):
    with pytest.raises(StudyError, match="title"):
        create_study("new", title=title)


def test_an_owner_that_cannot_be_a_name_is_nobody():
    with pytest.raises(StudyError, match="no user"):
        create_study("new", owner_name="half \udcff")


def test_a_slug_has_a_length():
    with pytest.raises(StudyError, match="at most 60"):
        create_study("x" * 61)


def test_a_seed_beyond_the_database_is_refused(capsys):
    study = factories.ready_study()
    with pytest.raises(SystemExit):
        call_command("schedule", study.slug, seed=2**70)
    assert "--seed" in capsys.readouterr().err


def test_waiting_outlasts_a_broker_that_is_away(monkeypatch, capsys):
    study = factories.draft_study()
    factories.add_claims(study, 1)
    factories.add_conditions(study)
    from studyapp.domain import precompute

    calls = []

    def away(job_id):
        calls.append(job_id)
        if len(calls) <= 2:
            raise ConnectionError("refused")
        precompute.run_job(job_id)

    monkeypatch.setattr("studyapp.tasks.prepare.delay", away)
    with pytest.raises(BrokerAway):
        precompute.ring_due(study) or precompute.queue_jobs(study)
    call_command("precompute", study.slug, wait=True)
    said = capsys.readouterr()
    assert "broker cannot be reached" in said.err
    assert "ranking: 1 of 1 done, 0 failed" in said.out
    assert set(PrecomputeJob.objects.values_list("state", flat=True)) == {"done"}
