"""How an export is written: times, whole files only, one snapshot, the command."""

from __future__ import annotations

import hashlib
import threading
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from analysis.load import read_export
from studyapp.domain import export, export_archive, export_rows
from studyapp.domain.export import export_study
from studyapp.domain.export_snapshot import read_snapshot
from studyapp.domain.export_times import Replay, replay, utc_text
from studyapp.enums import TrialState
from studyapp.errors import StudyError
from studyapp.models import Participant, Study, Trial
from tests import factories
from tests.studyapp.domain import exported
from tests.studyapp.domain.exported import table


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> exported.TickingClock:
    return exported.TickingClock(monkeypatch)


@pytest.fixture
def played(db: None, clock: exported.TickingClock, tmp_path: Path) -> Study:
    return exported.play(exported.open_study(tmp_path))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.zip"


# ---- times ---------------------------------------------------------------------------------------

T0 = datetime(2026, 3, 1, 12, 0, 0, 900, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        # hidden 2-5 (a second hiding in between is one), a lone sight at 1 counts for nothing
        (
            [
                ("trial_started", None, 0),
                ("reveal", 1, 0),
                ("page_visible", None, 1),
                ("page_hidden", None, 2),
                ("page_hidden", None, 3),
                ("page_visible", None, 5),
                ("reveal", 2, 6),
                ("decision_submitted", None, 10),
            ],
            Replay(2, at(10).replace(microsecond=0), 3000, 7000),
        ),
        # hidden until the decision, and after the decision nothing counts
        (
            [
                ("trial_started", None, 0),
                ("reveal", 1, 0),
                ("page_hidden", None, 4),
                ("decision_submitted", None, 9),
                ("decision_submitted", None, 20),
            ],
            Replay(1, at(9).replace(microsecond=0), 5000, 4000),
        ),
        # a clock that is set back by 5 s stands still
        (
            [
                ("trial_started", None, 0),
                ("reveal", 1, 0),
                ("reveal", 2, 8),
                ("decision_submitted", None, 3),
            ],
            Replay(2, at(8).replace(microsecond=0), 0, 8000),
        ),
        # no decision: no times
        ([("trial_started", None, 0), ("reveal", 1, 0), ("page_hidden", None, 3)], Replay(1)),
    ],
)
def test_times_follow_the_rules_for_hidden_pages(events: list, expected: Replay):
    assert replay((kind, step, at(seconds)) for kind, step, seconds in events) == expected


def test_an_export_loads_although_the_server_clock_was_set_back(
    db: None, clock: exported.TickingClock, tmp_path: Path, path: Path
):
    study = exported.open_study(tmp_path)
    enrolment = exported.sit(study, n_trials=3)
    clock.now -= timedelta(minutes=5)
    trial = Trial.objects.get(state=TrialState.OPEN)
    exported.record_decision(enrolment.token, trial.code, {"decision": "supported"})
    export_study(study, path)
    trials = read_export(path).trials.set_index("trial_id")
    assert trials.loc[trial.code, "active_ms"] == 0
    assert trials.loc[trial.code, "trial_status"] == "completed"


def test_times_are_written_in_utc_with_cut_milliseconds():
    moment = datetime(2026, 7, 1, 1, 2, 3, 999999, tzinfo=UTC)
    assert utc_text(moment) == "2026-07-01T01:02:03.999Z"
    from zoneinfo import ZoneInfo

    assert utc_text(moment.astimezone(ZoneInfo("Asia/Tokyo"))) == "2026-07-01T01:02:03.999Z"
    assert utc_text(None) is None


# ---- the file ------------------------------------------------------------------------------------


def test_the_same_data_give_the_same_bytes(played: Study, tmp_path: Path):
    first = export_study(played, tmp_path / "a.zip", include_simulated=True)
    second = export_study(played, tmp_path / "b.zip", include_simulated=True)
    assert first.sha256 == second.sha256
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_a_failed_export_leaves_the_old_file_and_no_part(
    played: Study, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path.write_bytes(b"an earlier export")
    before = sorted(tmp_path.iterdir())

    def breaks(*_: object) -> object:
        yield {"event_id": "e1"}
        raise RuntimeError("in mid-file")

    monkeypatch.setattr(export, "event_rows", breaks)
    with pytest.raises((RuntimeError, KeyError)):
        export_study(played, path)
    assert path.read_bytes() == b"an earlier export"
    assert sorted(tmp_path.iterdir()) == before


def test_an_export_replaces_an_older_one_when_it_is_complete(played: Study, path: Path):
    path.write_bytes(b"an earlier export")
    export_study(played, path)
    assert zipfile.is_zipfile(path)


@pytest.mark.parametrize("where", ["missing/out.zip", "."])
def test_a_path_that_cannot_be_written_is_refused(db: None, tmp_path: Path, where: str):
    study = factories.draft_study()
    with pytest.raises(StudyError, match=r"does not exist; create it|is a folder"):
        export_study(study, tmp_path / where)


def test_a_full_disk_is_reported_in_words(db: None, path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object) -> dict[str, int]:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(export, "_write_zip", full)
    with pytest.raises(StudyError, match=r"cannot be written \(No space left on device\)"):
        export_study(factories.draft_study(), path)
    assert not path.exists()


def test_progress_counts_every_row(played: Study, path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(export_archive, "_REPORT_EVERY", 7)
    reported: list[int] = []
    summary = export_study(played, path, advance=reported.append)
    assert sum(reported) == sum(summary.rows.values())
    assert max(reported) <= 7


# ---- load on the database ------------------------------------------------------------------------


def test_the_number_of_queries_does_not_grow_with_the_trials(
    db: None, tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(export_rows, "CHUNK", 3)
    study = exported.open_study(tmp_path)
    exported.sit(study, n_trials=1)
    with CaptureQueriesContext(connection) as small:
        few = export_study(study, path)
    for _ in range(4):
        exported.sit(study)
    with CaptureQueriesContext(connection) as large:
        many = export_study(study, path)
    assert many.rows["trials.csv"] > 5 * few.rows["trials.csv"]
    assert len(large) == len(small) <= 30


def test_an_export_is_one_snapshot_and_keeps_nobody_waiting(
    committed_db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """While the export is between two tables somebody writes: it succeeds, and is not exported."""
    study = exported.open_study(tmp_path)
    exported.sit(study)
    written = threading.Event()

    def somebody_joins() -> None:
        try:
            exported.sit(Study.objects.get(pk=study.pk), n_trials=1)
            written.set()
        finally:
            connections.close_all()

    rows = export.participant_rows

    def rows_after_a_write(*arguments: object) -> object:
        yield from rows(*arguments)
        writer = threading.Thread(target=somebody_joins)
        writer.start()
        writer.join(timeout=20)

    monkeypatch.setattr(export, "participant_rows", rows_after_a_write)
    path = tmp_path / "out.zip"
    summary = export_study(study, path)
    assert written.is_set()
    assert Participant.objects.count() == 2
    assert summary.rows["participants.csv"] == 1
    assert {row["participant_id"] for row in table(path, "trials.csv")} == {
        row["participant_id"] for row in table(path, "participants.csv")
    }


def test_a_snapshot_leaves_the_connection_as_it_was(committed_db: None):
    mode = getattr(connection, "transaction_mode", None)
    with read_snapshot():
        assert connection.in_atomic_block
        list(Study.objects.all())
    assert not connection.in_atomic_block
    assert getattr(connection, "transaction_mode", None) == mode
    with pytest.raises(ZeroDivisionError), read_snapshot():
        raise ZeroDivisionError
    assert not connection.in_atomic_block
    factories.draft_study("written-after-a-snapshot")
    assert Study.objects.filter(slug="written-after-a-snapshot").exists()


# ---- the command ---------------------------------------------------------------------------------


def test_the_command_prints_row_counts_and_checksum(
    played: Study, path: Path, capsys: pytest.CaptureFixture[str]
):
    call_command("export_study", "original", "-o", str(path), "--simulated")
    printed = capsys.readouterr()
    assert "trials.csv: 19 rows" in printed.out
    assert f"sha256 {hashlib.sha256(path.read_bytes()).hexdigest()}" in printed.out
    assert printed.err == ""


def test_the_command_refuses_with_one_line_and_status_1(
    db: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    factories.draft_study("there")
    for slug, target, said in (
        ("missing", tmp_path / "x.zip", "no study 'missing'"),
        ("there", tmp_path / "no" / "x.zip", "does not exist; create it first"),
    ):
        with pytest.raises(SystemExit) as ended:
            call_command("export_study", slug, "-o", str(target))
        assert ended.value.code == 1
        error = capsys.readouterr().err
        assert said in error
        assert error.count("\n") == 1
