"""The Latin-square arithmetic (statistics.md, section 3), against counting by hand."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studyapp.domain import latin


def test_every_shift_is_allowed_for_a_prime_number_of_subsets():
    assert latin.allowed_shifts(5, 2) == [1, 2, 3, 4]
    assert latin.allowed_shifts(7, 3) == [1, 2, 3, 4, 5, 6]


def test_a_shift_that_repeats_a_subset_is_left_out():
    # k = 4, m = 3: 0*2, 1*2, 2*2 mod 4 is 0, 2, 0.
    assert latin.allowed_shifts(4, 3) == [1, 3]
    assert latin.allowed_shifts(4, 2) == [1, 2, 3]


def test_more_conditions_than_subsets_are_refused():
    with pytest.raises(ValueError, match="at least 3 subsets"):
        latin.allowed_shifts(2, 3)


def test_the_paper_s_rotation():
    # Five people, two conditions: row s sees subsets s and s + 1 in the first replication.
    assert [latin.cells_within(5, 2, 1, row) for row in range(5)] == [
        [latin.Cell(row, 0), latin.Cell((row + 1) % 5, 1)] for row in range(5)
    ]
    assert latin.cells_within(5, 2, 2, 0) == [latin.Cell(0, 0), latin.Cell(2, 1)]


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 12), st.integers(1, 5), st.integers(1, 9))
def test_each_cycle_shows_each_subset_once_per_condition_and_nobody_twice(k, m, replication):
    if m > k:
        return
    rows = [latin.cells_within(k, m, replication, row) for row in range(k)]
    counts = Counter((cell.subset, cell.condition) for cells in rows for cell in cells)
    assert counts == {(subset, j): 1 for subset in range(k) for j in range(m)}
    assert all(len({cell.subset for cell in cells}) == m for cells in rows)


def test_between_participants_each_person_has_one_condition():
    rows = [latin.cells_between(3, 2, row) for row in range(latin.n_rows(3, 2, within=False))]
    cells = [cell for (cell,) in rows]
    assert len(cells) == 6
    assert set(cells) == {latin.Cell(s, j) for s in range(3) for j in range(2)}


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from("abc"), min_size=5, max_size=60), st.integers(1, 5))
def test_subsets_differ_by_one_at_most_also_within_a_stratum(strata, k):
    subset_of = latin.split_stratified(strata, k, seed=3)
    sizes = Counter(subset_of)
    assert max(sizes.values()) - min(sizes[s] for s in range(k)) <= 1
    for stratum in set(strata):
        counts = [
            sum(s == part and name == stratum for s, name in zip(subset_of, strata, strict=True))
            for part in range(k)
        ]
        assert max(counts) - min(counts) <= 1


def test_the_seed_decides_and_repeats():
    strata = ["a"] * 20
    assert latin.split_stratified(strata, 5, 1) == latin.split_stratified(strata, 5, 1)
    assert latin.split_stratified(strata, 5, 1) != latin.split_stratified(strata, 5, 2)


def test_blocks_alternate_the_first_condition_over_slots():
    items = [[0, 1], [2, 3]]
    cells = [latin.Cell(0, 0), latin.Cell(1, 1)]
    orders = [
        latin.order_trials(items, cells, slot_index=index, seed=5, blocked=True)
        for index in range(2)
    ]
    assert [place.condition for place in orders[0]] == [0, 0, 1, 1]
    assert [place.condition for place in orders[1]] == [1, 1, 0, 0]
    assert [place.position for place in orders[0]] == [1, 2, 3, 4]
    assert [place.block for place in orders[0]] == [1, 1, 2, 2]


def test_interleaved_trials_are_one_shuffled_block():
    items = [list(range(10)), list(range(10, 20))]
    cells = [latin.Cell(0, 0), latin.Cell(1, 1)]
    places = latin.order_trials(items, cells, slot_index=0, seed=5, blocked=False)
    assert {place.block for place in places} == {1}
    assert sorted(place.item for place in places) == list(range(20))
    changes = sum(a.condition != b.condition for a, b in pairwise(places))
    assert changes > 1
