from __future__ import annotations

from collections import Counter

import pytest

from rankers.convert import convert, draw
from rankers.errors import BadInput
from rankers.formats import read_claims
from tests.rankers.claim_files import line, write
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
    with pytest.raises(BadInput, match="--stratify hops: choose from label, gold_min_size"):
        convert([source], out, "interchange", sample=1, stratify=["hops"])
    with pytest.raises(BadInput, match="--stratify needs --sample"):
        convert([source], out, "interchange", stratify=["label"])
    assert not out.exists()


@needs_data
def test_left_out_rows_are_counted(tmp_path):
    out = tmp_path / "out.jsonl"
    report = convert([DATA / "original" / "wice_sample.jsonl"], out, "wice")
    assert (report.written, report.left_out) == (26, {"not_supported": 4})
    assert sum(1 for _ in read_claims(out)) == 26
