"""The rankings page: every claim's state, what it costs, the limit, and the preview of a claim."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from rankers.spending import Prices
from studyapp.domain import precompute, progress, schedule, spending
from studyapp.domain.access import add_member
from studyapp.domain.lifecycle import add_condition
from studyapp.enums import JobState, Role
from studyapp.models import (
    Claim,
    LlmResponse,
    PrecomputeJob,
    Ranking,
    Selection,
    SpendingAccount,
    Study,
)
from tests import factories
from tests.llm_server import LLMServer, cut_list, prose, say, status

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
def mixed(ann: Any) -> Study:
    """6 claims under ``ranking``, one in each state; nothing asked under ``selection``."""
    study = factories.draft_study(owner=ann)
    factories.add_claims(study, 6)
    factories.add_conditions(study)
    factories.add_evidence(study)
    Selection.objects.all().delete()
    PrecomputeJob.objects.filter(condition__name="selection").delete()
    changes: dict[str, dict[str, Any]] = {
        "c3": {
            "state": JobState.FAILED,
            "error": "no valid answer",
            "raw_reply": "8/10",
            "n_attempts": 2,
            "finished_at": timezone.now(),
        },
        "c4": {"state": JobState.LEASED, "lease_token": "t", "lease_until": timezone.now()},
        "c5": {"state": JobState.QUEUED},
    }
    for claim_id, change in changes.items():
        PrecomputeJob.objects.filter(claim__claim_id=claim_id).update(**change)
    PrecomputeJob.objects.filter(claim__claim_id="c6").delete()
    Ranking.objects.filter(claim__claim_id="c2").update(status="fallback", fallback_from=2)
    Ranking.objects.filter(claim__claim_id__in=["c3", "c4", "c5", "c6"]).delete()
    return study


def address(study: Study, query: str = "") -> str:
    return reverse("study-rankings", args=[study.slug]) + query


def words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def page(client: Client, study: Study, query: str = "", status: int = 200) -> str:
    response = client.get(address(study, query))
    assert response.status_code == status
    return response.content.decode()


def entries(html: str) -> list[tuple[str, str, str]]:
    """Claim, condition and state of each line of the list."""
    table = html[html.index('class="claim-states"') :]
    found = re.findall(
        r"<code>([^<]+)</code>.*?<td>([^<]+)</td>.*?standing-of [a-z]+\">([^<]+)<", table, re.S
    )
    return [(claim, condition, state) for claim, condition, state in found]


def test_every_claim_is_listed_under_every_condition_with_its_state(
    client: Client, mixed: Study
) -> None:
    assert entries(page(client, mixed)) == [
        ("c1", "ranking", "Done"),
        ("c2", "ranking", "Fallback"),
        ("c3", "ranking", "Failed"),
        ("c4", "ranking", "Running"),
        ("c5", "ranking", "Waiting"),
        ("c6", "ranking", "Not queued"),
        *((f"c{number}", "selection", "Not queued") for number in range(1, 7)),
    ]


@pytest.mark.parametrize(
    ("query", "listed"),
    [
        ("?state=failed", ["c3"]),
        ("?state=done", ["c1"]),
        ("?state=fallback", ["c2"]),
        ("?state=running", ["c4"]),
        ("?state=waiting", ["c5"]),
        ("?state=missing&condition=ranking", ["c6"]),
        ("?condition=selection", ["c1", "c2", "c3", "c4", "c5", "c6"]),
        ("?state=missing", ["c6", "c1", "c2", "c3", "c4", "c5", "c6"]),
        ("?state=odd&condition=nobody&page=-1", [f"c{n}" for n in (*range(1, 7), *range(1, 7))]),
    ],
)
def test_the_address_filters_by_state_and_condition(
    client: Client, mixed: Study, query: str, listed: list[str]
) -> None:
    html = page(client, mixed, query)
    assert [claim for claim, _, _ in entries(html)] == listed
    assert f"1 to {len(listed)} of {len(listed)}" in html


def test_a_failed_claim_shows_its_reason_its_reply_and_a_retry_that_keeps_the_filter(
    client: Client, mixed: Study
) -> None:
    html = page(client, mixed, "?state=failed")
    job = PrecomputeJob.objects.get(state=JobState.FAILED)
    retry = reverse("job-retry", args=[mixed.slug, job.pk]) + "?state=failed"
    assert "no valid answer" in html
    assert "(2 attempts)" in html
    assert reverse("job-reply", args=[mixed.slug, job.pk]) in html
    assert f'action="{retry}"' in html
    response = client.post(retry)
    assert (response.status_code, response.url) == (302, address(mixed, "?state=failed"))
    assert "No claim is in this state." in page(client, mixed, "?state=failed")


def test_a_page_beyond_the_last_is_the_last(client: Client, ann: Any) -> None:
    study = factories.draft_study(owner=ann)
    factories.add_claims(study, 60)
    add_condition(study, "one", "incremental", "document_order")
    assert "1 to 50 of 60" in page(client, study)
    html = page(client, study, "?page=99")
    assert "51 to 60 of 60" in html
    assert 'rel="next"' not in html
    assert f'href="{address(study)}" rel="prev"' in html


def test_the_list_stops_polling_when_only_a_higher_limit_can_help(
    client: Client, mixed: Study
) -> None:
    progress.note_presence("worker")
    add_condition(mixed, "asked", "incremental", "llm", model="m")
    precompute.queue_jobs(mixed)
    PrecomputeJob.objects.exclude(condition__name="asked").delete()
    assert 'hx-trigger="every 2s"' in page(client, mixed)
    spending.set_limits(mixed, max_calls=0)
    html = page(client, mixed, "?condition=asked")
    assert 'hx-trigger="every 2s"' not in html
    assert {state for _, _, state in entries(html)} == {"Waiting: limit reached"}
    said = words(html)
    assert "limit of 0 calls is reached. 6 claims wait and will go on" in said
    assert "Raise the limit" in said
    card = client.get(reverse("study", args=[mixed.slug])).content.decode()
    assert f'href="{address(mixed)}#limit">Raise the limit' in card


def test_a_saved_limit_lets_what_waited_go_on(
    client: Client, mixed: Study, rung: list[int]
) -> None:
    add_condition(mixed, "asked", "incremental", "llm", model="m")
    spending.set_limits(mixed, max_calls=0)
    precompute.queue_jobs(mixed)
    rung.clear()
    save = reverse("study-spending", args=[mixed.slug])
    response = client.post(
        save, {"max_calls": "10", "max_tokens": "", "max_cost": "2", "prices": "1, 0.5, 2"}
    )
    assert (response.status_code, response.url) == (302, address(mixed))
    assert len(rung) == 6
    account = spending.account_of(mixed)
    assert (account.max_calls, account.max_tokens, account.max_cost) == (10, None, 2)
    assert account.prices == Prices(1, 0.5, 2)
    html = page(client, mixed)
    assert 'value="10"' in html
    assert 'value="1,0.5,2"' in html
    assert "The limit is saved." in html


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"max_calls": "-1"}, "greater than or equal to 0"),
        ({"max_calls": "many"}, "Enter a whole number"),
        ({"max_cost": "5"}, "A limit in money needs prices."),
        ({"prices": "1,2"}, "write IN,CACHED,OUT"),
        ({"max_tokens": str(2**63)}, "less than or equal to"),
    ],
)
def test_an_odd_limit_is_refused_beside_its_field_and_nothing_is_saved(
    client: Client, mixed: Study, given: dict[str, str], said: str
) -> None:
    add_condition(mixed, "asked", "incremental", "llm", model="m")
    response = client.post(reverse("study-spending", args=[mixed.slug]), given)
    assert response.status_code == 422
    assert said in response.content.decode()
    assert not SpendingAccount.objects.exists()


def test_what_was_spent_is_shown_with_its_limits(client: Client, mixed: Study) -> None:
    assert "Spent so far" not in page(client, mixed)
    spending.set_limits(mixed, max_tokens=5000, max_cost=2.5, prices=Prices(1000, 500, 2000))
    SpendingAccount.objects.update(
        calls=12, prompt_tokens=1000, cached_prompt_tokens=400, completion_tokens=30
    )
    said = words(page(client, mixed))
    assert "Calls 12 Tokens 1,030 of 5,000: 1,000 sent, 400 of them known to be cached, 30" in said
    assert "Money 0.8600 of 2.5, at the prices below" in said


def test_the_estimate_is_there_before_anything_is_queued(client: Client, mixed: Study) -> None:
    assert "What is still to come" not in page(client, mixed)
    add_condition(mixed, "asked", "incremental", "incremental_llm", model="m", params={"depth": 2})
    spending.set_limits(mixed, prices=Prices(0, 0, 1_000_000))
    estimate = reverse("rankings-estimate", args=[mixed.slug])
    assert f'hx-get="{estimate}"' in page(client, mixed)
    whole = client.get(estimate).content.decode()
    part = client.get(estimate, headers=HTMX).content.decode()
    assert "<html" in whole
    assert "<html" not in part
    for html in (whole, part):
        table = html[html.index('id="estimate"') :]
        assert words(table[table.index("<tbody>") :]).startswith("asked 6 12 ")
    assert not PrecomputeJob.objects.filter(condition__name="asked").exists()


def test_a_viewer_sees_it_all_and_is_offered_nothing(client: Client, mixed: Study) -> None:
    viewer = get_user_model().objects.create_user("vi")
    add_member(mixed, viewer, Role.VIEWER)
    add_condition(mixed, "asked", "incremental", "llm", model="m")
    spending.set_limits(mixed, max_calls=0)
    other = Client()
    other.force_login(viewer)
    html = page(other, mixed)
    assert len(entries(html)) == 18
    main = html[html.index("<main") :]
    assert "<form" not in main
    assert "Raise the limit" not in main


def test_page_and_poll_take_a_fixed_number_of_queries(client: Client, ann: Any) -> None:
    counts = []
    for n_claims in (2, 70):
        study = factories.draft_study(owner=ann)
        factories.add_claims(study, n_claims)
        factories.add_conditions(study)
        precompute.queue_jobs(study)
        row = []
        for headers in ({}, HTMX):
            with CaptureQueriesContext(connection) as captured:
                client.get(address(study, "?page=2"), headers=headers)
            row.append(len(captured))
        counts.append(row)
    assert counts[0] == counts[1] == [12, 14]


def test_R073_claims_without_a_result_are_listed_and_keep_the_study_from_opening(
    client: Client, ann: Any
) -> None:
    study = factories.draft_study(owner=ann)
    factories.add_claims(study, 50)
    factories.add_conditions(study)
    factories.add_evidence(study)
    schedule.lay_out(study, 5, 1, 1)
    Ranking.objects.filter(claim__claim_id__in=["c3", "c14", "c15"]).delete()
    html = page(client, study, "?condition=ranking")
    assert "47 of 50" in html
    assert len(entries(html)) == 50
    missing = entries(page(client, study, "?state=missing"))
    assert missing == [(claim, "ranking", "Not queued") for claim in ("c3", "c14", "c15")]
    assert client.post(reverse("study-open", args=[study.slug])).status_code == 409
    client.post(address(study))
    for job in PrecomputeJob.objects.filter(state=JobState.QUEUED):
        assert precompute.run_job(job.pk)
    assert {state for _, _, state in entries(page(client, study))} == {"Done"}
    assert client.post(reverse("study-open", args=[study.slug])).status_code == 302


def test_R083_without_a_worker_the_page_says_so_with_the_command(
    client: Client, mixed: Study
) -> None:
    html = page(client, mixed)
    assert "No worker answers." in html
    assert "celery -A studyapp worker" in html


def test_R087_a_bad_reply_touches_its_claim_alone_is_kept_and_a_failure_can_be_retried(
    client: Client, ann: Any, rung: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    study = factories.draft_study(owner=ann)
    factories.add_claims(study, 6)
    add_condition(study, "asked", "incremental", "llm", model="overlap-1", params={"attempts": 1})
    bad = {
        "number 2": prose(),
        "number 3": say(""),
        "number 4": say("8/10"),
        "number 5": cut_list(1, 2),
        "number 6": status(500),
    }

    def script(request: Any) -> Any:
        return next((act for key, act in bad.items() if key in request.prompt), None)

    with LLMServer(script=script) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("SUFFICE_LLM_TRIES", "1")
        precompute.queue_jobs(study)
        for job_id in rung:
            precompute.run_job(job_id)
        found = {claim: state for claim, _, state in entries(page(client, study))}
        assert found == {"c1": "Done", "c6": "Failed"} | dict.fromkeys(
            ("c2", "c3", "c4", "c5"), "Fallback"
        )
        kept = LlmResponse.objects.values_list("response", flat=True)
        assert "8/10" in [response["content"] for response in kept]
        assert "after 1 try" in page(client, study, "?state=failed")
        bad.clear()
        rung.clear()
        client.post(address(study, "?state=failed"))
        (job_id,) = rung
        assert precompute.run_job(job_id)
    assert entries(page(client, study, "?state=done")) == [
        ("c1", "asked", "Done"),
        ("c6", "asked", "Done"),
    ]


# ---- the preview ---------------------------------------------------------------------------------


def preview(client: Client, study: Study, condition: str, position: int, query: str = "") -> str:
    url = reverse("rankings-preview", args=[study.slug, condition, position])
    response = client.get(url + query)
    assert response.status_code == 200
    return response.content.decode()


def as_shown(html: str) -> str:
    return html[html.index('class="card as-shown"') : html.index('id="only-here"')]


def test_the_preview_shows_the_trial_as_it_begins_beside_the_gold_sets(
    client: Client, ann: Any
) -> None:
    study = factories.ready_study(owner=ann)
    Ranking.objects.update(
        scores=[0.9, 0.8, 0.7, 0.6, 0.5],
        origins=["judged", "judged", "fallback", "fallback", "fallback"],
        status="fallback",
        fallback_from=3,
    )
    html = preview(client, study, "ranking", 2)
    shown = as_shown(html)
    assert re.findall(r'<span class="sentence">([^<]+)<', shown) == ["Sentence 3 about claim 2."]
    assert "Show next sentence" in shown
    assert "<form" not in shown
    assert 'fieldset class="decide" disabled' in shown
    said = words(html[html.index('id="only-here"') :])
    for fact in (
        "Label Refuted",
        "Smallest gold set 1 sentence",
        "Gold sets 1: s1; 2: s0 and s2",
        "Sufficient after 3 sentences (MSR 3)",
        "Status fallback from rank 3 on",
        "1 s3 – judged 0.9 2 s0 2 judged 0.8 3 s2 2 fallback 0.7 4 s1 1 fallback 0.6",
    ):
        assert fact in said
    assert html.count('<tr class="holds">') == 3


def test_the_preview_shows_all_sentences_when_asked(client: Client, ann: Any) -> None:
    study = factories.ready_study(owner=ann)
    shown = as_shown(preview(client, study, "ranking", 1, "?shown=all"))
    texts = re.findall(r'<span class="sentence">([^<]+)<', shown)
    assert texts == [f"Sentence {position} about claim 1." for position in (3, 0, 2, 1, 4)]
    assert "All the evidence has been shown." in shown


def test_the_preview_of_a_set_has_no_button_and_lists_gold_that_is_not_shown(
    client: Client, ann: Any
) -> None:
    study = factories.ready_study(owner=ann)
    html = preview(client, study, "selection", 1)
    shown = as_shown(html)
    assert shown.count('class="sentence"') == 3
    assert "Show next sentence" not in shown
    said = words(html[html.index('id="only-here"') :])
    assert "Sufficient yes: a whole gold set is among the 3 sentences" in said
    assert "not shown s1 1 – –" in said


def test_the_preview_leads_to_the_claims_beside_it_and_to_the_other_conditions(
    client: Client, ann: Any
) -> None:
    study = factories.ready_study(owner=ann)
    factories.add_claims(study, 1, role="practice")

    def links(position: int) -> dict[str, str]:
        html = preview(client, study, "ranking", position)
        return dict(re.findall(r'<a rel="(prev|next)" href="([^"]+)"', html))

    url = lambda n: reverse("rankings-preview", args=[study.slug, "ranking", n])  # noqa: E731
    assert links(1) == {"next": url(2)}
    assert links(3) == {"prev": url(2), "next": url(4)}
    assert links(4) == {"prev": url(3)}
    assert reverse("rankings-preview", args=[study.slug, "selection", 3]) in preview(
        client, study, "ranking", 3
    )


def test_a_preview_without_a_result_says_why(client: Client, mixed: Study) -> None:
    said = {n: words(preview(client, mixed, "ranking", n)) for n in (3, 5, 6)}
    assert "Preparing this claim failed: no valid answer" in said[3]
    assert "still being prepared" in said[5]
    assert "Nothing is stored for this claim yet" in said[6]
    assert "Sufficient not defined, because nothing is stored yet" in said[6]


def test_there_is_no_preview_of_what_is_not_there(client: Client, ann: Any) -> None:
    study = factories.ready_study(owner=ann)
    practice = factories.add_claims(study, 1, role="practice")[0]
    for condition, position in (("nobody", 1), ("ranking", 99), ("ranking", practice.position)):
        url = reverse("rankings-preview", args=[study.slug, condition, position])
        assert client.get(url).status_code == 404


def test_a_preview_is_in_the_language_of_its_study_and_stores_nothing(
    client: Client, ann: Any
) -> None:
    study = factories.ready_study(owner=ann, lang="de")
    before = Claim.objects.count(), Ranking.objects.count()
    html = preview(client, study, "ranking", 1)
    assert "Show next sentence" not in html
    assert "What participants see" in html
    assert (Claim.objects.count(), Ranking.objects.count()) == before


def test_a_preview_takes_the_same_queries_for_any_claim(client: Client, ann: Any) -> None:
    study = factories.ready_study(12, owner=ann)
    counts = []
    for position, query in ((1, ""), (7, "?shown=all")):
        with CaptureQueriesContext(connection) as captured:
            preview(client, study, "ranking", position, query)
        counts.append(len(captured))
    assert counts == [11, 11]
