"""Reading files: text stays text, zips are read whole, bad files are named."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from analysis import BadTable, check_tables, measure_document, read_export, read_files
from analysis.typed import floats
from tests.analysis.builders import TRIAL_CASES, case_tables, events, study, trial, trials
from tests.shared_data import needs_data


def write(folder: Path, table: pd.DataFrame, encoding: str = "utf-8") -> tuple[Path, Path]:
    (folder / "trials.csv").write_bytes(table.to_csv(index=False).encode(encoding))
    (folder / "study.json").write_text(json.dumps(study()))
    return folder / "trials.csv", folder / "study.json"


def test_ids_and_comments_stay_text(tmp_path: Path) -> None:
    row = trial(claim_id="NA", reason="null") | {"own_note": "1e5"}
    table = read_files(*write(tmp_path, trials(row))).trials
    cells = table.loc[0, ["claim_id", "reason", "own_note"]].tolist()
    assert cells == ["NA", "null", "1e5"]


def test_a_byte_order_mark_and_crlf_change_nothing(tmp_path: Path) -> None:
    plain = read_files(*write(tmp_path, trials())).trials
    text = (tmp_path / "trials.csv").read_bytes().replace(b"\n", b"\r\n")
    (tmp_path / "trials.csv").write_bytes(b"\xef\xbb\xbf" + text)
    again = read_files(tmp_path / "trials.csv", tmp_path / "study.json").trials
    pd.testing.assert_frame_equal(plain, again)


def test_typed_tables_are_taken_as_well_as_text() -> None:
    text = check_tables(trials(), None, study())
    again = check_tables(text.trials, None, study())
    pd.testing.assert_frame_equal(text.trials, again.trials)
    with_none = trials().astype(object).replace({"msr": {"": None}})
    with_none["position"] = [1, 2]
    pd.testing.assert_frame_equal(
        check_tables(with_none, None, study()).trials, text.trials, check_dtype=False
    )


def test_a_whole_number_with_a_decimal_point_is_still_whole() -> None:
    checked = check_tables(trials(trial(msr="3.0")), None, study()).trials
    assert floats(checked["msr"]).tolist() == [3]


@needs_data
@pytest.mark.data
@pytest.mark.parametrize("case", TRIAL_CASES)
def test_row_order_changes_nothing(case: str) -> None:
    table, log, settings = case_tables(case)
    shuffled = table.sample(frac=1, random_state=5), log.sample(frac=1, random_state=6)
    assert measure_document(*shuffled, settings) == measure_document(table, log, settings)


def test_an_export_is_read_and_its_gaps_are_named(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("trials.csv", trials(trial()).to_csv(index=False))
        archive.writestr("study.json", json.dumps(study()))
    with pytest.raises(BadTable, match=r"export\.zip: events\.csv is not in the zip"):
        read_export(path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("events.csv", events().to_csv(index=False))
    assert read_export(path).trials["trial_id"].tolist() == ["t1"]


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    good_trials, good_study = write(tmp_path, trials())
    with pytest.raises(BadTable, match="cannot be read"):
        read_files(tmp_path / "none.csv", good_study)
    with pytest.raises(BadTable, match="no such file"):
        read_export(tmp_path / "none.zip")
    with pytest.raises(BadTable, match="not a zip file"):
        read_export(good_trials)
    good_study.write_text('{"study_id":\n "a"')
    with pytest.raises(BadTable, match="line 2: not JSON"):
        read_files(good_trials, good_study)
    good_study.write_text(json.dumps(study(format_version="9")))
    with pytest.raises(BadTable, match="format_version: 9 is not 1"):
        read_files(good_trials, good_study)
    (tmp_path / "trials.csv").write_bytes("Prüfung,\n".encode("latin-1"))
    with pytest.raises(BadTable, match="not UTF-8"):
        read_files(good_trials, good_study)
    (tmp_path / "trials.csv").write_bytes(b"")
    with pytest.raises(BadTable, match="not a comma-separated table"):
        read_files(good_trials, good_study)
