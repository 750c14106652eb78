"""Live results: the numbers of the export, without the export."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from analysis.document import build_document
from analysis.load import read_export
from studyapp.domain.export import export_study
from studyapp.domain.results import NO_TRIALS, live_document, live_table
from studyapp.enums import RunKind
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


def test_the_table_has_a_cell_for_every_condition(study: Study):
    exported.sit(study)
    table = live_table(study)
    assert table.message == ""
    assert table.headings == ["ranking (sentences read)", "selection (sentences shown)"]
    assert table.n_trials == 4
    cells = {row.key: row.cells for row in table.rows}
    assert cells["n_trials"] == ("2", "2")
    assert all(len(row) == 2 and all(row) for row in cells.values())


def test_a_condition_without_trials_is_not_defined_and_no_zero(study: Study):
    exported.sit(study, n_trials=1)
    cells = {row.key: row.cells for row in live_table(study).rows}
    assert sorted(cells["n_trials"]) == ["0", "1"]
    empty = cells["n_trials"].index("0")
    assert "not defined, because" in cells["success_rate"][empty]


def test_a_study_without_completed_trials_says_so(study: Study):
    draft = factories.draft_study("no-trials-yet")
    for one in (draft, study):
        assert live_document(one) == {"study_id": one.slug, "rows": 0, "message": NO_TRIALS}
        assert live_table(one).message == NO_TRIALS
        assert live_table(one).rows == []
    exported.sit(study, RunKind.PILOT)
    exported.sit(study, RunKind.SIMULATED)
    factories.started(study)
    assert live_document(study)["message"] == NO_TRIALS
    assert "message" not in live_document(study, include_simulated=True)


def test_the_number_of_queries_does_not_grow_with_the_trials(study: Study):
    exported.sit(study, n_trials=1)
    with CaptureQueriesContext(connection) as small:
        live_table(study)
    for _ in range(3):
        exported.sit(study)
    with CaptureQueriesContext(connection) as large:
        live_table(study)
    assert len(large) == len(small) <= 12
