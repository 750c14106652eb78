"""Exports as jobs: made by a worker or at once, kept whole or not at all, gone with the data."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from studyapp.domain import export_files, export_jobs, leases, progress
from studyapp.domain.assignment import delete_participant, deletion_of, withdraw
from studyapp.domain.export import Shape, export_study
from studyapp.domain.export_jobs import Wanted
from studyapp.enums import ExportVariant, JobState, RunKind, SpreadsheetCopies
from studyapp.errors import NotEditable, StudyError
from studyapp.models import AuditEntry, Enrolment, ExportJob, Participant, ResultsJob, Study
from tests import factories
from tests.studyapp.domain.test_results_jobs import finish
from tests.studyapp.domain.test_trials import in_threads

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def bells(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The jobs that were rung for; nothing is sent to a broker."""
    rung: list[int] = []
    monkeypatch.setattr("studyapp.tasks.make_export.delay", rung.append)
    monkeypatch.setattr("studyapp.tasks.compute_results.delay", lambda job_id: None)
    return rung


@pytest.fixture(autouse=True)
def data_folder(settings: Any, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path / "data"
    return settings.DATA_DIR


@pytest.fixture
def worker() -> None:
    progress.note_presence("worker")


def made(study: Study, wanted: Wanted | None = None) -> ExportJob:
    """An export that a worker has made."""
    job = export_jobs.ask(study, wanted or Wanted())
    if job.state != JobState.DONE:
        assert export_jobs.run_job(job.pk)
    job.refresh_from_db()
    return job


def files_in(study: Study) -> list[str]:
    folder = export_files.folder_of(study)
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def actions() -> list[str]:
    wanted = ("study_exported", "export_downloaded", "export_deleted", "participant_deleted")
    entries = AuditEntry.objects.filter(action__in=wanted).order_by("pk")
    return list(entries.values_list("action", flat=True))


# ---- asking and making ---------------------------------------------------------------------------


@pytest.mark.usefixtures("worker")
def test_a_worker_makes_the_export_of_the_command_and_says_what_it_holds(
    study: Study, bells: list[int], tmp_path: Path
) -> None:
    finish(study)
    ann = get_user_model().objects.create_user("ann")
    job = export_jobs.ask(study, Wanted(), ann)
    assert (job.state, job.asked_by, bells) == (JobState.QUEUED, ann, [job.pk])
    assert export_files.sound_file(job) is None
    assert export_jobs.run_job(job.pk)
    job.refresh_from_db()
    expected = export_study(study, tmp_path / "other.zip")
    path = export_files.sound_file(job)
    assert path is not None
    assert path.read_bytes() == expected.path.read_bytes()
    assert (job.state, job.error, job.rows) == (JobState.DONE, "", expected.rows)
    assert (job.n_bytes, job.sha256) == (expected.n_bytes, expected.sha256)
    assert files_in(study) == [job.file]
    [entry] = AuditEntry.objects.filter(action="study_exported")
    assert (entry.who, entry.details) == (
        "ann",
        {"export": job.pk, "variant": "raw", "simulated": False, "hash": expected.sha256},
    )


@pytest.mark.usefixtures("worker")
def test_every_choice_reaches_the_file(study: Study, tmp_path: Path) -> None:
    finish(study, RunKind.SIMULATED)
    wanted = Wanted(ExportVariant.DEIDENTIFIED, True, True, SpreadsheetCopies.PLAIN)
    job = made(study, wanted)
    shape = Shape(deidentified=True, jsonl=True, spreadsheet=True, has_bom=False)
    expected = export_study(study, tmp_path / "other.zip", True, shape=shape)
    assert job.sha256 == expected.sha256
    assert export_jobs.download_name(job) == (
        f"{study.slug}-deidentified-simulated-{job.made_at:%Y%m%d-%H%M}.zip"
    )


def test_without_a_worker_a_small_study_is_exported_at_once(
    study: Study, bells: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    finish(study)
    assert export_jobs.ask(study, Wanted()).state == JobState.DONE
    monkeypatch.setattr(export_jobs, "SMALL", 4)
    waiting = export_jobs.ask(study, Wanted())
    assert (waiting.state, bells) == (JobState.QUEUED, [waiting.pk])


def test_how_large_a_study_is_counts_its_trials_and_events(study: Study) -> None:
    run = finish(study)
    n = run.trials.count() + sum(run.trials.values_list("n_events", flat=True))
    with CaptureQueriesContext(connection) as queries, pytest.MonkeyPatch.context() as patch:
        patch.setattr(export_jobs, "SMALL", n)
        assert not export_jobs.is_small(study)
        patch.setattr(export_jobs, "SMALL", n + 1)
        assert export_jobs.is_small(study)
    assert len(queries) == 2


@pytest.mark.usefixtures("worker")
def test_an_absent_broker_is_said_and_the_export_kept(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(job_id: int) -> None:
        raise OSError("connection refused")

    monkeypatch.setattr("studyapp.tasks.make_export.delay", away)
    job = export_jobs.ask(study, Wanted())
    [problem] = export_jobs.go_on(study)
    assert "broker cannot be reached (connection refused). The exports are queued" in problem
    job.refresh_from_db()
    assert job.state == JobState.QUEUED


@pytest.mark.usefixtures("worker")
def test_only_so_many_wait_at_once(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_jobs, "MOST_WAITING", 2)
    for _ in range(2):
        export_jobs.ask(study, Wanted())
    with pytest.raises(NotEditable, match="2 exports of this study wait already"):
        export_jobs.ask(study, Wanted())
    assert study.exports.count() == 2


# ---- lost bells, lost workers, failures ----------------------------------------------------------


@pytest.mark.usefixtures("worker")
def test_a_lost_bell_rings_again_and_a_second_delivery_ends_at_once(
    study: Study, bells: list[int]
) -> None:
    job = export_jobs.ask(study, Wanted())
    assert export_jobs.ring_due() == 0
    ExportJob.objects.update(rung_at=timezone.now() - 2 * leases.lease_period())
    assert export_jobs.go_on(study) == []
    assert bells == [job.pk, job.pk]
    assert leases.take(ExportJob, job.pk)
    assert not export_jobs.run_job(job.pk)
    assert not export_jobs.run_job(job.pk + 1)


@pytest.mark.usefixtures("worker")
def test_the_export_of_a_dead_worker_is_made_by_the_next_without_its_leftovers(
    study: Study, bells: list[int]
) -> None:
    job = export_jobs.ask(study, Wanted())
    assert leases.take(ExportJob, job.pk)
    leftover = export_files.folder_of(study) / f"making-{job.pk}" / ".export.zip.abc.part"
    leftover.parent.mkdir(parents=True)
    leftover.write_bytes(b"half")
    ExportJob.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    export_jobs.go_on(study)
    assert bells == [job.pk, job.pk]
    assert export_jobs.run_job(job.pk)
    job.refresh_from_db()
    assert files_in(study) == [job.file]


@pytest.mark.usefixtures("worker")
def test_a_failure_says_its_reason_and_leaves_nothing_half_written(
    study: Study, monkeypatch: pytest.MonkeyPatch, data_folder: Path
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device", str(data_folder))

    job = export_jobs.ask(study, Wanted())
    with monkeypatch.context() as patch:
        patch.setattr("studyapp.domain.export._write_zip", full)
        assert not export_jobs.run_job(job.pk)
    job.refresh_from_db()
    assert (job.state, job.error) == (
        JobState.FAILED,
        "The file cannot be written (No space left on device).",
    )
    assert (files_in(study), actions()) == ([], [])
    export_jobs.retry(job)
    assert export_jobs.run_job(job.pk)
    job.refresh_from_db()
    assert (job.state, job.error, job.n_attempts) == (JobState.DONE, "", 1)


@pytest.mark.usefixtures("worker")
def test_a_worker_that_lost_its_lease_leaves_no_file(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = export_jobs.ask(study, Wanted())
    store = export_jobs.store_result

    def late(*arguments: Any) -> bool:
        ExportJob.objects.update(lease_token="another worker")
        return store(*arguments)

    monkeypatch.setattr(export_jobs, "store_result", late)
    assert not export_jobs.run_job(job.pk)
    assert (files_in(study), actions()) == ([], [])


# ---- files ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize("harm", ["cut", "changed", "gone"])
def test_a_damaged_file_is_not_offered_and_can_be_made_again(
    study: Study, harm: str, bells: list[int]
) -> None:
    job = made(study)
    path = export_files.sound_file(job)
    assert path is not None
    whole = path.read_bytes()
    if harm == "gone":
        path.unlink()
    else:
        path.write_bytes(whole[:-1] if harm == "cut" else whole[:-1] + b"x")
    assert export_files.sound_file(job) is None
    export_jobs.retry(job)
    assert export_jobs.run_job(bells[-1])
    job.refresh_from_db()
    path = export_files.sound_file(job)
    assert path is not None
    assert path.read_bytes() == whole
    assert files_in(study) == [job.file]


@pytest.mark.usefixtures("worker")
def test_a_sound_export_is_not_made_again(study: Study) -> None:
    job = made(study)
    before = ExportJob.objects.values().get()
    with pytest.raises(NotEditable):
        export_jobs.retry(job)
    assert ExportJob.objects.values().get() == before
    waiting = export_jobs.ask(study, Wanted())
    with pytest.raises(NotEditable):
        export_jobs.retry(waiting)


@pytest.mark.usefixtures("worker")
def test_the_last_files_are_kept_and_older_ones_go(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_jobs, "KEPT_FILES", 2)
    other = made(factories.open_study())
    jobs = [made(study) for _ in range(4)]
    assert set(study.exports.all()) == set(jobs[2:])
    assert files_in(study) == sorted(job.file for job in jobs[2:])
    assert export_files.sound_file(other) is not None
    assert actions().count("export_deleted") == 2


def test_a_deleted_export_takes_its_file_along(study: Study) -> None:
    kept, job = made(study), made(study)
    export_jobs.delete(job)
    export_jobs.delete(job)
    assert list(study.exports.all()) == [kept]
    assert files_in(study) == [kept.file]
    assert actions() == ["study_exported", "study_exported", "export_deleted"]


# ---- deleted data --------------------------------------------------------------------------------


@pytest.mark.usefixtures("worker")
def test_withdrawing_deletes_every_file_that_held_the_data(study: Study) -> None:
    run = finish(study)
    other = factories.open_study()
    finish(other)
    made(study)
    elsewhere = made(other)
    failed = export_jobs.ask(study, Wanted())
    ExportJob.objects.filter(pk=failed.pk).update(state=JobState.FAILED)
    withdraw(run.token)
    assert list(study.exports.all()) == [failed]
    assert not export_files.folder_of(study).exists()
    assert export_files.sound_file(elsewhere) is not None


@pytest.mark.usefixtures("worker")
def test_an_export_under_way_begins_anew_without_the_data(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = finish(study)
    job = export_jobs.ask(study, Wanted())
    store = export_jobs.store_result

    def late(*arguments: Any) -> bool:
        withdraw(run.token)
        return store(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(export_jobs, "store_result", late)
        assert not export_jobs.run_job(job.pk)
    assert files_in(study) == []
    job.refresh_from_db()
    assert job.state == JobState.QUEUED
    assert export_jobs.run_job(job.pk)
    job.refresh_from_db()
    assert job.rows["trials.csv"] == 0


@pytest.mark.usefixtures("worker")
def test_a_file_that_cannot_be_deleted_keeps_nobody_from_withdrawing(
    study: Study, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    run = finish(study)
    made(study)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", lambda path: Path("/dev/null/x").stat())
        withdraw(run.token)
    assert "could not be deleted" in caplog.text
    assert not study.exports.exists()
    assert len(files_in(study)) == 1, "the file that was left"
    under_way = export_jobs.ask(study, Wanted())
    assert leases.take(ExportJob, under_way.pk)
    making = export_files.making_folder(under_way)
    job = made(study)
    assert files_in(study) == sorted([making.name, job.file]), "the next export tidies up"


@pytest.mark.usefixtures("worker")
def test_a_participant_is_deleted_on_request_with_all_that_holds_the_data(study: Study) -> None:
    run, stays = finish(study), finish(study)
    code = run.participant.code
    made(study)
    ResultsJob.objects.create(
        study=study, kind="measures", asked_at=timezone.now(), content={"message": "old"}
    )
    deletion = deletion_of(study, code)
    assert (deletion.n_runs, deletion.n_trials, deletion.n_exports) == (1, 4, 1)
    assert Participant.objects.filter(code=code).exists()
    assert delete_participant(study, code) == deletion
    assert list(Enrolment.objects.filter(slot__study=study)) == [stays]
    assert not Participant.objects.filter(code=code).exists()
    assert not ResultsJob.objects.exists()
    assert (study.exports.count(), files_in(study)) == (0, [])
    [gone] = study.withdrawals.all()
    assert gone.n_trials == 4
    entry = AuditEntry.objects.get(action="participant_deleted")
    assert entry.details == {"runs": 1, "trials": 4, "exports": 1}
    assert code not in str(list(AuditEntry.objects.values()))


def test_nobody_elses_participant_is_deleted(study: Study) -> None:
    other = finish(factories.open_study())
    for code in (other.participant.code, "p-nobody"):
        with pytest.raises(StudyError, match="is none of study"):
            delete_participant(study, code)
    assert Participant.objects.count() == 1
    assert actions() == []


# ---- races ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("committed_db")
def test_many_workers_that_hear_one_bell_make_one_export() -> None:
    study = factories.open_study()
    progress.note_presence("worker")
    job = export_jobs.ask(study, Wanted())
    results = in_threads(lambda _: export_jobs.run_job(job.pk), 4)
    assert sorted(results) == [False, False, False, True]
    job.refresh_from_db()
    assert files_in(study) == [job.file]
