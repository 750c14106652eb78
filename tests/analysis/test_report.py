"""The report: self-contained, the same bytes, honest pooling; and the command line."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from analysis import BadTable, build_report, check_tables, measure_document
from analysis.load import read_export
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
from tests.analysis.reports import checked, files, full_study, rows_of
from tests.shared_data import ROOT, needs_data

NAMESPACES = ("http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink")


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "analysis", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


@pytest.fixture(scope="module")
def table5_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of the case that realises the published figures."""
    folder = tmp_path_factory.mktemp("table5")
    return report_files(["table5"], [read_export(case_zip("table5", folder))])


def relative_files(folder: Path) -> list[str]:
    """Every file below a folder by its path from there, sorted."""
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    )


@needs_data
@pytest.mark.data
def test_a_report_that_cannot_be_finished_has_no_page(tmp_path: Path) -> None:
    """Not even the page of an earlier one, whose tables are partly overwritten."""
    export = case_zip("partial_a", tmp_path)
    page = build_report([export], tmp_path / "out")
    assert page.is_file()
    shutil.rmtree(tmp_path / "out" / "figures")
    (tmp_path / "out" / "figures").write_text("in the way")
    with pytest.raises(BadTable, match="cannot be written"):
        build_report([export], tmp_path / "out")
    assert not page.exists()


@needs_data
@pytest.mark.data
def test_the_report_has_the_same_bytes_and_asks_for_nothing(tmp_path: Path) -> None:
    export = case_zip("dropouts_a", tmp_path)
    first = build_report([export], tmp_path / "one")
    second = build_report([export], tmp_path / "two")
    names = relative_files(first.parent)
    assert {
        "report.html",
        "measures.json",
        "methods.txt",
        "tables/table5.csv",
        "tables/table5.tex",
        "figures/sentences_read.svg",
    } <= set(names)
    assert names == relative_files(second.parent)
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
    with (tmp_path / "out" / "tables" / "table5.csv").open(newline="") as stream:
        rows = {row["measure"]: row for row in csv.DictReader(stream)}
    assert rows["success_rate"]["ranking (sentences read)"].startswith("103/117, 88.0 %")


@needs_data
@pytest.mark.data
def test_pooled_exports_keep_the_export_as_a_factor(tmp_path: Path) -> None:
    names = ["table5", "dropouts_a"]
    exports = [read_export(case_zip(name, tmp_path)) for name in names]
    written = report_files(names, exports)
    document = json.loads(written["measures.json"])
    for case in names:
        assert_agrees(document["by_export"][case]["design_set"], expected(case)["design_set"])
    pooled = document["design_set"]["ranking"]
    assert (pooled["n_trials"], pooled["n_success"]) == (217, 94 + 103)
    # P01 is two people: one of each export.
    people = document["balance"]["trials_per_participant"]
    assert (people["table5:P01"], people["dropouts_a:P01"]) == (40, 24)
    assert document["balance"]["cells_with_more"] == 0
    assert len(document["slot_holders"]) == 15
    success = {
        row["Export"]: row["ranking"]
        for row in rows_of(written["by_export.csv"])
        if row["Measure"] == "Success"
    }
    assert success == {
        "table5": "94/100, 94.0 % [87.5, 97.2]",
        "dropouts_a": "103/117, 88.0 % [80.9, 92.7]",
        "pooled": "197/217, 90.8 % [86.2, 94.0]",
    }
    differences = {
        row["Export"]: row["Difference"]
        for row in rows_of(written["comparison_by_export.csv"])
        if row["Measure"] == "Success, points"
    }
    assert differences == {"table5": "20.0", "dropouts_a": "13.3"}


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


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("contrast", {"contrast": "selection - ranking"}),
        ("non_inferiority_margin", {"non_inferiority_margin": 0.2}),
        ("preregistered.family", {"preregistered": {"family": ["success"]}}),
    ],
)
def test_exports_with_another_comparison_are_not_pooled(field: str, changes: dict) -> None:
    one, other = checked(), checked(settings=study(**changes))
    with pytest.raises(BadTable, match=f"b: {field} differs from a"):
        report_files(["a", "b"], [one, other])


def test_names_of_the_study_are_shown_as_text_and_neutral_in_the_csv() -> None:
    name = '=<script>alert("x")</script>'
    written = files(trials(trial(condition=name)), study(conditions=[name]))
    html = written["report.html"].decode()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    header = next(csv.reader([written["table5.csv"].decode().splitlines()[0]]))
    assert header[2].startswith("'=")


def test_a_name_that_is_no_text_at_all_is_still_written() -> None:
    name = "half \ud800 a\x00b"
    written = files(trials(trial(condition=name)), study(conditions=[name]))
    assert "half ?" in written["table5.csv"].decode()


def test_a_report_without_any_counted_trial_is_still_written() -> None:
    table = trials(trial(simulated="true"))
    assert "no trial of this condition" in files(table)["report.html"].decode()
    counted = files(table, include_simulated=True)["report.html"].decode()
    assert "1/1, 100.0 %" in counted


@pytest.mark.parametrize("conditions", [["ranking"], ["ranking", "selection", "third"]])
def test_one_condition_and_three_have_a_report(conditions: list[str]) -> None:
    table = trials(trial()) if len(conditions) == 1 else full_study(6)
    written = files(table, study(conditions=conditions, subsets=3, replications=3))
    has_comparison = "comparison.csv" in written
    assert has_comparison == (len(conditions) > 1)
    assert ("other_contrasts.csv" in written) == (len(conditions) > 2)
    html = written["report.html"].decode()
    assert ("there is nothing to compare" in html) == (len(conditions) == 1)


@needs_data
@pytest.mark.data
def test_every_table_is_in_three_formats_and_every_figure_in_two(
    table5_files: dict[str, bytes],
) -> None:
    kinds: dict[str, set[str]] = {}
    for name in table5_files:
        stem, kind = name.split(".")
        kinds.setdefault(stem, set()).add(kind)
    tables = {stem for stem, found in kinds.items() if "tex" in found}
    figures = {stem for stem, found in kinds.items() if "png" in found}
    assert all(kinds[stem] == {"csv", "tex", "md"} for stem in tables)
    assert all(kinds[stem] == {"svg", "png"} for stem in figures)
    assert {"table5", "table5_available_set", "comparison", "companions", "preregistered"} <= tables
    assert figures == {
        "sentences_read",
        "claim_slopes",
        "active_time",
        "verified_within",
        "participant_differences",
    }


@needs_data
@pytest.mark.data
def test_the_comparison_agrees_with_the_independent_values(table5_files: dict[str, bytes]) -> None:
    rows = {
        row["Measure"]: list(row.values())[1:] for row in rows_of(table5_files["comparison.csv"])
    }
    assert rows == {
        "Success, points": [
            "94.0 %",
            "74.0 %",
            "20.0",
            "[4.1, 35.9]",
            "0.025",
            "0.050",
            "5.7",
            "4",
            "100 + 100; 5; 100",
        ],
        "Undecided, points": [
            *(
                "5.0 %",
                "23.0 %",
                "−18.0",
                "[−30.1, −5.9]",
                "0.015",
                "0.048",
                "4.4",
                "4",
                "100 + 100; 5; 100",
            ),
        ],
        "Over-read (over_read_msr), points": [
            *(
                "10.0 %",
                "35.0 %",
                "−25.0",
                "[−40.9, −9.1]",
                "0.012",
                "0.048",
                "5.7",
                "4",
                "100 + 100; 5; 100",
            ),
        ],
        "Sentences": [
            "2.48",
            "3.85",
            "−1.37",
            "[−1.99, −0.75]",
            "0.003",
            "0.017",
            "0.22",
            "4",
            "100 + 100; 5; 100",
        ],
        "Active time, ratio": [
            *(
                "17.5 s",
                "22.4 s",
                "0.78",
                "[0.64, 0.95]",
                "0.026",
                "0.050",
                "0.071 (log)",
                "4",
                "100 + 100; 5; 100",
            ),
        ],
    }
    companions = {(r["Measure"], r["Method"]): r for r in rows_of(table5_files["companions.csv"])}
    exact = companions["Success, points", "exact McNemar; Bonett–Price interval"]
    assert exact["Units"] == "100 pairs, 22 against 2 discordant"
    assert exact["95 % interval"] == "[10.6, 28.6]"
    assert exact["Effect size, or why there is none"] == "odds ratio 11.00 [2.70, 96.50]"
    assert exact["Speaks of"] == "these people, other claims"
    people = companions["Success, points", "paired t over participants"]
    assert (people["95 % interval"], people["p"]) == ("[4.2, 35.8]", "0.025")
    assert people["Speaks of"] == "other people, these claims"


@needs_data
@pytest.mark.data
def test_over_read_never_stands_without_its_variant(table5_files: dict[str, bytes]) -> None:
    for name, content in table5_files.items():
        if name.endswith((".html", ".md", ".csv", ".txt")):
            text = re.sub(r"\\", "", content.decode())
            for found in re.finditer(r"[Oo]ver-read(?!ing)", text):
                assert "over_read_m" in text[found.start() : found.end() + 20], name


@needs_data
@pytest.mark.data
def test_figures_have_a_name_a_description_and_their_numbers(
    table5_files: dict[str, bytes],
) -> None:
    html = table5_files["report.html"].decode()
    figures = re.findall(r"<figure>.*?</figure>", html, flags=re.DOTALL)
    assert len(figures) == 5
    for figure in figures:
        names = re.search(r'role="img" aria-labelledby="(\S+) (\S+)"', figure)
        assert names is not None
        assert f'<title id="{names[1]}">' in figure
        assert re.search(rf'<desc id="{names[2]}">[^<]*\d', figure)
        assert "<details><summary>The numbers of this figure" in figure
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    links = set(re.findall(r'(?:href="#|url\(#)([^")]+)', html))
    assert links <= set(ids)


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
