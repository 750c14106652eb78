"""kill -9 in the middle of everything: nothing is lost, repeated or doubled."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from studyapp.simulation.pages import Visitor
from tests.flows.site import Site, wait_for
from tests.flows.test_study_end_to_end import prepare
from tests.llm_server import LLMServer
from tests.shared_data import ROOT

CONCURRENCY = 2


@pytest.fixture
def site(tmp_path):
    site = Site(tmp_path, SUFFICE_JOB_LEASE_SECONDS="3")
    yield site
    site.close()


def n_stored(site: Site) -> int:
    return int(site.ask("print(LlmResponse.objects.count())"))


def test_a_worker_killed_in_the_middle_repeats_no_stored_call(site):
    with LLMServer(latency=0.3) as server:
        site.environment |= {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "test"}
        site.manage("create_study", "llm")
        claims = ROOT / "fixtures" / "demo_claims.jsonl"
        site.manage("import_claims", "llm", claims, "--limit", 6)
        site.manage(
            "add_condition", "llm", "ranking", "--interface", "incremental",
            "--method", "incremental_llm", "--model", "scripted", "--param", "depth=4",
        )  # fmt: skip
        worker = site.start_worker(concurrency=CONCURRENCY)
        site.manage("precompute", "llm")
        wait_for(lambda: n_stored(site) >= 5, 60, every=0.05)
        site.kill(worker)
        stored = n_stored(site)
        assert 0 < stored < 24

        site.start_worker(concurrency=CONCURRENCY)
        done = site.manage("precompute", "llm", "--wait")
        assert "ranking: 6 of 6 done, 0 failed" in done.stdout
        asked = Counter(json.dumps(body, sort_keys=True) for body in server.bodies)
        # Only a call that was under way at the kill may be asked again: its answer never came.
        assert sum(count - 1 for count in asked.values()) <= CONCURRENCY
        assert len(asked) == n_stored(site) == 24
    assert site.ask("print(Ranking.objects.count())") == "6"
    assert site.ask("print(PrecomputeJob.objects.filter(state='done').count())") == "6"
    calls = site.ask("print(sum(Ranking.objects.values_list('n_calls', flat=True)))")
    assert calls == "24"


def test_an_llm_server_that_is_down_fails_the_claims_clearly(site):
    site.environment |= {
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        "OPENAI_API_KEY": "test",
        "SUFFICE_LLM_TIMEOUT": "2",
    }
    site.manage("create_study", "llm")
    site.manage("import_claims", "llm", ROOT / "fixtures" / "demo_claims.jsonl", "--limit", 2)
    site.manage(
        "add_condition", "llm", "ranking", "--interface", "incremental",
        "--method", "incremental_llm", "--model", "scripted",
    )  # fmt: skip
    site.start_worker()
    failed = site.manage("precompute", "llm", "--wait", status=1)
    assert failed.stderr.count("ranking, claim demo-") == 2
    assert "127.0.0.1:9" in failed.stderr
    assert site.ask("print(Ranking.objects.count())") == "0"
    refused = site.manage("open_study", "llm", status=1)
    assert "2 of 2 claims failed" in refused.stderr


def test_a_web_server_killed_between_two_reveals_loses_nothing(site):
    prepare(site, n_claims=10)
    code = site.ask("print(Study.objects.get().code)")
    web, base_url = site.start_web()
    visitor = Visitor(base_url)
    page = visitor.get(f"/p/{code}/")
    page = visitor.submit(page, "join", consent="yes")
    page = visitor.submit(page, "begin")
    while "reveal" not in page.forms:
        page = visitor.submit(page, "decide", decision="cant_decide")
    page = visitor.submit(page, "reveal")
    token_url = page.url
    site.kill(web)

    site.start_web(port=int(base_url.rsplit(":", 1)[1]))
    page = visitor.submit(page, "reveal")
    assert page.url == token_url
    visitor.submit(page, "decide", decision="supported")
    history = json.loads(
        site.ask(
            "import json\n"
            "t = Trial.objects.filter(state='completed', n_steps=3).get()\n"
            "print(json.dumps(list(t.events.order_by('seq').values_list('seq', 'kind', 'step'))))"
        )
    )
    assert history == [
        [0, "trial_started", None],
        [1, "reveal", 1],
        [2, "reveal", 2],
        [3, "reveal", 3],
        [4, "decision_submitted", None],
    ]


def test_results_do_not_wait_behind_a_long_precompute(site):
    with LLMServer(latency=0.5) as server:
        site.environment |= {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "test"}
        prepare(site, n_claims=5)
        site.manage("create_study", "long")
        site.manage("import_claims", "long", ROOT / "fixtures" / "demo_claims.jsonl")
        site.manage(
            "add_condition", "long", "ranking", "--interface", "incremental",
            "--method", "incremental_llm", "--model", "scripted", "--param", "depth=4",
        )  # fmt: skip
        site.start_worker(concurrency=CONCURRENCY)
        site.manage("precompute", "long")
        wait_for(lambda: n_stored(site) >= 1, 60)
        site.ask(
            "from studyapp.domain import results_jobs\n"
            "results_jobs.build(Study.objects.get(slug='pilot'), 'measures')"
        )
        ended = "print(ResultsJob.objects.values_list('state', flat=True).get())"
        wait_for(lambda: site.ask(ended) == "done", 60)
        waiting = "print(PrecomputeJob.objects.filter(state='queued').count())"
        assert int(site.ask(waiting)) > 0
