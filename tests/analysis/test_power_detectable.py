"""The smallest difference that a size of study finds, and the fewest participants."""

from __future__ import annotations

import pytest

from analysis.errors import BadTable
from analysis.power import Assumptions, detectable_difference, sentence
from analysis.power.detectable import fewest_participants, largest_points
from analysis.power.layout import lay_out
from analysis.power.outcomes import success_outcomes
from analysis.power.search import TARGET, smallest


def power(participants: int, claims: int, success: tuple[float, float], sims: int) -> float:
    layout = lay_out(participants, claims)
    found = success_outcomes(layout, Assumptions(success=success), sims, 4)
    return float(found["power_success_two_way"].mean())


def test_the_difference_found_reaches_the_target_and_a_point_less_does_not() -> None:
    difference = detectable_difference(10, 100, sims=200, seed=4)
    assert difference is not None
    assert 0.10 <= difference <= 0.17
    assert power(10, 100, (0.74 + difference, 0.74), 200) >= TARGET
    assert power(10, 100, (0.73 + difference, 0.74), 200) < TARGET


def test_more_people_find_smaller_differences_and_few_claims_find_none() -> None:
    found = [detectable_difference(people, 100, sims=200) for people in (5, 10, 20, 30)]
    assert None not in found
    assert found == sorted(found, reverse=True)
    assert len(set(found)) == 4
    assert detectable_difference(5, 20, sims=200) is None


def test_the_base_is_the_second_condition_s_rate() -> None:
    easy = detectable_difference(20, 100, Assumptions(success=(0.5, 0.9)), sims=200)
    hard = detectable_difference(20, 100, Assumptions(success=(0.9, 0.5)), sims=200)
    assert easy is not None
    assert hard is not None
    assert easy < hard


def test_numbers_that_make_no_study_are_refused() -> None:
    with pytest.raises(BadTable) as error:
        detectable_difference(1, 100, Assumptions(success=(0.9, 1.0)), sims=5, seed=-1)
    assert error.value.problems == [
        "participants: 1 is too few; give at least 2",
        "success: 1 is no rate above 0 and below 1",
        "sims: 5 is no number from 50 to 100,000",
        "seed: -1 is below 0",
    ]


def test_the_sentence_says_size_difference_and_how_sure_the_simulation_is() -> None:
    assert sentence(10, 100, 0.14) == (
        "With 10 participants and 100 claims (40 trials each) a difference of 14 points in success "
        "is found in 4 of 5 studies (400 simulated studies, Monte-Carlo error 2 points)."
    )
    assert sentence(12, 103, 0.01, sims=10_000) == (
        "With 12 participants and 103 claims (40 to 42 trials each) a difference of 1 point in "
        "success is found in 4 of 5 studies (10,000 simulated studies, Monte-Carlo error 1 point)."
    )
    assert sentence(5, 20, None, Assumptions(success=(0.9, 0.8))) == (
        "With 5 participants and 20 claims (8 trials each) no difference in success, up to 19 "
        "points above 80 %, is found in 4 of 5 studies (400 simulated studies, Monte-Carlo error "
        "2 points)."
    )


def test_the_largest_difference_leaves_the_first_rate_below_one() -> None:
    assert [largest_points(base) for base in (0.74, 0.745, 0.99, 0.5)] == [25, 25, 0, 49]
    assert detectable_difference(30, 100, Assumptions(success=(0.9, 0.99)), sims=50) is None


@pytest.mark.parametrize("wanted", [1, 2, 3, 7, 8, 25])
def test_a_search_finds_the_smallest_number_that_is_enough(wanted: int) -> None:
    asked: list[int] = []

    def step(number: int) -> float:
        asked.append(number)
        return TARGET if number >= wanted else 0.0

    assert smallest(1, 25, step) == wanted
    assert len(asked) == len(set(asked)) <= 10
    assert smallest(1, wanted - 1, step) is None


def test_the_fewest_participants_are_whole_copies_of_the_square() -> None:
    success = Assumptions(success=(0.90, 0.80))
    fewest = fewest_participants(100, success, "power_success_two_way", most=60, sims=200, seed=4)
    assert fewest == 15
    assert power(15, 100, (0.90, 0.80), 200) >= TARGET
    assert power(10, 100, (0.90, 0.80), 200) < TARGET
    none = fewest_participants(50, success, "power_success_two_way", most=10, sims=200)
    assert none is None
