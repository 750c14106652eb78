"""What a report says of excluded people: true whatever the rule was that was fixed beforehand."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.load import read_export
from analysis.report.data import ReportData, report_data
from analysis.report.methods import methods_text
from analysis.report.rule_checks import exclusion
from tests.analysis.builders import events, study, trial, trials
from tests.analysis.reports import checked, full_study

NOBODY = "Nobody is left out."


def with_excluded(*people: str) -> pd.DataFrame:
    table = full_study(4)
    table.loc[table["participant_id"].isin(people), "participant_status"] = "excluded"
    return table


def small(table: pd.DataFrame, ends: dict[str, str], **settings: Any) -> ReportData:
    tables = replace(checked(table, study(**settings)), end_reasons=ends)
    return report_data(["small"], [tables])


def zipped(path: Path, people: str) -> Path:
    """An export of one trial with a participants.csv."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("trials.csv", trials(trial()).to_csv(index=False))
        archive.writestr("events.csv", events().to_csv(index=False))
        archive.writestr("study.json", json.dumps(study()))
        archive.writestr("participants.csv", people)
    return path


def test_the_methods_do_not_say_that_the_rule_excluded_a_rejected_run() -> None:
    settings = study(preregistered={"exclusion_rule": NOBODY})
    data = report_data(["small"], [checked(with_excluded("P1"), settings)])
    text = methods_text(data)[2]
    assert "2 (participant excluded: rejected, screened out or failed checks)" in text
    assert text.endswith(
        "The exclusion rule fixed beforehand was: Nobody is left out. By it or for other reasons, "
        "1 participant was excluded (rejected, screened out or failed checks)."
    )


def test_people_are_counted_by_the_end_that_the_export_tells() -> None:
    ends = {"P1": "rejected", "P2": "screened_out", "P3": "rejected", "P4": ""}
    rule = {"exclusion_rule": NOBODY}
    data = small(with_excluded("P1", "P2", "P3"), ends, preregistered=rule)
    said = "3 participants were excluded (rejected 2, screened out 1)"
    assert methods_text(data)[2].endswith(f"By it or for other reasons, {said}.")
    assert exclusion(data.sources[0]).found == (
        "Excluded without having met an attention check: P1, P2, P3."
    )


def test_an_exclusion_without_a_rule_names_the_ends() -> None:
    data = small(with_excluded("P1", "P2"), {"P1": "failed_checks", "P2": ""})
    assert exclusion(data.sources[0]).found == (
        "2 participants were excluded (failed checks 1, no reason recorded 1), though no rule was "
        "fixed."
    )


def test_the_ends_are_read_from_participants_csv_where_it_has_them(tmp_path: Path) -> None:
    told = zipped(tmp_path / "told.zip", "participant_id,end_reason\nP1,rejected\nP2,\n")
    silent = zipped(tmp_path / "silent.zip", "participant_id\nP1\n")
    assert read_export(told).end_reasons == {"P1": "rejected", "P2": ""}
    assert read_export(silent).end_reasons == {}
