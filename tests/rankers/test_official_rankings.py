from __future__ import annotations

import json

import pytest

from rankers.cli import main
from rankers.convert import convert
from rankers.evaluate import evaluate
from rankers.formats import read_claims
from rankers.records import read_records
from tests.rankers.claim_files import write
from tests.shared_data import DATA, needs_data

TEXTS = ["a", "b", "a", "c"]


@pytest.fixture
def claims(tmp_path):
    common = {"candidates": TEXTS, "gold_sets": [[1], [1, 3]]}
    return write(
        tmp_path / "claims.jsonl",
        {"id": "i", "claim": "C one.", "meta": {"instance": "i"}, **common},
        {"id": "i#2", "claim": "C two.", "meta": {"instance": "i"}, **common},
        {"id": "j", "claim": "C one.", **common},
    )


def prefixes(*texts: str) -> dict[str, dict[str, list[str]]]:
    return {
        str(length): {"selected snippets": list(texts[:length])}
        for length in range(1, len(texts) + 1)
    }


def given(tmp_path, document):
    path = tmp_path / "given.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def imported(tmp_path, claims, document, *options):
    """Exit status, and the records of an import."""
    out = tmp_path / "imported.jsonl"
    path = given(tmp_path, document)
    status = main(["import-official", str(claims), str(path), "-o", str(out), *options])
    return status, [record for _, record in read_records(out)] if out.exists() else None


def test_rankings_go_out_and_come_back(tmp_path, claims, capsys):
    ranked, official = tmp_path / "ranked.jsonl", tmp_path / "official.json"
    again = tmp_path / "again.jsonl"
    assert main(["rank", str(claims), "--method", "document_order", "-o", str(ranked)]) == 0
    assert main(["export-official", str(claims), str(ranked), "-o", str(official)]) == 0
    record = {
        **prefixes(*TEXTS),
        "gold": {"num selected snippets": 1, "gold snippets groups": [["b"], ["b", "c"]]},
        "label": "supported",
    }
    document = json.loads(official.read_text())
    assert document == {"i": {"C one.": record, "C two.": record}, "j": {"C one.": record}}
    capsys.readouterr()
    arguments = [str(claims), str(official), "-o", str(again), "--name", "mine"]
    assert main(["import-official", *arguments]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{again}: 3 rankings",
        "notice: 3 rankings with repeated texts (first unused position taken)",
    ]
    records = [record for _, record in read_records(again)]
    assert [one["id"] for one in records] == ["i", "i#2", "j"]
    assert {(one["method"], one["model"], one["status"]) for one in records} == {
        ("official", "mine", "complete")
    }
    assert [one["order"] for one in records] == [[0, 1, 2, 3]] * 3
    assert list(evaluate(claims, [again]).scores) == ["official/mine"]


def test_a_repeated_text_takes_its_first_unused_position(tmp_path, claims):
    status, [record] = imported(tmp_path, claims, {"j": {"C one.": prefixes("c", "a", "b", "a")}})
    assert (status, record["order"]) == (0, [3, 0, 1, 2])


def test_a_ranking_that_breaks_off_is_completed_and_marked(tmp_path, claims, capsys):
    broken_off = {**prefixes("c", "b"), "3": {"selected snippets": []}}
    status, [record] = imported(tmp_path, claims, {"j": {"C one.": broken_off}})
    assert (status, record["order"]) == (0, [3, 1, 0, 2])
    assert record["origins"] == ["judged", "judged", "fallback", "fallback"]
    assert (record["status"], record["fallback_from"]) == ("fallback", 3)
    out = capsys.readouterr().out
    assert "left out: 2 no_ranking" in out
    assert "notice: 1 rankings that lack sentences, completed in reading order" in out


def test_a_sentence_named_again_is_dropped_with_a_notice(tmp_path, claims, capsys):
    ranked = prefixes("a", "a", "a", "b", "b", "c")
    status, [record] = imported(tmp_path, claims, {"j": {"C one.": ranked}})
    assert (status, record["order"], record["status"]) == (0, [0, 2, 1, 3], "complete")
    assert "notice: 1 rankings that name a sentence again" in capsys.readouterr().out


def test_steps_may_add_several_sentences_and_ten_comes_after_two(tmp_path, claims):
    ranked = {
        "10": {"selected snippets": ["a", "b", "a", "c"]},
        "1": {"selected snippets": ["a"]},
        "2": {"selected snippets": ["a", "b", "a"]},
    }
    status, [record] = imported(tmp_path, claims, {"j": {"C one.": ranked}})
    assert (status, record["order"]) == (0, [0, 1, 2, 3])


@pytest.mark.parametrize(
    ("ranked", "message"),
    [
        ([], 'j: no ranking: entries "1", "2", … with selected snippets are needed'),
        ({"gold": {}, "label": "supported"}, "j: no ranking"),
        ({"1": {"selected snippets": []}}, "j: no ranking"),
        ({"1": ["a"]}, "j: 1: selected snippets: missing or no list of texts"),
        ({"1": {"selected snippets": [1]}}, "j: 1: selected snippets: missing or no list"),
        (prefixes("a", "z"), "j: the ranked sentence 'z' is no candidate"),
        (
            {"1": {"selected snippets": ["a"]}, "2": {"selected snippets": ["b", "a"]}},
            "j: 2: selected snippets: does not go on with the entry before it",
        ),
    ],
)
def test_what_is_no_ranking_is_a_problem_and_nothing_is_written(
    tmp_path, claims, capsys, ranked, message
):
    document = {"j": {"C one.": ranked}, "i": {"C one.": prefixes(*TEXTS)}}
    assert imported(tmp_path, claims, document) == (1, None)
    [problem] = capsys.readouterr().err.splitlines()
    assert problem.startswith(f"{tmp_path / 'given.json'}: {message}")


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "given.json: must be a JSON object of instances"),
        ({"i": []}, "given.json: i: must be an object of claim texts"),
        ({"k": {"C.": prefixes("a")}}, "none of its claims is in"),
    ],
)
def test_files_of_other_claims_or_kinds_are_refused(tmp_path, claims, capsys, document, message):
    assert imported(tmp_path, claims, document) == (1, None)
    assert message in capsys.readouterr().err


def test_rankings_of_some_other_claims_are_noted(tmp_path, claims, capsys):
    document = {"j": {"C one.": prefixes(*TEXTS), "C two.": prefixes(*TEXTS)}}
    status, records = imported(tmp_path, claims, document)
    assert (status, len(records)) == (0, 1)
    assert "1 rankings are for claims that are not in" in capsys.readouterr().err


def exported(tmp_path, claims, rankings, *options):
    """Exit status, and the document of an export."""
    out = tmp_path / "out.json"
    status = main(["export-official", str(claims), str(rankings), "-o", str(out), *options])
    return status, json.loads(out.read_text()) if out.exists() else None


@pytest.fixture
def two_methods(tmp_path, claims):
    paths = [tmp_path / f"{name}.jsonl" for name in ("bm25", "document_order")]
    for path in paths:
        main(["rank", str(claims), "--method", path.stem, "-o", str(path)])
    both = tmp_path / "both.jsonl"
    both.write_bytes(b"".join(path.read_bytes() for path in paths))
    return both


def test_one_of_several_methods_must_be_chosen(tmp_path, claims, two_methods, capsys):
    assert exported(tmp_path, claims, two_methods) == (1, None)
    message = "holds rankings of bm25 and document_order: choose one with --method NAME"
    assert message in capsys.readouterr().err
    status, document = exported(tmp_path, claims, two_methods, "--method", "document_order")
    assert status == 0
    assert document["j"]["C one."]["4"] == {"selected snippets": TEXTS}
    assert main(["export-official", str(claims), str(two_methods), "--method", "x", "-o", "o"]) == 1
    assert f"{two_methods}: no rankings of x" in capsys.readouterr().err


def test_selections_are_no_rankings(tmp_path, claims, capsys):
    selected = tmp_path / "selected.jsonl"
    main(["select", str(claims), "--method", "top_k", "-o", str(selected)])
    assert exported(tmp_path, claims, selected) == (1, None)
    assert f"{selected}: no rankings" in capsys.readouterr().err


def test_failed_and_unranked_claims_are_left_out_and_counted(tmp_path, claims, capsys):
    ranked = tmp_path / "ranked.jsonl"
    main(["rank", str(claims), "--method", "bm25", "--limit", "2", "-o", str(ranked)])
    first, second = [record for _, record in read_records(ranked)]
    empty = {"order": None, "scores": None, "origins": None, "fallback_from": None}
    failed = {**second, **empty, "status": "failed", "error": "E"}
    ranked.write_text(json.dumps(first) + "\n" + json.dumps(failed) + "\n")
    capsys.readouterr()
    status, document = exported(tmp_path, claims, ranked)
    assert (status, {key: list(found) for key, found in document.items()}) == (0, {"i": ["C one."]})
    assert capsys.readouterr().out.splitlines()[1:] == [
        "left out: 1 failed",
        "left out: 1 no_ranking",
    ]


def test_a_claim_ranked_twice_is_refused(tmp_path, claims, capsys):
    ranked = tmp_path / "ranked.jsonl"
    main(["rank", str(claims), "--method", "bm25", "-o", str(ranked)])
    ranked.write_bytes(ranked.read_bytes() * 2)
    assert exported(tmp_path, claims, ranked) == (1, None)
    assert f"{ranked}: line 4: claim 'i' is ranked twice" in capsys.readouterr().err


def test_rankings_of_another_file_are_refused(tmp_path, claims, capsys):
    other = write(tmp_path / "other.jsonl", {"id": "x"})
    ranked = tmp_path / "ranked.jsonl"
    main(["rank", str(other), "--method", "bm25", "-o", str(ranked)])
    assert exported(tmp_path, claims, ranked) == (1, None)
    assert "none of its claims is in" in capsys.readouterr().err


@needs_data
def test_the_sample_claims_are_written_as_they_were_read(tmp_path):
    sample = DATA / "original" / "evidence_ranking_official_sample.json"
    plain, again = tmp_path / "plain.jsonl", tmp_path / "again.json"
    convert([sample], plain, "official", keep_supersets=True)
    report = convert([plain], again, "interchange", to="official", keep_supersets=True)
    assert again.read_text().rstrip("\n") == sample.read_text().rstrip("\n")
    assert report.written == 20
    assert report.notices["ambiguous_gold"] == 0


def test_gold_that_a_twin_would_take_is_noticed(tmp_path):
    source = write(
        tmp_path / "a.jsonl",
        {"id": "first", "candidates": TEXTS, "gold_sets": [[0, 3]]},
        {"id": "second", "candidates": TEXTS, "gold_sets": [[2, 3]]},
        {"id": "both", "candidates": TEXTS, "gold_sets": [[0, 2]]},
    )
    out = tmp_path / "out.json"
    report = convert([source], out, "interchange", to="official")
    assert report.notices == {"ambiguous_gold": 1}
    again = tmp_path / "again.jsonl"
    convert([out], again, "official")
    assert [claim.gold_sets for claim in read_claims(again)] == [((0, 3),), ((0, 3),), ((0, 2),)]


def test_claims_that_would_share_a_key_are_refused(tmp_path, capsys):
    source = write(tmp_path / "a.jsonl", {"id": "x"}, {"id": "y", "meta": {"instance": "x"}})
    out = tmp_path / "out.json"
    arguments = ["convert", "--format", "interchange", "--to", "official", str(source)]
    assert main([*arguments, "-o", str(out)]) == 1
    assert "y: instance 'x' holds the same claim text twice" in capsys.readouterr().err
    assert not out.exists()


@needs_data
def test_real_rankings_keep_their_order_through_texts(tmp_path):
    sample = DATA / "original" / "evidence_ranking_official_sample.json"
    plain, ranked = tmp_path / "plain.jsonl", tmp_path / "ranked.jsonl"
    official, again = tmp_path / "official.json", tmp_path / "again.jsonl"
    convert([sample], plain, "official")
    assert main(["rank", str(plain), "--method", "bm25", "-o", str(ranked)]) == 0
    assert main(["export-official", str(plain), str(ranked), "-o", str(official)]) == 0
    assert main(["import-official", str(plain), str(official), "-o", str(again)]) == 0
    texts = {claim.id: claim.candidates for claim in read_claims(plain)}
    orders = [
        {record["id"]: record["order"] for _, record in read_records(path)}
        for path in (ranked, again)
    ]
    assert list(orders[0]) == list(orders[1]) == list(texts)
    for claim_id, candidates in texts.items():
        shown = [[candidates[i] for i in order[claim_id]] for order in orders]
        assert shown[0] == shown[1]
