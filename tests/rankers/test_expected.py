"""The simple rankers agree with independently computed values on the open files."""

from __future__ import annotations

import json

import pytest

import rankers
from rankers.formats import read_claims
from rankers.metrics import aggregate, score, size_bucket, verified_within
from tests.shared_data import DATA, needs_data

pytestmark = [needs_data, pytest.mark.data]

EXACT, EMBEDDED = 1e-9, 1e-3
CASES = [
    ("document_order", "document_order", EXACT),
    ("bm25", "bm25", EXACT),
    ("similarity", "similarity/wordllama", EMBEDDED),
    ("incremental_similarity", "incremental_similarity/wordllama", EMBEDDED),
]


@pytest.fixture(scope="module", params=["wice", "wice_long", "fm2"])
def claims_and_values(request):
    values = json.loads((DATA / "expected.json").read_text())["sets"][request.param]
    return list(read_claims(DATA / f"{request.param}_open.jsonl")), values["methods"]


def _scores(name, claims):
    method = rankers.build(name)
    return [
        score(method.rank(one.claim, one.candidates).order, one.gold_sets, len(one.candidates))
        for one in claims
    ]


@pytest.mark.parametrize(("name", "key", "tolerance"), CASES)
def test_metrics_agree_with_the_independent_values(claims_and_values, name, key, tolerance):
    claims, values = claims_and_values
    scores = _scores(name, claims)
    buckets = {"all": scores}
    for claim, one in zip(claims, scores, strict=True):
        size = f"optimal_size={size_bucket(one.imsr)}"
        for bucket in (size, f"label={claim.label}"):
            buckets.setdefault(bucket, []).append(one)
    expected = dict(values[key])
    within = expected.pop("verified_within")
    assert set(buckets) == set(expected)
    for bucket, found in buckets.items():
        result, wanted = aggregate(found), expected[bucket]
        assert result["n"] == wanted["n"]
        # Ranks grow with the list, so the tolerance of a mean rank is relative.
        assert result["mean_msr"] == pytest.approx(wanted["mean_msr"], rel=tolerance)
        for measure in ("mrr", "sr", "ndcg"):
            assert result[measure] == pytest.approx(wanted[measure], abs=tolerance), bucket
    assert verified_within(scores) == pytest.approx(within, abs=tolerance)


def test_random_is_near_its_expectation(claims_and_values):
    claims, values = claims_and_values
    result, wanted = aggregate(_scores("random", claims)), values["random_expected"]["all"]
    for measure in ("mrr", "sr", "ndcg"):
        assert result[measure]["mean"] == pytest.approx(wanted[measure]["mean"], abs=0.02)


def test_coverage_stays_as_good_as_it_was_measured(claims_and_values):
    # A little below the MRR in docs/rankers.md.
    claims, values = claims_and_values
    floor = {139: 0.685, 238: 0.575, 703: 0.425}[len(claims)]
    mrr = aggregate(_scores("coverage", claims))["mrr"]["mean"]
    assert mrr >= floor
    assert mrr > values["bm25"]["all"]["mrr"]["mean"]
