"""A study that comes back with its data has the versions it had."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from studyapp.domain.export import export_study
from studyapp.domain.export_settings import exported_versions
from studyapp.domain.import_archive import import_study
from studyapp.domain.import_versions import restore_versions
from studyapp.domain.versions import publish
from studyapp.enums import StudyState
from studyapp.errors import BadUpload
from studyapp.models import Study
from tests import factories
from tests.studyapp.domain import exported

pytestmark = pytest.mark.django_db


@pytest.fixture
def content(tmp_path: Path) -> dict[str, Any]:
    """study.json of a study with two versions, which is imported as ``copy``."""
    study = factories.open_study()
    changes = {"texts": {"instructions": "Read fast."}, "sitting": {"break_every": 2}}
    publish(study, changes, "Two lines\nof reason.")
    export_study(study, tmp_path / "export.zip")
    import_study(tmp_path / "export.zip", "copy")
    return exported.records(tmp_path / "export.zip", "study.json")[0]


def put_back(content: dict[str, Any]) -> Study:
    """The imported draft in the state of a study that came back with its data."""
    study = Study.objects.get(slug="copy")
    study.state, study.opened_at = StudyState.PAUSED, content["opened_at"]
    study.frozen = content["frozen"]
    study.save()
    return study


def test_the_versions_come_back_as_they_were_exported(content: dict[str, Any]) -> None:
    study = put_back(content)
    restore_versions(study, content)
    study = Study.objects.get(pk=study.pk)
    assert exported_versions(study) == content["versions"]
    assert (study.version, study.origin) == (2, {})
    publish(study, {"title": "Going on"}, "Once more.")
    assert [version.number for version in study.versions.all()] == [1, 2, 3]


def test_an_export_of_before_there_were_versions_gives_the_first(content: dict[str, Any]) -> None:
    study = put_back(content)
    restore_versions(study, {name: content[name] for name in content if name != "versions"})
    [version] = study.versions.all()
    assert (version.number, version.content["texts"]) == (1, study.texts)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("number", 7, "number 2: field number: 7 is not 2"),
        ("settings", None, "number 2: field settings: must be an object"),
        ("settings", {"title": 5}, "number 2: field title: must be a text"),
        ("hashes", [], "number 2: field hashes: must be an object"),
        ("reason", None, "number 2: field reason: must be a text"),
        ("created_at", "yesterday", "number 2: field created_at: 'yesterday' is not a UTC time"),
    ],
)
def test_a_version_that_cannot_be_kept_names_its_field(
    content: dict[str, Any], field: str, value: Any, said: str
) -> None:
    wrong = copy.deepcopy(content)
    wrong["versions"][1][field] = value
    with pytest.raises(BadUpload, match=said):
        restore_versions(put_back(content), wrong)
    assert not Study.objects.get(slug="copy").versions.exists()
