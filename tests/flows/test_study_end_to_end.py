"""From a file of claims to measures, by the commands a researcher types."""

from __future__ import annotations

import ast
import csv
import json
import zipfile
from collections import Counter

import pytest

from tests.flows.site import Site
from tests.shared_data import ROOT

#: What the seed decides; ids and clocks are not among it.
SEEDED = (
    "replication",
    "slot",
    "subset",
    "claim_id",
    "condition",
    "block",
    "position",
    "gold_label",
    "decision",
    "shown_order",
    "gold_sets",
    "n_read",
    "msr",
)


@pytest.fixture
def site(tmp_path):
    site = Site(tmp_path)
    yield site
    site.close()


def prepare(site: Site, slug: str = "pilot", n_claims: int = 10, n_subsets: int = 5) -> None:
    site.manage("create_study", slug, "--title", "A pilot")
    site.manage("import_claims", slug, ROOT / "fixtures" / "demo_claims.jsonl", "--limit", n_claims)
    site.manage(
        "add_condition", slug, "ranking", "--interface", "incremental", "--method", "coverage"
    )
    site.manage(
        "add_condition", slug, "selection", "--interface", "all_at_once",
        "--method", "coverage_selection",
    )  # fmt: skip
    refused = site.manage("open_study", slug, status=1)
    assert "no ranking yet" in refused.stderr
    assert "no schedule" in refused.stderr
    worker = site.start_worker()
    done = site.manage("precompute", slug, "--wait")
    assert f"ranking: {n_claims} of {n_claims} done, 0 failed" in done.stdout
    site.stop(worker)
    plan = site.manage("schedule", slug, "--subsets", n_subsets, "--replications", 1, "--seed", 3)
    assert "balanced: each claim once per condition and cycle" in plan.stdout
    assert "/p/" in site.manage("open_study", slug).stdout


def trials_of(archive) -> list[dict[str, str]]:
    with zipfile.ZipFile(archive) as export:
        return list(csv.DictReader(export.read("trials.csv").decode().splitlines()))


def test_the_whole_way_from_claims_to_measures(site, tmp_path):
    prepare(site)
    site.manage("simulate", "pilot", "--participants", 5, "--policy", "oracle", "--seed", 1)
    full = site.manage(
        "simulate", "pilot", "--participants", 1, "--policy", "oracle", "--seed", 1, status=1
    )
    assert "room for 0 more" in full.stderr

    archive = tmp_path / "pilot.zip"
    site.manage("export_study", "pilot", "-o", archive, "--simulated")
    trials = trials_of(archive)
    assert len(trials) == 20
    cells = Counter((row["claim_id"], row["condition"]) for row in trials)
    assert len(cells) == 20
    assert set(cells.values()) == {1}
    assert {row["simulated"].lower() for row in trials} == {"true"}

    folder = tmp_path / "export"
    with zipfile.ZipFile(archive) as export:
        export.extractall(folder)
    measured = site.run(
        "-m", "analysis", "measures", folder / "trials.csv", "--study", folder / "study.json",
        "--events", folder / "events.csv", "--simulated", "--json",
    )  # fmt: skip
    document = json.loads(measured.stdout)
    ranking = document["design_set"]["ranking"]
    assert ranking["n_trials"] == 10
    assert ranking["success_rate"] == 1
    assert ranking["over_read_msr_rate"] == 0
    assert (
        ranking["mean_read"]
        == sum(int(row["msr"]) for row in trials if row["condition"] == "ranking") / 10
    )
    assert document["balance"]["cells_with_one_trial"] == 20
    assert document["balance"]["cells_empty"] == 0

    site.run("-m", "analysis", "report", archive, "-o", tmp_path / "report", "--simulated")
    assert "<svg" in (tmp_path / "report" / "report.html").read_text()


def test_simulated_runs_stay_out_of_the_export_by_default(site, tmp_path):
    prepare(site, n_claims=5)
    site.manage("simulate", "pilot", "--participants", 2, "--policy", "noisy", "--seed", 1)
    site.manage("export_study", "pilot", "-o", tmp_path / "real.zip")
    assert trials_of(tmp_path / "real.zip") == []


def test_equal_seeds_give_equal_trials(site, tmp_path):
    plays = []
    for slug in ("one", "two"):
        prepare(site, slug, n_claims=5)
        site.manage("simulate", slug, "--participants", 5, "--policy", "noisy", "--seed", 9)
        site.manage("export_study", slug, "-o", tmp_path / f"{slug}.zip", "--simulated")
        plays.append(
            sorted(tuple(row[c] for c in SEEDED) for row in trials_of(tmp_path / f"{slug}.zip"))
        )
    assert plays[0] == plays[1]
    assert len(plays[0]) == 10


def test_the_demo_sets_itself_up_and_again_goes_on_where_it_was(site):
    first = site.manage("demo", "--once", "--port", 0)
    assert "Take part:" in first.stdout
    counts = site.ask("print(Trial.objects.count(), PrecomputeJob.objects.count())")
    again = site.manage("demo", "--once", "--port", 0)
    assert "precomputing" not in again.stdout
    assert site.ask("print(Trial.objects.count(), PrecomputeJob.objects.count())") == counts
    kinds = site.ask(
        "from django.db.models import Count\n"
        "print(dict(Trial.objects.values_list('kind').annotate(n=Count('pk')).order_by('kind')))\n"
        "print(set(Enrolment.objects.values_list('state', flat=True)))\n"
        "print(dict(QuestionnaireAnswer.objects.values_list('name')"
        ".annotate(n=Count('pk')).order_by('name')))"
    ).splitlines()
    tried = ast.literal_eval(kinds[0])
    assert (tried["attention"], tried["main"]) == (5, 60)
    assert 5 * 2 <= tried["practice"] <= 5 * 2 * 2
    assert kinds[1:] == ["{'completed'}", "{'ease': 5, 'preferred': 5, 'remarks': 5}"]
    assert sum(tried.values()) == int(counts.split()[0])
