"""Results as jobs: which data they were made from, lost bells, failures, and withdrawal."""

from __future__ import annotations

import hashlib
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from analysis.errors import BadTable
from analysis.report import build_report
from studyapp.domain import leases, progress, results_jobs, results_report
from studyapp.domain.assignment import withdraw
from studyapp.domain.export import export_study
from studyapp.domain.results_version import data_version
from studyapp.domain.trials import record_decision, start_next_trial
from studyapp.enums import JobState, ResultsKind, RunKind, TrialState
from studyapp.errors import BrokerAway
from studyapp.models import Enrolment, ResultsJob, Study, Trial
from tests import factories
from tests.studyapp.domain.test_trials import in_threads

pytestmark = pytest.mark.django_db
MEASURES, REPORT = ResultsKind.MEASURES, ResultsKind.REPORT


@pytest.fixture(autouse=True)
def bells(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The jobs that were rung for; nothing is sent to a broker."""
    rung: list[int] = []
    monkeypatch.setattr("studyapp.tasks.compute_results.delay", rung.append)
    return rung


@pytest.fixture(autouse=True)
def data_folder(settings: Any, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path / "data"
    return settings.DATA_DIR


@pytest.fixture
def worker() -> None:
    progress.note_presence("worker")


def finish(study: Study, run_kind: str = RunKind.REAL, n_trials: int = 99) -> Enrolment:
    """Decide the first trials of a run, all of them by default; the next one stays open."""
    enrolment = factories.joined(study, run_kind)
    trial = start_next_trial(enrolment.token)
    while trial is not None and n_trials:
        trial = record_decision(enrolment.token, trial.code, {"decision": "supported"})
        n_trials -= 1
    return Enrolment.objects.get(pk=enrolment.pk)


# ---- the version of the data ---------------------------------------------------------------------


def test_the_version_changes_with_everything_that_the_measures_read(study: Study) -> None:
    seen = [data_version(study)]

    def is_new() -> bool:
        now = data_version(Study.objects.get(pk=study.pk))
        fresh = now.token not in [version.token for version in seen]
        seen.append(now)
        return fresh

    assert not is_new()
    run = factories.joined(study)
    assert is_new()
    trial = start_next_trial(run.token)
    assert trial is not None
    assert is_new()
    record_decision(run.token, trial.code, {"decision": "supported"})
    assert is_new()
    other = finish(study)
    assert is_new()
    Enrolment.objects.filter(pk=other.pk).update(end_reason="returned")
    assert is_new()
    Trial.objects.filter(pk=trial.pk).update(state=TrialState.VOID)
    assert is_new()
    Study.objects.filter(pk=study.pk).update(preregistered={"time_cap_s": 60})
    assert is_new()
    withdraw(other.token)
    assert is_new()
    assert not is_new()


def test_one_trial_voided_for_another_is_another_version(study: Study) -> None:
    run = finish(study)
    first, second = Trial.objects.filter(enrolment=run).order_by("pk")[:2]
    Trial.objects.filter(pk=first.pk).update(state=TrialState.VOID)
    before = data_version(study)
    Trial.objects.filter(pk=first.pk).update(state=TrialState.COMPLETED)
    Trial.objects.filter(pk=second.pk).update(state=TrialState.VOID)
    after = data_version(study)
    assert before.n_trials == after.n_trials == 3
    assert before.token != after.token


def test_the_version_counts_the_kinds_of_run_that_are_asked_for(study: Study) -> None:
    finish(study)
    finish(study, RunKind.PILOT)
    before = data_version(study)
    finish(study, RunKind.SIMULATED)
    assert data_version(study) == before
    assert before.n_trials == 4
    assert data_version(study, include_simulated=True).n_trials == 8


def test_the_version_is_one_query(study: Study) -> None:
    finish(study)
    with CaptureQueriesContext(connection) as queries:
        data_version(study)
    assert len(queries) == 1


# ---- asking --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("worker")
def test_a_result_is_asked_for_once_and_kept_until_the_data_change(
    study: Study, bells: list[int]
) -> None:
    finish(study)
    first = results_jobs.ask(study, MEASURES)
    assert (first.is_under_way, first.content, len(bells)) == (True, None, 1)
    assert results_jobs.ask(study, MEASURES).is_under_way
    assert len(bells) == 1
    assert results_jobs.run_job(bells[0])
    done = results_jobs.ask(study, MEASURES)
    assert (done.is_current, done.is_under_way, len(bells)) == (True, False, 1)
    assert done.job is not None
    assert done.job.n_trials == 4
    finish(study, n_trials=1)
    looked = results_jobs.look(study, MEASURES)
    assert (looked.is_current, looked.is_under_way) == (False, False)
    stale = results_jobs.ask(study, MEASURES)
    assert (stale.is_current, stale.is_under_way, len(bells)) == (False, True, 2)
    assert stale.content == done.content
    assert results_jobs.run_job(bells[1])
    fresh = results_jobs.look(study, MEASURES)
    assert fresh.is_current
    assert fresh.content != done.content


@pytest.mark.usefixtures("worker")
def test_the_version_stored_is_that_of_the_data_read_not_of_the_asking(
    study: Study, bells: list[int]
) -> None:
    finish(study)
    results_jobs.ask(study, MEASURES)
    finish(study)
    results_jobs.run_job(bells[0])
    done = results_jobs.ask(study, MEASURES)
    assert (done.is_current, done.is_under_way) == (True, False)
    assert done.job is not None
    assert done.job.n_trials == 8


@pytest.mark.usefixtures("worker")
def test_results_with_and_without_simulated_runs_are_kept_apart(
    study: Study, bells: list[int]
) -> None:
    finish(study)
    finish(study, RunKind.SIMULATED)
    for with_simulated in (False, True):
        results_jobs.ask(study, MEASURES, with_simulated)
    for job_id in bells:
        results_jobs.run_job(job_id)
    contents = [results_jobs.look(study, MEASURES, flag).content for flag in (False, True)]
    assert [content and content["n_trials"] for content in contents] == [4, 8]


def test_without_a_worker_a_small_study_is_computed_at_once_but_for_the_comparison(
    study: Study, bells: list[int]
) -> None:
    finish(study)
    done = results_jobs.ask(study, MEASURES)
    assert (done.is_current, done.is_partial, done.is_under_way, bells) == (True, True, False, [])
    assert not results_jobs.ask(study, MEASURES).is_under_way
    progress.note_presence("worker")
    assert results_jobs.ask(study, MEASURES).is_under_way
    assert results_jobs.run_job(bells[0])
    whole = results_jobs.ask(study, MEASURES)
    assert (whole.is_current, whole.is_partial, whole.is_under_way) == (True, False, False)
    assert whole.content is not None
    assert done.content is not None
    assert whole.content["comparison"]["rows"]
    assert whole.content | {"comparison": None} == done.content


def test_without_a_worker_a_study_without_trials_is_no_partial_result(study: Study) -> None:
    assert results_jobs.ask(study, MEASURES).content is not None
    progress.note_presence("worker")
    assert not results_jobs.ask(study, MEASURES).is_under_way


def test_without_a_worker_a_large_study_and_every_report_wait(
    study: Study, bells: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    finish(study)
    assert results_jobs.build(study, REPORT).is_under_way
    monkeypatch.setattr(results_jobs, "SMALL", 4)
    waiting = results_jobs.ask(study, MEASURES)
    assert (waiting.is_under_way, waiting.is_answered) == (True, False)
    assert len(bells) == 2


@pytest.mark.usefixtures("worker")
def test_an_absent_broker_is_said_and_the_job_kept(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(job_id: int) -> None:
        raise OSError("connection refused")

    monkeypatch.setattr("studyapp.tasks.compute_results.delay", away)
    asked = results_jobs.ask(study, MEASURES)
    assert asked.is_under_way
    assert "broker cannot be reached (connection refused)" in asked.problems[0]
    with pytest.raises(BrokerAway):
        results_jobs.ring_due()


# ---- lost bells, lost workers, failures ----------------------------------------------------------


@pytest.mark.usefixtures("worker")
def test_a_lost_bell_rings_again_after_a_lease_period(study: Study, bells: list[int]) -> None:
    results_jobs.ask(study, MEASURES)
    assert results_jobs.ring_due() == 0
    ResultsJob.objects.update(rung_at=timezone.now() - 2 * leases.lease_period())
    assert results_jobs.ring_due() == 1
    ResultsJob.objects.update(rung_at=timezone.now() - 2 * leases.lease_period())
    results_jobs.look(study, MEASURES)
    assert len(bells) == 3


@pytest.mark.usefixtures("worker")
def test_a_second_delivery_ends_at_once(study: Study, bells: list[int]) -> None:
    results_jobs.ask(study, MEASURES)
    assert leases.take(ResultsJob, bells[0])
    assert not results_jobs.run_job(bells[0])
    assert not results_jobs.run_job(bells[0] + 1)


@pytest.mark.usefixtures("worker")
def test_the_job_of_a_dead_worker_is_taken_up_again(study: Study, bells: list[int]) -> None:
    finish(study)
    results_jobs.ask(study, MEASURES)
    lost = leases.take(ResultsJob, bells[0])
    assert lost is not None
    ResultsJob.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert results_jobs.look(study, MEASURES).is_under_way
    assert len(bells) == 2
    assert results_jobs.run_job(bells[1])
    assert not results_jobs.fail_job(lost, "too late")
    assert results_jobs.look(study, MEASURES).is_current


@pytest.mark.usefixtures("worker")
def test_a_failure_keeps_its_reason_and_the_earlier_result(
    study: Study, bells: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    finish(study)
    results_jobs.ask(study, MEASURES)
    results_jobs.run_job(bells[0])
    earlier = results_jobs.look(study, MEASURES).content
    finish(study)
    results_jobs.ask(study, MEASURES)
    with monkeypatch.context() as patch:
        patch.setattr(results_jobs, "results_content", lambda *_: 1 / 0)
        assert not results_jobs.run_job(bells[1])
    failed = results_jobs.ask(study, MEASURES)
    assert failed.has_failed
    assert failed.job is not None
    assert failed.job.error == "ZeroDivisionError: division by zero"
    assert failed.content == earlier
    assert len(bells) == 2, "a failed job is not asked for again while its data stay the same"
    assert results_jobs.build(study, MEASURES).is_under_way
    assert results_jobs.run_job(bells[2])
    again = results_jobs.look(study, MEASURES)
    assert again.is_current
    assert again.job is not None
    assert (again.job.error, again.job.n_attempts) == ("", 1)


@pytest.mark.usefixtures("worker")
def test_other_data_get_another_try(
    study: Study, bells: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise BadTable(["trials.csv: odd", "and\0 half \ud800"])

    results_jobs.ask(study, MEASURES)
    monkeypatch.setattr(results_jobs, "results_content", refuse)
    results_jobs.run_job(bells[0])
    failed = results_jobs.ask(study, MEASURES)
    assert failed.job is not None
    assert failed.job.error == "trials.csv: odd\nand\\0 half \\ud800"
    finish(study)
    assert results_jobs.ask(study, MEASURES).is_under_way


# ---- the report ----------------------------------------------------------------------------------


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.usefixtures("worker")
def test_the_report_is_that_of_the_export_under_one_name(
    study: Study, bells: list[int], tmp_path: Path
) -> None:
    finish(study)
    assert results_jobs.look(study, REPORT).job is None
    results_jobs.build(study, REPORT)
    assert results_jobs.run_job(bells[0])
    content = results_jobs.look(study, REPORT).content
    path = results_report.report_path(study, content)
    assert path is not None
    assert content is not None
    assert files_in(path.parent) == [path.name]
    export_study(study, tmp_path / f"{study.slug}.zip")
    build_report([tmp_path / f"{study.slug}.zip"], tmp_path / "report")
    report = tmp_path / "report"
    expected = {
        file.relative_to(report).as_posix(): file.read_bytes()
        for file in report.rglob("*")
        if file.is_file()
    }
    with zipfile.ZipFile(path) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == expected
    assert content == {
        "file": path.name,
        "n_trials": 4,
        "n_files": len(expected),
        "n_bytes": path.stat().st_size,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }


@pytest.mark.usefixtures("worker")
def test_the_same_data_give_the_same_bytes_and_one_file_stays(
    study: Study, bells: list[int]
) -> None:
    finish(study)
    sums = []
    for number in range(2):
        results_jobs.build(study, REPORT)
        results_jobs.run_job(bells[number])
        content = results_jobs.look(study, REPORT).content
        assert content is not None
        sums.append(content["sha256"])
    assert sums[0] == sums[1]
    assert files_in(results_report.folder_of(study)) == [content["file"]]


@pytest.mark.usefixtures("worker")
def test_a_report_that_fails_leaves_the_earlier_one_and_nothing_half_written(
    study: Study, bells: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    finish(study)
    results_jobs.build(study, REPORT)
    results_jobs.run_job(bells[0])
    earlier = results_jobs.look(study, REPORT).content
    assert earlier is not None

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    results_jobs.build(study, REPORT)
    monkeypatch.setattr(results_report, "_zip", full)
    assert not results_jobs.run_job(bells[1])
    failed = results_jobs.look(study, REPORT)
    assert failed.job is not None
    assert failed.job.error == "The report cannot be written (No space left on device)."
    assert failed.content == earlier
    assert files_in(results_report.folder_of(study)) == [earlier["file"]]


@pytest.mark.usefixtures("worker")
def test_a_worker_that_lost_its_lease_leaves_no_file(
    study: Study, bells: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    finish(study)
    results_jobs.build(study, REPORT)
    made = results_report.build

    def slowly(*arguments: Any) -> Any:
        result = made(*arguments)
        ResultsJob.objects.update(lease_token="another worker")
        return result

    monkeypatch.setattr(results_report, "build", slowly)
    assert not results_jobs.run_job(bells[0])
    assert results_jobs.look(study, REPORT).content is None
    assert files_in(results_report.folder_of(study)) == []


@pytest.mark.usefixtures("worker")
def test_the_next_build_removes_what_a_killed_worker_left(study: Study, bells: list[int]) -> None:
    finish(study)
    folder = results_report.folder_of(study)
    # As a process leaves them that dies in the middle: nothing of Python's cleaning up is run.
    for name in ("making-real-abc", "making-all-def", "making-old"):
        (folder / name / "report").mkdir(parents=True)
        (folder / name / "report" / "trials.csv").write_text("somebody's answers")
    results_jobs.build(study, REPORT)
    assert results_jobs.run_job(bells[0])
    content = results_jobs.look(study, REPORT).content
    assert content is not None
    # The report with simulated runs has a lease of its own: its worker may be alive.
    assert sorted(path.name for path in folder.iterdir()) == ["making-all-def", content["file"]]
    results_jobs.build(study, REPORT, with_simulated=True)
    assert results_jobs.run_job(bells[1])
    assert not list(folder.glob("making-*"))


# ---- withdrawal ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("worker")
def test_withdrawing_deletes_every_result_that_held_the_data(
    study: Study, bells: list[int]
) -> None:
    run = finish(study)
    other = factories.open_study()
    finish(other)
    for one in (study, other):
        results_jobs.ask(one, MEASURES)
        results_jobs.build(one, REPORT)
    for job_id in bells:
        assert results_jobs.run_job(job_id)
    withdraw(run.token)
    assert not ResultsJob.objects.filter(study=study).exists()
    assert not results_report.folder_of(study).exists()
    assert ResultsJob.objects.filter(study=other, state=JobState.DONE).count() == 2
    content = results_jobs.look(other, REPORT).content
    assert results_report.report_path(other, content) is not None


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize("kind", [MEASURES, REPORT])
def test_a_job_under_way_keeps_nothing_of_a_person_who_withdraws_meanwhile(
    study: Study, bells: list[int], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    run = finish(study)
    results_jobs.build(study, kind)
    stored = results_jobs.store_result

    def late(*arguments: Any) -> bool:
        withdraw(run.token)
        return stored(*arguments)

    monkeypatch.setattr(results_jobs, "store_result", late)
    assert not results_jobs.run_job(bells[0])
    assert not ResultsJob.objects.exists()
    assert not list(results_report.folder_of(study).glob("*"))


@pytest.mark.usefixtures("worker")
def test_a_file_that_cannot_be_deleted_keeps_nobody_from_withdrawing(
    study: Study,
    bells: list[int],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    run, stays = finish(study), finish(study)
    results_jobs.build(study, REPORT)
    assert results_jobs.run_job(bells[0])
    with monkeypatch.context() as patch:
        patch.setattr(results_report.shutil, "rmtree", lambda path: Path("/dev/null/x").stat())
        withdraw(run.token)
    assert list(Enrolment.objects.filter(slot__study=study)) == [stays]
    assert "could not be deleted" in caplog.text
    assert results_jobs.look(study, REPORT).content is None
    results_jobs.build(study, REPORT)
    assert results_jobs.run_job(bells[1])
    content = results_jobs.look(study, REPORT).content
    assert content is not None
    assert files_in(results_report.folder_of(study)) == [content["file"]]


# ---- races ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("committed_db")
def test_many_who_ask_at_once_make_one_job_with_one_bell(bells: list[int]) -> None:
    study = factories.open_study()
    progress.note_presence("worker")
    asked = in_threads(lambda _: results_jobs.ask(study, MEASURES).is_under_way, 6)
    assert asked == [True] * 6
    assert ResultsJob.objects.count() == 1
    taken = in_threads(lambda _: leases.take(ResultsJob, bells[0]) is not None, 6)
    assert sorted(taken) == [False] * 5 + [True]
