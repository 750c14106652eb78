"""Every trial case reproduces the values that R computed from the same tables."""

from __future__ import annotations

import pytest
from scipy.stats import binom

from analysis import measure_document
from analysis.definitions import BY_NAME
from tests.analysis.builders import TRIAL_CASES, assert_agrees, case_tables, expected
from tests.shared_data import needs_data

pytestmark = [needs_data, pytest.mark.data]


@pytest.mark.parametrize("case", TRIAL_CASES)
@pytest.mark.parametrize(
    "block",
    [
        "rows",
        "excluded",
        "n_available_set",
        "n_design_set",
        "slot_holders",
        "response_options",
        "design_set",
        "available_set",
        "balance",
        "by_quarter",
    ],
)
def test_the_document_agrees_with_the_independent_values(case: str, block: str) -> None:
    document = measure_document(*case_tables(case), with_comparison=False)
    assert_agrees(document[block], expected(case)[block], block)


@pytest.mark.parametrize("case", TRIAL_CASES)
def test_conditions_carry_exactly_the_expected_keys(case: str) -> None:
    document = measure_document(*case_tables(case), with_comparison=False)
    wanted = expected(case)
    for block in ("design_set", "available_set", "balance", "by_quarter"):
        assert set(document[block]) == set(wanted[block])
    for condition, measures in wanted["design_set"].items():
        assert set(document["design_set"][condition]) == set(measures)


@pytest.mark.parametrize("case", TRIAL_CASES)
def test_every_measure_has_a_definition_and_every_null_a_reason(case: str) -> None:
    document = measure_document(*case_tables(case), with_comparison=False)
    for block in ("design_set", "available_set"):
        for condition, measures in document[block].items():
            for name, value in measures.items():
                assert name in BY_NAME
                path = f"{block}.{condition}.{name}"
                assert (value is None) == (path in document["not_defined"])


def test_the_published_figures_bound_over_reading_as_stated() -> None:
    """statistics.md 2.7: what 10 % and 35 % would mean if every sentence above q were over-read."""
    bounds = expected("edge_cases")["over_read_bounds"]
    measured = measure_document(*case_tables("table5"), with_comparison=False)["design_set"]
    ranking, selection = measured["ranking"], measured["selection"]
    required = ranking["mean_required"] * ranking["n_trials"]
    read = {name: m["mean_read"] * m["n_trials"] for name, m in measured.items()}
    assert required == pytest.approx(bounds["required_sum"])
    assert read["ranking"] == pytest.approx(bounds["ranking_read_sum"])
    assert read["selection"] == pytest.approx(bounds["selection_read_sum"])
    assert (read["ranking"] - required) / ranking["n_over_read_msr"] == pytest.approx(
        bounds["ranking_over_min_least_mean_excess"]
    )
    assert (read["selection"] - required) / selection["n_over_read_msr"] == pytest.approx(
        bounds["selection_over_min_least_mean_excess"]
    )
    at_most = binom.cdf(ranking["n_over_read_msr"], ranking["n_trials"], [0.27, 0.371])
    assert at_most[0] == pytest.approx(bounds["prob_at_most_10_late_claims_if_27_percent"])
    assert at_most[1] == pytest.approx(bounds["prob_at_most_10_late_claims_if_37_percent"])
    # Jensen: with share SR at excess 0, the others' mean excess is at least 1 / mean RR - 1.
    mrr, sr = 0.83, 0.73
    least = (1 - sr) * ((1 - sr) / (mrr - sr) - 1)
    assert least == pytest.approx(bounds["ranker_excess_at_least_half_set"])
    assert ranking["mean_ranker_excess"] >= least
