"""The rankings page and its card: progress that refreshes itself, failures, retries, silence."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from studyapp.domain import precompute, progress, schedule
from studyapp.enums import JobState
from studyapp.errors import StudyError
from studyapp.models import PrecomputeJob, Ranking, Study
from tests import factories

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture(autouse=True)
def rung(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The jobs that a bell rang for; no message leaves the test."""
    bells: list[int] = []
    monkeypatch.setattr("studyapp.tasks.prepare.delay", bells.append)
    return bells


@pytest.fixture
def ann() -> Any:
    return get_user_model().objects.create_user("ann")


@pytest.fixture
def client(ann: Any) -> Client:
    client = Client()
    client.force_login(ann)
    return client


@pytest.fixture
def draft(ann: Any) -> Study:
    """3 claims under 2 conditions, nothing prepared yet."""
    study = factories.draft_study(owner=ann)
    factories.add_claims(study, 3)
    factories.add_conditions(study)
    return study


def address(study: Study, name: str = "study-rankings") -> str:
    return reverse(name, args=[study.slug])


def fragment(client: Client, study: Study, name: str = "study-rankings") -> str:
    response = client.get(address(study, name), headers=HTMX)
    assert response.status_code == 200
    assert "HX-Request" in response.headers["Vary"]
    html = response.content.decode()
    assert "<html" not in html
    return html


def card(client: Client, study: Study) -> str:
    """What the study page's card refreshes itself with."""
    return fragment(client, study, "study-precompute")


def cells(html: str) -> dict[str, list[str]]:
    """Each condition's cells, as text."""
    rows = {}
    table = html[: html.index("</table>")]
    for row in re.findall(r"<tr>.*?</tr>", table, flags=re.S)[1:]:
        texts = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, flags=re.S)
        name, *rest = [" ".join(re.sub(r"<[^>]+>", " ", text).split()) for text in texts]
        rows[name] = rest
    return rows


def fail(job: PrecomputeJob, error: str = "the reply named sentence 9 of 5", raw: str = "") -> None:
    PrecomputeJob.objects.filter(pk=job.pk).update(
        state=JobState.FAILED,
        error=error,
        raw_reply=raw,
        n_attempts=2,
        finished_at=timezone.now(),
    )


def jobs(study: Study) -> list[PrecomputeJob]:
    return list(PrecomputeJob.objects.filter(condition__study=study).order_by("pk"))


def is_polling(html: str) -> bool:
    return 'hx-trigger="every 2s"' in html


def test_a_button_queues_what_is_missing_and_the_fragment_begins_to_poll(
    client: Client, draft: Study, rung: list[int]
) -> None:
    before = client.get(reverse("study", args=[draft.slug])).content.decode()
    assert "Prepare the 6 missing" in before
    assert not is_polling(before)
    response = client.post(address(draft, "study-precompute"), headers=HTMX)
    assert response.status_code == 200
    html = response.content.decode()
    assert is_polling(html)
    assert "missing</button>" not in html
    assert rung == [job.pk for job in jobs(draft)]
    assert len(rung) == 6
    assert is_polling(client.get(reverse("study", args=[draft.slug])).content.decode())


def test_the_buttons_work_without_javascript(client: Client, draft: Study) -> None:
    from_card = client.post(address(draft, "study-precompute"))
    assert from_card.status_code == 302
    assert from_card.url == f"{reverse('study', args=[draft.slug])}#rankings"
    assert len(jobs(draft)) == 6
    assert client.get(address(draft, "study-precompute")).url == from_card.url
    fail(jobs(draft)[0])
    from_page = client.post(f"{address(draft)}?state=failed")
    assert (from_page.status_code, from_page.url) == (302, f"{address(draft)}?state=failed")
    assert {job.state for job in jobs(draft)} == {JobState.QUEUED}


def test_queueing_without_claims_is_refused_with_the_reason(client: Client, ann: Any) -> None:
    study = factories.draft_study(owner=ann)
    for headers in ({}, HTMX):
        response = client.post(address(study), headers=headers)
        assert response.status_code == 409
        assert "The study has no claims: import them first" in response.content.decode()
    assert not jobs(study)


def test_progress_counts_claims_calls_and_tokens_of_each_condition(
    client: Client, draft: Study
) -> None:
    precompute.queue_jobs(draft)
    progress.note_presence("worker")
    first, second, *_ = jobs(draft)
    lease = precompute.take_job(first.pk)
    assert lease is not None
    Ranking.objects.create(
        condition=first.condition,
        claim=first.claim,
        method="document_order",
        status="fallback",
        order=[0, 1, 2, 3, 4],
        origins=["judged"] * 3 + ["fallback"] * 2,
        fallback_from=4,
        n_calls=1234,
        prompt_tokens=56789,
        cached_prompt_tokens=None,
        completion_tokens=321,
        seconds=64.6,
    )
    PrecomputeJob.objects.filter(pk=first.pk).update(
        state=JobState.DONE, lease_token="", lease_until=None, finished_at=timezone.now()
    )
    assert precompute.take_job(second.pk) is not None
    html = fragment(client, draft)
    assert cells(html) == {
        "ranking": [
            "1 of 3", "1", "1", "0", "1", "1 min 5 s", "1,234", "56,789", "unknown", "321",
        ],
        "selection": ["0 of 3", "3", "0", "0", "0", "–", "0", "0", "0", "0"],
    }  # fmt: skip
    assert '<progress max="3" value="1" aria-label="ranking">' in html
    assert "Elapsed: " in html
    assert "1 result ended with a fallback" in html
    assert 'id="rankings-state" hx-swap-oob="true">Running: 1 of 6 done<' in html


def test_polling_goes_on_while_a_job_is_queued_or_running_and_then_stops(
    client: Client, draft: Study
) -> None:
    precompute.queue_jobs(draft)
    progress.note_presence("worker")
    assert is_polling(fragment(client, draft))
    *finished, last = jobs(draft)
    PrecomputeJob.objects.filter(pk__in=[job.pk for job in finished]).update(state=JobState.DONE)
    assert precompute.take_job(last.pk) is not None
    assert is_polling(fragment(client, draft))
    PrecomputeJob.objects.filter(pk=last.pk).update(
        state=JobState.DONE, lease_token="", lease_until=None, finished_at=timezone.now()
    )
    assert not is_polling(fragment(client, draft))


def test_the_last_poll_brings_the_opening_card_up_to_date(client: Client, ann: Any) -> None:
    study = factories.ready_study(owner=ann)
    html = card(client, study)
    assert 'id="opening-state" hx-swap-oob="true">Ready to open<' in html
    assert "Open the study</button>" in html
    assert 'Next: <a href="#opening">' in html
    assert "All 8 are stored" in html


def test_a_retry_brings_the_opening_card_up_to_date_at_once(client: Client, draft: Study) -> None:
    precompute.queue_jobs(draft)
    first, *_ = jobs(draft)
    fail(first)
    assert "Retry the 1 that failed" in card(client, draft)
    response = client.post(address(draft, "study-precompute"), headers=HTMX)
    html = response.content.decode()
    assert "claims have no ranking yet; they are being prepared" in html
    assert "1 of 3 claims failed" not in html


def test_the_fragment_of_an_open_study_leaves_its_opening_card_alone(
    client: Client, ann: Any
) -> None:
    assert "opening" not in card(client, factories.open_study(owner=ann))


def test_each_poll_rings_for_jobs_that_a_dead_worker_left_behind(
    client: Client, draft: Study, rung: list[int]
) -> None:
    precompute.queue_jobs(draft)
    job = jobs(draft)[0]
    assert precompute.take_job(job.pk) is not None
    rung.clear()
    fragment(client, draft)
    assert rung == []
    expired = timezone.now() - timedelta(seconds=1)
    PrecomputeJob.objects.filter(pk=job.pk).update(lease_until=expired)
    fragment(client, draft)
    assert rung == [job.pk]
    assert PrecomputeJob.objects.get(pk=job.pk).state == JobState.QUEUED


def test_silence_of_the_workers_is_said_with_the_command(client: Client, draft: Study) -> None:
    precompute.queue_jobs(draft)
    html = fragment(client, draft)
    assert "No worker answers." in html
    assert "celery -A studyapp worker" in html
    assert is_polling(html)
    progress.note_presence("worker")
    assert "No worker answers" not in fragment(client, draft)


def test_a_settled_study_needs_no_worker(client: Client, ann: Any) -> None:
    study = factories.ready_study(owner=ann)
    assert "No worker answers" not in fragment(client, study)


def test_a_broker_that_cannot_be_reached_is_said_and_polling_goes_on(
    client: Client, draft: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(job_id: int) -> None:
        raise ConnectionError("refused")

    monkeypatch.setattr("studyapp.tasks.prepare.delay", unreachable)
    response = client.post(address(draft), headers=HTMX)
    assert response.status_code == StudyError.status
    for html in (response.content.decode(), fragment(client, draft)):
        assert "The message broker cannot be reached (refused)" in html
        assert is_polling(html)


def test_a_failure_shows_claim_reason_and_a_retry(client: Client, draft: Study) -> None:
    precompute.queue_jobs(draft)
    job = jobs(draft)[1]
    fail(job, error="wanted <a number>", raw="")
    html = fragment(client, draft)
    assert 'Failed <span class="n">1</span>' in html
    assert "Claim number 2 of the study." in html
    assert "wanted &lt;a number&gt;" in html
    assert "(2 attempts)" in html
    assert reverse("job-retry", args=[draft.slug, job.pk]) in html
    assert "Raw reply" not in html


def test_the_raw_reply_is_fetched_on_demand_and_never_runs(client: Client, draft: Study) -> None:
    precompute.queue_jobs(draft)
    job = jobs(draft)[0]
    fail(job, raw="<script>alert(1)</script>")
    reply = reverse("job-reply", args=[draft.slug, job.pk])
    html = fragment(client, draft)
    assert "alert(1)" not in html
    assert f'hx-get="{reply}"' in html
    piece = client.get(reply, headers=HTMX)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in piece.content.decode()
    plain = client.get(reply)
    assert plain.content == b"<script>alert(1)</script>"
    assert plain.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert "HX-Request" in piece.headers["Vary"]
    assert "HX-Request" in plain.headers["Vary"]


def test_retry_queues_that_one_claim_again(client: Client, draft: Study, rung: list[int]) -> None:
    precompute.queue_jobs(draft)
    first, second, *_ = jobs(draft)
    fail(first)
    fail(second)
    rung.clear()
    response = client.post(reverse("job-retry", args=[draft.slug, first.pk]), headers=HTMX)
    assert response.status_code == 200
    assert rung == [first.pk]
    states = {job.pk: job.state for job in jobs(draft)}
    assert (states[first.pk], states[second.pk]) == (JobState.QUEUED, JobState.FAILED)
    assert 'Failed <span class="n">1</span>' in response.content.decode()


def test_retry_of_a_claim_that_did_not_fail_is_refused(client: Client, draft: Study) -> None:
    precompute.queue_jobs(draft)
    retry = reverse("job-retry", args=[draft.slug, jobs(draft)[0].pk])
    for headers in ({}, HTMX):
        response = client.post(retry, headers=headers)
        assert response.status_code == 400
        assert "Only a failed claim can be retried." in response.content.decode()


def test_retry_all_queues_every_failed_claim(client: Client, draft: Study) -> None:
    precompute.queue_jobs(draft)
    for job in jobs(draft):
        fail(job)
    html = fragment(client, draft)
    assert not is_polling(html)
    assert "Retry the 6 that failed" in html
    assert "6 of 6 failed" in html
    client.post(address(draft), headers=HTMX)
    assert {job.state for job in jobs(draft)} == {JobState.QUEUED}


def test_many_failures_are_listed_page_by_page(client: Client, ann: Any) -> None:
    study = factories.draft_study(owner=ann)
    factories.add_claims(study, 30)
    factories.add_conditions(study)
    precompute.queue_jobs(study)
    for job in jobs(study):
        fail(job)
    first = client.get(f"{address(study)}?state=failed").content.decode()
    assert first.count('class="reason"') == 50
    assert "1 to 50 of 60" in first
    last = client.get(f"{address(study)}?state=failed&page=2").content.decode()
    assert last.count('class="reason"') == 10
    assert "51 to 60 of 60" in last
    assert f'href="{address(study)}?state=failed"' in last


def test_a_poll_asks_as_often_whatever_the_study_holds(client: Client, ann: Any) -> None:
    counts = []
    for n_claims in (1, 3):
        study = factories.draft_study(owner=ann)
        factories.add_claims(study, n_claims)
        factories.add_conditions(study)
        precompute.queue_jobs(study)
        for job in jobs(study)[:n_claims]:
            fail(job)
        with CaptureQueriesContext(connection) as captured:
            fragment(client, study)
        counts.append(len(captured))
    assert counts[0] == counts[1]


def test_a_schedule_is_not_needed_to_prepare(client: Client, draft: Study) -> None:
    schedule.lay_out(draft, 2, 1, 1)
    client.post(address(draft), headers=HTMX)
    assert len(jobs(draft)) == 6
