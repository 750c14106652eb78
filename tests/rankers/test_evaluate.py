from __future__ import annotations

import csv
import io
import json

import pytest

from rankers.bm25 import BM25
from rankers.errors import BadInput, TransportError
from rankers.evaluate import evaluate, table, write_csv
from rankers.fixed import DocumentOrder
from rankers.records import failed_record, record_line, to_record
from rankers.top_k import TopK
from rankers.values import Ranking, Selection
from tests.rankers.claim_files import write

# Three candidates each; gold sets of size 1, 1, 2 and 3.
CLAIMS = [
    {"id": "a", "gold_sets": [[2]]},
    {"id": "b", "gold_sets": [[1]], "label": "refuted"},
    {"id": "c", "gold_sets": [[0, 2]]},
    {"id": "d", "gold_sets": [[0, 1, 2]], "label": "refuted"},
]


@pytest.fixture
def claims(tmp_path):
    return write(tmp_path / "claims.jsonl", *CLAIMS)


def _file(path, *records):
    path.write_text("".join(record_line(record) for record in records))
    return path


def _record(claim_id, order=(0, 1, 2), method=None):
    return to_record(claim_id, method or DocumentOrder(), Ranking.judged(order), 0.0)


def test_the_summary_by_hand(claims, tmp_path):
    path = _file(tmp_path / "r.jsonl", *(_record(one["id"]) for one in CLAIMS))
    # MSR 3, 2, 3, 3; IMSR 1, 1, 2, 3; RR 1/3, 1/2, 1/2, 1.
    summary = evaluate(claims, [path]).summary()
    assert list(summary) == ["document_order"]
    result = summary["document_order"]
    assert result["all"]["n"] == 4
    assert result["all"]["mean_msr"] == 2.75
    assert result["all"]["mrr"]["mean"] == pytest.approx((1 / 3 + 1 / 2 + 1 / 2 + 1) / 4)
    assert result["all"]["sr"]["mean"] == 0.25
    assert result["gold_min_size=1"]["n"] == 2
    assert result["gold_min_size=2"]["mrr"] == {"mean": 0.5, "sem": None}
    assert result["gold_min_size=3+"]["sr"]["mean"] == 1.0
    assert result["label=refuted"]["mean_msr"] == 2.5
    assert "label=partially_supported" not in result
    assert [result["verified_within"][k] for k in ("1", "2", "3", "20")] == [0.0, 0.25, 1.0, 1.0]
    assert result["left_out"] == {}


def test_claims_without_a_ranking_and_failed_ones_are_left_out_by_reason(claims, tmp_path):
    failed = failed_record("b", DocumentOrder(), TransportError("busy"), 0)
    path = _file(tmp_path / "r.jsonl", _record("a"), failed)
    result = evaluate(claims, [path]).summary()["document_order"]
    assert result["left_out"] == {"failed": 1, "no_ranking": 2}
    assert result["all"]["n"] == 1


def test_a_file_of_failures_has_means_of_none(claims, tmp_path):
    failed = failed_record("b", DocumentOrder(), TransportError("busy"), 0)
    summary = evaluate(claims, [_file(tmp_path / "r.jsonl", failed)]).summary()
    result = summary["document_order"]
    assert result["all"] == {
        "n": 0,
        "mean_msr": None,
        "mrr": {"mean": None, "sem": None},
        "sr": {"mean": None, "sem": None},
        "ndcg": {"mean": None, "sem": None},
    }
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert "–" in table(summary)


def test_names_carry_model_and_differing_parameters(claims, tmp_path):
    paths = [
        _file(tmp_path / f"{i}.jsonl", _record("a", method=BM25(k1=k1, b=b)))
        for i, (k1, b) in enumerate([(1.5, 0.75), (1.5, 0.5)])
    ]
    assert list(evaluate(claims, paths).summary()) == ["bm25[b=0.75]", "bm25[b=0.5]"]
    method = DocumentOrder()
    method.model = "gpt"
    path = _file(tmp_path / "m.jsonl", _record("a", method=method))
    assert list(evaluate(claims, [*paths, path]).summary())[2] == "document_order/gpt"


def test_a_text_parameter_is_shown_bare_and_prompt_versions_count(claims, tmp_path):
    records = []
    for layout, version in (("paper", "1"), ("stable", "2")):
        record = _record("a")
        records.append({**record, "params": {"layout": layout}, "prompt_version": version})
    paths = [_file(tmp_path / f"{i}.jsonl", one) for i, one in enumerate(records)]
    assert list(evaluate(claims, paths).summary()) == [
        "document_order[layout=paper,prompt_version=1]",
        "document_order[layout=stable,prompt_version=2]",
    ]


def test_two_files_of_the_same_method_and_parameters_are_refused(claims, tmp_path):
    paths = [_file(tmp_path / f"{i}.jsonl", _record("a")) for i in range(2)]
    with pytest.raises(BadInput, match=r"0\.jsonl and .*1\.jsonl both hold document_order"):
        evaluate(claims, paths)


def test_a_file_of_several_methods_is_taken_apart(claims, tmp_path):
    path = _file(
        tmp_path / "r.jsonl", _record("a"), {**_record("a", method=BM25()), "condition": "x"}
    )
    assert list(evaluate(claims, [path]).summary()) == ["document_order", "bm25"]


def test_selections_are_noted_and_refused_alone(claims, tmp_path):
    selection = to_record("a", TopK(BM25()), Selection((0,), 3), 0)
    path = _file(tmp_path / "r.jsonl", _record("a"), selection)
    result = evaluate(claims, [path])
    assert list(result.summary()) == ["document_order"]
    assert "1 selections have no order" in result.notes[0]
    with pytest.raises(BadInput, match="no rankings to evaluate"):
        evaluate(claims, [_file(tmp_path / "s.jsonl", selection)])


def test_records_that_do_not_fit_name_their_line(claims, tmp_path):
    path = _file(tmp_path / "r.jsonl", _record("a"), _record("b", (1, 0)))
    with pytest.raises(BadInput, match=r"r\.jsonl: line 2: claim 'b' does not fit"):
        evaluate(claims, [path])


def test_a_claim_ranked_twice_is_refused(claims, tmp_path):
    path = _file(tmp_path / "r.jsonl", _record("a"), _record("a"))
    with pytest.raises(BadInput, match="line 2: claim 'a' is on line 1 too"):
        evaluate(claims, [path])


def test_rankings_of_other_claims_are_noted_or_refused(claims, tmp_path):
    path = _file(tmp_path / "r.jsonl", _record("a"), _record("z"))
    assert "1 rankings of document_order are for claims" in evaluate(claims, [path]).notes[0]
    path = _file(tmp_path / "q.jsonl", _record("z"))
    with pytest.raises(BadInput, match="none of its claims is in"):
        evaluate(claims, [path])


def test_the_csv_has_a_row_for_each_claim_and_ranker(claims, tmp_path):
    path = _file(tmp_path / "r.jsonl", _record("a"), _record("d"))
    stream = io.StringIO()
    write_csv(evaluate(claims, [path]), stream)
    found = list(csv.DictReader(io.StringIO(stream.getvalue())))
    assert found[1] == {
        "claim_id": "d",
        "ranker": "document_order",
        "imsr": "3",
        "msr": "3",
        "rr": "1.0",
        "sr": "1",
        "ndcg": "1.0",
    }
    assert float(found[0]["rr"]) == 1 / 3


def test_the_table_shows_means_with_errors(claims, tmp_path):
    path = _file(tmp_path / "r.jsonl", *(_record(one["id"]) for one in CLAIMS[:2]))
    text = table(evaluate(claims, [path]).summary())
    # RR 1/3 and 1/2: mean .417, SEM .083; nothing optimal.
    assert "0.417 ± 0.083" in text
    assert "0.0 ± 0.0" in text
    assert text.endswith("2 no_ranking")
