"""The page of a study's exports: asked for, watched, downloaded, deleted; also without scripts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from studyapp.domain import export_files, export_jobs, progress
from studyapp.domain.access import add_member
from studyapp.domain.export_jobs import Wanted
from studyapp.enums import JobState, Role, RunKind
from studyapp.models import AuditEntry, ExportJob, Study
from tests import factories
from tests.studyapp.domain.test_results_jobs import finish
from tests.studyapp.views.pages import HTMX

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def data_folder(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.DATA_DIR = tmp_path / "data"
    monkeypatch.setattr("studyapp.tasks.make_export.delay", lambda job_id: None)


@pytest.fixture
def ann() -> Any:
    return get_user_model().objects.create_user("ann")


@pytest.fixture
def owned(ann: Any) -> Study:
    study = factories.open_study(owner=ann)
    finish(study)
    return study


@pytest.fixture
def client(owned: Study) -> Client:
    client = Client()
    client.force_login(owned.owner)
    return client


def address(study: Study, name: str = "study-exports", *more: int) -> str:
    return reverse(name, args=[study.slug, *more])


def text_of(response: Any) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


def body(response: Any) -> bytes:
    return b"".join(response.streaming_content)


def waiting(study: Study) -> ExportJob:
    progress.note_presence("worker")
    return export_jobs.ask(study, Wanted())


# ---- asking --------------------------------------------------------------------------------------


def test_a_small_study_is_exported_by_sending_the_form(owned: Study, client: Client) -> None:
    page = client.get(address(owned))
    assert "No export has been made here yet" in text_of(page)
    assert 'name="simulated"' not in page.content.decode()
    choices = {"variant": "deidentified", "spreadsheet": "with_bom", "jsonl": "on"}
    answer = client.post(address(owned), choices)
    assert (answer.status_code, answer.url) == (302, f"{address(owned)}#exports")
    job = owned.exports.get()
    assert (job.variant, job.with_jsonl, job.spreadsheet, job.asked_by) == (
        "deidentified", True, "with_bom", owned.owner,
    )  # fmt: skip
    html = client.get(address(owned)).content.decode()
    assert "De-identified, with JSON Lines and spreadsheet copies" in html
    for told in (job.sha256, f"{job.n_bytes:,} bytes", "UTC by ann", "trials.csv"):
        assert told in html
    assert address(owned, "export-download", job.pk) in html


def test_simulated_runs_can_be_chosen_where_there_are_some(owned: Study, client: Client) -> None:
    finish(owned, RunKind.SIMULATED)
    assert 'name="simulated"' in client.get(address(owned)).content.decode()
    client.post(address(owned), {"simulated": "on"})
    assert owned.exports.get().rows["trials.csv"] == 8


def test_a_strange_choice_is_said_and_makes_nothing(owned: Study, client: Client) -> None:
    answer = client.post(address(owned), {"variant": "everything"})
    assert answer.status_code == 400
    assert "not one of the choices. Nothing was made" in text_of(answer)
    assert not owned.exports.exists()


def test_the_page_says_that_no_worker_answers(
    owned: Study, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_jobs, "SMALL", 0)
    client.post(address(owned))
    page = client.get(address(owned))
    assert "Queued; no worker answers." in text_of(page)
    assert 'hx-trigger="every 2s"' in page.content.decode()
    assert "Look again" in page.content.decode()


def test_the_list_is_watched_until_nothing_is_under_way(owned: Study, client: Client) -> None:
    job = waiting(owned)
    fragment = client.get(address(owned), headers=HTMX)
    assert fragment.content.decode().startswith("<section")
    assert fragment.headers["Vary"].count("HX-Request") == 1
    assert 'hx-trigger="every 2s"' in fragment.content.decode()
    assert "Waiting for a worker" in text_of(fragment)
    assert "no worker answers" not in text_of(fragment)
    assert export_jobs.run_job(job.pk)
    done = client.get(address(owned), headers=HTMX)
    assert "hx-trigger" not in done.content.decode()
    assert "Download" in text_of(done)


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_the_page_asks_as_much_for_three_exports_as_for_one(
    owned: Study, client: Client, headers: dict[str, str]
) -> None:
    counts = []
    for n in (1, 2):
        for _ in range(n):
            export_jobs.ask(owned, Wanted(), owned.owner)
        with CaptureQueriesContext(connection) as queries:
            client.get(address(owned), headers=headers)
        counts.append(len(queries))
    assert counts == [5 if headers else 6] * 2


# ---- the file ------------------------------------------------------------------------------------


def test_a_download_is_the_file_with_its_checksum_and_is_logged(
    owned: Study, client: Client
) -> None:
    job = export_jobs.ask(owned, Wanted(), owned.owner)
    where = address(owned, "export-download", job.pk)
    answer = client.get(where)
    path = export_files.sound_file(job)
    assert path is not None
    assert body(answer) == path.read_bytes()
    assert answer.headers["Content-Length"] == str(job.n_bytes)
    assert answer.headers["ETag"] == f'"{job.sha256}"'
    assert answer.headers["Accept-Ranges"] == "bytes"
    assert answer.headers["Content-Type"] == "application/zip"
    assert f"{owned.slug}-raw-" in answer.headers["Content-Disposition"]
    head = client.head(where)
    assert head.headers["Content-Length"] == str(job.n_bytes)
    again = client.get(where, headers={"If-None-Match": f'"{job.sha256}"'})
    assert (again.status_code, again.content) == (304, b"")
    [entry] = AuditEntry.objects.filter(action="export_downloaded")
    assert (entry.who, entry.details) == (
        "ann",
        {"export": job.pk, "variant": "raw", "hash": job.sha256},
    )


@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [
        ("bytes=0-9", 0, 9),
        ("bytes=10-", 10, None),
        ("bytes=-7", -7, None),
        ("bytes=5-9999999", 5, None),
    ],
)
def test_a_part_is_given_where_one_is_asked_for(
    owned: Study, client: Client, asked: str, first: int, last: int | None
) -> None:
    job = export_jobs.ask(owned, Wanted())
    path = export_files.sound_file(job)
    assert path is not None
    whole = path.read_bytes()
    answer = client.get(address(owned, "export-download", job.pk), headers={"Range": asked})
    begin = first % len(whole)
    end = len(whole) - 1 if last is None else last
    assert answer.status_code == 206
    assert body(answer) == whole[begin : end + 1]
    assert answer.headers["Content-Range"] == f"bytes {begin}-{end}/{len(whole)}"
    assert answer.headers["Content-Length"] == str(end + 1 - begin)


def test_a_part_of_another_file_several_parts_and_none_get_the_whole(
    owned: Study, client: Client
) -> None:
    job = export_jobs.ask(owned, Wanted())
    where = address(owned, "export-download", job.pk)
    for headers in (
        {"Range": "bytes=5-", "If-Range": '"another"'},
        {"Range": "bytes=0-1,3-4"},
        {"Range": "bytes=9-2"},
        {"Range": "bytes=-"},
        {"Range": "lines=1-2"},
    ):
        answer = client.get(where, headers=headers)
        assert (answer.status_code, len(body(answer))) == (200, job.n_bytes), headers
    for asked in (f"bytes={job.n_bytes}-", "bytes=-0"):
        answer = client.get(where, headers={"Range": asked})
        assert (answer.status_code, answer.headers["Content-Range"]) == (
            416,
            f"bytes */{job.n_bytes}",
        )


def test_there_is_no_file_of_an_export_that_is_not_done_or_of_another_study(
    owned: Study, client: Client
) -> None:
    job = waiting(owned)
    other = export_jobs.ask(factories.open_study(), Wanted())
    for each in (job.pk, other.pk, 10**18, 10**30):
        assert client.get(address(owned, "export-download", each)).status_code == 404
    for name in ("export-retry", "export-delete"):
        assert client.post(address(owned, name, other.pk)).status_code == 404
    assert ExportJob.objects.count() == 2


# ---- trying again, deleting ----------------------------------------------------------------------


def test_an_export_is_deleted_with_a_form_that_says_what_goes(owned: Study, client: Client) -> None:
    job = export_jobs.ask(owned, Wanted())
    page = text_of(client.get(address(owned)))
    rows = sum(job.rows.values())
    assert f"Delete this export for good: {job.n_bytes:,} bytes, {rows:,} rows" in page
    answer = client.post(address(owned, "export-delete", job.pk), follow=True)
    assert "The export is deleted." in text_of(answer)
    assert not owned.exports.exists()


def test_a_viewer_makes_exports_and_deletes_none(owned: Study) -> None:
    viewer = get_user_model().objects.create_user("vi")
    add_member(owned, viewer, Role.VIEWER)
    client = Client()
    client.force_login(viewer)
    client.post(address(owned))
    job = owned.exports.get()
    assert "Delete this export" not in text_of(client.get(address(owned)))
    assert client.post(address(owned, "export-delete", job.pk)).status_code == 403
    assert client.get(address(owned, "export-download", job.pk)).status_code == 200


def test_what_is_refused_is_said_on_the_page(owned: Study, client: Client) -> None:
    job = export_jobs.ask(owned, Wanted())
    answer = client.post(address(owned, "export-retry", job.pk))
    assert answer.status_code == 409
    assert "Only an export that has failed or lost its file is made again." in text_of(answer)


# ---- the addresses there were before -------------------------------------------------------------


def test_the_old_address_gives_a_small_study_at_once_and_sends_a_large_one_to_the_page(
    owned: Study, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = client.get(address(owned, "study-export"))
    assert whole.headers["Content-Disposition"] == f'attachment; filename="{owned.slug}.zip"'
    assert body(whole)[:2] == b"PK"
    monkeypatch.setattr(export_jobs, "SMALL", 0)
    sent = client.get(address(owned, "study-export"))
    assert (sent.status_code, sent.url) == (302, address(owned))


def test_a_failure_at_the_old_address_is_said_and_its_path_is_not(
    owned: Study, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("studyapp.domain.export._write_zip", full)
    answer = client.get(address(owned, "study-export"))
    assert answer.status_code == 400
    assert "No space left on device" in text_of(answer)


def test_the_study_page_leads_to_the_exports(owned: Study, client: Client) -> None:
    html = client.get(reverse("study", args=[owned.slug])).content.decode()
    assert f'href="{address(owned)}"' in html


def test_a_state_that_was_lost_can_be_made_again_on_the_page(owned: Study, client: Client) -> None:
    job = export_jobs.ask(owned, Wanted())
    path = export_files.sound_file(job)
    assert path is not None
    path.write_bytes(b"half")
    page = client.get(address(owned))
    assert "The file is missing or damaged, so it is not offered" in text_of(page)
    assert address(owned, "export-download", job.pk) not in page.content.decode()
    assert client.get(address(owned, "export-download", job.pk)).status_code == 404
    client.post(address(owned, "export-retry", job.pk))
    job.refresh_from_db()
    assert job.state == JobState.DONE
    assert address(owned, "export-download", job.pk) in client.get(address(owned)).content.decode()
