"""The results page, its report, and the download of the export."""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from studyapp.domain import leases, lifecycle, progress, results_jobs, results_report
from studyapp.domain.trials import record_decision, reveal_next, start_next_trial
from studyapp.enums import JobState, RunKind, StudyState
from studyapp.models import AuditEntry, Enrolment, ResultsJob, Study, Trial
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


def finish(enrolment: Enrolment, n_read: int = 1) -> None:
    """Do every trial of a run; every decision is "supported"."""
    trial = start_next_trial(enrolment.token)
    while trial is not None:
        for rank in range(2, n_read + 1) if trial.condition.is_incremental else ():
            reveal_next(enrolment.token, trial.code, rank)
        trial = record_decision(enrolment.token, trial.code, {"decision": "supported"})


def measures(client: Client, study: Study, query: str = "", **headers: str) -> str:
    response = client.get(reverse("study-measures", args=[study.slug]) + query, headers=headers)
    assert response.status_code == 200
    assert "HX-Request" in response.headers["Vary"]
    return response.content.decode()


def table_of(html: str) -> dict[str, list[str]]:
    """The cells of every measure."""
    rows = re.findall(r"<summary>(.*?)</summary>.*?</th>(.*?)</tr>", html, flags=re.S)
    return {
        " ".join(re.sub(r"<[^>]+>", " ", label).split()): re.findall(r"<td>(.*?)</td>", cells)
        for label, cells in rows
    }


def is_polling(html: str) -> bool:
    return 'hx-trigger="every 2s"' in html


def run_all() -> None:
    """What a worker does with the queued jobs."""
    for job in ResultsJob.objects.filter(state=JobState.QUEUED):
        assert results_jobs.run_job(job.pk)


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
    assert "Computed from 4 completed trials on " in html
    table = table_of(html)
    # One run of 2 + 2 trials; of the two claims of each condition one is supported.
    assert table["Trials"] == ["2", "2"]
    assert [cell.startswith("1/2, 50.0 %") for cell in table["Success"]] == [True, True]


def test_who_watches_a_running_study_sees_results_only_when_asked_for(
    client: Client, ann: Any
) -> None:
    study = factories.open_study(owner=ann)
    finish(factories.joined(study))
    page = client.get(reverse("study", args=[study.slug])).content.decode()
    assert 'id="measures-state">4 completed trials<' in page
    assert "Show the results so far" in page
    assert 'hx-trigger="load"' not in page
    assert not ResultsJob.objects.exists()
    lifecycle.set_state(study, StudyState.CLOSED, allowed_from=[StudyState.OPEN])
    assert 'hx-trigger="load"' in client.get(reverse("study", args=[study.slug])).content.decode()


def test_the_card_shows_the_table_and_leads_to_the_rest(client: Client, ann: Any) -> None:
    study = factories.open_study(owner=ann)
    finish(factories.joined(study))
    html = measures(client, study, "?part=table", **HTMX)
    assert table_of(html)["Trials"] == ["2", "2"]
    assert "Claims to look at" not in html
    assert f'<a href="{reverse("study-measures", args=[study.slug])}">All results</a>' in html


def test_the_page_has_every_part_and_works_without_javascript(client: Client, ann: Any) -> None:
    study = factories.open_study(owner=ann)
    finish(factories.joined(study))
    html = measures(client, study)
    assert "<html" in html
    assert table_of(html)["Trials"] == ["2", "2"]
    headings = re.findall(r"<h2>(.*?)</h2>", html)
    assert headings == [
        "By condition",
        "Comparison",
        "Claims to look at",
        "People to look at",
        "Balance and what is left out",
        "Report",
    ]
    assert "None of 4 claims is listed." in html
    assert (
        "4 cells of claim and condition have one trial, 0 more than one; of the claims met so far "
        "4 none yet."
    ) in html
    assert "Of all 8 planned cells 4 without a trial." in html
    assert not is_polling(html)


def test_the_comparison_is_left_to_a_worker(client: Client, ann: Any) -> None:
    study = factories.open_study(owner=ann)
    finish(factories.joined(study))
    assert "is left to a worker; none answers" in measures(client, study)
    progress.note_presence("worker")
    assert "The comparison takes longer; a worker is asked for it." in measures(client, study)
    run_all()
    html = measures(client, study)
    assert "is left to a worker" not in html
    assert 'aria-label="Primary comparison"' in html
    assert "The study is running. These tests assume" in html


def test_a_claim_most_readers_disagree_with_is_listed_with_its_text_escaped(
    client: Client, ann: Any
) -> None:
    study = factories.open_study(owner=ann)
    study.claims.filter(claim_id="c2").update(text="<b>Bold</b> & odd")
    for _ in range(2):
        finish(factories.joined(study), n_read=4)
    html = measures(client, study)
    assert "<q>&lt;b&gt;Bold&lt;/b&gt; &amp; odd</q>" in html
    assert "2 of 4 claims. Their annotation may be wrong" in html
    assert "2 of 2 readers who had sufficient evidence chose another label than refuted" in html


def test_simulated_runs_count_only_when_asked_for(client: Client, ann: Any) -> None:
    study = factories.open_study(owner=ann)
    finish(factories.joined(study, RunKind.SIMULATED))
    assert "No completed trials yet" in measures(client, study, **HTMX)
    html = measures(client, study, "?simulated=on", **HTMX)
    assert "4 trials in the design set, simulated runs included" in html


def test_an_odd_query_is_taken_as_not_said(client: Client, ann: Any) -> None:
    study = factories.open_study(owner=ann)
    finish(factories.joined(study))
    assert "Balance" in measures(client, study, "?part=%00x&watch=&simulated=0")


def test_data_that_contradict_themselves_are_said_instead_of_measured(
    client: Client, ann: Any
) -> None:
    study = factories.open_study(owner=ann)
    enrolment = factories.joined(study)
    finish(enrolment)
    trial = Trial.objects.filter(enrolment=enrolment).earliest("position")
    Trial.objects.filter(pk=trial.pk).update(started_at=trial.started_at - timedelta(hours=1))
    for headers in ({}, HTMX):
        html = measures(client, study, **headers)
        assert "The results could not be computed." in html
        assert trial.code in html
        assert "Try again" in html
        assert not is_polling(html)
    Trial.objects.filter(pk=trial.pk).update(started_at=trial.started_at)
    url = reverse("study-measures", args=[study.slug])
    assert client.post(url).url == url
    assert table_of(measures(client, study))["Trials"] == ["2", "2"]


# ---- computed by a worker ------------------------------------------------------------------------


@pytest.fixture
def study(ann: Any, monkeypatch: pytest.MonkeyPatch) -> Study:
    """An open study with one finished run; a worker answers."""
    monkeypatch.setattr("studyapp.tasks.compute_results.delay", lambda job_id: None)
    study = factories.open_study(n_replications=2, owner=ann)
    finish(factories.joined(study))
    progress.note_presence("worker")
    return study


def test_the_page_polls_until_the_worker_is_done(client: Client, study: Study) -> None:
    html = measures(client, study)
    assert "Waiting for a worker to compute it; asked for" in html
    assert is_polling(html)
    assert "Look again" in html
    response = client.get(reverse("study-measures", args=[study.slug]) + "?watch=on", headers=HTMX)
    assert "HX-Retarget" not in response.headers
    assert 'id="results-status"' in response.content.decode()
    assert 'id="results"' not in response.content.decode()
    run_all()
    response = client.get(reverse("study-measures", args=[study.slug]) + "?watch=on", headers=HTMX)
    assert response.headers["HX-Retarget"] == "#results"
    html = response.content.decode()
    assert table_of(html)["Trials"] == ["2", "2"]
    assert not is_polling(html)


def test_an_old_result_says_what_it_is_from_and_is_computed_again(
    client: Client, study: Study
) -> None:
    measures(client, study)
    run_all()
    run = factories.joined(study)
    trial = start_next_trial(run.token)
    assert trial is not None
    record_decision(run.token, trial.code, {"decision": "supported"})
    html = measures(client, study)
    assert "Computed from 4 completed trials on " in html
    assert "1 trial has finished since." in html
    assert "Waiting for a worker to compute it again" in html
    assert table_of(html)["Trials"] == ["2", "2"]
    leases.take(ResultsJob, ResultsJob.objects.get().pk)
    assert "Being computed again; asked for" in measures(client, study)
    ResultsJob.objects.update(state=JobState.QUEUED, lease_token="", lease_until=None)
    run_all()
    html = measures(client, study)
    assert "5 trials in the design set" in html
    assert "since" not in html


def test_who_only_watches_is_told_of_newer_trials_and_asks_for_nothing(
    client: Client, study: Study
) -> None:
    measures(client, study)
    run_all()
    finish(factories.joined(study))
    html = measures(client, study, "?watch=on", **HTMX)
    assert "4 trials have finished since." in html
    assert "Compute them again" in html
    assert not is_polling(html)
    assert ResultsJob.objects.get().state == JobState.DONE


def test_silence_of_all_workers_is_said_where_the_study_is_large(
    client: Client, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results_jobs, "SMALL", 4)
    progress.forget_presence("worker")
    html = measures(client, study)
    assert "Queued; no worker answers." in html
    assert "celery -A studyapp worker" in html
    assert is_polling(html)


def test_a_failed_job_says_why_and_is_tried_again(
    client: Client, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    measures(client, study)
    with monkeypatch.context() as patch:
        patch.setattr(results_jobs, "results_content", lambda *_: {}["<missing>"])
        assert not results_jobs.run_job(ResultsJob.objects.get().pk)
    html = measures(client, study, **HTMX)
    assert "KeyError: &#x27;&lt;missing&gt;&#x27;" in html
    assert not is_polling(html)
    response = client.post(reverse("study-measures", args=[study.slug]), headers=HTMX)
    assert is_polling(response.content.decode())
    run_all()
    assert table_of(measures(client, study))["Trials"] == ["2", "2"]


@pytest.mark.parametrize("state", ["queued", "done", "old"])
def test_the_page_asks_few_queries_whatever_the_study_holds(
    client: Client, study: Study, state: str
) -> None:
    measures(client, study)
    if state != "queued":
        run_all()
    if state == "old":
        finish(factories.joined(study))
    measures(client, study)
    with CaptureQueriesContext(connection) as queries:
        measures(client, study)
    assert len(queries) <= 12


def test_pages_of_other_researchers_stay_hidden(study: Study) -> None:
    other = Client()
    other.force_login(get_user_model().objects.create_user("eve"))
    for name in ("study-measures", "study-report", "report-download"):
        assert other.get(reverse(name, args=[study.slug])).status_code == 404
    assert other.post(reverse("study-report", args=[study.slug])).status_code == 404
    assert not ResultsJob.objects.exists()


# ---- the report ----------------------------------------------------------------------------------


def test_the_report_is_built_by_a_job_and_offered_whole(
    client: Client, study: Study, settings: Any, tmp_path: Any
) -> None:
    settings.DATA_DIR = tmp_path
    url = reverse("study-report", args=[study.slug])
    link = reverse("report-download", args=[study.slug])
    assert client.get(link).status_code == 404
    assert link not in measures(client, study)
    assert client.post(url).url == reverse("study-measures", args=[study.slug]) + "#report"
    waiting = client.get(url, headers=HTMX).content.decode()
    assert is_polling(waiting)
    assert link not in waiting
    run_all()
    html = client.get(url, headers=HTMX).content.decode()
    assert not is_polling(html)
    response = client.get(link)
    content = b"".join(response.streaming_content)
    expected = f'attachment; filename="{study.slug}-report.zip"'
    assert response.headers["Content-Disposition"] == expected
    assert "report.html" in zipfile.ZipFile(io.BytesIO(content)).namelist()
    for fact in (hashlib.sha256(content).hexdigest(), f"{len(content):,} bytes"):
        assert fact in html
    finish(factories.joined(study))
    html = client.get(url, headers=HTMX).content.decode()
    assert "4 trials have finished since." in html
    assert "Build it again" in html
    [entry] = AuditEntry.objects.filter(action="report_downloaded")
    assert entry.details == {"hash": hashlib.sha256(content).hexdigest()}
    results_report.delete_files(study)
    html = client.get(url, headers=HTMX).content.decode()
    assert "no longer in the data folder" in html
    assert link not in html


def test_a_report_that_fails_says_why(
    client: Client, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = reverse("study-report", args=[study.slug])
    client.post(url)
    monkeypatch.setattr(results_report, "build", lambda *_: 1 / 0)
    assert not results_jobs.run_job(ResultsJob.objects.get().pk)
    html = client.get(url, headers=HTMX).content.decode()
    assert "ZeroDivisionError" in html
    assert "Try again" in html


# ---- the export ----------------------------------------------------------------------------------


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


def test_an_export_that_fails_is_said_on_the_page_of_exports(
    client: Client, ann: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from studyapp.errors import StudyError

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise StudyError("the disk is full")

    monkeypatch.setattr("studyapp.views.researcher_exports.export_study", refuse)
    study = factories.open_study(owner=ann)
    response = client.get(reverse("study-export", args=[study.slug]))
    assert response.status_code == 400
    assert "the disk is full" in response.content.decode()
