"""Live measures and the download."""

from __future__ import annotations

import io
import re
import zipfile
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

from studyapp.domain.trials import record_decision, start_next_trial
from studyapp.enums import RunKind
from studyapp.models import Enrolment, Study, Trial
from tests import factories

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture
def ann() -> Any:
    return get_user_model().objects.create_user("ann")


@pytest.fixture
def client(ann: Any) -> Client:
    client = Client()
    client.force_login(ann)
    return client


def finish(enrolment: Enrolment) -> None:
    """Do every trial of a run; every decision is "supported"."""
    trial = start_next_trial(enrolment.token)
    while trial is not None:
        trial = record_decision(enrolment.token, trial.code, {"decision": "supported"})


def measures(client: Client, study: Study, query: str = "", **headers: str) -> str:
    response = client.get(reverse("study-measures", args=[study.slug]) + query, headers=headers)
    assert response.status_code == 200
    assert "HX-Request" in response.headers["Vary"]
    return response.content.decode()


def test_a_study_without_trials_says_that_there_are_none_yet(client: Client, ann: Any) -> None:
    study = factories.open_study(owner=ann)
    factories.started(study)
    assert "No completed trials yet" in measures(client, study, **HTMX)
    page = client.get(reverse("study", args=[study.slug])).content.decode()
    assert 'id="measures-state">No completed trials yet<' in page
    assert reverse("study-measures", args=[study.slug]) not in page


def test_measures_are_shown_by_condition_with_their_n(client: Client, ann: Any) -> None:
    study = factories.open_study(owner=ann)
    finish(factories.joined(study))
    html = measures(client, study, **HTMX)
    assert "<html" not in html
    assert "4 trials in the design set" in html
    table = {
        " ".join(re.sub(r"<[^>]+>", " ", label).split()): cells
        for label, cells in re.findall(
            r"<summary>(.*?)</summary>.*?</th>(.*?)</tr>", html, flags=re.S
        )
    }
    # One run of 2 + 2 trials; of the two claims of each condition one is supported.
    assert re.findall(r"<td>(.*?)</td>", table["Trials"]) == ["2", "2"]
    for cell in re.findall(r"<td>(.*?)</td>", table["Success"]):
        assert cell.startswith("1/2, 50.0 %")
    page = client.get(reverse("study", args=[study.slug])).content.decode()
    assert 'id="measures-state">4 completed trials<' in page
    assert 'hx-trigger="load"' in page


def test_measures_have_a_page_of_their_own_without_javascript(client: Client, ann: Any) -> None:
    study = factories.open_study(owner=ann)
    finish(factories.joined(study))
    html = measures(client, study)
    assert "<html" in html
    assert "4 trials in the design set" in html


def test_simulated_runs_count_only_when_asked_for(client: Client, ann: Any) -> None:
    study = factories.open_study(owner=ann)
    finish(factories.joined(study, RunKind.SIMULATED))
    assert "No completed trials yet" in measures(client, study, **HTMX)
    html = measures(client, study, "?simulated=on", **HTMX)
    assert "4 trials in the design set, simulated runs included" in html


def test_data_that_contradict_themselves_are_said_instead_of_measured(
    client: Client, ann: Any
) -> None:
    study = factories.open_study(owner=ann)
    enrolment = factories.joined(study)
    finish(enrolment)
    trial = Trial.objects.filter(enrolment=enrolment).earliest("position")
    Trial.objects.filter(pk=trial.pk).update(started_at=trial.started_at - timedelta(hours=1))
    for headers in ({}, HTMX):
        url = reverse("study-measures", args=[study.slug])
        response = client.get(url, headers=headers)
        assert response.status_code == 409
        assert trial.code in response.content.decode()


def download(client: Client, study: Study, query: str = "") -> zipfile.ZipFile:
    response = client.get(reverse("study-export", args=[study.slug]) + query)
    assert response.status_code == 200
    assert response.headers["Content-Disposition"] == f'attachment; filename="{study.slug}.zip"'
    return zipfile.ZipFile(io.BytesIO(b"".join(response.streaming_content)))


def test_the_download_is_the_whole_export(client: Client, ann: Any) -> None:
    study = factories.open_study(owner=ann)
    finish(factories.joined(study))
    finish(factories.joined(study, RunKind.SIMULATED))
    archive = download(client, study)
    assert {"trials.csv", "events.csv", "claims.jsonl", "study.json"} <= set(archive.namelist())
    assert archive.testzip() is None
    assert len(archive.read("trials.csv").splitlines()) == 1 + 4
    both = download(client, study, "?simulated=on")
    assert len(both.read("trials.csv").splitlines()) == 1 + 8


def test_the_download_leaves_no_file_behind(
    client: Client, ann: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    download(client, factories.open_study(owner=ann))
    assert list(tmp_path.iterdir()) == []


def test_an_export_that_fails_is_said_on_the_study_page(
    client: Client, ann: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from studyapp.errors import StudyError

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise StudyError("the disk is full")

    monkeypatch.setattr("studyapp.views.researcher.export_study", refuse)
    study = factories.open_study(owner=ann)
    response = client.get(reverse("study-export", args=[study.slug]))
    assert response.status_code == 400
    assert "the disk is full" in response.content.decode()
