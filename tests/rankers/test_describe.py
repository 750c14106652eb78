from __future__ import annotations

import pytest

from rankers.describe import describe, text
from rankers.errors import BadInput
from tests.rankers.claim_files import write
from tests.shared_data import DATA, needs_data

# The table in the README of the shared data: claims, candidates mean (max), gold sets, of them
# minimal, set size, optimal size, claims of optimal size 1 / 2 / 3+.
PUBLISHED = {
    "wice_open": (139, 41.3, 60, 5.01, 1.93, 2.77, 2.07, (54, 47, 38)),
    "wice_long_open": (238, 159.9, 1220, 6.68, 2.00, 3.03, 2.11, (87, 82, 69)),
    "fm2_open": (703, 10.3, 12, 1, 1, 1.26, 1.26, (523, 180, 0)),
}


@needs_data
@pytest.mark.parametrize("name", PUBLISHED)
def test_the_numbers_of_the_open_files(name):
    n, mean, most, sets, minimal, size, optimal, buckets = PUBLISHED[name]
    found = describe(DATA / f"{name}.jsonl")
    assert found["n"] == n
    assert found["candidates"]["mean"] == pytest.approx(mean, abs=0.05)
    assert found["candidates"]["max"] == most
    for key, value in (
        ("gold_sets", sets),
        ("minimal_gold_sets", minimal),
        ("gold_set_size", size),
        ("optimal_size", optimal),
    ):
        assert found[key]["mean"] == pytest.approx(value, abs=0.005), key
    assert tuple(found["gold_min_size"].values()) == buckets


@needs_data
def test_repeated_candidates_are_counted():
    assert describe(DATA / "wice_open.jsonl")["claims_with_repeated_candidates"] == 58


def test_the_text_says_the_same(tmp_path):
    path = write(tmp_path / "c.jsonl", {"gold_sets": [[0], [0, 1]]}, {"id": "b"})
    shown = text(describe(path))
    assert "2 (2 supported)" in shown
    assert "1.50, of them minimal 1.00" in shown


def test_a_file_without_claims_is_bad_input(tmp_path):
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(BadInput, match="no claims"):
        describe(tmp_path / "empty.jsonl")


def test_problems_are_listed(tmp_path):
    with pytest.raises(BadInput, match="line 2, label"):
        describe(write(tmp_path / "c.jsonl", {}, {"id": "b", "label": "x"}))
