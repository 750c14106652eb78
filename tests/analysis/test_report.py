"""The report: self-contained, the same bytes, honest pooling; and the command line."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from analysis import BadTable, build_report, check_tables, measure_document, sentences_read_svg
from analysis.report import report_files
from tests.analysis.builders import (
    CASES,
    assert_agrees,
    case_tables,
    case_zip,
    expected,
    study,
    trial,
    trials,
)
from tests.shared_data import ROOT, needs_data

NAMESPACES = ("http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink")


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "analysis", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


@needs_data
@pytest.mark.data
def test_the_report_has_the_same_bytes_and_asks_for_nothing(tmp_path: Path) -> None:
    export = case_zip("dropouts_a", tmp_path)
    first = build_report([export], tmp_path / "one")
    second = build_report([export], tmp_path / "two")
    names = sorted(path.name for path in first.parent.iterdir())
    assert {"report.html", "table5.csv", "measures.json", "sentences_read.svg"} <= set(names)
    for name in names:
        assert (first.parent / name).read_bytes() == (second.parent / name).read_bytes(), name
    html = first.read_text()
    addresses = set(re.findall(r"[a-z]+://[^\"'\s<>)]+", html))
    assert addresses <= set(NAMESPACES)
    assert not re.search(r"<(link|script|img|iframe|object)\b|@import|url\((?!#)", html)
    assert str(tmp_path) not in html


@needs_data
@pytest.mark.data
def test_the_report_shows_the_table_the_reasons_and_the_warnings(tmp_path: Path) -> None:
    html = build_report([case_zip("dropouts_a", tmp_path)], tmp_path / "out").read_text()
    assert "103/117, 88.0 % [80.9, 92.7]" in html
    assert "selection (sentences shown)" in html
    assert "over_read_msr" in html
    assert "over_read_min" in html
    assert re.search(r"withdrawn</th><td>17</td>", html)
    assert "mean number of required sentences differs" in html
    assert 'role="img" aria-label="Sentences read or shown' in html
    with (tmp_path / "out" / "table5.csv").open(newline="") as stream:
        rows = {row["measure"]: row for row in csv.DictReader(stream)}
    assert rows["success_rate"]["ranking (sentences read)"].startswith("103/117, 88.0 %")


@needs_data
@pytest.mark.data
def test_pooled_exports_keep_the_export_as_a_factor(tmp_path: Path) -> None:
    exports = [case_zip("table5", tmp_path), case_zip("thirty_a", tmp_path)]
    build_report(exports, tmp_path / "out")
    document = json.loads((tmp_path / "out" / "measures.json").read_text())
    for case in ("table5", "thirty_a"):
        assert_agrees(document["by_export"][case]["design_set"], expected(case)["design_set"])
    pooled = document["design_set"]["ranking"]
    assert (pooled["n_trials"], pooled["n_success"]) == (700, 94 + 521)
    # P01 is two people: one of each export, with 40 trials each.
    people = document["balance"]["trials_per_participant"]
    assert people["table5:P01"] == people["thirty_a:P01"] == 40
    assert document["balance"]["cells_with_more"] == 0
    assert len(document["slot_holders"]) == 35


@needs_data
@pytest.mark.data
def test_an_export_is_not_pooled_with_itself(tmp_path: Path) -> None:
    exports = [case_zip("table5", tmp_path), case_zip("table5", tmp_path, name="copy")]
    with pytest.raises(BadTable, match="the same trials are in more than one export"):
        build_report(exports, tmp_path / "out")


def test_exports_with_other_options_are_not_pooled() -> None:
    four = ["supported", "refuted", "partially_supported", "cant_decide"]
    one = check_tables(trials(), None, study())
    other = check_tables(trials(), None, study(response_options=four))
    with pytest.raises(BadTable, match="b: response_options differs from a"):
        report_files(["a", "b"], [one, other])


def test_names_of_the_study_are_shown_as_text_and_neutral_in_the_csv() -> None:
    name = '=<script>alert("x")</script>'
    row = trial(condition=name)
    tables = check_tables(trials(row), None, study(conditions=[name]))
    files = report_files(["small"], [tables])
    assert "<script>" not in files["report.html"]
    assert "&lt;script&gt;" in files["report.html"]
    header = next(csv.reader([files["table5.csv"].splitlines()[0]]))
    assert header[2].startswith("'=")


def test_a_report_without_any_counted_trial_is_still_written() -> None:
    tables = check_tables(trials(trial(simulated="true")), None, study())
    assert "no trial of this condition" in report_files(["small"], [tables])["report.html"]
    counted = report_files(["small"], [tables], include_simulated=True)["report.html"]
    assert "1/1, 100.0 %" in counted


def test_the_plot_is_well_formed_and_labels_its_panels() -> None:
    tables = check_tables(trials(), None, study())
    svg = sentences_read_svg(tables.trials, ["ranking", "selection"], {"selection": "all_at_once"})
    texts = " ".join(ElementTree.fromstring(svg).itertext())
    assert "ranking: bars read, mean 3.00; dots required, mean 2.00 (n = 1)" in texts
    assert "selection: bars shown, mean 2.00; dots required, mean 2.00 (n = 1)" in texts
    assert "date" not in svg.lower()


@needs_data
@pytest.mark.data
def test_the_commands_print_what_the_functions_return(tmp_path: Path) -> None:
    folder = CASES / "table5"
    files = folder / "trials.csv", "--study", folder / "study.json"
    printed = run("measures", *files, "--events", folder / "events.csv", "--json")
    assert (printed.returncode, printed.stderr) == (0, "")
    assert json.loads(printed.stdout) == measure_document(*case_tables("table5"))
    readable = run("measures", *files)
    assert "94/100, 94.0 % [87.5, 97.2]" in readable.stdout
    assert "M finite and n > M" in readable.stdout
    written = run("report", case_zip("table5", tmp_path), "-o", tmp_path / "out")
    assert (written.returncode, written.stderr) == (0, "")
    assert (tmp_path / "out" / "report.html").is_file()


def test_bad_input_exits_with_1_and_one_line_a_problem(tmp_path: Path) -> None:
    table = trials(trial(n_read=9), trial(trial_id="t2", claim_id="b", msr=1))
    (tmp_path / "trials.csv").write_text(table.to_csv(index=False))
    (tmp_path / "study.json").write_text(json.dumps(study()))
    failed = run("measures", tmp_path / "trials.csv", "--study", tmp_path / "study.json")
    assert (failed.returncode, failed.stdout) == (1, "")
    lines = failed.stderr.splitlines()
    assert len(lines) == 2
    assert "trials.csv: column n_read: outside 1..n_available, in trial t1" in lines[0]
    assert "trials.csv: column msr: disagrees" in lines[1]


@pytest.mark.parametrize("arguments", [(), ("measures",), ("report", "a.zip"), ("fly",)])
def test_wrong_usage_exits_with_2(arguments: tuple[str, ...]) -> None:
    assert run(*arguments).returncode == 2


@pytest.mark.parametrize("arguments", [("--help",), ("measures", "--help"), ("report", "--help")])
def test_every_command_explains_itself(arguments: tuple[str, ...]) -> None:
    shown = run(*arguments)
    assert shown.returncode == 0
    assert "usage: python -m analysis" in shown.stdout
