"""Deleting a whole study: everything goes but the line in the audit log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command

from studyapp.domain import deleting, results_jobs
from studyapp.domain.lifecycle import set_state
from studyapp.domain.results_report import folder_of
from studyapp.enums import AuditAction, ResultsKind, StudyState
from studyapp.errors import NotEditable
from studyapp.models import AuditEntry, Study
from tests import factories
from tests.studyapp.domain import exported

pytestmark = pytest.mark.django_db


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path) -> Study:
    settings.DATA_DIR = tmp_path / "data"
    exported.TickingClock(monkeypatch)
    monkeypatch.setattr("studyapp.tasks.compute_results.delay", lambda job_id: None)
    study = exported.play(exported.open_study(tmp_path))
    results_jobs.ask(study, ResultsKind.REPORT)
    folder_of(study).mkdir(parents=True)
    (folder_of(study) / "real-1.zip").write_bytes(b"a report")
    set_state(study, StudyState.CLOSED, allowed_from=(StudyState.OPEN,))
    study.refresh_from_db()
    return study


def rows_left() -> dict[str, int]:
    """Rows of every table of ours but the audit log, where there are any."""
    counts = {
        model.__name__: model._default_manager.count()
        for model in apps.get_app_config("studyapp").get_models()
        if model is not AuditEntry
    }
    return {name: n for name, n in counts.items() if n}


def test_nothing_of_a_study_stays(closed: Study, django_capture_on_commit_callbacks: Any) -> None:
    folder = folder_of(closed)
    with django_capture_on_commit_callbacks(execute=True):
        going = deleting.delete_study(closed)
    assert rows_left() == {}
    assert not folder.exists()
    assert going == deleting.Going(n_claims=6, n_participants=5, n_trials=19)
    entry = AuditEntry.objects.latest("pk")
    assert (entry.action, entry.study_slug) == (AuditAction.STUDY_DELETED, "original")
    assert entry.details == {"claims": 6, "participants": 5, "trials": 19}


def test_other_studies_keep_everything(closed: Study) -> None:
    other = factories.open_study(slug="other")
    factories.started(other)
    before = list(other.participants.values())
    deleting.delete_study(closed)
    assert list(other.participants.values()) == before
    assert list(Study.objects.values_list("slug", flat=True)) == ["other"]


@pytest.mark.parametrize("state", [StudyState.OPEN, StudyState.PAUSED])
def test_a_study_that_somebody_may_take_part_in_is_not_deleted(study: Study, state: str) -> None:
    Study.objects.filter(pk=study.pk).update(state=state)
    with pytest.raises(NotEditable, match="close it before"):
        deleting.delete_study(study)
    assert Study.objects.filter(pk=study.pk).exists()


def test_the_command_says_in_numbers_what_goes_and_wants_a_yes(
    closed: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        call_command("delete_study", "original")
    assert "6 claims, 5 participants and 19 trials" in capsys.readouterr().err
    assert Study.objects.filter(slug="original").exists()
    call_command("delete_study", "original", "--yes")
    assert capsys.readouterr().out == (
        "study original deleted: 6 claims, 5 participants, 19 trials\n"
    )
    assert not Study.objects.exists()
