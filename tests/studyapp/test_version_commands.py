"""New versions from the command line and over the API."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from studyapp.domain.versions import publish
from studyapp.models import Study
from tests import factories
from tests.studyapp.api.asking import Api, error_of, researcher
from tests.studyapp.test_setup_commands import refused

pytestmark = pytest.mark.django_db


def changes_file(folder: Path, changes: Any) -> Path:
    file = folder / "changes.json"
    file.write_text(json.dumps(changes), encoding="utf-8")
    return file


def test_a_version_is_published_and_listed(study: Study, tmp_path: Path, capsys: Any) -> None:
    file = changes_file(tmp_path, {"title": "Second", "sitting": {"break_every": 2}})
    call_command("publish_version", study.slug, config=file, reason="Two\nlines.")
    [_, version] = study.versions.order_by("number")
    assert capsys.readouterr().out == (
        f"study {study.slug}: version 2 is published ({version.name})\n"
    )
    factories.joined(study)
    call_command("versions", study.slug)
    newest, changed, reason, first = capsys.readouterr().out.splitlines()
    assert newest.startswith("version 2  ")
    assert newest.endswith(f" UTC  command  1 run  {version.name}")
    assert changed == "  changed: sitting.break_every, title"
    assert reason == "  reason: Two lines."
    assert "0 runs" in first
    call_command("versions", study.slug, json=True)
    told = json.loads(capsys.readouterr().out)
    assert [each["number"] for each in told] == [1, 2]


def test_a_whole_study_json_with_one_change_is_a_version_of_that_change(
    study: Study, tmp_path: Path, capsys: Any
) -> None:
    from studyapp.domain.export_settings import study_settings

    whole = study_settings(study) | {"title": "Second"}
    file = changes_file(tmp_path, whole)
    call_command("publish_version", study.slug, config=file, reason="One.")
    assert Study.objects.get(pk=study.pk).title == "Second"
    file = changes_file(tmp_path, whole | {"title": "Third", "subsets": 1})
    said = refused(capsys, "publish_version", study.slug, config=file, reason="One.")
    assert said.startswith("field subsets: frozen since the opening; make a new study")


@pytest.mark.parametrize(
    ("changes", "reason", "said"),
    [
        ({"title": "T"}, " ", "reason: say why the study changes"),
        ({"colour": 1}, "Why.", "field colour: not known"),
        ([], "Why.", "must hold one JSON object"),
        ({"lease_minutes": 0, "title": ""}, "Why.", "field lease_minutes: must be"),
    ],
)
def test_what_is_refused_is_said_and_changes_nothing(
    study: Study, tmp_path: Path, capsys: Any, changes: Any, reason: str, said: str
) -> None:
    file = changes_file(tmp_path, changes)
    assert said in refused(capsys, "publish_version", study.slug, config=file, reason=reason)
    assert Study.objects.get(pk=study.pk).version == 1


def test_a_draft_has_no_versions_to_list(capsys: Any) -> None:
    call_command("versions", factories.draft_study().slug)
    found = capsys.readouterr()
    assert (found.out, "no version yet" in found.err) == ("", True)


# ---- the API -------------------------------------------------------------------------------------


@pytest.fixture
def owned() -> tuple[Api, Study]:
    ann = researcher("ann")
    return Api(ann), factories.open_study(owner=ann)


def test_a_version_is_published_over_the_api(owned: tuple[Api, Study]) -> None:
    api, study = owned
    body = {"changes": {"texts": {"contact": "Ann"}}, "reason": "Asked for.", "base": 1}
    answer = api.post(f"studies/{study.slug}/versions/", body)
    assert answer.status_code == 201, answer.content
    told = answer.json()
    assert (told["number"], told["reason"], told["n_runs"]) == (2, "Asked for.", 0)
    assert told["changes"] == [{"setting": "texts.contact", "old": "", "new": "Ann"}]
    assert api.rows(f"studies/{study.slug}/versions/?limit=1") == [
        api.rows(f"studies/{study.slug}/versions/")[0],
        told,
    ]
    again = api.post(f"studies/{study.slug}/versions/", body)
    assert (again.status_code, error_of(again)["code"]) == (409, "not_editable")


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({}, 400, "changes"),
        ({"changes": {"title": "T"}}, 400, "reason"),
        ({"changes": {"seed": 9}, "reason": "Why."}, 409, "seed"),
        ({"changes": {"title": ""}, "reason": "Why."}, 400, "title"),
        ({"changes": [], "reason": "Why."}, 400, "changes"),
        ({"changes": {"title": "T"}, "reason": "Why.", "base": "x"}, 400, "base"),
        ({"changes": {"title": "T"}, "reason": "Why.", "more": 1}, 400, "more"),
    ],
)
def test_a_body_that_is_wrong_names_its_field(
    owned: tuple[Api, Study], body: Any, status: int, field: str
) -> None:
    api, study = owned
    answer = api.post(f"studies/{study.slug}/versions/", body)
    assert answer.status_code == status, answer.content
    assert [problem["field"] for problem in error_of(answer)["problems"]].count(field) == 1
    assert study.versions.count() == 1


def test_codes_are_nowhere_in_the_list(owned: tuple[Api, Study]) -> None:
    api, study = owned
    publish(study, {"completion_code": "SECRET2"}, "Another code.")
    answer = api.get(f"studies/{study.slug}/versions/").content.decode()
    assert "SECRET2" not in answer
    assert study.versions.get(number=1).content["completion_code"] not in answer
