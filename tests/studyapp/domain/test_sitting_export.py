"""Whole sittings in the export, the analysis and the simulator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analysis.document import build_document
from analysis.load import read_export
from analysis.report import build_report
from studyapp.domain.assignment import withdraw
from studyapp.domain.export import export_study
from studyapp.domain.questionnaire import submit_questionnaire
from studyapp.domain.results import live_document
from studyapp.domain.trials import record_decision, start_next_trial
from studyapp.enums import EnrolmentState, RunKind
from studyapp.errors import StudyError
from studyapp.models import Enrolment, QuestionnaireAnswer, Study, Trial, VerificationAnswer
from studyapp.simulation.play import simulate
from tests import factories
from tests.studyapp.domain import exported
from tests.studyapp.domain.exported import table

SITTING: dict[str, Any] = {
    "break_every": 1,
    "confidence": "required",
    "reason": "optional",
    "questionnaire": [
        {"name": "ease", "text": "How easy?", "kind": "scale", "min": -2, "max": 2},
        {"name": "age", "text": "How old?", "kind": "number", "max": -1.5},
        {"name": "on", "text": "On what?", "kind": "choice", "options": ["A, B", "C"]},
        {"name": "why", "text": "Why?", "kind": "text", "required": True},
    ],
}


def sitting_study(**options: Any) -> Study:
    return factories.sitting_study(4, n_practice=2, n_attention=2, sitting=SITTING, **options)


def sit(study: Study, *, passes: int = 2, run_kind: str = RunKind.REAL) -> Enrolment:
    """A whole run: every first practice try wrong, ``passes`` attention checks right."""
    enrolment, trial = factories.started(study, run_kind)
    tried = set()
    while trial is not None:
        decision = trial.claim.label
        if trial.kind == "practice" and trial.claim_id not in tried:
            tried.add(trial.claim_id)
            decision = "cant_decide"
        elif trial.kind == "attention":
            decision = decision if passes > 0 else "cant_decide"
            passes -= 1
        answer = {"decision": decision, "confidence": 4, "reason": '=1+1, "so"\nit is'}
        trial = record_decision(enrolment.token, trial.code, answer)
        trial = trial or start_next_trial(enrolment.token)
    submit_questionnaire(enrolment.token, {"ease": "-2", "on": "A, B", "why": '"Because"\r\n=1'})
    return Enrolment.objects.get(pk=enrolment.pk)


@pytest.fixture
def study(db: None, monkeypatch: pytest.MonkeyPatch) -> Study:
    exported.TickingClock(monkeypatch)
    return sitting_study()


@pytest.fixture
def path(study: Study, tmp_path: Path) -> Path:
    return tmp_path / "out.zip"


def test_practice_and_attention_trials_are_exported_and_marked(study: Study, path: Path):
    run = sit(study)
    summary = export_study(study, path)
    rows = table(path, "trials.csv")
    assert summary.rows["trials.csv"] == 4 + 2 * 2 + 2
    assert [row["trial_kind"] for row in rows] == [
        "practice", "practice", "practice", "practice",
        "main", "attention", "main", "attention", "main", "main",
    ]  # fmt: skip
    others = [row for row in rows if row["trial_kind"] != "main"]
    assert {(row["subset"], row["position"], row["block"]) for row in others} == {("", "0", "0")}
    assert {row["shown_order"] for row in others} == {"s0|s1|s2|s3|s4"}
    assert {row["msr"] for row in others} == {"2"}
    main = [row for row in rows if row["trial_kind"] == "main"]
    assert [row["position"] for row in main] == ["1", "2", "3", "4"]
    assert all(row["subset"] for row in main)
    assert {(row["confidence"], row["reason"]) for row in rows} == {("4", '=1+1, "so"\nit is')}
    trials_with_events = {row["trial_id"] for row in table(path, "events.csv")}
    assert trials_with_events == {row["trial_id"] for row in rows}
    assert table(path, "participants.csv")[0]["n_trials"] == "10"
    assert run.participant.code == rows[0]["participant_id"]


def test_claims_are_exported_with_their_roles(study: Study, path: Path):
    export_study(study, path)
    rows = [
        (row["claim_id"], row["role"], row["subset"] == "") for row in table(path, "claims.csv")
    ]
    assert rows == [
        *((f"c{number}", "main", False) for number in range(1, 5)),
        *((f"c{number}", "practice", True) for number in range(5, 7)),
        *((f"c{number}", "attention", True) for number in range(7, 9)),
    ]


def test_the_questionnaire_is_exported_by_pseudonym(study: Study, path: Path):
    first, second = sit(study), sit(study, run_kind=RunKind.SIMULATED)
    withdraw(sit(study).token)
    export_study(study, path)
    ended = exported.table(path, "participants.csv")[0]["ended_at"]
    assert table(path, "questionnaire.csv") == [
        {
            "participant_id": first.participant.code,
            "name": name,
            "value": value,
            "answered_at": ended,
        }
        for name, value in (("ease", "-2"), ("on", "A, B"), ("why", '"Because"\n=1'))
    ]
    export_study(study, path, include_simulated=True)
    people = {row["participant_id"] for row in table(path, "questionnaire.csv")}
    assert people == {first.participant.code, second.participant.code}


def test_the_analysis_leaves_them_out_with_their_reasons(study: Study, path: Path, tmp_path: Path):
    attentive, inattentive = sit(study), sit(study, passes=0)
    export_study(study, path)
    document = build_document(read_export(path))
    assert document["rows"] == 20
    counted = {reason: n for reason, n in document["excluded"].items() if n}
    assert counted == {"practice": 8, "attention": 4}
    assert document["n_design_set"] == 8
    assert document["attention_pass_rates"] == {
        attentive.participant.code: 1.0,
        inattentive.participant.code: 0.0,
    }
    assert document["balance"]["cells_with_one_trial"] == 8
    assert live_document(study) == document
    html = build_report([path], tmp_path / "report").read_text()
    assert "Attention checks: 1 of 2 participants passed fewer than half" in html
    assert inattentive.participant.code in html


def test_a_run_in_its_practice_is_exported_and_counts_for_nothing(study: Study, path: Path):
    sit(study)
    enrolment, trial = factories.started(study)
    record_decision(enrolment.token, trial.code, {"decision": "supported", "confidence": 1})
    start_next_trial(enrolment.token)
    export_study(study, path)
    document = build_document(read_export(path))
    assert document["excluded"]["practice"] == 4 + 2
    assert document["n_design_set"] == 4


# ---- the simulator -------------------------------------------------------------------------------


def results(study: Study) -> list[tuple]:
    trials = Trial.objects.filter(claim__study=study).order_by("pk")
    return list(
        trials.values_list(
            "kind",
            "claim__claim_id",
            "n_steps",
            "verification_answer__decision",
            "verification_answer__confidence",
        )
    )


@pytest.mark.usefixtures("committed_db")
def test_simulated_readers_play_the_whole_sitting(live_server):
    studies = [sitting_study(n_replications=2) for _ in range(2)]
    for study in studies:
        n_trials = simulate(study, participants=2, policy="noisy", seed=3, base_url=live_server.url)
        assert n_trials == 8
    assert results(studies[0]) == results(studies[1])
    assert {row[0] for row in results(studies[0])} == {"practice", "main", "attention"}
    assert None not in {row[4] for row in results(studies[0])}
    states = Enrolment.objects.values_list("state", flat=True)
    assert set(states) == {EnrolmentState.COMPLETED}
    assert QuestionnaireAnswer.objects.count() == 4 * len(SITTING["questionnaire"])


@pytest.mark.usefixtures("committed_db")
def test_an_oracle_needs_one_try_and_passes_every_check(live_server):
    study = sitting_study()
    simulate(study, participants=1, policy="oracle", seed=1, base_url=live_server.url)
    others = VerificationAnswer.objects.exclude(trial__kind="main")
    assert list(others.values_list("is_correct", flat=True)) == [True] * 4


@pytest.mark.usefixtures("committed_db")
def test_a_simulated_run_may_end_early_by_a_rule(live_server):
    rules = {"practice_must_pass": True, "practice_tries": 1, "attention_failures_allowed": 0}
    study = factories.sitting_study(n_practice=1, n_attention=3, sitting=rules, n_replications=2)
    simulate(study, participants=4, policy="noisy", seed=3, base_url=live_server.url)
    states = list(Enrolment.objects.order_by("pk").values_list("state", flat=True))
    assert states.count("completed") in range(1, 4)
    assert set(states) <= {"completed", "screened_out", "failed_checks"}


@pytest.mark.usefixtures("committed_db")
def test_a_study_that_pauses_in_the_middle_stops_the_simulation(live_server):
    study = sitting_study()

    def pause() -> None:
        Study.objects.filter(pk=study.pk).update(state="paused")

    with pytest.raises(StudyError, match="stopped after 1 trials"):
        simulate(
            study, participants=1, policy="oracle", seed=1, base_url=live_server.url, on_trial=pause
        )


# ---- the configuration file ----------------------------------------------------------------------


def test_an_exported_study_file_makes_the_same_sitting(study: Study, path: Path, tmp_path: Path):
    from django.core.management import call_command

    export_study(study, path)
    content = exported.records(path, "study.json")[0]
    file = tmp_path / "study.json"
    file.write_text(json.dumps(content))
    call_command("create_study", "again", config=file)
    assert Study.objects.get(slug="again").sitting == SITTING
