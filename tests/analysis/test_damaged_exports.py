"""Files that are no exports, or are damaged: refused in words, whatever is wrong with them."""

from __future__ import annotations

import io
import json
import random
import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from analysis import BadTable, build_report, measure_document
from analysis.load import read_export, read_files
from analysis.pool import _labels
from tests.analysis.builders import events, study, trial, trials
from tests.shared_data import ROOT

HUGE = 10**400


def written(folder: Path, table: str | None = None, settings: str | None = None) -> Path:
    """A small export as a zip; ``table`` and ``settings`` replace its parts by other texts."""
    path = folder / "small.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("trials.csv", table or trials(trial()).to_csv(index=False))
        archive.writestr("events.csv", events().to_csv(index=False))
        archive.writestr("study.json", settings or json.dumps(study()))
    return path


def refusal(path: Path) -> list[str]:
    with pytest.raises(BadTable) as caught:
        read_export(path)
    return caught.value.problems


def test_a_zip_with_changed_bytes_is_read_or_refused_and_never_breaks(tmp_path: Path) -> None:
    sound = written(tmp_path).read_bytes()
    draw = random.Random(4)
    refused = 0
    for _ in range(150):
        damaged = bytearray(sound)
        for _ in range(2):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        path = tmp_path / "damaged.zip"
        path.write_bytes(damaged)
        try:
            read_export(path)
        except BadTable:
            refused += 1
    assert refused > 50


@pytest.mark.parametrize(("flag", "method"), [(0x1, 8), (0, 99)])
def test_passwords_and_unknown_compression_are_refused(
    tmp_path: Path, flag: int, method: int
) -> None:
    content = bytearray(written(tmp_path).read_bytes())
    local = content.index(b"PK\x03\x04")
    central = content.index(b"PK\x01\x02")
    content[local + 6 : local + 10] = struct.pack("<HH", flag, method)
    content[central + 8 : central + 12] = struct.pack("<HH", flag, method)
    path = tmp_path / "locked.zip"
    path.write_bytes(content)
    assert refusal(path) == [
        f"{path}: not a zip file of ours, or damaged or encrypted; export the study again"
    ]


def test_a_column_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    table = trials(trial()).assign(again="refuted").rename(columns={"again": "decision"})
    path = written(tmp_path, table.to_csv(index=False))
    assert refusal(path) == [f"{path}: trials.csv: line 1: the column 'decision' occurs twice"]
    (tmp_path / "trials.csv").write_text(table.to_csv(index=False))
    (tmp_path / "study.json").write_text(json.dumps(study()))
    with pytest.raises(BadTable, match="occurs twice"):
        read_files(tmp_path / "trials.csv", tmp_path / "study.json")


@pytest.mark.parametrize(
    "settings",
    ['{"subsets": ' + "9" * 5000 + "}", "[" * 100_000 + "]" * 100_000],
)
def test_settings_that_no_reader_takes_are_refused(tmp_path: Path, settings: str) -> None:
    path = written(tmp_path, settings=settings)
    assert refusal(path) == [f"{path}: study.json: a number too long or lists too deep to be read"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"subsets": HUGE}, "subsets: 1000"),
        ({"trials_per_participant": HUGE}, "trials_per_participant: 1000"),
        ({"replications": 10**6, "subsets": 10**6}, "together they plan more than"),
        ({"preregistered": {"time_cap_s": HUGE}}, "time_cap_s: 1000"),
        ({"preregistered": {"time_cap_s": float("nan")}}, "time_cap_s: nan"),
        ({"preregistered": {"time_cap_s": float("inf")}}, "time_cap_s: inf"),
        ({"non_inferiority_margin": HUGE}, "non_inferiority_margin: "),
    ],
)
def test_numbers_that_nothing_can_hold_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadTable, match=words) as caught:
        measure_document(trials(trial()), None, study(**changes))
    assert all(len(problem) < 200 for problem in caught.value.problems)


@pytest.mark.parametrize("column", ["slot", "subset", "block", "replication", "hidden_ms"])
def test_a_cell_beyond_what_floats_can_tell_apart_is_refused(column: str) -> None:
    with pytest.raises(BadTable, match=f"column {column}: '1e19' is not a whole number below"):
        measure_document(trials(trial(**{column: "1e19"})), None, study())


@pytest.mark.parametrize(
    "more",
    [
        {"schedule": {"slots": [{"replication": [1], "slot": 1, "trials": []}]}},
        {"schedule": {"slots": [{"replication": 1, "slot": 1, "trials": 3}, 7, None]}},
        {"schedule": {"slots": "none"}},
        {"preregistered": {"margin": HUGE}},
    ],
)
def test_a_report_survives_odd_further_settings(tmp_path: Path, more: dict[str, Any]) -> None:
    path = written(tmp_path, settings=json.dumps(study(**more)))
    assert build_report([path], tmp_path / "out").is_file()


def test_labels_of_pooled_exports_differ_whatever_the_files_are_called() -> None:
    assert _labels(["a (3)", "a", "a"]) == ["a (3)", "a", "a (2)"]
    assert _labels(["a", "a", "a (2)", "a"]) == ["a", "a (3)", "a (2)", "a (4)"]
    for names in (["a (2)", "a", "a", "a"], ["x"] * 5, ["a", "a (2)", "a (2)"]):
        assert len(set(_labels(names))) == len(names)


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
@pytest.mark.parametrize("as_json", [True, False])
def test_names_are_printed_in_every_encoding(tmp_path: Path, encoding: str, as_json: bool) -> None:
    name = "条件 é"
    (tmp_path / "trials.csv").write_text(
        trials(trial(condition=name)).to_csv(index=False), encoding="utf-8"
    )
    (tmp_path / "study.json").write_text(json.dumps(study(conditions=[name], study_id="a\ud800")))
    command = [sys.executable, "-m", "analysis", "measures", str(tmp_path / "trials.csv")]
    command += ["--study", str(tmp_path / "study.json"), *(["--json"] if as_json else [])]
    done = subprocess.run(
        command, capture_output=True, cwd=ROOT, env={"PYTHONIOENCODING": encoding}, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    if as_json:
        assert json.load(io.BytesIO(done.stdout))["conditions"] == [name]
    else:
        assert b"\\u6761" in done.stdout
