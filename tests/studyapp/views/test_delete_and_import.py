"""The pages that delete a study, and that make one again from an export."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from studyapp.domain.export import Shape, export_study
from studyapp.enums import Role, StudyState
from studyapp.models import AuditEntry, Enrolment, Membership, Study, Trial
from tests import factories
from tests.studyapp.domain import exported

pytestmark = pytest.mark.django_db

NEW_VERSION = "/studies/again/versions/new/"


@pytest.fixture
def ann() -> Any:
    return get_user_model().objects.create_user("ann")


@pytest.fixture
def client(ann: Any) -> Client:
    client = Client()
    client.force_login(ann)
    return client


def test_a_study_is_deleted_once_its_name_was_typed(client: Client, ann: Any) -> None:
    factories.draft_study("gone", owner=ann)
    page = client.get("/studies/gone/delete/").content.decode()
    assert "This deletes 0 claims, 0 participants and 0 trials" in page
    wrong = client.post("/studies/gone/delete/", {"slug": "other"})
    assert wrong.status_code == 422
    assert "type its short name, gone, to delete it" in wrong.content.decode()
    done = client.post("/studies/gone/delete/", {"slug": "gone"}, follow=True)
    assert "The study gone is deleted." in done.content.decode()
    assert not Study.objects.exists()


def test_an_open_study_is_closed_first(client: Client, ann: Any) -> None:
    study = factories.open_study(owner=ann)
    assert "Close it first" in client.get(f"/studies/{study.slug}/delete/").content.decode()
    refused = client.post(f"/studies/{study.slug}/delete/", {"slug": study.slug})
    assert refused.status_code == 409
    assert Study.objects.filter(pk=study.pk).exists()


def test_the_study_page_offers_it_to_owners_of_drafts_and_closed_studies(
    client: Client, ann: Any
) -> None:
    link = "/studies/{}/delete/"
    draft = factories.draft_study("draft", owner=ann)
    opened = factories.open_study(slug="opened", owner=ann)
    assert link.format("draft") in client.get("/studies/draft/").content.decode()
    assert link.format("opened") not in client.get("/studies/opened/").content.decode()
    Study.objects.filter(pk=opened.pk).update(state=StudyState.CLOSED)
    assert link.format("opened") in client.get("/studies/opened/").content.decode()
    Membership.objects.filter(study=draft).update(role=Role.EDITOR)
    assert link.format("draft") not in client.get("/studies/draft/").content.decode()


def test_a_participants_data_are_deleted_once_the_studys_name_was_typed(
    client: Client, ann: Any
) -> None:
    study = factories.open_study(owner=ann)
    mine, _ = factories.started(study)
    other, _ = factories.started(study)
    address = f"/studies/{study.slug}/participants/{mine.participant.code}/delete/"
    page = client.get(address).content.decode()
    assert "This deletes 1 run with 1 trial, and 0 stored exports" in page
    wrong = client.post(address, {"slug": "x"})
    assert wrong.status_code == 422
    assert f"short name, {study.slug}, to delete these data" in wrong.content.decode()
    done = client.post(address, {"slug": study.slug}, follow=True).content.decode()
    assert "The participant&#x27;s data are deleted. A count stays." in done
    assert [run.pk for run in Enrolment.objects.all()] == [other.pk]
    assert study.withdrawals.count() == 1
    entry = AuditEntry.objects.latest("pk")
    assert entry.details == {"runs": 1, "trials": 1, "exports": 0}
    assert client.post(address, {"slug": study.slug}).status_code == 404


def test_owners_alone_are_offered_the_deletion_of_a_participant(client: Client, ann: Any) -> None:
    study = factories.open_study(owner=ann)
    run, _ = factories.started(study)
    page = f"/studies/{study.slug}/participants/{run.participant.code}/"
    assert f"{page}delete/" in client.get(page).content.decode()
    Membership.objects.update(role=Role.EDITOR)
    assert f"{page}delete/" not in client.get(page).content.decode()
    assert client.get(f"{page}delete/").status_code == 403


@pytest.fixture
def archive(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> bytes:
    exported.TickingClock(monkeypatch)
    study = exported.open_study(tmp_path)
    exported.sit(study)
    path = tmp_path / "export.zip"
    export_study(study, path)
    return path.read_bytes()


def upload(client: Client, content: bytes, **given: Any) -> Any:
    file = SimpleUploadedFile("pilot.zip", content, "application/zip")
    return client.post("/new/from-export/", {"file": file} | given, follow=True)


def test_an_export_becomes_a_draft_of_ones_own(client: Client, ann: Any, archive: bytes) -> None:
    page = upload(client, archive, slug="again").content.decode()
    assert "again was imported: 6 claims and 6 slots." in page
    study = Study.objects.get(slug="again")
    assert study.is_draft
    assert study.memberships.get().user == ann
    assert Trial.objects.filter(participant__study=study).count() == 0


def test_an_export_comes_back_with_its_data(client: Client, archive: bytes) -> None:
    page = upload(client, archive, slug="again", with_data="on").content.decode()
    assert "again was imported: 6 claims, 6 slots, 1 participant and 4 trials." in page
    study = Study.objects.get(slug="again")
    assert study.state == StudyState.PAUSED
    assert Trial.objects.filter(participant__study=study).count() == 4


def test_an_imported_study_says_that_it_is_paused_and_whose_runs_cannot_go_on(
    client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    exported.TickingClock(monkeypatch)
    study = exported.open_study(tmp_path)
    exported.sit(study, n_trials=2)
    export_study(study, tmp_path / "export.zip")
    page = upload(client, (tmp_path / "export.zip").read_bytes(), slug="again", with_data="on")
    html = page.content.decode()
    assert "The study is paused. Who decides when it ends" in html
    assert "The study is running" not in html
    stuck = "1 imported run was under way in the original, and nobody can go on with it here."
    assert stuck in html
    assert "Nobody is under way now." in html
    assert f"Nobody is under way now. {stuck}" in client.get(NEW_VERSION).content.decode()
    versions = client.get("/studies/again/versions/").content.decode()
    assert "imported" in versions
    assert "somebody who is not recorded" not in versions


def test_a_deidentified_export_is_refused_with_its_data(
    client: Client, archive: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "passed-on.zip"
    export_study(Study.objects.get(), path, shape=Shape(deidentified=True))
    refused = upload(client, path.read_bytes(), slug="again", with_data="on")
    assert refused.status_code == 422
    said = "pilot.zip: a de-identified export comes back as a draft only"
    assert said in refused.content.decode()


@pytest.mark.parametrize(
    ("content", "given", "said"),
    [
        (b"no zip at all", {}, "pilot.zip: no zip file, or a damaged one"),
        (None, {}, "study &#x27;original&#x27; exists already"),
        (None, {"slug": "not a slug"}, "Use letters, digits, hyphens and underscores."),
        (b"", {}, "The submitted file is empty."),
    ],
)
def test_a_file_that_cannot_be_imported_leaves_nothing(
    client: Client, archive: bytes, content: bytes | None, given: dict[str, str], said: str
) -> None:
    response = upload(client, archive if content is None else content, **given)
    assert response.status_code == 422
    assert said in response.content.decode()
    assert "/tmp" not in response.content.decode()
    assert Study.objects.count() == 1
