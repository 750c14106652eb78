from __future__ import annotations

import json
from collections import Counter

import pytest

from rankers.formats import read_claims, read_rows
from tests.rankers.claim_files import problems, rows
from tests.shared_data import DATA, needs_data


def _line(**changes):
    record = {
        "label": "supported",
        "supporting_sentences": [[0, 2]],
        "claim": "C.",
        "evidence": ["a", "", "c"],
        "meta": {"id": "dev1", "claim_title": "T", "claim_section": "S.", "claim_context": "…"},
    }
    return json.dumps({**record, **changes}).encode() + b"\n"


def test_a_row_becomes_a_claim_with_indices_moved():
    (row,) = rows(_line(), "wice")
    claim = row.claim
    assert (claim.id, claim.candidates, claim.gold_sets) == ("wice-dev1", ("a", "c"), ((0, 1),))
    assert (claim.source, claim.meta) == ("WiCE dev", {"claim_title": "T", "claim_section": "S."})
    assert [one.kind for one in row.notices] == ["empty_candidates"]


def test_an_empty_sentence_leaves_its_gold_sets():
    (row,) = rows(_line(supporting_sentences=[[1], [1, 2]]), "wice")
    assert row.claim.gold_sets == ((1,),)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"label": "not_supported", "supporting_sentences": [[], [2]]}, "not_supported"),
        ({"supporting_sentences": [[]]}, "no_gold_set"),
        ({"supporting_sentences": []}, "no_gold_set"),
        ({"label": ""}, "unlabelled"),
    ],
)
def test_rows_are_left_out_by_reason(changes, reason):
    (row,) = rows(_line(**changes), "wice")
    assert (row.left_out, row.claim, row.problems) == (reason, None, ())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"label": "true"}, "line 1, label: unknown label 'true'"),
        ({"supporting_sentences": [[7]]}, "line 1, gold_sets[0]: index 7 is out of range"),
        ({"supporting_sentences": [[True]]}, "line 1, supporting_sentences: missing or no list"),
        ({"evidence": "text"}, "line 1, evidence: missing or no list"),
        ({"meta": {}}, "line 1, meta.id: missing"),
        ({"claim": " "}, "line 1, claim: empty"),
    ],
)
def test_broken_rows_are_problems(changes, message):
    assert any(message in one for one in problems(_line(**changes), "wice"))


def test_repeated_ids_are_problems():
    assert "duplicate id 'wice-dev1', first on line 1" in problems(_line() * 2, "wice")[0]


@needs_data
def test_the_sample_gives_the_claims_of_the_open_files():
    known = {
        claim.id: claim
        for name in ("wice_open", "wice_long_open")
        for claim in read_claims(DATA / f"{name}.jsonl")
    }
    found = list(read_rows(DATA / "original" / "wice_sample.jsonl", "wice"))
    assert Counter(row.left_out for row in found) == {None: 26, "not_supported": 4}
    for row in found:
        if row.claim is not None:
            open_claim = known[row.claim.id]
            for name in ("claim", "label", "candidates", "gold_sets", "source", "license"):
                assert getattr(row.claim, name) == getattr(open_claim, name)
