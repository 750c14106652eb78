"""The export: complete, readable by the analysis, deterministic, never partial."""

from __future__ import annotations

import hashlib
import json
import zipfile
from datetime import timedelta
from pathlib import Path

import pandas as pd
import pytest

from analysis.columns import FORMAT_VERSION as ANALYSIS_FORMAT_VERSION
from analysis.columns import codebook, names_of
from analysis.load import read_export
from rankers import formats
from studyapp.domain import assignment, export_rows
from studyapp.domain.export import export_study
from studyapp.domain.export_settings import FORMAT_VERSION
from studyapp.enums import EnrolmentState, TrialState
from studyapp.models import Claim, Enrolment, Event, Study, Trial
from tests import factories
from tests.studyapp.domain import exported
from tests.studyapp.domain.exported import table

MEMBERS = [
    "README.txt",
    "study.json",
    "claims.csv",
    "claims.jsonl",
    "rankings.jsonl",
    "participants.csv",
    "questionnaire.csv",
    "trials.csv",
    "events.csv",
    "codebook.csv",
]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> exported.TickingClock:
    return exported.TickingClock(monkeypatch)


@pytest.fixture
def played(db: None, clock: exported.TickingClock, tmp_path: Path) -> Study:
    return exported.play(exported.open_study(tmp_path))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.zip"


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
        "questionnaire.csv": 0,
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


def test_an_open_study_without_trials_loads_too(db: None, tmp_path: Path, path: Path):
    export_study(exported.open_study(tmp_path), path)
    tables = read_export(path)
    assert (len(tables.trials), len(tables.events), tables.settings.subsets) == (0, 0, 3)


def test_names_of_columns_come_from_the_codebook_alone(played: Study, path: Path):
    export_study(played, path)
    for name in ("trials", "events", "claims", "participants"):
        header = exported.member(path, f"{name}.csv").split("\r\n", 1)[0]
        assert header.split(",") == names_of(name)
    assert json.loads(exported.member(path, "study.json"))["study_id"] == played.slug
    assert Enrolment.objects.filter(slot__study=played).count() == 5
