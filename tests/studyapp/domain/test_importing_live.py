"""An import beside participants: nobody waits for it, nobody sees a part of it, nothing stays."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from studyapp import tasks
from studyapp.domain import arriving, importing
from studyapp.domain.importing import import_claims
from studyapp.domain.trials import record_decision
from studyapp.errors import BadUpload
from studyapp.models import (
    AuditEntry,
    Candidate,
    Claim,
    ClaimsImport,
    Enrolment,
    GoldSet,
    Study,
    Trial,
    VerificationAnswer,
)
from tests import factories
from tests.studyapp.domain.test_trials import in_threads
from tests.studyapp.views.test_known_faults_participants import (
    take_part,
    web_on_the_test_database,
)


def claims_file(folder: Path, n_claims: int, *, start: int = 1, n_candidates: int = 4) -> Path:
    path = folder / f"claims-{start}.jsonl"
    lines = (
        {
            "id": f"x{number}",
            "claim": f"Claim {number}.",
            "label": "supported",
            "candidates": [
                f"Sentence {k} of {number}. " + 10 * "word " for k in range(n_candidates)
            ],
            "gold_sets": [[0], [1, 2]],
        }
        for number in range(start, start + n_claims)
    )
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def nothing_stays() -> bool:
    return not any(table.objects.exists() for table in (Claim, Candidate, GoldSet, ClaimsImport))


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "BATCH", 8)
    monkeypatch.setattr(importing, "PAUSE", 0.001)


@pytest.mark.usefixtures("committed_db", "small_batches")
def test_R121_between_any_two_batches_others_write_and_see_nothing_of_the_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = factories.open_study(n_claims=20)
    enrolment, _ = factories.started(study)
    draft = factories.draft_study()
    factories.add_claims(draft, 2)
    seen: list[tuple[int, int]] = []

    def decide(_: int) -> None:
        trial = Trial.objects.filter(enrolment=enrolment, ended_at=None).get()
        record_decision(enrolment.token, trial.code, {"decision": "refuted"})
        arrived = Candidate.objects.filter(claim__study=draft).count()
        seen.append((Claim.objects.filter(study=draft).count(), arrived))

    def let_others(_: float) -> None:
        (problem,) = in_threads(decide, 1)
        assert problem is None

    monkeypatch.setattr(importing, "_let_others_write", let_others)
    assert import_claims(draft, claims_file(tmp_path, 10)).n_imported == 10
    assert seen == [(2, 10)] * 6
    assert VerificationAnswer.objects.count() == 6
    positions = Claim.objects.filter(study=draft).order_by("position")
    assert list(positions.values_list("position", "claim_id")) == [
        (1, "c1"),
        (2, "c2"),
        *((number + 2, f"x{number}") for number in range(1, 11)),
    ]
    assert not ClaimsImport.objects.exists()


@pytest.mark.usefixtures("committed_db")
def test_R121_twenty_people_decide_while_a_file_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole import held the lock that every decision needs on SQLite."""
    study = factories.open_study(n_claims=40, n_replications=10)
    draft = factories.draft_study()
    path = claims_file(tmp_path, 300, n_candidates=40)
    with web_on_the_test_database(monkeypatch) as base_url, ThreadPoolExecutor(21) as pool:
        until = time.monotonic() + 10
        people = [pool.submit(take_part, base_url, study.code, n, until) for n in range(20)]
        loading = pool.submit(in_threads, lambda _: import_claims(draft, path).n_imported, 1)
        told = [person.result() for person in people]
        assert loading.result() == [300]
    assert {status for person in told for status in person.statuses} == {200}
    assert Candidate.objects.filter(claim__study=draft).count() == 300 * 40
    for person in told:
        token = person.address.strip("/").split("/")[-1]
        rows = Trial.objects.filter(enrolment=Enrolment.objects.get(token=token))
        stored = rows.values_list("code", "n_steps", "verification_answer__decision")
        assert {code: (n, answer or "") for code, n, answer in stored} == person.trials


@pytest.mark.usefixtures("committed_db", "small_batches")
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_import_that_breaks_off_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    study = factories.draft_study()
    write, calls = importing._write_batch, []

    def breaking(*arguments: Any) -> None:
        calls.append(arguments)
        write(*arguments)
        if len(calls) == 3:
            raise error

    monkeypatch.setattr(importing, "_write_batch", breaking)
    with pytest.raises(error):
        import_claims(study, claims_file(tmp_path, 10))
    assert len(calls) == 3
    assert nothing_stays()
    assert not AuditEntry.objects.filter(action="claims_imported").exists()


@pytest.mark.django_db
@pytest.mark.usefixtures("small_batches")
def test_a_study_that_got_claims_meanwhile_refuses_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = factories.draft_study()
    write = importing._write_batch

    def interrupted(*arguments: Any) -> None:
        write(*arguments)
        if not Claim.objects.filter(study=study).exists():
            factories.add_claims(study, 1)

    monkeypatch.setattr(importing, "_write_batch", interrupted)
    with pytest.raises(BadUpload, match="changed during the import"):
        import_claims(study, claims_file(tmp_path, 4))
    assert list(Claim.objects.values_list("claim_id", flat=True)) == ["c1"]
    assert not ClaimsImport.objects.exists()


def abandoned(study: Study, minutes: float) -> ClaimsImport:
    """What a killed process leaves behind."""
    at = timezone.now() - timedelta(minutes=minutes)
    left = ClaimsImport.objects.create(study=study, alive_at=at)
    claims = factories.add_claims(study, 60)
    Claim.objects.filter(pk__in=[claim.pk for claim in claims]).update(study=None, arriving=left)
    return left


@pytest.mark.django_db
def test_what_a_killed_import_left_is_cleared_by_the_next_one_and_by_beat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = factories.draft_study()
    left = abandoned(study, minutes=16)
    assert import_claims(study, claims_file(tmp_path, 1)).n_imported == 1
    assert Claim.objects.count() == 1
    assert Candidate.objects.count() == 4
    with pytest.raises(BadUpload, match="import the file again"):
        arriving.renew(left)
    abandoned(factories.draft_study(), minutes=16)
    tasks.ring_due()
    assert Claim.objects.count() == 1
    assert not ClaimsImport.objects.exists()


@pytest.mark.django_db
def test_an_import_that_runs_is_left_alone() -> None:
    left = abandoned(factories.draft_study(), minutes=5)
    assert arriving.clear_abandoned() == 0
    arriving.renew(left)
    assert Claim.objects.filter(arriving=left).count() == 60


@pytest.mark.django_db
def test_a_claim_is_in_a_study_or_on_its_way_and_never_both() -> None:
    study = factories.draft_study()
    (claim,) = factories.add_claims(study, 1)
    on_its_way = ClaimsImport.objects.create(study=study, alive_at=timezone.now())
    for fields in ({"study": None}, {"arriving": on_its_way}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Claim.objects.filter(pk=claim.pk).update(**fields)


@pytest.mark.django_db
def test_no_pause_is_made_inside_a_transaction_of_the_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert connection.in_atomic_block
    monkeypatch.setattr(importing.time, "sleep", lambda seconds: pytest.fail("slept"))
    importing._let_others_write(1.0)
