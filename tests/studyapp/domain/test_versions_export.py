"""What an export tells of a study's versions and blindness, and what an import keeps of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analysis.load import read_export
from studyapp.domain import blinding, lifecycle
from studyapp.domain.export import export_study
from studyapp.domain.export_settings import study_versions
from studyapp.domain.import_archive import import_study
from studyapp.domain.trials import record_decision, start_next_trial
from studyapp.domain.versions import publish
from studyapp.errors import BadUpload
from studyapp.models import Study
from tests import factories
from tests.studyapp.domain import exported

pytestmark = pytest.mark.django_db


def finish(enrolment: Any, **answer: Any) -> None:
    trial = start_next_trial(enrolment.token)
    while trial is not None:
        given = {"decision": "supported"} | answer
        trial = record_decision(enrolment.token, trial.code, given)


@pytest.fixture
def changed() -> Study:
    """One run under version 1, one under version 2; codes changed as well."""
    study = factories.open_study(completion_code="OLDCODE", sitting={"declined_code": "OLDNO"})
    finish(factories.joined(study))
    publish(
        study,
        {
            "texts": {"instructions": "Read fast."},
            "completion_code": "NEWCODE",
            "sitting": {"declined_code": "NEWNO", "confidence": "optional"},
        },
        "People read too slowly.",
    )
    finish(factories.joined(study), confidence=3)
    return study


def exported_to(study: Study, folder: Path, name: str = "export.zip") -> Path:
    path = folder / name
    export_study(study, path)
    return path


def test_every_trial_names_the_version_it_ran_under(changed: Study, tmp_path: Path) -> None:
    path = exported_to(changed, tmp_path)
    names = study_versions(changed)
    assert [name.split("-")[0] for name in names.values()] == ["v1", "v2"]
    people = exported.table(path, "participants.csv")
    version_of = {row["participant_id"]: int(row["version"]) for row in people}
    assert sorted(version_of.values()) == [1, 2]
    for row in exported.table(path, "trials.csv"):
        assert row["study_version"] == names[version_of[row["participant_id"]]]


def test_study_json_lists_the_versions_with_their_changes_and_without_codes(
    changed: Study, tmp_path: Path
) -> None:
    path = exported_to(changed, tmp_path)
    study_json = exported.records(path, "study.json")[0]
    first, second = study_json["versions"]
    before = first["settings"]["texts"]["instructions"]
    assert (first["number"], first["reason"], first["changes"]) == (1, "", [])
    assert (second["number"], second["reason"]) == (2, "People read too slowly.")
    assert second["changes"] == [
        {"setting": "completion_code"},
        {"setting": "sitting.confidence", "old": "off", "new": "optional"},
        {"setting": "sitting.declined_code"},
        {"setting": "texts.instructions", "old": before, "new": "Read fast."},
    ]
    assert second["hashes"]["texts"] == study_json["frozen"]["texts"] != first["hashes"]["texts"]
    assert second["settings"]["texts"] == study_json["texts"]
    whole = json.dumps(study_json)
    assert not any(code in whole for code in ("OLDCODE", "NEWCODE", "OLDNO", "NEWNO"))


def test_an_import_keeps_the_history_of_the_original_and_begins_its_own(
    changed: Study, tmp_path: Path
) -> None:
    path = exported_to(changed, tmp_path)
    before = exported.records(path, "study.json")[0]
    copy = import_study(path, "copy").study
    assert (copy.version, copy.texts) == (0, before["texts"])
    assert copy.origin["versions"] == before["versions"]
    assert copy.origin["study_id"] == changed.slug
    opened = lifecycle.open_study(copy)
    [own] = opened.versions.all()
    assert own.number == 1
    assert own.hashes["texts"] == before["versions"][1]["hashes"]["texts"]
    again = exported.records(exported_to(opened, tmp_path, "again.zip"), "study.json")[0]
    assert again["origin"] == copy.origin
    third = import_study(tmp_path / "again.zip", "third").study
    assert third.origin["origin"] == copy.origin


def test_an_export_of_before_there_were_versions_is_still_imported(
    changed: Study, tmp_path: Path
) -> None:
    files = exported.members_of(exported_to(changed, tmp_path))
    content = json.loads(files["study.json"])
    for name in ("versions", "origin", "blind", "unblinded"):
        del content[name]
    files["study.json"] = json.dumps(content).encode()
    copy = import_study(exported.zipped(tmp_path / "old.zip", files), "copy").study
    assert (copy.origin, copy.blind) == ({}, False)


@pytest.mark.parametrize("versions", [{"1": {}}, ["v1"], "v1"])
def test_versions_that_are_none_are_refused(changed: Study, tmp_path: Path, versions: Any) -> None:
    files = exported.members_of(exported_to(changed, tmp_path))
    content = json.loads(files["study.json"]) | {"versions": versions}
    files["study.json"] = json.dumps(content).encode()
    with pytest.raises(BadUpload, match=r"study.json, field versions: must be a list of objects"):
        import_study(exported.zipped(tmp_path / "odd.zip", files), "copy")
    assert not Study.objects.filter(slug="copy").exists()


# ---- what the report says of it ------------------------------------------------------------------


def findings_in(path: Path) -> dict[str, tuple[str, str]]:
    """What the report finds of versions and blindness in an export, and its verdict."""
    from analysis.report.data import report_data
    from analysis.report.deviations import findings_of

    [source] = report_data(["export"], [read_export(path)]).sources
    wanted = ("Study version", "Changes after the opening", "Blind while running")
    return {f.subject: (f.found, f.verdict) for f in findings_of(source) if f.subject in wanted}


def test_the_report_lists_every_later_version_as_a_deviation(
    changed: Study, tmp_path: Path
) -> None:
    names = study_versions(changed)
    at = exported.records(exported_to(changed, tmp_path), "study.json")[0]["versions"][1]
    assert findings_in(tmp_path / "export.zip") == {
        "Study version": (
            f"The study changed while it ran: {names[1]} (4 trials), {names[2]} (4 trials).",
            "deviation",
        ),
        "Changes after the opening": (
            f"Version 2 ({at['created_at']}) changed completion_code, sitting.confidence, "
            "sitting.declined_code and texts.instructions; the reason given: People read too "
            "slowly.",
            "deviation",
        ),
        "Blind while running": ("results could be looked at at any time", "not fixed beforehand"),
    }


def test_a_study_that_stayed_as_it_opened_has_no_such_deviation(tmp_path: Path) -> None:
    study = factories.open_study(blind=True)
    finish(factories.joined(study))
    found = findings_in(exported_to(study, tmp_path))
    assert found["Changes after the opening"] == ("none was made", "as fixed")
    assert found["Blind while running"] == ("they were not unblinded", "as fixed")


@pytest.mark.parametrize(("by", "who"), [("owner", "an owner"), ("command", "a command")])
def test_unblinding_is_a_deviation_with_its_time_and_role(
    tmp_path: Path, by: str, who: str
) -> None:
    study = factories.open_study(blind=True)
    finish(factories.joined(study))
    blinding.unblind(study, by)
    path = exported_to(study, tmp_path)
    at = exported.records(path, "study.json")[0]["unblinded"]["at"]
    assert findings_in(path)["Blind while running"] == (
        f"Unblinded on {at} by {who}.",
        "deviation",
    )
