"""Every column of an export has its row in the codebook, and the other way round."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from analysis import columns
from studyapp.domain import export_rows
from studyapp.domain.export import export_study
from studyapp.domain.questionnaire import submit_questionnaire
from studyapp.models import Study
from tests.studyapp.domain import exported


@pytest.fixture
def study(db: None, tmp_path: Path) -> Study:
    question = {"name": "age", "text": "How old?", "kind": "number"}
    study = exported.open_study(tmp_path, sitting={"questionnaire": [question]})
    run = exported.sit(study)
    submit_questionnaire(run.token, {"age": "41"})
    return study


def codebook_rows(path: Path) -> list[dict[str, str]]:
    text = exported.member(path, "codebook.csv")
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_every_exported_column_has_a_codebook_row(study: Study, tmp_path: Path):
    path = tmp_path / "out.zip"
    export_study(study, path)
    described = [(row["table"], row["name"]) for row in codebook_rows(path)]
    written = [
        (table, name)
        for table in columns.TABLES
        for name in exported.member(path, f"{table}.csv").split("\r\n", 1)[0].split(",")
    ]
    assert described == written
    assert len(set(described)) == len(described)


@pytest.mark.parametrize("table", list(columns.TABLES))
def test_the_rows_of_a_table_hold_its_columns_in_order_and_nothing_else(study: Study, table: str):
    rows = {
        "trials": lambda: export_rows.trial_rows(study, False, {1: "v1"}),
        "events": lambda: export_rows.event_rows(study, False),
        "claims": lambda: export_rows.claim_rows(study),
        "participants": lambda: export_rows.participant_rows(study, False),
        "questionnaire": lambda: export_rows.questionnaire_rows(study, False),
    }[table]()
    first = next(iter(rows))
    assert list(first) == columns.names_of(table)


def test_a_column_without_a_codebook_row_would_be_noticed(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The writer takes its columns from the codebook: one that no row holds cannot be written."""
    extra = columns.Column("claims", "mood", "string", "of the claim")
    monkeypatch.setitem(columns.TABLES, "claims", (*columns.TABLES["claims"], extra))
    with pytest.raises(KeyError, match="mood"):
        export_study(study, tmp_path / "out.zip")
    assert not (tmp_path / "out.zip").exists()


def test_the_codebook_says_type_meaning_and_origin_of_every_column(study: Study, tmp_path: Path):
    path = tmp_path / "out.zip"
    export_study(study, path)
    for row in codebook_rows(path):
        assert list(row) == list(columns.CODEBOOK_COLUMNS)
        for name in ("type", "missing", "origin", "meaning", "format_version"):
            assert row[name], f"{row['table']}.{row['name']} has no {name}"
        if row["origin"] == "derived":
            assert row["formula"], f"{row['name']} is derived and has no formula"
