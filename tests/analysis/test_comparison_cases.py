"""The comparison reproduces the values that R computed from the same tables, key by key."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from analysis import measure_document
from tests.analysis.builders import TRIAL_CASES, assert_agrees, case_tables, expected
from tests.shared_data import needs_data

pytestmark = [needs_data, pytest.mark.data]

#: Blocks of the expected values that models and the crossed bootstrap fill; tested with them.
OTHER_METHODS = {
    "crossed_bootstrap",
    "lmer_read",
    "lmer_log_active",
    "glmer_success",
    "glm_participant_clusters",
    "glm_participant_fixed_claim_clusters",
    "lpm_participant_fixed_claim_clusters",
    "lm_read_participant_fixed_claim_clusters",
}
KEYS = [
    (case, key)
    for case in TRIAL_CASES
    for key in (
        "pairs_complete",
        "pairs_scorable",
        "success",
        "undecided",
        "over_read_msr",
        "read_by_claim",
        "log_active_by_claim",
        "success_by_claim",
        "success_by_participant",
        "read_by_participant",
        "log_active_by_participant",
        "two_way",
        "holm",
    )
]


@cache
def document_of_case(case: str) -> dict[str, Any]:
    return measure_document(*case_tables(case))


@pytest.mark.parametrize(("case", "key"), KEYS)
def test_every_block_agrees_with_the_independent_values(case: str, key: str) -> None:
    wanted = expected(case)["inference_design_set"]
    actual = document_of_case(case)["inference_design_set"][key]
    if key in wanted:
        assert_agrees(actual, wanted[key], key)
    else:
        # The cases with several replications have no fourfold tables.
        assert key in ("success", "undecided", "over_read_msr")
        assert actual["left_out"].startswith("not defined, because there are ")


@pytest.mark.parametrize("case", TRIAL_CASES)
def test_no_expected_block_is_missed(case: str) -> None:
    tested = {key for _, key in KEYS} | OTHER_METHODS
    assert set(expected(case)["inference_design_set"]) <= tested


@pytest.mark.parametrize("case", TRIAL_CASES)
def test_non_inferiority_agrees(case: str) -> None:
    actual = document_of_case(case)["non_inferiority"]
    wanted = expected(case)["non_inferiority"]
    assert set(actual) == set(wanted)
    assert_agrees(actual, wanted)


def test_thirty_people_get_drawn_sign_flips_under_another_name() -> None:
    inference = document_of_case("thirty_a")["inference_design_set"]
    for key in ("success", "read", "log_active"):
        block = inference[f"{key}_by_participant"]
        assert "sign_flip_exact_p" not in block
        assert block["sign_flip_draws"] == 99_999
        assert 0 < block["sign_flip_p"] <= 0.001


def test_five_people_are_told_what_their_sign_flips_cannot_show() -> None:
    block = document_of_case("table5")["inference_design_set"]["success_by_participant"]
    assert block["sign_flip_least_p"] == 0.0625
    assert "With 5 participants the smallest two-sided p" in block["sign_flip_note"]
    assert "never reach 0.05" in block["sign_flip_note"]
    ten = document_of_case("dropouts_a")["inference_design_set"]["success_by_participant"]
    assert "sign_flip_note" not in ten


def test_the_available_set_is_compared_by_all_its_trials() -> None:
    document = document_of_case("dropouts_a")
    available = document["inference_available_set"]["two_way"]
    assert available["success"]["n_trials"] == document["n_available_set"]
    assert available["success"]["n_participants"] == 11
    rates = [document["available_set"][c]["success_rate"] for c in ("ranking", "selection")]
    assert available["success"]["difference"] == pytest.approx(rates[0] - rates[1])


@pytest.mark.parametrize("case", TRIAL_CASES)
def test_the_claim_bootstrap_nears_its_limit(case: str) -> None:
    inference = document_of_case(case)["inference_design_set"]
    for key in ("read", "log_active", "success"):
        block = inference[f"{key}_by_claim"]
        drawn = block["claim_bootstrap"]
        assert drawn["se"] == pytest.approx(block["claim_bootstrap_se_limit"], rel=0.03)
        low, high = drawn["percentile95"]
        assert low < block["mean_difference"] < high


def test_small_sets_of_claims_get_the_hedges_factor() -> None:
    few = document_of_case("partial_a")["inference_design_set"]["success_by_claim"]
    assert few["hedges_factor"] == pytest.approx(1 - 3 / (4 * 10 - 1))
    assert few["d_z_corrected"] == pytest.approx(few["d_z"] * few["hedges_factor"])
    many = document_of_case("table5")["inference_design_set"]["success_by_claim"]
    assert "hedges_factor" not in many


def test_equivalence_is_judged_by_the_larger_p() -> None:
    """Independent values: t of the shifted means from the published summary of the case."""
    from scipy.stats import t

    block = document_of_case("table5")["equivalence"]
    inference = document_of_case("table5")["inference_design_set"]
    claims = inference["success_by_claim"]
    error = claims["sd"] / claims["n_claims"] ** 0.5
    above = t.cdf((claims["mean_difference"] - 0.1) / error, claims["df"])
    assert block["claim_p"] == pytest.approx(above)
    people = inference["success_by_participant"]
    error = people["mean_difference"] / people["t"]
    assert block["participant_p"] == pytest.approx(t.cdf((0.2 - 0.1) / error, 4))
    assert block["p"] == max(block["claim_p"], block["participant_p"])
    assert (block["n_claims"], block["n_participants"], block["margin"]) == (100, 5, 0.1)


@pytest.mark.parametrize("case", TRIAL_CASES)
def test_nothing_is_none_without_a_reason(case: str) -> None:
    document = document_of_case(case)
    assert all(document["not_defined"].values())
    partial = document_of_case("partial_a")["not_defined"]
    path = "inference_design_set.success.odds_ratio_conditional"
    assert partial[path].startswith("not defined, because no pair favours")
