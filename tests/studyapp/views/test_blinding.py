"""A blind study shows no results by condition while it runs, unless an owner lifts it on record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from studyapp.domain import changing, results_jobs
from studyapp.domain.access import add_member
from studyapp.domain.blinding import hides_results, unblind
from studyapp.domain.results_report import folder_of
from studyapp.domain.trials import record_decision, start_next_trial
from studyapp.enums import AuditAction, ResultsKind, Role, StudyState
from studyapp.errors import Blinded, NotEditable
from studyapp.models import AuditEntry, ResultsJob, Study
from tests import factories
from tests.studyapp.api.asking import Api, error_of
from tests.studyapp.views.setup_pages import client_of, fields_of, researcher, url, words

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
SAYS = "This study is blind while it runs."


@pytest.fixture(autouse=True)
def no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("studyapp.tasks.compute_results.delay", lambda job_id: None)


def finished(**fields: Any) -> Study:
    """An open study of ``ann`` with an editor and a viewer, and one finished run."""
    study = factories.open_study(owner=researcher(), **fields)
    add_member(study, researcher("ed"), Role.EDITOR)
    add_member(study, researcher("vi"), Role.VIEWER)
    enrolment = factories.joined(study)
    trial = start_next_trial(enrolment.token)
    while trial is not None:
        trial = record_decision(enrolment.token, trial.code, {"decision": "supported"})
    return study


@pytest.fixture
def blind(settings: Any, tmp_path: Path) -> Study:
    """The same, blind; a report was built before, so that there is one to be hidden."""
    settings.DATA_DIR = tmp_path
    study = finished(blind=True)
    report = {"file": "real.zip", "n_trials": 4, "n_files": 1, "n_bytes": 1, "sha256": "0"}
    ResultsJob.objects.create(
        study=study, kind=ResultsKind.REPORT, content=report, state="done",
        asked_at=timezone.now(), computed_at=timezone.now(),
    )  # fmt: skip
    folder_of(study).mkdir(parents=True)
    (folder_of(study) / "real.zip").write_bytes(b"0")
    return study


def address(study: Study, name: str) -> str:
    return reverse(name, args=[study.slug])


def asked(client: Client, study: Study) -> dict[str, str]:
    """What every place of results answers."""
    card = client.get(address(study, "study"))
    page = client.get(address(study, "study-measures"))
    fragment = client.get(address(study, "study-measures") + "?part=table", headers=HTMX)
    report = client.get(address(study, "study-report"), headers=HTMX)
    build = client.post(address(study, "study-report"), headers=HTMX)
    again = client.post(address(study, "study-measures"))
    download = client.get(address(study, "report-download"))
    found = {"card": card, "page": page, "fragment": fragment, "report": report,
             "build": build, "again": again, "download": download}  # fmt: skip
    return {
        name: "hidden"
        if SAYS in (b"" if response.streaming else response.content).decode()
        else "shown"
        for name, response in found.items()
    }


@pytest.mark.parametrize("name", ["vi", "ed", "ann"])
@pytest.mark.parametrize("state", [StudyState.OPEN, StudyState.PAUSED])
def test_nobody_sees_results_of_a_blind_study_that_runs(
    blind: Study, name: str, state: str
) -> None:
    Study.objects.filter(pk=blind.pk).update(state=state)
    before = list(ResultsJob.objects.values())
    assert set(asked(client_of(name), blind).values()) == {"hidden"}
    assert list(ResultsJob.objects.values()) == before


def test_what_is_asked_by_a_post_is_refused_and_a_look_is_answered(blind: Study) -> None:
    client = client_of()
    codes = [
        client.get(address(blind, "study-measures")).status_code,
        client.post(address(blind, "study-measures")).status_code,
        client.post(address(blind, "study-report")).status_code,
    ]
    assert codes == [200, 409, 409]


def test_the_domain_refuses_whoever_asks(blind: Study) -> None:
    for act in (results_jobs.look, results_jobs.ask, results_jobs.build):
        with pytest.raises(Blinded, match="blind while it runs"):
            act(blind, ResultsKind.MEASURES)


def test_without_the_setting_and_after_the_end_all_is_as_ever(blind: Study) -> None:
    seeing = finished()
    assert asked(client_of(), seeing)["page"] == "shown"
    changing.close_study(blind)
    assert set(asked(client_of("vi"), blind).values()) == {"shown"}


def test_an_owner_unblinds_by_typing_the_name_for_all_members_on_the_record(
    blind: Study,
) -> None:
    client = client_of()
    page = client.get(address(blind, "study-measures"))
    assert "the report lists it as a deviation" in words(page)
    for typed in ("", "something"):
        refused = client.post(address(blind, "study-unblind"), {"slug": typed})
        assert refused.status_code == 422
        assert "Nothing was unblinded: type the study's short name" in words(refused)
    assert hides_results(Study.objects.get(pk=blind.pk))
    done = client.post(address(blind, "study-unblind"), {"slug": blind.slug}, follow=True)
    assert "The results are unblinded." in words(done)
    stored = Study.objects.get(pk=blind.pk)
    assert (stored.unblinded_by, stored.unblinded_at is not None) == ("owner", True)
    entry = AuditEntry.objects.get(action=AuditAction.STUDY_UNBLINDED)
    assert (entry.who, entry.details) == ("ann", {"role": "owner"})
    assert set(asked(client_of("vi"), blind).values()) == {"shown"}


def test_editors_and_viewers_are_told_who_can_and_cannot_do_it(blind: Study) -> None:
    for name in ("ed", "vi"):
        client = client_of(name)
        page = client.get(address(blind, "study-measures"))
        assert "An owner of the study can lift this" in words(page)
        assert address(blind, "study-unblind") not in page.content.decode()
        response = client.post(address(blind, "study-unblind"), {"slug": blind.slug})
        assert response.status_code == 403
    assert hides_results(Study.objects.get(pk=blind.pk))


def test_unblinding_happens_once_and_only_where_something_is_hidden(blind: Study) -> None:
    unblind(blind)
    first = Study.objects.get(pk=blind.pk).unblinded_at
    for study in (blind, finished(), factories.ready_study(blind=True)):
        with pytest.raises(NotEditable, match="nothing to unblind"):
            unblind(study)
    assert Study.objects.get(pk=blind.pk).unblinded_at == first
    assert AuditEntry.objects.filter(action=AuditAction.STUDY_UNBLINDED).count() == 1
    said = client_of().post(address(blind, "study-unblind"), {"slug": "x"}, follow=True)
    assert "nothing to unblind" in words(said)


def test_an_export_stays_possible_and_its_card_says_what_it_holds(blind: Study) -> None:
    warning = "it holds every answer with its condition"
    client = client_of("vi")
    assert warning in words(client.get(address(blind, "study")))
    export = client.get(address(blind, "study-export"))
    assert export.status_code == 200
    assert warning not in words(client_of().get(address(finished(), "study")))


def test_the_api_refuses_the_measures_until_they_are_unblinded(blind: Study) -> None:
    from django.contrib.auth import get_user_model

    api = Api(get_user_model().objects.get(username="ann"))
    answer = api.get(f"studies/{blind.slug}/measures/")
    assert (answer.status_code, error_of(answer)["code"]) == (409, "blinded")
    assert "blind while it runs" in error_of(answer)["message"]
    told = api.get(f"studies/{blind.slug}/").json()["settings"]
    assert (told["blind"], told["unblinded"]) == (True, None)
    unblind(blind)
    assert api.get(f"studies/{blind.slug}/measures/").json()["rows"] == 4


def test_the_commands_unblind_and_warn(blind: Study, tmp_path: Path, capsys: Any) -> None:
    call_command("export_study", blind.slug, output=tmp_path / "e.zip")
    assert "The study is blind, and this file is not" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        call_command("unblind_study", blind.slug, confirm="other")
    assert ended.value.code == 1
    assert "--confirm: repeat the study's short name" in capsys.readouterr().err
    call_command("unblind_study", blind.slug, confirm=blind.slug)
    assert "its results are unblinded" in capsys.readouterr().out
    assert Study.objects.get(pk=blind.pk).unblinded_by == "command"
    with pytest.raises(SystemExit):
        call_command("unblind_study", blind.slug, confirm=blind.slug)
    call_command("export_study", blind.slug, output=tmp_path / "e.zip")
    assert "is blind" not in capsys.readouterr().err


def test_blindness_is_decided_with_the_analysis_of_a_draft() -> None:
    study = factories.draft_study(owner=researcher())
    client = client_of()
    page = client.get(url(study, "analysis"))
    assert "Stay blind while the study runs" in words(page)
    client.post(url(study, "analysis"), fields_of(page) | {"blind": "on"})
    assert Study.objects.get(pk=study.pk).blind
    client.post(url(study, "analysis"), fields_of(page))
    assert not Study.objects.get(pk=study.pk).blind
