"""Personal links and pilot links from the command line."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from studyapp.enums import RunKind
from studyapp.models import Enrolment, PersonalLink, Study
from tests import factories
from tests.studyapp.test_setup_commands import refused
from tests.studyapp.views.pages import join

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return factories.open_study(slug="s")


def people(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "people.csv"
    file.write_text(text, encoding="utf-8")
    return file


def rows(text: str) -> list[tuple[str, str, str]]:
    table = csv.DictReader(io.StringIO(text))
    return [(row["name"], row["kind"], row["state"]) for row in table]


def test_a_file_of_names_becomes_a_table_of_links(
    study: Study, tmp_path: Path, capsys: Any
) -> None:
    out = tmp_path / "links.csv"
    call_command("personal_links", "s", people(tmp_path, "name\nAnn\nBo\n"), output=out)
    assert capsys.readouterr().err == "2 links made; 0 people had one.\n"
    assert rows(out.read_text()) == [("Ann", "real", "not opened"), ("Bo", "real", "not opened")]
    call_command("personal_links", "s", people(tmp_path, "name\nBo\nCy\n"), pilot=False)
    said = capsys.readouterr()
    assert said.err == "1 link made; 1 person had one.\n"
    assert [row[0] for row in rows(said.out)] == ["Ann", "Bo", "Cy"]


def test_pilot_says_what_lines_without_a_kind_are_for(
    study: Study, tmp_path: Path, capsys: Any
) -> None:
    file = people(tmp_path, "name,kind\nAnn,\nBo,real\n")
    call_command("personal_links", "s", file, pilot=True)
    assert [row[:2] for row in rows(capsys.readouterr().out)] == [("Ann", "pilot"), ("Bo", "real")]


def test_a_faulty_file_makes_nothing(study: Study, tmp_path: Path, capsys: Any) -> None:
    file = people(tmp_path, "name,kind\nAnn,x\n,\nBo,\n")
    out = tmp_path / "out.csv"
    assert refused(capsys, "personal_links", "s", file, output=out) == (
        "people.csv, line 2, field kind: must be real or pilot, or empty."
    )
    assert not PersonalLink.objects.exists()
    assert not out.exists()
    missing = refused(capsys, "personal_links", "s", tmp_path / "none.csv")
    assert "No such file" in missing


def test_a_link_is_revoked_and_renewed_by_name(study: Study, tmp_path: Path, capsys: Any) -> None:
    call_command("personal_links", "s", people(tmp_path, "name\nAnn\n"))
    token = PersonalLink.objects.get().token
    call_command("personal_links", "s", revoke="Ann")
    assert PersonalLink.objects.get().revoked_at is not None
    call_command("personal_links", "s", renew="Ann")
    link = PersonalLink.objects.get()
    assert (link.revoked_at, link.token == token) == (None, False)
    assert "'Bo' has no link in s." in refused(capsys, "personal_links", "s", renew="Bo")


def test_a_pilot_link_starts_one_pilot_run(study: Study, capsys: Any) -> None:
    call_command("pilot_link", "s")
    link = capsys.readouterr().out.strip()
    join(Client(), study, link[link.index("/p/") :])
    assert Enrolment.objects.get().run_kind == RunKind.PILOT
