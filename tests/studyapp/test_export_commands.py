"""The commands about exports and deleted participants: what they print, and when they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from studyapp.domain import export_files, export_jobs
from studyapp.domain.export_jobs import Wanted
from studyapp.domain.export_times import utc_text
from studyapp.enums import ExportVariant, JobState
from studyapp.models import AuditEntry, ExportJob, Participant, Study
from tests.studyapp.domain.test_results_jobs import finish

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def data_folder(settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path / "data"


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit status, output and errors of a command."""
    status = 0
    try:
        call_command(*words)
    except SystemExit as ended:
        status = int(ended.code or 0)
    told = capsys.readouterr()
    return status, told.out, told.err


def test_exports_lists_every_state(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    good = export_jobs.ask(study, Wanted())
    lost = export_jobs.ask(study, Wanted(ExportVariant.DEIDENTIFIED, simulated=True))
    failed = export_jobs.ask(study, Wanted())
    ExportJob.objects.filter(pk=failed.pk).update(state=JobState.FAILED, error="It\nbroke.")
    path = export_files.sound_file(lost)
    assert path is not None
    path.unlink()
    rows = sum(good.rows.values())  # the codebook of the other one has a row more
    asked = [utc_text(job.asked_at) for job in (failed, lost, good)]
    assert run(capsys, "exports", study.slug) == (
        0,
        f"{failed.pk}, {asked[0]}, raw, failed: It broke.\n"
        f"{lost.pk}, {asked[1]}, deidentified, with simulated runs, {rows + 1} rows, "
        f"{lost.n_bytes} bytes, sha256 {lost.sha256}, the file is missing or damaged\n"
        f"{good.pk}, {asked[2]}, raw, {rows} rows, {good.n_bytes} bytes, sha256 {good.sha256}, "
        f"{export_files.sound_file(good)}\n",
        "",
    )


def test_a_participant_is_deleted_only_after_a_yes(
    study: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    code = finish(study).participant.code
    export_jobs.ask(study, Wanted())
    told = "1 participant with 1 run and 4 trials, and 1 stored export file"
    assert run(capsys, "delete_participant", study.slug, code) == (
        1,
        "",
        f"This would delete {told}. Nothing was deleted: add --yes to do it.\n",
    )
    assert Participant.objects.count() == 1
    assert run(capsys, "delete_participant", study.slug, code, "--yes") == (
        0,
        f"deleted {told}\n",
        "",
    )
    assert not Participant.objects.exists()
    status, _, problem = run(capsys, "delete_participant", study.slug, code, "--yes")
    assert (status, problem) == (1, f"participant {code!r}: is none of study {study.slug}.\n")
    assert AuditEntry.objects.filter(action="participant_deleted").count() == 1


def test_an_option_without_its_effect_is_noted(
    study: Study, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ["export_study", study.slug, "-o", str(tmp_path / "x.zip"), "--no-bom"]
    status, _, noted = run(capsys, *words)
    note = "note: --no-bom is about the copies of --spreadsheet; it is ignored\n"
    assert (status, noted) == (0, note)
    entry = AuditEntry.objects.get(action="study_exported")
    assert (entry.details["variant"], entry.details["simulated"]) == ("raw", False)
