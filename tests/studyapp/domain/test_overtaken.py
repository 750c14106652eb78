"""What is made while somebody withdraws holds nothing of them, on either database."""

from __future__ import annotations

import json
import shutil
import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from studyapp.domain import export_files, export_jobs, overtaken, progress, results_jobs
from studyapp.domain.assignment import withdraw
from studyapp.enums import JobState, ResultsKind
from studyapp.models import Enrolment, ExportJob, ResultsJob, Study, Withdrawal
from tests import factories
from tests.studyapp.domain.test_results_jobs import finish
from tests.studyapp.domain.test_trials import in_threads


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path) -> None:
    """A data folder of its own, bells that nobody hears, and a worker that answers."""
    settings.DATA_DIR = tmp_path / "data"
    monkeypatch.setattr("studyapp.tasks.make_export.delay", lambda job_id: None)
    monkeypatch.setattr("studyapp.tasks.compute_results.delay", lambda job_id: None)
    progress.note_presence("worker")


def while_somebody_withdraws(
    monkeypatch: pytest.MonkeyPatch, run: Enrolment, jobs: Any, work: Any
) -> list[int]:
    """Call ``work`` after the withdrawal has deleted all files and before it commits.

    The withdrawal goes on once the work is about to store what it made; on SQLite, where nobody
    writes beside a withdrawal, after a moment. Returns how many withdrawals each attempt knew of.
    """
    deleted, about_to_store = threading.Event(), threading.Event()
    delete, store = export_files.delete_files, jobs.store_result
    tried: list[int] = []

    def delete_and_wait(study: Study) -> None:
        delete(study)
        deleted.set()
        about_to_store.wait(20 if connection.vendor == "postgresql" else 0.3)

    def announced(*arguments: Any) -> bool:
        tried.append(arguments[-1])
        about_to_store.set()
        return store(*arguments)

    def act(number: int) -> Any:
        if number == 0:
            return withdraw(run.token)
        assert deleted.wait(20)
        return work()

    with monkeypatch.context() as patch:
        patch.setattr(export_files, "delete_files", delete_and_wait)
        patch.setattr(jobs, "store_result", announced)
        assert in_threads(act, 2) == [None, True]
    return tried


def expected_tries() -> list[int]:
    return [0, 1] if connection.vendor == "postgresql" else [1]


@pytest.mark.usefixtures("committed_db")
def test_an_export_taken_during_a_withdrawal_holds_nothing_of_the_person(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = factories.open_study()
    run, stays = finish(study), finish(study)
    code = run.participant.code
    job = export_jobs.ask(study, export_jobs.Wanted())
    tried = while_somebody_withdraws(
        monkeypatch, run, export_jobs, lambda: export_jobs.run_job(job.pk)
    )
    job.refresh_from_db()
    path = export_files.sound_file(job)
    assert path is not None
    with zipfile.ZipFile(path) as archive:
        people = archive.read("participants.csv").decode()
    assert (code in people, stays.participant.code in people) == (False, True)
    assert (job.state, job.rows["trials.csv"], tried) == (JobState.DONE, 4, expected_tries())
    assert [each.name for each in path.parent.iterdir()] == [job.file]


@pytest.mark.usefixtures("committed_db")
@pytest.mark.parametrize("kind", [ResultsKind.MEASURES, ResultsKind.REPORT])
def test_results_taken_during_a_withdrawal_hold_nothing_of_the_person(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    study = factories.open_study()
    run = finish(study)
    code = run.participant.code
    finish(study)

    def work() -> bool:
        found = results_jobs.build(study, kind)
        assert found.job is not None
        return results_jobs.run_job(found.job.pk)

    tried = while_somebody_withdraws(monkeypatch, run, results_jobs, work)
    job = ResultsJob.objects.get()
    assert (job.state, job.n_trials, tried) == (JobState.DONE, 4, expected_tries())
    assert results_jobs.look(study, kind).is_current
    assert code not in json.dumps(job.content)


def note_withdrawal(study: Study, number: int) -> None:
    """What a withdrawal leaves that took no notice of the job."""
    Withdrawal.objects.create(
        study=study, enrolment_number=number, token_digest=str(number), n_trials=0
    )


def test_an_export_that_fails_because_somebody_withdraws_begins_anew(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = export_jobs.ask(study, export_jobs.Wanted())
    export, calls = export_jobs.export_study, []

    def disturbed(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            note_withdrawal(study, 10**9)
            raise FileNotFoundError(2, "No such file or directory")
        return export(*arguments, **options)

    monkeypatch.setattr(export_jobs, "export_study", disturbed)
    assert export_jobs.run_job(job.pk)
    job.refresh_from_db()
    assert (job.state, job.error, len(calls)) == (JobState.DONE, "", 2)


def test_an_export_that_is_overtaken_again_and_again_says_so(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = export_jobs.ask(study, export_jobs.Wanted())
    store = export_jobs.store_result

    def late(*arguments: Any) -> bool:
        note_withdrawal(study, 10**9 + study.withdrawals.count())
        return store(*arguments)

    monkeypatch.setattr(export_jobs, "store_result", late)
    assert not export_jobs.run_job(job.pk)
    job.refresh_from_db()
    assert (job.state, job.error) == (
        JobState.FAILED,
        "People withdrew while this was made, 5 times over: try again.",
    )
    assert study.withdrawals.count() == overtaken.MOST_TRIES
    assert list(export_files.folder_of(study).iterdir()) == []


def test_a_worker_that_lost_the_job_leaves_the_folder_of_the_next_alone(study: Study) -> None:
    job = ExportJob.objects.create(study=study, asked_at=study.created_at)
    lost = export_files.making_folder(job)
    held = export_files.making_folder(job)
    (held / "export.zip").write_bytes(b"half")
    shutil.rmtree(lost, ignore_errors=True)
    assert [path.name for path in held.iterdir()] == ["export.zip"]
    assert [path.name for path in held.parent.iterdir()] == [held.name]
