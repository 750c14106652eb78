"""Faults known of other platforms, each with its number: exports."""

from __future__ import annotations

import csv
import hashlib
import http.client
import io
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from studyapp.domain import deidentify, export_files, export_jobs
from studyapp.domain.export import Shape, export_study
from studyapp.domain.export_jobs import Wanted
from studyapp.domain.trials import record_decision, start_next_trial
from studyapp.enums import JobState
from studyapp.models import Enrolment, Study
from tests import factories
from tests.studyapp.domain import exported
from tests.studyapp.domain.exported import members_of, table
from tests.studyapp.domain.test_results_jobs import finish

pytestmark = pytest.mark.django_db

HOSTILE = ("=1+1", "+1", "-1", "@x", "\t=1")
OTHER_SCRIPTS = ("中文的句子", "الأرض كروية", "An emoji 🌍 in it")
RECRUITER_ID = "5f3c0ffee0123456789abcde"
AGENT = "Mozilla/5.0 (Test 7.1; rv:99)"


@pytest.fixture(autouse=True)
def data_folder(settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path / "data"


def client_of(study: Study) -> Client:
    client = Client()
    client.force_login(study.owner)
    return client


def owned_study(**options: Any) -> Study:
    return factories.open_study(owner=get_user_model().objects.create_user("ann"), **options)


def test_R089_an_error_inside_the_export_says_failed_with_the_reason_and_a_button_to_retry(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = owned_study()
    client, page = client_of(study), reverse("study-exports", args=[study.slug])
    with monkeypatch.context() as patch:
        patch.setattr("studyapp.domain.export_jobs.export_study", lambda *_, **__: 1 / 0)
        client.post(page)
    html = client.get(page).content.decode()
    assert '<p class="state">Failed</p>' in html
    assert "ZeroDivisionError: division by zero" in html
    job = study.exports.get()
    retry = reverse("export-retry", args=[study.slug, job.pk])
    assert f'action="{retry}"' in html
    client.post(retry)
    job.refresh_from_db()
    assert (job.state, job.error) == (JobState.DONE, "")
    assert "Download" in client.get(page).content.decode()


@pytest.mark.usefixtures("committed_db")
def test_R091_a_download_goes_on_after_the_connection_was_cut(live_server: Any) -> None:
    study = owned_study(n_claims=40)
    job = export_jobs.ask(study, Wanted(), study.owner)
    client = client_of(study)
    where = reverse("export-download", args=[study.slug, job.pk])
    headers = {"Cookie": f"sessionid={client.cookies['sessionid'].value}"}

    def ask(**more: str) -> Any:
        server = http.client.HTTPConnection(live_server.thread.host, live_server.thread.port)
        server.request("GET", where, headers=headers | more)
        return server, server.getresponse()

    server, first = ask()
    begun = first.read(1000)
    etag = first.headers["ETag"]
    first.close()
    server.close()
    server, rest = ask(**{"Range": f"bytes={len(begun)}-", "If-Range": etag})
    whole = begun + rest.read()
    server.close()
    assert (rest.status, len(whole)) == (206, job.n_bytes)
    assert hashlib.sha256(whole).hexdigest() == job.sha256 == etag.strip('"')


def test_R091_rows_and_checksum_are_shown_and_a_partial_file_is_never_offered() -> None:
    study = owned_study()
    finish(study)
    client, page = client_of(study), reverse("study-exports", args=[study.slug])
    job = export_jobs.ask(study, Wanted())
    html = client.get(page).content.decode()
    assert job.sha256 in html
    assert "<dt>events.csv</dt>" in html
    path = export_files.sound_file(job)
    assert path is not None
    path.write_bytes(path.read_bytes()[:-100])
    html = client.get(page).content.decode()
    assert "missing or damaged" in html
    assert job.sha256 not in html
    assert client.get(reverse("export-download", args=[study.slug, job.pk])).status_code == 404


def test_R093_every_row_of_decisions_names_person_run_claim_condition_position_and_version(
    tmp_path: Path,
) -> None:
    """A run is named by its person and place: nobody has two in one slot."""
    study = factories.open_study(8, n_subsets=4)
    first = finish(study)
    _, second = factories.joined(study), factories.joined(study)  # other claims than the first's
    Enrolment.objects.filter(pk=second.pk).update(participant=first.participant)
    trial = start_next_trial(second.token)
    while trial is not None:
        trial = record_decision(second.token, trial.code, {"decision": "supported"})
    rows = table(export_study(study, tmp_path / "x.zip").path, "trials.csv")
    wanted = ("claim_id", "condition", "position", "study_version", "replication", "slot")
    assert all(row[name] for row in rows for name in ("participant_id", *wanted))
    runs = {(row["participant_id"], row["replication"], row["slot"]) for row in rows}
    assert {person for person, *_ in runs} == {first.participant.code}
    assert len(runs) == 2
    keys = [(row["replication"], row["slot"], row["position"]) for row in rows]
    assert len(set(keys)) == len(keys) == 8


def test_R095_formulas_are_neutral_in_the_spreadsheet_and_exact_in_the_raw_file(
    tmp_path: Path,
) -> None:
    scale = {"name": "mood", "text": "Mood?", "kind": "scale", "min": -3, "max": 3}
    comment = {"name": "comment", "text": "Comment?", "kind": "text"}
    sitting = {"reason": "optional", "questionnaire": [scale, comment]}
    claims = [
        {"id": "-3", "claim": "A claim."},
        {"id": "007", "claim": "=HYPERLINK(1)", "label": "refuted"},
        *({"id": f"c{n}", "claim": "A claim."} for n in range(4)),
    ]
    study = factories.draft_study(sitting=sitting)
    study = _opened(study, claims, tmp_path)
    run = factories.joined(study)
    trial = start_next_trial(run.token)
    reasons = iter(HOSTILE)
    while trial is not None:
        answer = {"decision": "supported", "reason": next(reasons, "fine")}
        trial = record_decision(run.token, trial.code, answer)
    from studyapp.domain.questionnaire import submit_questionnaire

    submit_questionnaire(run.token, {"mood": "-1", "comment": "  =cmd()"})
    path = export_study(study, tmp_path / "x.zip", shape=Shape(spreadsheet=True)).path
    exact, safe = table(path, "trials.csv"), _copy(path, "trials")
    assert [row["reason"] for row in exact] == [*HOSTILE, "fine"]
    assert [row["reason"] for row in safe] == [*(f"'{text}" for text in HOSTILE), "fine"]
    ids = {row["claim_id"] for row in table(path, "claims.csv")}
    assert {"-3", "007"} < ids
    assert {row["claim_id"] for row in _copy(path, "claims")} == ids - {"-3", "007"} | {
        "'-3",
        "'007",
    }
    assert [row["active_ms"] for row in safe] == [row["active_ms"] for row in exact]
    answers = {row["name"]: row["value"] for row in _copy(path, "questionnaire")}
    assert answers == {"mood": "-1", "comment": "'  =cmd()"}


def test_R097_other_scripts_are_readable_in_excel_and_the_same_in_pandas(tmp_path: Path) -> None:
    study = factories.draft_study()
    for text in OTHER_SCRIPTS:
        factories.add_claims(study, 1, text=text)
    path = export_study(study, tmp_path / "x.zip", shape=Shape(spreadsheet=True)).path
    raw = members_of(path)["claims.csv"]
    assert list(pd.read_csv(io.BytesIO(raw))["claim"]) == list(OTHER_SCRIPTS)
    copy = members_of(path)["spreadsheet/claims.csv"]
    assert copy.startswith("\ufeff".encode())
    assert not raw.startswith("\ufeff".encode())
    assert list(pd.read_csv(io.BytesIO(copy), encoding="utf-8-sig")["claim"]) == list(OTHER_SCRIPTS)


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Asia/Tokyo"])
@pytest.mark.parametrize("shape", [Shape(), Shape(deidentified=True)])
def test_R099_times_are_utc_with_z_wherever_somebody_sits(
    tmp_path: Path, zone: str, shape: Shape
) -> None:
    study = owned_study()
    finish(study)
    inside = export_study(study, tmp_path / "utc.zip", shape=shape)
    with timezone.override(zone):
        path = export_study(study, tmp_path / "away.zip", shape=shape).path
    assert path.read_bytes() == inside.path.read_bytes()
    times = {
        value
        for name in ("participants", "trials", "events")
        for row in table(path, f"{name}.csv")
        for column, value in row.items()
        if column in deidentify.TIMES and value
    }
    assert times
    assert all(value.endswith("Z") for value in times)
    export_jobs.ask(study, Wanted())
    page = client_of(study).get(reverse("study-exports", args=[study.slug])).content.decode()
    assert page.count(" UTC") >= 2


def test_R117_nothing_in_a_deidentified_export_leads_to_a_person(tmp_path: Path) -> None:
    exports = []
    for slug in ("one", "two"):
        study = factories.open_study(slug=slug, recruiting={"id_parameter": "PROLIFIC_PID"})
        browser = Client(headers={"User-Agent": AGENT}, REMOTE_ADDR="203.0.113.77")
        link = f"/p/{study.code}/?PROLIFIC_PID={RECRUITER_ID}"
        form = browser.get(link).content.decode().split('name="form" value="')[1].split('"')[0]
        browser.post(f"/p/{study.code}/join", {"form": form, "consent": "yes"})
        run = Enrolment.objects.get(slot__study=study)
        trial = start_next_trial(run.token)
        assert trial is not None
        record_decision(run.token, trial.code, {"decision": "supported"})
        secrets = [RECRUITER_ID, "203.0.113.77", AGENT, "PROLIFIC", run.token]
        secrets += [run.participant.code, trial.code]
        for n in range(2):
            path = tmp_path / f"{slug}-{n}.zip"
            shape = Shape(True, True, True)
            for name, content in members_of(export_study(study, path, shape=shape).path).items():
                assert [one for one in secrets if one.encode() in content] == [], name
            exports.append({row["participant_id"] for row in table(path, "participants.csv")})
    assert exports[0] == exports[1] != exports[2] == exports[3]
    assert all(len(people) == 1 for people in exports)


def _opened(study: Study, claims: list[dict[str, Any]], folder: Path) -> Study:
    from studyapp.domain import importing, lifecycle, schedule

    importing.import_claims(study, exported.claims_file(folder, claims))
    factories.add_conditions(study)
    factories.add_evidence(study)
    schedule.lay_out(study, 2, 1, 7)
    return lifecycle.open_study(Study.objects.get(pk=study.pk))


def _copy(path: Path, name: str) -> list[dict[str, str]]:
    text = members_of(path)[f"spreadsheet/{name}.csv"].decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline="")))
