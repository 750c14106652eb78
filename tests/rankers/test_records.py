from __future__ import annotations

import json

import pytest

from rankers.bm25 import BM25
from rankers.coverage import CoverageSelection
from rankers.errors import BadInput, MalformedReply
from rankers.records import (
    FIELDS,
    check_record,
    failed_record,
    from_record,
    read_records,
    record_line,
    to_record,
)
from rankers.values import FALLBACK, JUDGED, SEED, Ranking, Selection, Usage

RANKING = Ranking((2, 0, 1), (JUDGED, FALLBACK, SEED), (0.5, 0.25, -1.0), Usage(4, 900, None, 12))


def test_a_ranking_record_has_exactly_the_agreed_fields():
    record = to_record("c1", BM25(), RANKING, 1.25)
    assert record == {
        "id": "c1",
        "method": "bm25",
        "model": None,
        "prompt_version": None,
        "order": [2, 0, 1],
        "selected": None,
        "scores": [0.5, 0.25, -1.0],
        "origins": ["judged", "fallback", "seed"],
        "status": "fallback",
        "fallback_from": 2,
        "usage": {
            "calls": 4,
            "prompt_tokens": 900,
            "cached_prompt_tokens": None,
            "completion_tokens": 12,
        },
        "seconds": 1.25,
        "params": {"k1": 1.5, "b": 0.75},
    }
    assert tuple(record) == FIELDS


def test_a_tail_of_seed_is_still_complete():
    ranking = Ranking((1, 0), (JUDGED, SEED))
    record = to_record("c1", BM25(), ranking, 0)
    assert (record["status"], record["fallback_from"]) == ("complete", None)


def test_a_selection_record():
    selection = Selection((0, 2), 4, is_fallback=True)
    record = to_record("c1", CoverageSelection(), selection, 0)
    assert (record["order"], record["selected"], record["status"]) == (None, [0, 2], "fallback")
    assert (record["origins"], record["model"]) == (None, "wordllama")
    assert from_record(record, 4) == selection


def test_a_failed_record_keeps_the_error_and_the_raw_reply():
    record = failed_record("c1", BM25(), MalformedReply("no ids", raw="8/10"), 0.5)
    check_record(record)
    assert record["status"] == "failed"
    assert (record["error"], record["raw"]) == ("MalformedReply: no ids", "8/10")
    assert from_record(record, 3) is None


def test_records_round_trip_through_a_file(tmp_path):
    path = tmp_path / "r.jsonl"
    record = to_record("ç", BM25(), RANKING, 0.1)
    path.write_text(record_line(record), encoding="utf-8")
    ((line, found),) = read_records(path)
    assert (line, found) == (1, record)
    assert from_record(found, 3) == RANKING


def test_a_record_that_does_not_fit_its_claim_is_an_error():
    record = to_record("c1", BM25(), RANKING, 0)
    with pytest.raises(ValueError, match="3 positions for 4 candidates"):
        from_record(record, 4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"order": [0, 0, 1]}, "order: must hold each of 0 to n-1 once"),
        ({"order": [0, 1, 3]}, "order: must hold each"),
        ({"order": [0, 1, True]}, "order: must hold each"),
        ({"selected": [0]}, "exactly one of them"),
        ({"order": None}, "exactly one of them"),
        ({"order": None, "selected": [1, 0]}, "selected: must be ascending"),
        ({"order": None, "selected": []}, "selected: must be ascending"),
        ({"origins": ["judged"]}, "origins: must name one of"),
        ({"origins": ["judged", "guess", "seed"]}, "origins: must name one of"),
        ({"scores": [1.0]}, "scores: must be null or one number"),
        ({"fallback_from": 3}, "fallback_from: must be 2"),
        ({"status": "complete"}, "status: does not agree"),
        ({"status": "done"}, "status: 'done' is none of"),
        ({"id": 3}, "id: must be text"),
        ({"model": 3}, "model: must be text or null"),
        ({"params": []}, "params: must be an object"),
        ({"usage": {"calls": 1}}, "usage: its keys must be"),
        ({"seconds": "1"}, "seconds: must be a number"),
    ],
)
def test_a_broken_record_names_file_line_and_field(tmp_path, changes, message):
    path = tmp_path / "r.jsonl"
    good = to_record("c1", BM25(), RANKING, 0)
    path.write_text(record_line(good) + "\n" + json.dumps({**good, **changes}) + "\n")
    with pytest.raises(BadInput, match=f"r.jsonl: line 3: .*{message}"):
        list(read_records(path))


def test_a_file_of_claims_is_no_file_of_records(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text('{"id": "c1", "claim": "C."}\n')
    with pytest.raises(BadInput, match="no ranking record: method, model"):
        list(read_records(path))
