from __future__ import annotations

import os
from collections import Counter

import pytest

from rankers.cli import main
from rankers.convert import Bounds, convert
from rankers.errors import BadInput
from rankers.formats import read_claims, read_rows
from rankers.sampling import draw, equal_seats
from tests.rankers.claim_files import line, write
from tests.rankers.wiki_files import fever_claim, fever_page, jsonl
from tests.shared_data import DATA, needs_data


def test_several_files_become_one(tmp_path):
    first = write(tmp_path / "a.jsonl", {"id": "a"})
    second = write(tmp_path / "b.jsonl", {"id": "b"}, {"id": "c"})
    out = tmp_path / "out.jsonl"
    report = convert([first, second], out, "interchange")
    assert [claim.id for claim in read_claims(out)] == ["a", "b", "c"]
    assert report.written == 3


def test_problems_of_all_files_are_listed_and_nothing_is_written(tmp_path):
    first = write(tmp_path / "a.jsonl", {"id": "a", "label": "x"})
    second = write(tmp_path / "b.jsonl", {"id": "b"}, {"id": "a"})
    out = tmp_path / "out.jsonl"
    out.write_text("old")
    with pytest.raises(BadInput) as caught:
        convert([first, second], out, "interchange")
    unknown, repeated = caught.value.problems
    assert unknown.startswith(f"{first}: line 1, label: unknown label 'x'")
    assert repeated == f"{second}: line 2, id: duplicate id 'a', first on line 1 of {first}"
    assert out.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "b.jsonl", "out.jsonl"]


def test_a_limit_keeps_the_first_claims(tmp_path):
    source = write(tmp_path / "a.jsonl", *({"id": str(i)} for i in range(5)))
    out = tmp_path / "out.jsonl"
    assert convert([source], out, "interchange", limit=2).written == 2
    assert [claim.id for claim in read_claims(out)] == ["0", "1"]


def test_a_problem_within_the_limit_is_not_overlooked(tmp_path):
    source = tmp_path / "a.jsonl"
    source.write_bytes(line(label="x") + line(id="b") + line(id="c"))
    with pytest.raises(BadInput, match="line 1, label"):
        convert([source], tmp_path / "out.jsonl", "interchange", limit=1)


def test_a_sample_keeps_file_order_and_depends_on_the_seed_alone(tmp_path):
    source = write(tmp_path / "a.jsonl", *({"id": f"{i:02}"} for i in range(50)))
    drawn = []
    for i, seed in enumerate((1, 1, 2)):
        out = tmp_path / f"out{i}.jsonl"
        report = convert([source], out, "interchange", sample=20, seed=seed)
        assert (report.read, report.written) == (50, 20)
        drawn.append([claim.id for claim in read_claims(out)])
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn[0] == sorted(drawn[0])
    assert len(set(drawn[0])) == 20


def test_a_stratified_draw_follows_the_shares():
    strata = [("a",)] * 60 + [("b",)] * 30 + [("c",)] * 10
    drawn = draw(strata, 20, 0)
    assert Counter(strata[i] for i in drawn) == {("a",): 12, ("b",): 6, ("c",): 2}
    # 5.83, 2.92, 1.25 seats of 10: largest remainders go to b and a.
    uneven = [("a",)] * 14 + [("b",)] * 7 + [("c",)] * 3
    assert Counter(uneven[i] for i in draw(uneven, 10, 0)) == {("a",): 6, ("b",): 3, ("c",): 1}


@needs_data
def test_a_stratified_sample_of_real_claims(tmp_path):
    source, out = DATA / "wice_open.jsonl", tmp_path / "out.jsonl"
    convert([source], out, "interchange", sample=50, stratify=["label", "gold_min_size"], seed=3)
    everything = Counter((one.label, min(one.gold_min_size, 3)) for one in read_claims(source))
    sample = Counter((one.label, min(one.gold_min_size, 3)) for one in read_claims(out))
    assert sum(sample.values()) == 50
    for stratum, count in everything.items():
        assert abs(sample[stratum] - count * 50 / 139) < 1


def test_impossible_samples_are_refused(tmp_path):
    source, out = write(tmp_path / "a.jsonl", {}), tmp_path / "out.jsonl"
    with pytest.raises(BadInput, match="there are only 1 claims"):
        convert([source], out, "interchange", sample=2)
    with pytest.raises(BadInput, match="--stratify length: choose from label, gold_min_size"):
        convert([source], out, "interchange", sample=1, stratify=["length"])
    with pytest.raises(BadInput, match="--stratify needs --sample"):
        convert([source], out, "interchange", stratify=["label"])
    with pytest.raises(BadInput, match="--equal needs --stratify"):
        convert([source], out, "interchange", sample=1, equal=True)
    with pytest.raises(BadInput, match="--to xml: choose one of interchange, csv, official"):
        convert([source], out, "interchange", to="xml")
    assert not out.exists()


def test_a_conversion_that_leaves_no_claim_is_refused_with_the_counts(tmp_path, capsys):
    candidates = {"few": ["x"], "many": ["x"] * 9, "more": ["x"] * 10}
    claims = [
        {"id": name, "candidates": texts, "gold_sets": [[0]]} for name, texts in candidates.items()
    ]
    source, out = write(tmp_path / "a.jsonl", *claims), tmp_path / "out.jsonl"
    out.write_text("old")
    command = ["convert", str(source), "--format", "interchange", "-o", str(out)]
    for to in ("interchange", "csv", "official"):
        bounds = ["--min-candidates", "2", "--max-candidates", "5"]
        assert main([*command, *bounds, "--to", to]) == 1
        assert capsys.readouterr() == (
            "",
            f"{out}: nothing to write: all claims are left out: "
            "1 too_few_candidates, 2 too_many_candidates\n",
        )
    source.write_text("\n")
    assert main(command) == 1
    assert "nothing to write: there are no claims in the files" in capsys.readouterr().err
    assert out.read_text() == "old"


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_no_source_is_overwritten(tmp_path, capsys, link):
    source, out = write(tmp_path / "a.jsonl", {}), tmp_path / "out.jsonl"
    before = source.read_bytes()
    link(source, out)
    for output in (source, out):
        with pytest.raises(BadInput, match=r"is the input .*a\.jsonl, which would be lost"):
            convert([source], output, "interchange")
    assert main(["convert", str(source), "--format", "interchange", "-o", str(out)]) == 1
    assert f"{out}: is the input {source}" in capsys.readouterr().err
    assert source.read_bytes() == before


def test_no_file_of_the_dump_is_overwritten(tmp_path, capsys):
    source = jsonl(tmp_path / "claims.jsonl", fever_claim([("City", 0)]))
    dump = jsonl(tmp_path / "wiki-001.jsonl", fever_page("City", "A city ."))
    before = dump.read_bytes()
    command = ["convert", str(source), "--format", "fever", "--wiki", str(dump)]
    assert main([*command, "-o", str(dump)]) == 1
    assert "is the input" in capsys.readouterr().err
    assert dump.read_bytes() == before


@needs_data
def test_left_out_rows_are_counted(tmp_path):
    out = tmp_path / "out.jsonl"
    report = convert([DATA / "original" / "wice_sample.jsonl"], out, "wice")
    assert (report.written, report.left_out) == (26, {"not_supported": 4})
    assert sum(1 for _ in read_claims(out)) == 26


def test_equal_seats_go_round_until_strata_are_full():
    sizes = {("a",): 2, ("b",): 10, ("c",): 30}
    assert equal_seats(sizes, 12) == {("a",): 2, ("b",): 5, ("c",): 5}
    assert equal_seats(sizes, 13) == {("a",): 2, ("b",): 6, ("c",): 5}
    assert equal_seats(sizes, 1) == {("a",): 1, ("b",): 0, ("c",): 0}
    assert equal_seats(sizes, 42) == sizes
    strata = [("a",)] * 2 + [("b",)] * 10 + [("c",)] * 30
    drawn = draw(strata, 12, 0, equal=True)
    assert Counter(strata[i] for i in drawn) == {("a",): 2, ("b",): 5, ("c",): 5}


def test_strata_count_minimal_sets_and_hops(tmp_path):
    source = write(
        tmp_path / "a.jsonl",
        {"id": "one", "gold_sets": [[0], [0, 1]], "meta": {"num_hops": 2}},
        {"id": "two", "gold_sets": [[0], [1]], "meta": {"num_hops": 3}},
        {"id": "three", "gold_sets": [[2]], "meta": {"num_hops": 2}},
        {"id": "four", "gold_sets": [[0], [1], [2]]},
    )
    out = tmp_path / "out.jsonl"
    convert([source], out, "interchange", sample=2, stratify=["gold_sets"], seed=1)
    assert Counter(len(claim.gold_sets) > 1 for claim in read_claims(out)) == {True: 1, False: 1}
    convert([source], out, "interchange", sample=3, stratify=["hops"], equal=True)
    assert Counter(claim.meta.get("num_hops") for claim in read_claims(out)) == {
        2: 1,
        3: 1,
        None: 1,
    }


@pytest.mark.parametrize("key", ["hops", "source"])
def test_claims_without_a_value_to_stratify_by_are_noticed(tmp_path, capsys, key):
    source = write(
        tmp_path / "a.jsonl",
        {"id": "one", "meta": {"num_hops": 2}, "source": "S"},
        {"id": "two"},
        {"id": "three"},
    )
    command = ["convert", str(source), "--format", "interchange", "-o", str(tmp_path / "o.jsonl")]
    notice = "notice: 2 claims read without a value for a key of --stratify"
    assert main([*command, "--sample", "2", "--stratify", key]) == 0
    assert notice in capsys.readouterr().out
    assert main([*command, "--sample", "2", "--stratify", "label"]) == 0
    assert "notice" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("claim_id;claim;label\na;b;c\n", "this looks like CSV: convert it first"),
        ("\nid,claim,label\na,b,c\nd,e,f\n", "--format csv"),
        ('[\n{"id": "a"},\n{"id": "b"}\n]\n', "one JSON value over several lines"),
        ('{\n  "id": "a"\n}\n', "one JSON value over several lines"),
        ('[{"id": "a"}, {"id": "b"}]\n', "this is one JSON list"),
        ('{"evidence": [], "supporting_sentences": []}\n' * 2, "--format wice"),
    ],
)
def test_a_file_in_another_format_is_named_once_with_what_to_do(tmp_path, text, message):
    path = tmp_path / "claims.jsonl"
    path.write_text(text)
    with pytest.raises(BadInput) as caught:
        list(read_claims(path))
    [problem] = caught.value.problems
    assert message in problem


def test_bounds_are_applied_before_the_limit_and_counted_by_reason(tmp_path):
    claims = [{"id": str(n), "candidates": ["x"] * n, "gold_sets": [[0]]} for n in range(1, 7)]
    source, out = write(tmp_path / "a.jsonl", *claims), tmp_path / "out.jsonl"
    report = convert([source], out, "interchange", bounds=Bounds(2, 5), limit=4)
    assert [claim.id for claim in read_claims(out)] == ["2", "3", "4", "5"]
    assert report.left_out == {"too_few_candidates": 1}
    report = convert([source], out, "interchange", bounds=Bounds(2, 5))
    assert report.left_out == {"too_few_candidates": 1, "too_many_candidates": 1}


def test_pages_cannot_be_counted_without_titles(tmp_path):
    source, out = write(tmp_path / "a.jsonl", {}), tmp_path / "out.jsonl"
    with pytest.raises(BadInput, match="c1: --max-pages needs titles, and this claim has none"):
        convert([source], out, "interchange", bounds=Bounds(max_pages=1))
    assert not out.exists()
    write(source, {"titles": ["A", "A", None]})
    assert convert([source], out, "interchange", bounds=Bounds(max_pages=2)).written == 1
    with pytest.raises(BadInput, match="all claims are left out: 1 too_many_pages"):
        convert([source], out, "interchange", bounds=Bounds(max_pages=1))


HARD = {
    "id": " 007\n",
    "claim": 'He said: "a, b;\r\nc"\r.',
    "candidates": ["\rx\n", " NA ", "\rx\n"],
    "gold_sets": [[0, 2], [1], [1, 2]],
    "titles": ["T, 1", None, 'T "2"'],
    "source": "S",
    "license": "L, M",
    "lang": "de",
}


@pytest.mark.parametrize("supersets", [False, True])
def test_csv_and_back_changes_nothing_but_meta(tmp_path, supersets):
    hard = {**HARD, "meta": {"a": 1}}
    source = write(tmp_path / "a.jsonl", {}, hard, {"id": "b", "titles": ["A", "B", "C"]})
    table, again = tmp_path / "a.csv", tmp_path / "b.jsonl"
    convert([source], table, "interchange", to="csv", keep_supersets=supersets)
    convert([table], again, "csv", keep_supersets=supersets)
    expected, found = list(read_rows(source)), list(read_rows(again))
    assert [row.given_sets for row in found] == [
        row.given_sets if supersets else row.claim.gold_sets for row in expected
    ]
    for one, other in zip(expected, found, strict=True):
        for name in ("id", "claim", "label", "candidates", "titles", "source", "license", "lang"):
            assert getattr(one.claim, name) == getattr(other.claim, name)
    assert found[1].claim.meta == {}


@needs_data
@pytest.mark.parametrize("name", ["wice_open", "fm2_open"])
def test_real_claims_survive_csv(tmp_path, name):
    source, table, again = DATA / f"{name}.jsonl", tmp_path / "a.csv", tmp_path / "b.jsonl"
    convert([source], table, "interchange", to="csv", keep_supersets=True)
    convert([table], again, "csv", keep_supersets=True)
    for one, other in zip(read_rows(source), read_rows(again), strict=True):
        assert one.given_sets == other.given_sets
        for field in ("id", "claim", "label", "candidates", "titles", "source", "license"):
            assert getattr(one.claim, field) == getattr(other.claim, field)


def test_a_sample_can_be_written_in_another_format(tmp_path):
    source = write(tmp_path / "a.jsonl", *({"id": f"{i:02}"} for i in range(20)))
    plain, table, again = (tmp_path / name for name in ("p.jsonl", "t.csv", "b.jsonl"))
    convert([source], plain, "interchange", sample=5, seed=4)
    convert([source], table, "interchange", to="csv", sample=5, seed=4)
    convert([table], again, "csv")
    assert list(read_claims(plain)) == list(read_claims(again))
