"""The audit log and the consent records: what is in them, and what never is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from studyapp.domain import audit
from studyapp.domain.assignment import join, withdraw
from studyapp.domain.consent import consent_records, consent_version
from studyapp.enums import AuditAction, RunKind
from studyapp.models import AuditEntry, ConsentText, Enrolment, Study
from tests import factories
from tests.studyapp.views.accounts import client_of, researcher
from tests.studyapp.views.pages import decide
from tests.studyapp.views.pages import join as send_join

pytestmark = pytest.mark.django_db


@pytest.fixture
def owned() -> Study:
    return factories.open_study(owner=researcher("ann"))


@pytest.fixture
def ann(owned: Study) -> Client:
    return client_of(owned.owner)


def log(client: Client, study: Study, query: str = "") -> str:
    response = client.get(reverse("study-log", args=[study.slug]) + query)
    assert response.status_code == 200
    return response.content.decode()


def test_every_step_of_a_study_is_logged_with_who_did_it(
    ann: Client, owned: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studyapp.tasks.prepare.delay", lambda job_id: None)
    for name in ("study-precompute", "study-pause", "study-resume", "study-close"):
        ann.post(reverse(name, args=[owned.slug]), {"slug": owned.slug})
    b"".join(ann.get(reverse("study-export", args=[owned.slug])).streaming_content)
    entries = AuditEntry.objects.filter(study_number=owned.pk).order_by("pk")
    assert [(each.who, each.action) for each in entries] == [
        ("command", "condition_added"),
        ("command", "condition_added"),
        ("command", "scheduled"),
        ("command", "study_opened"),
        ("ann", "precompute_queued"),
        ("ann", "study_paused"),
        ("ann", "study_resumed"),
        ("ann", "study_closed"),
        ("ann", "study_exported"),
    ]
    assert entries[2].details == {"subsets": 2, "replications": 1, "seed": 7}
    assert entries[8].details["simulated"] is False
    assert len(entries[8].details["hash"]) == 64


def test_an_entry_stays_out_when_the_change_is_rolled_back(owned: Study) -> None:
    before = AuditEntry.objects.count()
    with transaction.atomic():
        audit.record(AuditAction.STUDY_PAUSED, owned)
        transaction.set_rollback(True)
    assert AuditEntry.objects.count() == before


def test_only_known_actions_and_short_known_details_are_written(owned: Study) -> None:
    before = AuditEntry.objects.count()
    for action, details in (
        ("looked", {}),
        (AuditAction.STUDY_PAUSED, {"recruiter_id": "R1"}),
        (AuditAction.STUDY_PAUSED, {"role": "x" * 201}),
        (AuditAction.STUDY_PAUSED, {"role": ["viewer"]}),
    ):
        with pytest.raises(ValueError):
            audit.record(action, owned, **details)
    assert AuditEntry.objects.count() == before


def test_what_participants_do_is_not_in_the_log_and_neither_are_they(
    owned: Study, ann: Client
) -> None:
    before = list(AuditEntry.objects.values_list("pk", flat=True))
    send_join(Client(), owned)
    enrolment, trial = factories.started(owned)
    decide(Client(), trial)
    withdraw(enrolment.token)
    assert list(AuditEntry.objects.values_list("pk", flat=True)) == before
    code = Enrolment.objects.get().participant.code
    assert code not in log(ann, owned)


def test_the_filter_is_in_the_address(owned: Study, ann: Client) -> None:
    ann.post(reverse("study-pause", args=[owned.slug]))
    assert log(ann, owned).count('<td class="time">') == 5
    assert log(ann, owned, "?who=ann").count('<td class="time">') == 1
    assert log(ann, owned, "?action=condition_added").count('<td class="time">') == 2
    assert "Nothing fits this filter" in log(ann, owned, "?who=nobody&action=scheduled")
    assert log(ann, owned, "?action=odd&before=x%00").count('<td class="time">') == 5


def test_a_long_log_comes_in_pages_with_the_same_number_of_queries(
    owned: Study, ann: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studyapp.views.researcher_records.LOG_PAGE", 2)
    with CaptureQueriesContext(connection) as captured:
        first = log(ann, owned)
    assert len(captured) == 4
    assert first.count('<td class="time">') == 2
    oldest_shown = audit.entries_of(owned)[1].pk
    assert f"before={oldest_shown}" in first
    second = log(ann, owned, f"?action=&who=&before={oldest_shown}")
    assert second.count('<td class="time">') == 2
    assert "Older entries" not in second


def test_the_log_of_another_study_stays_with_that_study(owned: Study, ann: Client) -> None:
    other = factories.open_study(owner=researcher("bob"))
    audit.record(AuditAction.ROLE_CHANGED, other, member="carol")
    assert "carol" not in log(ann, owned)
    assert {each.study_slug for each in audit.entries_of(owned)} == {owned.slug}


def test_the_command_prints_the_log(owned: Study, ann: Client, capsys: Any) -> None:
    ann.post(reverse("study-pause", args=[owned.slug]))
    call_command("audit_log", owned.slug, "--who", "ann", "--json")
    entry = json.loads(capsys.readouterr().out)
    assert entry.pop("at")
    assert entry == {"who": "ann", "study": owned.slug, "action": "study_paused", "details": {}}
    call_command("audit_log", owned.slug, "--action", "scheduled")
    assert (
        capsys.readouterr()
        .out.strip()
        .endswith("command  scheduled  replications 1, seed 7, subsets 2")
    )


# ---- consent -------------------------------------------------------------------------------------


def test_consent_records_name_text_hash_and_time_of_every_person(owned: Study, ann: Client) -> None:
    real = factories.joined(owned)
    factories.joined(owned, RunKind.SIMULATED)
    gone = factories.joined(owned)
    withdraw(gone.token)
    found = consent_records(owned)
    assert [
        (each.participant, each.number, each.version, each.consented_at) for each in found.records
    ] == [(real.participant.code, 1, consent_version(owned), real.consented_at)]
    assert [(each.version, each.text) for each in found.texts] == [
        (consent_version(owned), owned.texts["consent"])
    ]
    assert found.n_withdrawn == 1
    html = ann.get(reverse("study-consent", args=[owned.slug])).content.decode()
    assert real.participant.code in html
    assert gone.participant.code not in html
    assert f"{real.consented_at:%Y-%m-%d %H:%M:%S}" in html
    assert consent_version(owned) in html
    assert "Taking part is voluntary" in html
    assert "1 person withdrew" in html


def test_the_page_of_consents_takes_as_many_queries_for_three_people_as_for_one(
    ann: Client,
) -> None:
    study = factories.open_study(owner=researcher("bob"), n_replications=2)
    bob = client_of(study.owner)

    def n_queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert bob.get(reverse("study-consent", args=[study.slug])).status_code == 200
        return len(captured)

    factories.joined(study)
    once = n_queries()
    factories.joined(study)
    factories.joined(study)
    assert n_queries() == once == 6


def test_a_draft_keeps_no_text_yet(ann: Client) -> None:
    draft = factories.ready_study(owner=researcher("bob"))
    assert not ConsentText.objects.filter(study=draft).exists()
    html = client_of(draft.owner).get(reverse("study-consent", args=[draft.slug])).content.decode()
    assert "kept here when the study opens" in html


def test_the_command_prints_the_same_records(owned: Study, capsys: Any) -> None:
    run = factories.joined(owned)
    call_command("consent_records", owned.slug, "--json")
    assert json.loads(capsys.readouterr().out) == {
        "texts": [{"sha256": consent_version(owned), "text": owned.texts["consent"]}],
        "consents": [
            {
                "participant": run.participant.code,
                "run_kind": "real",
                "consented_at": run.consented_at.isoformat(),
                "text_sha256": consent_version(owned),
            }
        ],
        "withdrawn": 0,
    }
    call_command("consent_records", owned.slug)
    assert run.participant.code in capsys.readouterr().out


def test_joining_writes_no_further_row(owned: Study) -> None:
    with CaptureQueriesContext(connection) as captured:
        join(owned.code, factories.JoinForm("one-more"))
    assert not [q for q in captured.captured_queries if "consenttext" in q["sql"]]
