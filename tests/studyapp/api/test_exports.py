"""Exports over the API: asked for, looked at, fetched, also in parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from studyapp.domain import export_files, export_jobs, progress
from studyapp.domain.export import Shape, export_study
from studyapp.models import AuditEntry, Study
from tests import factories
from tests.studyapp.api.asking import Api, error_of
from tests.studyapp.domain.test_results_jobs import finish

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def data_folder(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.DATA_DIR = tmp_path / "data"
    monkeypatch.setattr("studyapp.tasks.make_export.delay", lambda job_id: None)


@pytest.fixture
def owned(ann: Any) -> Study:
    study = factories.open_study(owner=ann)
    finish(study)
    return study


def where(study: Study, rest: str = "") -> str:
    return f"studies/{study.slug}/exports/{rest}"


def test_an_export_is_asked_for_made_and_fetched(owned: Study, api: Api, tmp_path: Path) -> None:
    progress.note_presence("worker")
    body = {"variant": "deidentified", "jsonl": True, "spreadsheet": "plain", "simulated": False}
    asked = api.post(where(owned), body)
    assert asked.status_code == 202
    job = owned.exports.get()
    told = asked.json()
    assert told == body | {
        "id": job.pk,
        "state": "queued",
        "asked_at": told["asked_at"],
        "made_at": None,
        "rows": {},
        "n_bytes": None,
        "sha256": None,
        "file": None,
        "error": None,
        "worker_answers": True,
    }
    early = api.get(where(owned, f"{job.pk}/file.zip"))
    assert (early.status_code, error_of(early)["code"]) == (409, "no_file")
    assert export_jobs.run_job(job.pk)
    done = api.get(where(owned, f"{job.pk}/")).json()
    shape = Shape(True, True, True, False)
    expected = export_study(owned, tmp_path / "x.zip", shape=shape)
    assert (done["state"], done["rows"], done["sha256"]) == ("done", expected.rows, expected.sha256)
    answer = api.get(done["file"])
    assert b"".join(answer.streaming_content) == expected.path.read_bytes()
    assert answer.headers["Cache-Control"] == "no-store"
    assert api.rows(where(owned)) == [done]
    [entry] = AuditEntry.objects.filter(action="export_downloaded")
    assert (entry.who, entry.details["export"]) == ("ann", job.pk)


def test_the_rest_of_a_file_is_fetched_by_its_range(owned: Study, api: Api) -> None:
    made = api.post(where(owned)).json()
    job = owned.exports.get()
    path = export_files.sound_file(job)
    assert path is not None
    headers = {"Range": "bytes=100-", "If-Range": f'"{made["sha256"]}"'}
    rest = api.get(made["file"], headers=headers)
    assert rest.status_code == 206
    assert b"".join(rest.streaming_content) == path.read_bytes()[100:]
    behind = api.get(made["file"], headers={"Range": "bytes=999999999-"})
    assert (behind.status_code, error_of(behind)["code"]) == (416, "no_such_range")
    assert behind.headers["Content-Range"] == f"bytes */{made['n_bytes']}"


def test_a_failed_export_says_why(owned: Study, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_jobs, "export_study", lambda *_, **__: 1 / 0)
    told = api.post(where(owned), {}).json()
    assert (told["state"], told["error"]) == ("failed", "ZeroDivisionError: division by zero")


def test_the_list_is_read_in_pages_the_newest_first(owned: Study, api: Api) -> None:
    ids = [api.post(where(owned)).json()["id"] for _ in range(3)]
    pages = api.pages(where(owned, "?limit=2"))
    assert [[row["id"] for row in page] for page in pages] == [ids[:0:-1], ids[:1]]


@pytest.mark.parametrize(
    ("body", "field"),
    [({"variant": "all"}, "variant"), ({"bom": True}, "bom"), ({"spreadsheet": 1}, "spreadsheet")],
)
def test_a_strange_wish_is_refused(owned: Study, api: Api, body: Any, field: str) -> None:
    answer = api.post(where(owned), body)
    assert answer.status_code == 400
    assert [problem["field"] for problem in error_of(answer)["problems"]] == [field]
    assert not owned.exports.exists()


def test_an_export_of_another_study_is_not_found(owned: Study, api: Api, ann: Any) -> None:
    other = factories.open_study(owner=ann)
    job = export_jobs.ask(other, export_jobs.Wanted())
    for rest in (f"{job.pk}/", f"{job.pk}/file.zip", f"{10**30}/", f"{10**30}/file.zip"):
        answer = api.get(where(owned, rest))
        assert (answer.status_code, error_of(answer)["code"]) == (404, "not_found")
