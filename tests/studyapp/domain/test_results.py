"""Live results: the numbers of the export, without the export."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from analysis.document import build_document
from analysis.load import read_export
from studyapp.domain import lifecycle, schedule
from studyapp.domain.export import export_study
from studyapp.domain.results import NO_TRIALS, live_document, read_data, results_content
from studyapp.domain.trials import record_decision, reveal_next, start_next_trial
from studyapp.enums import Interface, RunKind
from studyapp.models import Study, VerificationAnswer
from tests import factories
from tests.studyapp.domain import exported


@pytest.fixture
def study(db: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Study:
    exported.TickingClock(monkeypatch)
    return exported.open_study(tmp_path)


@pytest.mark.parametrize("include_simulated", [False, True])
def test_the_live_document_is_that_of_the_export(
    study: Study, tmp_path: Path, include_simulated: bool
):
    exported.sit(study)
    exported.sit(study, n_trials=2)
    exported.sit(study, RunKind.PILOT)
    exported.sit(study, RunKind.SIMULATED)
    path = tmp_path / "out.zip"
    export_study(study, path, include_simulated)
    document = live_document(study, include_simulated)
    assert document == build_document(read_export(path), include_simulated)
    assert document["n_available_set"] == (10 if include_simulated else 6)


def test_the_numbers_are_those_of_the_answers(study: Study):
    exported.sit(study)
    exported.sit(study)
    design = live_document(study)["design_set"]
    for name in ("ranking", "selection"):
        answers = VerificationAnswer.objects.filter(trial__condition__name=name)
        assert design[name]["n_trials"] == answers.count()
        assert design[name]["n_success"] == answers.filter(is_correct=True).count()
        shown = list(answers.values_list("n_shown", flat=True))
        assert design[name]["mean_read"] == pytest.approx(sum(shown) / len(shown), abs=1e-9)


def content_of(study: Study, include_simulated: bool = False) -> dict[str, Any]:
    return results_content(study, read_data(study, include_simulated), include_simulated)


def cells_of(content: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    return {row["key"]: row["cells"] for row in content["rows"]}


def test_the_table_has_a_cell_for_every_condition(study: Study):
    exported.sit(study)
    content = content_of(study)
    assert content["headings"] == ["ranking (sentences read)", "selection (sentences shown)"]
    assert content["n_trials"] == 4
    cells = cells_of(content)
    assert cells["n_trials"] == ("2", "2")
    assert all(len(row) == 2 and all(row) for row in cells.values())


def test_a_condition_without_trials_is_not_defined_and_no_zero(study: Study):
    exported.sit(study, n_trials=1)
    content = content_of(study)
    cells = cells_of(content)
    assert sorted(cells["n_trials"]) == ["0", "1"]
    empty = cells["n_trials"].index("0")
    assert "not defined, because" in cells["success_rate"][empty]
    assert None in content["balance"]["mean_position"].values()


def test_a_study_without_completed_trials_says_so(study: Study):
    draft = factories.draft_study("no-trials-yet")
    for one in (draft, study):
        assert live_document(one) == {"study_id": one.slug, "rows": 0, "message": NO_TRIALS}
        assert content_of(one) == {"message": NO_TRIALS}
    exported.sit(study, RunKind.PILOT)
    exported.sit(study, RunKind.SIMULATED)
    factories.started(study)
    assert live_document(study)["message"] == NO_TRIALS
    assert "message" not in live_document(study, include_simulated=True)


def test_the_comparison_is_that_of_the_document(study: Study):
    exported.sit(study)
    exported.sit(study)
    comparison = content_of(study)["comparison"]
    assert comparison["headings"][1:3] == ["ranking", "selection"]
    measured = live_document(study)["inference_design_set"]["two_way"]
    primary = [row["cells"] for row in comparison["rows"] if not row["is_part"]]
    assert len(primary) == len(measured) == 5
    difference = 100 * measured["success"]["difference"]
    assert primary[0][:1] == ("Success",)
    assert primary[0][3].startswith(f"{difference:+.1f} pp")
    assert comparison["left_out"] == ""
    assert comparison["notes"]


def test_one_condition_has_nothing_to_compare(db: None):
    study = factories.draft_study()
    factories.add_claims(study, 2)
    lifecycle.add_condition(study, "ranking", Interface.INCREMENTAL, "document_order")
    factories.add_evidence(study)
    schedule.lay_out(study, 1, 1, 1)
    study = lifecycle.open_study(study)
    exported.sit(study)
    comparison = content_of(study)["comparison"]
    assert "condition" in comparison["left_out"]
    assert (comparison["rows"], comparison["notes"]) == ([], [])


def test_claims_and_people_to_look_at_are_listed_with_texts_and_reasons(db: None):
    study = factories.open_study(6, n_subsets=2, n_replications=2)
    for _ in range(4):
        enrolment = factories.joined(study)
        trial = start_next_trial(enrolment.token)
        while trial is not None:
            if trial.condition.is_incremental:
                for rank in (2, 3, 4):
                    reveal_next(enrolment.token, trial.code, rank)
            trial = record_decision(enrolment.token, trial.code, {"decision": "supported"})
    content = content_of(study)
    assert (content["items"]["n_all"], content["items"]["n"]) == (6, 3)
    assert [(row["claim_id"], row["text"]) for row in content["items"]["rows"]] == [
        (f"c{n}", f"Claim number {n} of the study.") for n in (2, 4, 6)
    ]
    assert content["items"]["rows"][0]["reason"] == (
        "4 of 4 readers who had sufficient evidence chose another label than refuted: is the "
        "label right?"
    )
    assert (content["people"]["n_all"], content["people"]["n"]) == (4, 4)
    for row in content["people"]["rows"]:
        assert "the same answer, supported, in all 6 trials" in row["reason"]
        assert row["attention_pass_rate"] is None


def test_what_is_stored_is_plain_json(study: Study):
    exported.play(study)
    content = content_of(study, include_simulated=True)
    assert json.loads(json.dumps(content, allow_nan=False))["n_trials"] == content["n_trials"]
    assert content["left_out"] == [
        ["run by the study's own team", 4],
        ["no decision was made", 1],
    ]


def test_the_number_of_queries_does_not_grow_with_the_trials(study: Study):
    for _ in range(2):
        exported.sit(study)
    with CaptureQueriesContext(connection) as small:
        content_of(study)
    for _ in range(2):
        exported.sit(study)
    with CaptureQueriesContext(connection) as large:
        content_of(study)
    assert len(large) == len(small) <= 16
