"""The export: complete, readable by the analysis, deterministic, never partial."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import threading
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import pytest
from django.core.management import call_command
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from analysis.columns import FORMAT_VERSION as ANALYSIS_FORMAT_VERSION
from analysis.columns import codebook, names_of
from analysis.load import read_export
from rankers import formats
from studyapp.domain import assignment, export, export_rows
from studyapp.domain.export import export_study
from studyapp.domain.export_settings import FORMAT_VERSION
from studyapp.domain.export_snapshot import read_snapshot
from studyapp.domain.export_times import Replay, replay, utc_text
from studyapp.enums import EnrolmentState, RunKind, TrialState
from studyapp.errors import StudyError
from studyapp.models import Claim, Enrolment, Event, Participant, Study, Trial
from tests import factories
from tests.studyapp.domain import exported

MEMBERS = [
    "README.txt",
    "study.json",
    "claims.csv",
    "claims.jsonl",
    "rankings.jsonl",
    "participants.csv",
    "trials.csv",
    "events.csv",
    "codebook.csv",
]


def table(path: Path, name: str) -> list[dict[str, str]]:
    """Rows of a CSV file of an export, read by Python's own reader."""
    return list(csv.DictReader(io.StringIO(exported.member(path, name), newline="")))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> exported.TickingClock:
    return exported.TickingClock(monkeypatch)


@pytest.fixture
def played(db: None, clock: exported.TickingClock, tmp_path: Path) -> Study:
    """Two finished people, one in mid-trial, one who withdrew, a pilot and a simulated reader."""
    study = exported.open_study(tmp_path)
    exported.sit(study)
    exported.sit(study)
    exported.sit(study, n_trials=2)
    gone = exported.sit(study, n_trials=1)
    assignment.withdraw(gone.token)
    exported.sit(study, RunKind.PILOT)
    exported.sit(study, RunKind.SIMULATED)
    return study


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.zip"


# ---- what is in it -------------------------------------------------------------------------------


def test_the_zip_holds_every_file_and_the_summary_counts_its_rows(played: Study, path: Path):
    summary = export_study(played, path)
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == MEMBERS
        assert archive.testzip() is None
    assert summary.rows == {
        "claims.csv": 6,
        "claims.jsonl": 6,
        "rankings.jsonl": 12,
        "participants.csv": 4,
        "trials.csv": 4 + 4 + 3 + 4,
        "events.csv": len(table(path, "events.csv")),
        "codebook.csv": len(codebook()),
    }
    assert summary.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert summary.n_bytes == path.stat().st_size


@pytest.mark.parametrize("include_simulated", [False, True])
def test_the_analysis_loads_it_without_any_refusal(
    played: Study, path: Path, include_simulated: bool
):
    export_study(played, path, include_simulated)
    tables = read_export(path)
    n_runs = 5 if include_simulated else 4
    assert tables.trials["participant_id"].nunique() == n_runs
    assert tables.settings.trials_per_participant == 4
    assert tables.settings.conditions == ("ranking", "selection")
    assert tables.settings.time_cap_s == 300
    # The reader replays n_read, hidden and active time from the events and compares; the study
    # must give it something to compare.
    assert (tables.trials["hidden_ms"].fillna(0) > 0).any()
    assert set(tables.trials["trial_status"]) == {"completed", "incomplete"}
    assert tables.trials["msr"].isna().any()
    assert tables.trials["msr"].notna().any()


def test_simulated_runs_come_only_when_asked_for_and_pilots_are_marked(played: Study, path: Path):
    export_study(played, path)
    assert {row["simulated"] for row in table(path, "trials.csv")} == {"false"}
    assert {row["pilot"] for row in table(path, "participants.csv")} == {"true", "false"}
    export_study(played, path, include_simulated=True)
    for name in ("trials.csv", "participants.csv"):
        simulated = [row for row in table(path, name) if row["simulated"] == "true"]
        assert len({row["participant_id"] for row in simulated}) == 1
        assert {row["pilot"] for row in simulated} == {"false"}


def test_a_trial_row_says_what_happened(played: Study, path: Path):
    export_study(played, path)
    trial = Trial.objects.filter(condition__name="ranking", state="completed").order_by("pk")[1]
    row = next(row for row in table(path, "trials.csv") if row["trial_id"] == trial.code)
    slot = trial.enrolment.slot
    events = list(Event.objects.filter(trial=trial).order_by("seq"))
    wall = export_rows.replay((e.kind, e.step, e.server_at) for e in events)
    assert row == {
        "study_id": "original",
        "trial_id": trial.code,
        "participant_id": trial.participant.code,
        "participant_status": "completed",
        "replication": str(slot.replication),
        "slot": str(slot.number),
        "subset": str(trial.claim.subset.number),
        "claim_id": trial.claim.claim_id,
        "condition": "ranking",
        "interface": "incremental",
        "trial_kind": "main",
        "trial_status": "completed",
        "block": str(trial.block),
        "position": str(trial.position),
        "gold_label": trial.claim.label,
        "decision": trial.verification_answer.decision,
        "n_available": "5",
        "shown_order": "s3|s0|s2|s1|s4",
        "gold_sets": ";".join(
            "|".join(f"s{n}" for n in gold.members)
            for gold in trial.claim.gold_sets.order_by("position")
        ),
        "n_read": str(trial.verification_answer.n_shown),
        "gold_min_size": str(trial.claim.gold_min_size),
        "msr": str(trial.stimulus["msr"]),
        "started_at": events[0].server_at.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z",
        "decided_at": events[-1].server_at.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z",
        "hidden_ms": str(wall.hidden_ms),
        "active_ms": str(wall.active_ms),
        "confidence": "",
        "simulated": "false",
        "pilot": "false",
        "study_version": row["study_version"],
        "reason": "",
        "void_reason": "",
    }
    assert row["study_version"].startswith("v")
    assert {r["study_version"] for r in table(path, "trials.csv")} == {row["study_version"]}


def test_an_event_row_names_the_sentence_that_was_revealed(played: Study, path: Path):
    export_study(played, path)
    trial = Trial.objects.filter(condition__name="ranking", n_steps__gte=2).order_by("pk")[0]
    rows = [row for row in table(path, "events.csv") if row["trial_id"] == trial.code]
    assert [row["seq"] for row in rows] == [str(n) for n in range(trial.n_events)]
    assert [(row["event_type"], row["rank"], row["sentence_id"]) for row in rows[:3]] == [
        ("trial_started", "", ""),
        ("reveal", "1", "s3"),
        ("reveal", "2", "s0"),
    ]
    assert [row["client_ms"] for row in rows[:3]] == ["0", "0", "2000"]


def test_a_trial_that_is_not_completed_has_no_decision_and_no_times(played: Study, path: Path):
    completed = Trial.objects.filter(state=TrialState.COMPLETED).order_by("pk").first()
    Trial.objects.filter(pk=completed.pk).update(state=TrialState.VOID, void_reason="power cut")
    export_study(played, path)
    rows = {row["trial_id"]: row for row in table(path, "trials.csv")}
    void = rows[completed.code]
    still_open = rows[Trial.objects.get(state=TrialState.OPEN).code]
    assert (void["trial_status"], void["void_reason"]) == ("void", "power cut")
    assert still_open["trial_status"] == "incomplete"
    for row in (void, still_open):
        assert [row[name] for name in ("decision", "decided_at", "hidden_ms", "active_ms")] == [
            "",
            "",
            "",
            "",
        ]
    read_export(path)


def test_a_dropped_out_person_is_marked_with_the_reason(
    db: None, clock: exported.TickingClock, tmp_path: Path, path: Path
):
    study = exported.open_study(tmp_path, lease_minutes=1)
    people = [exported.sit(study, n_trials=1) for _ in range(study.slots.count())]
    clock.now += timedelta(hours=1)
    exported.sit(study)
    export_study(study, path)
    status = {
        row["participant_id"]: (row["participant_status"], row["end_reason"], row["n_trials"])
        for row in table(path, "participants.csv")
    }
    assert status[people[0].participant.code] == ("dropped_out", "timed_out", "2")
    assert status[people[1].participant.code] == ("active", "", "2")
    tables = read_export(path)
    assert (tables.trials["participant_status"] == "dropped_out").sum() == 2


def test_every_state_of_a_run_has_a_status_and_reasons_come_first():
    statuses = {state: export_rows.participant_status(state, "") for state in EnrolmentState.values}
    assert statuses["timed_out"] == "dropped_out"
    assert statuses["consented"] == statuses["active"] == "active"
    assert export_rows.participant_status("timed_out", "returned") == "dropped_out"
    assert export_rows.participant_status("completed", "paid_partial") == "dropped_out"
    assert export_rows.participant_status("completed", "rejected") == "excluded"
    assert export_rows.participant_status("completed", "failed_checks") == "excluded"
    assert set(export_rows.TRIAL_STATUS) == set(TrialState)


def test_nothing_names_a_person_and_nobody_who_withdrew_is_there(
    db: None, clock: exported.TickingClock, tmp_path: Path, path: Path
):
    study = exported.open_study(tmp_path)
    stayed = exported.sit(study)
    gone = exported.sit(study, n_trials=2)
    gone_code = gone.participant.code
    assignment.withdraw(gone.token)
    export_study(study, path)
    everything = "".join(exported.member(path, name) for name in MEMBERS)
    assert stayed.participant.code in everything
    for secret in (
        gone_code,
        stayed.token,
        stayed.join_nonce,
        gone.token,
        study.code,
        "SECRET-CODE",
    ):
        assert secret not in everything
    settings = exported.records(path, "study.json")[0]
    assert settings["withdrawn"] == {
        "real": {"participants": 1, "trials": 3},
        "pilot": {"participants": 0, "trials": 0},
        "simulated": {"participants": 0, "trials": 0},
    }


def test_texts_survive_the_tables_as_they_are(played: Study, path: Path):
    export_study(played, path)
    by_id = {row["claim_id"]: row for row in table(path, "claims.csv")}
    with zipfile.ZipFile(path) as archive, archive.open("claims.csv") as file:
        frame = pd.read_csv(file, dtype=str, keep_default_na=False)
    for claim in exported.CLAIMS:
        assert by_id[claim["id"]]["claim"] == claim["claim"]
    assert list(frame["claim_id"]) == [claim["id"] for claim in exported.CLAIMS]
    assert list(frame["claim"]) == [claim["claim"] for claim in exported.CLAIMS]
    assert by_id["001"]["source"] == "Somewhere"
    assert by_id["001"]["license"] == "CC BY 4.0"
    assert by_id["NA"]["license"] == ""


def test_claims_come_out_exactly_as_they_went_in(played: Study, path: Path, tmp_path: Path):
    export_study(played, path)
    again = tmp_path / "claims.jsonl"
    again.write_text(exported.member(path, "claims.jsonl"), encoding="utf-8")
    rows = list(formats.read_rows(again, "interchange"))
    assert [row.problems + row.notices for row in rows] == [()] * 6
    digests = list(Claim.objects.filter(study=played).order_by("position").values_list("digest"))
    assert [(formats.claim_digest(row.claim),) for row in rows] == digests
    original = list(formats.read_rows(tmp_path / "claims-to-import.jsonl", "interchange"))
    assert [row.claim for row in rows] == [row.claim for row in original]


def test_results_are_ranking_records_with_their_condition(played: Study, path: Path):
    export_study(played, path)
    results = exported.records(path, "rankings.jsonl")
    assert [(r["condition"], r["id"]) for r in results] == [
        (condition, claim["id"])
        for condition in ("ranking", "selection")
        for claim in exported.CLAIMS
    ]
    ranking, selection = results[0], results[6]
    assert ranking == {
        "id": "001",
        "condition": "ranking",
        "method": "document_order",
        "model": None,
        "prompt_version": None,
        "order": [3, 0, 2, 1, 4],
        "selected": None,
        "scores": None,
        "origins": ["judged"] * 5,
        "status": "complete",
        "fallback_from": None,
        "usage": {
            "calls": 0,
            "prompt_tokens": 0,
            "cached_prompt_tokens": 0,
            "completion_tokens": 0,
        },
        "seconds": 0.0,
        "params": {},
    }
    assert (selection["order"], selection["selected"]) == (None, [0, 2, 3])


def test_study_json_holds_settings_hashes_and_the_whole_schedule(played: Study, path: Path):
    export_study(played, path)
    settings = exported.records(path, "study.json")[0]
    assert settings["format_version"] == FORMAT_VERSION == ANALYSIS_FORMAT_VERSION
    assert settings["contrast"] == "ranking - selection"
    assert settings["response_options"] == ["supported", "refuted", "cant_decide"]
    assert settings["frozen"] == played.frozen
    assert settings["texts"] == played.texts
    assert (settings["subsets"], settings["replications"], settings["seed"]) == (3, 2, 11)
    assert settings["opened_at"].endswith("Z")
    subsets = settings["schedule"]["subsets"]
    assert sorted(c for subset in subsets for c in subset["claims"]) == sorted(
        claim["id"] for claim in exported.CLAIMS
    )
    planned = [
        (slot["replication"], slot["slot"], t["position"], t["claim_id"], t["condition"])
        for slot in settings["schedule"]["slots"]
        for t in slot["trials"]
    ]
    assert planned == list(
        played.slots.order_by("replication", "number", "planned__position").values_list(
            "replication",
            "number",
            "planned__position",
            "planned__claim__claim_id",
            "planned__condition__name",
        )
    )
    # A planned trial that never started is in the schedule only.
    assert len(planned) == 24 > len(table(path, "trials.csv"))


def test_a_draft_without_anything_can_be_exported(db: None, path: Path):
    summary = export_study(factories.draft_study("empty"), path)
    assert summary.rows["trials.csv"] == summary.rows["claims.jsonl"] == 0
    assert exported.records(path, "study.json")[0]["schedule"] == {"subsets": [], "slots": []}


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
    monkeypatch.setattr(export, "_REPORT_EVERY", 7)
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


def test_names_of_columns_come_from_the_codebook_alone(played: Study, path: Path):
    export_study(played, path)
    for name in ("trials", "events", "claims", "participants"):
        header = exported.member(path, f"{name}.csv").split("\r\n", 1)[0]
        assert header.split(",") == names_of(name)
    assert json.loads(exported.member(path, "study.json"))["study_id"] == played.slug
    assert Enrolment.objects.filter(slot__study=played).count() == 5
