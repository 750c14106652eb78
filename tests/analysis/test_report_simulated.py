"""Who made the trials: simulated readers are called so first, and what counts nothing says so."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from analysis import BadTable, build_document, build_report
from analysis.cli import main
from analysis.commands.measures import measures_text
from analysis.power import pilot_values
from analysis.readers import nothing_counts_line, opening_lines, readers_text
from analysis.report.data import report_data
from analysis.report.limitations import limitations
from analysis.report.methods import methods_text
from analysis.report.review import review_tables
from tests.analysis.builders import study
from tests.analysis.reports import checked, files, full_study, rows_of
from tests.analysis.studies import Study

SETTINGS = study(replications=2)
ALL = (
    "Simulated: all 8 trials that count were made by 4 simulated readers. The numbers show how the "
    "analysis works and say nothing about people."
)
NONE = "all 8 trials are simulated; add --simulated to count them"


def export_zip(path: Path, table: pd.DataFrame) -> Path:
    """A table packed like an export, with the events that it follows from."""
    events = Study(table.to_dict("records"), SETTINGS).events
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("trials.csv", table.to_csv(index=False))
        archive.writestr("events.csv", events.to_csv(index=False))
        archive.writestr("study.json", json.dumps(SETTINGS))
    return path


def mixed() -> pd.DataFrame:
    """Two participants and, in the other replication, two simulated readers."""
    table = full_study(4)
    return table.assign(simulated=[str(r == "2").lower() for r in table["replication"]])


def test_a_simulated_report_says_so_before_every_number() -> None:
    written = files(full_study(4, simulated="true"), SETTINGS, include_simulated=True)
    html = written["report.html"].decode()
    assert html.index(ALL) < html.index("8 trials in small")
    assert ALL in written["table5.tex"].decode()
    assert ALL in written["table5.md"].decode()
    assert written["methods.txt"].decode().startswith("4 simulated readers took part in 8 trials.")
    counts = {row["Reason"]: row["Rows"] for row in rows_of(written["excluded.csv"])}
    assert (counts["simulated"], counts["counted, simulated"]) == ("0", "8")
    document = build_document(checked(full_study(4, simulated="true"), SETTINGS), True)
    assert measures_text(document).splitlines()[0] == ALL


def test_people_and_simulated_readers_are_counted_apart() -> None:
    assert (
        readers_text(checked(mixed(), SETTINGS).trials) == "2 participants and 2 simulated readers"
    )
    data = report_data(["small"], [checked(mixed(), SETTINGS)], True)
    assert opening_lines(data.document) == [
        "Partly simulated: 4 of 8 trials that count were made by 2 simulated readers, not by "
        "people. The numbers mix both."
    ]
    assert limitations(data)[0].startswith(
        "The design set has 2 participants and 2 simulated readers;"
    )
    without = build_document(checked(mixed(), SETTINGS))
    assert opening_lines(without) == []
    assert without["run_kinds"] == {
        "pilot": {"could_count": 0, "counted": 0, "readers": 0},
        "real": {"could_count": 4, "counted": 4, "readers": 2},
        "simulated": {"could_count": 4, "counted": 0, "readers": 0},
    }


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"simulated": "true"}, NONE),
        ({"pilot": "true"}, "all 8 trials are from pilot runs, which the measures leave out"),
        ({"participant_status": "excluded"}, ""),
        ({}, ""),
    ],
)
def test_trials_that_nothing_but_their_kind_keeps_out_are_named(
    changes: dict[str, Any], line: str
) -> None:
    document = build_document(checked(full_study(4, **changes), SETTINGS))
    assert nothing_counts_line(document) == line


def test_an_export_of_simulated_trials_is_explained_by_every_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = full_study(4, simulated="true")
    export = export_zip(tmp_path / "sim.zip", table)
    lines: list[str] = []
    page = build_report([export], tmp_path / "out", warn=lines.append)
    assert lines == [f"sim: {NONE}"]
    assert "All 8 trials are simulated; add --simulated" in page.read_text()
    (tmp_path / "trials.csv").write_text(table.to_csv(index=False))
    (tmp_path / "study.json").write_text(json.dumps(SETTINGS))
    given = [str(tmp_path / "trials.csv"), "--study", str(tmp_path / "study.json")]
    assert main(["measures", *given]) == 0
    shown = capsys.readouterr()
    assert NONE in shown.err
    assert shown.out.startswith("All 8 trials are simulated")
    assert main(["power", "--pilot", str(export)]) == 1
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", f"{export}: {NONE}\n")
    with pytest.raises(BadTable, match="add --simulated"):
        pilot_values(checked(table, SETTINGS))


def test_pooled_exports_agree_on_the_claims_they_share() -> None:
    """Each export alone has one judgement a claim and condition, both together have two."""
    later = full_study().assign(
        study_id="other",
        decision=["supported", "supported", "supported", "cant_decide"],
    )
    data = report_data(["a", "b"], [checked(full_study()), checked(later, study(study_id="other"))])
    agreement = list(review_tables(data))[-1]
    assert {row[0]: row[4] for row in agreement.rows} == {"ranking": "2", "selection": "2"}
    assert "is one claim" in agreement.note
    alone = list(review_tables(report_data(["a"], [checked(full_study())])))[-1]
    assert all(row[1].startswith("not defined") for row in alone.rows)
    text = methods_text(data)
    assert text[0].startswith("The data come from 2 exports (a and b) whose trials were pooled")
    assert text[1].startswith("In every export: The conditions were")
    assert text[2].startswith("All recorded trials count.")
    assert text[-1].endswith("that of the first export.")
