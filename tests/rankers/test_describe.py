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


TABLE = """\
                                             a.jsonl  b.jsonl       all
Number of Instances                                2        1         3
Avg. Candidate Evidence Set Size (Sents)         3.0      2.0       2.7
Avg. Number of Gold Evidence Sets               1.50     2.00      1.67
Avg. Gold Set Size (Sents)                      1.25     1.00      1.17
Avg. Optimal Gold Evidence Set Size (Sents)     1.00     1.00      1.00

most candidates                                    3        2         3
minimal gold sets                               1.00     2.00      1.33
minimal gold set size                           1.00     1.00      1.00
claims with one minimal set                 2 (100%)   0 (0%)   2 (67%)
optimal size 1                              2 (100%) 1 (100%)  3 (100%)
optimal size 2                                0 (0%)   0 (0%)    0 (0%)
optimal size 3+                               0 (0%)   0 (0%)    0 (0%)
repeated candidates                           0 (0%) 1 (100%)   1 (33%)
refuted                                       0 (0%) 1 (100%)   1 (33%)
supported                                   2 (100%)   0 (0%)   2 (67%)"""


@pytest.fixture
def two_files(tmp_path):
    first = write(tmp_path / "a.jsonl", {"gold_sets": [[0], [0, 1]]}, {"id": "b"})
    twins = {"label": "refuted", "candidates": ["x", "x"], "gold_sets": [[0], [1], [1]]}
    return first, write(tmp_path / "b.jsonl", twins)


def test_the_table_has_the_papers_rows_and_a_column_a_file(two_files):
    def squeezed(table):
        return [" ".join(line.split()) for line in table.splitlines()]

    shown = text(describe(*two_files))
    assert squeezed(shown) == squeezed(TABLE)
    assert len({len(line) for line in shown.splitlines() if line}) == 1


def test_one_file_has_one_column(two_files):
    assert text(describe(two_files[0])).splitlines()[0].split() == ["a.jsonl"]


def test_files_of_one_name_are_told_apart_by_their_folders(two_files, tmp_path):
    (tmp_path / "x").mkdir()
    other = write(tmp_path / "x" / "a.jsonl", {})
    heading = text(describe(two_files[0], other)).splitlines()[0]
    assert heading.split() == [str(two_files[0]), str(other), "all"]


def test_files_together_and_each_by_itself(two_files):
    both = describe(*two_files)
    each = [describe(path) for path in two_files]
    assert both["n"] == 3
    assert both["label"] == {"refuted": 1, "supported": 2}
    assert both["gold_sets"]["mean"] == pytest.approx(5 / 3)
    assert both["files"] == {
        str(path): one["files"][str(path)] for path, one in zip(two_files, each, strict=True)
    }
    assert {key: value for key, value in each[0].items() if key != "files"} == both["files"][
        str(two_files[0])
    ]


def test_a_file_without_claims_is_bad_input(tmp_path):
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(BadInput, match="no claims"):
        describe(tmp_path / "empty.jsonl")


def test_problems_of_all_files_are_listed(tmp_path):
    first = write(tmp_path / "a.jsonl", {}, {"id": "b", "label": "x"})
    second = write(tmp_path / "b.jsonl", {"label": "y"})
    with pytest.raises(BadInput) as caught:
        describe(first, second)
    assert [one.split(": unknown")[0] for one in caught.value.problems] == [
        f"{first}: line 2, label",
        f"{second}: line 1, label",
    ]
